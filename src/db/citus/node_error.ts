/** Errors of statements that Citus sent to another node. The error of Citus contains only the node's name. Pure. @module */
import { errorCode } from "../../std/error_code.ts";

export type Warning = { code: string; message: string };

/** Citus' error after a warning with the node's own error. The transaction was rolled back. */
const FAILED_ON_NODE = /^failure on connection marked as essential: (\S+)/;

/** libpq's messages for a lost connection, which have no SQLSTATE. Only in English. */
const LOST =
  /^(?:$|server closed the connection|connection not open|no connection to the server|could not (?:send|receive) data|SSL )/;
/** SQLSTATEs of a lost connection, and of a server that stops or starts. */
const LOST_STATES = /^(?:08|57P0)/;

/** Stored outside of the error, because logs contain properties of errors, and the text can contain values of rows. */
const nodeErrors = new WeakMap<Error, Warning>();

/** Stores the last warning of a failed statement as the node's own error, if Citus' error needs it. */
export function recordNodeError(error: unknown, warning: Warning | undefined): void {
  if (warning !== undefined && isFailedOnNode(error)) nodeErrors.set(error, warning);
}

/** The node's own error; `undefined` for other errors, and where the server sent no warning. */
export function findNodeError(error: unknown): Warning | undefined {
  return error instanceof Error ? nodeErrors.get(error) : undefined;
}

/** The node's address if it was lost during a statement that Citus then rolled back; `undefined` for any other error. */
export function findLostNode(error: unknown): string | undefined {
  const nodeError = findNodeError(error);
  if (nodeError === undefined || !(error instanceof Error)) return undefined;
  const { code, message } = nodeError;
  const isLost = LOST_STATES.test(code) || (code === "XX000" && LOST.test(message));
  return isLost ? FAILED_ON_NODE.exec(error.message)?.[1] : undefined;
}

function isFailedOnNode(error: unknown): error is Error {
  return (
    error instanceof Error && errorCode(error) === "XX000" && FAILED_ON_NODE.test(error.message)
  );
}
