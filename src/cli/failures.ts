/** How a command's failure is reported, and its exit code. @module */
import { type Detail, Problem } from "../problem.ts";
import { errorCode } from "../std/network.ts";
import { EXIT, type ExitCode, RejectedError, UsageError } from "./command.ts";

/** The error message for people; with a stack only for bugs of Rowhouse. */
export function explain(error: unknown, command?: string): string {
  if (error instanceof UsageError)
    return `${error.message}\nsee rowhouse ${command === undefined ? "" : `${command} `}--help`;
  if (error instanceof RejectedError) return error.message;
  if (error instanceof Problem) return [error.message, ...toLines(error)].join("\n");
  if (isFileError(error)) return describeFileError(error);
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `Internal error in rowhouse (please report it):\n${stack}`;
}

/** Whether the system rejected access to a file, such as a missing folder or a full disk. */
function isFileError(error: unknown): error is Error {
  return error instanceof Error && FILE_ERRORS.has(errorCode(error) ?? "");
}

const FILE_ERRORS = new Set(
  "EACCES EDQUOT EEXIST EISDIR EIO ELOOP ENAMETOOLONG ENOENT ENOSPC ENOTDIR EPERM EROFS".split(" "),
);

function describeFileError({ message }: Error): string {
  return `Cannot read or write a file: ${message}`;
}

function toLines({ details = [] }: Problem): string[] {
  return details.map(({ path, message }) =>
    path === "" ? `  ${message}` : `  ${path}: ${message}`,
  );
}

/** The exit code of a failure. */
export function toExitCode(error: unknown): ExitCode {
  if (error instanceof UsageError) return EXIT.usage;
  return error instanceof RejectedError ? error.exitCode : EXIT.rejected;
}

/** A failure as JSON for scripts. */
export type Failure = { error: string; message: string; details: readonly Detail[] };

/** Default codes by exit code. */
const CODES: Readonly<Record<ExitCode, string>> = {
  [EXIT.done]: "rejected",
  [EXIT.rejected]: "rejected",
  [EXIT.usage]: "usage",
  [EXIT.pending]: "rejected",
  [EXIT.unauthenticated]: "unauthenticated",
  [EXIT.unreachable]: "unreachable",
};

/** The document of `--json` for a failure; never a stack. */
export function toFailure(error: unknown): Failure {
  if (error instanceof UsageError) return { error: "usage", message: error.message, details: [] };
  if (error instanceof Problem)
    return { error: error.code, message: error.message, details: error.details ?? [] };
  if (error instanceof RejectedError) {
    const { code = CODES[error.exitCode], details = [] } = error.report;
    const [opening = ""] = error.message.split("\n");
    return { error: code, message: details.length > 0 ? opening : error.message, details };
  }
  if (isFileError(error))
    return { error: "rejected", message: describeFileError(error), details: [] };
  return { error: "internal", message: "Internal error in rowhouse", details: [] };
}
