/** How a command's failure is reported, and its exit code. @module */
import { type Detail, Problem } from "../../problem.ts";
import { EXIT, type ExitCode, RefusedError, UsageError } from "./command.ts";

/** What the person reads about the failed command; a stack only for our own bugs. */
export function explain(error: unknown, command?: string): string {
  if (error instanceof UsageError) return `${error.message}\n${toHint(command)}`;
  if (error instanceof RefusedError) return error.message;
  if (error instanceof Problem) return [error.message, ...toLines(error)].join("\n");
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `This is a bug in rowhouse itself:\n${stack}`;
}

function toHint(command: string | undefined): string {
  return command === undefined ? "see rowhouse --help" : `rowhouse ${command} --help says more`;
}

function toLines({ details = [] }: Problem): string[] {
  return details.map(({ path, message }) =>
    path === "" ? `  ${message}` : `  ${path}: ${message}`,
  );
}

/** The exit code of a failure. */
export function toExitCode(error: unknown): ExitCode {
  if (error instanceof UsageError) return EXIT.usage;
  return error instanceof RefusedError ? error.exitCode : EXIT.refused;
}

/** A failure as a script reads it. */
export type Failure = { error: string; message: string; details: readonly Detail[] };

/** The codes of refusals without a code of their own. */
const CODES: Readonly<Record<ExitCode, string>> = {
  [EXIT.done]: "refused",
  [EXIT.refused]: "refused",
  [EXIT.usage]: "usage",
  [EXIT.pending]: "refused",
  [EXIT.unauthenticated]: "unauthenticated",
  [EXIT.unreachable]: "unreachable",
};

/** The document of `--json` for a failure; never a stack. */
export function toFailure(error: unknown): Failure {
  if (error instanceof UsageError) return { error: "usage", message: error.message, details: [] };
  if (error instanceof Problem)
    return { error: error.code, message: error.message, details: error.details ?? [] };
  if (error instanceof RefusedError) {
    const { code = CODES[error.exitCode], details = [] } = error.told;
    const [opening = ""] = error.message.split("\n");
    return { error: code, message: details.length > 0 ? opening : error.message, details };
  }
  return { error: "internal", message: "This is a bug in rowhouse itself", details: [] };
}
