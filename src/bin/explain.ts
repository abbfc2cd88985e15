/** How a command's failure is told, and the exit code that it gets. @module */
import { Problem } from "../problem.ts";
import { EXIT, type ExitCode, RefusedError, UsageError } from "./command.ts";

/** What the person reads; a stack only where the fault is ours. */
export function explain(error: unknown): string {
  if (error instanceof UsageError) return `${error.message}\nrowhouse --help lists what there is`;
  if (error instanceof RefusedError) return error.message;
  if (error instanceof Problem) return [error.message, ...toLines(error)].join("\n");
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `This is a fault of rowhouse itself:\n${stack}`;
}

function toLines({ details = [] }: Problem): string[] {
  return details.map(({ path, message }) => `  ${path}: ${message}`);
}

/** The exit code of a failure. */
export function toExitCode(error: unknown): ExitCode {
  if (error instanceof UsageError) return EXIT.usage;
  return error instanceof RefusedError ? error.exitCode : EXIT.refused;
}
