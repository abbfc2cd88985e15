/** Errors of statements that Citus sent to another node. The error of Citus contains only the node's name. Pure. @module */

import { Problem } from "../../problem.ts";
import { errorCode } from "../../std/network.ts";

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

/**
 * Citus routed a call to a node that the app had just left. That node then tried to connect to the next node as the
 * tenant. No node accepts that login, so the call had no effect.
 */
const MISROUTED = /^connection to the remote node rowhouse_tenant@/;
/** The same of a function that looks for the app's shards: it reports what Citus reports of other functions. */
export const MOVED = "connection to the remote node rowhouse_tenant@ would be needed";

const UNPLANNED = /^could not create distributed plan/;

/** Returns whether a call reached a node that its app had just left. */
export function isMisrouted(error: unknown): boolean {
  return error instanceof Error && errorCode(error) === "08006" && MISROUTED.test(error.message);
}

/**
 * Returns whether a call started before the database was distributed, and then continued with a plan for local tables.
 * Such a call had no effect.
 */
export function isOutdated(error: unknown): boolean {
  return error instanceof Error && errorCode(error) === "0A000" && UNPLANNED.test(error.message);
}

/** Citus' message for permanent failures; its SQLSTATE is only that of an internal error. */
const INTERNAL = /connection|remote|shard|placement|worker|metadata/i;

/** Whether the cluster failed, not the statement. */
export function isClusterFailure(error: unknown): boolean {
  if (!(error instanceof Error) || errorCode(error) !== "XX000") return false;
  return INTERNAL.test(findNodeError(error)?.message ?? error.message);
}

/** Citus reports this in its own messages, with the SQLSTATE of a lost connection. */
const LABELS =
  /^(?:connection to the remote node |could not connect to |failed to connect to )(?:[^@\s]*@)?(\S+)/;

/** The node's address; `undefined` for any other error. */
export function findUnreachableNode(error: unknown): string | undefined {
  const cause = error instanceof Problem ? error.cause : error;
  if (!(cause instanceof Error)) return undefined;
  return LABELS.exec(cause.message)?.[1] ?? findLostNode(cause);
}

/** libpq's messages for a failed connection, followed by the node. Only in English. */
const UNCONNECTED = [
  "Connection refused",
  "No route to host",
  "Network is unreachable",
  "timeout expired",
  "fe_sendauth: ",
  "FATAL: +the database system is (?:starting up|shutting down|in recovery mode|not (?:yet )?accepting connections)",
  "FATAL: +sorry, too many clients already",
  "FATAL: +remaining connection slots are reserved",
  "FATAL: +password authentication failed",
  "FATAL: +no pg_hba.conf entry",
  'FATAL: +role "[^"]*" (?:does not exist|is not permitted to log in)',
  'FATAL: +database "[^"]*" does not exist',
].join("|");
const NOT_CONNECTED = new RegExp(
  `^connection to the remote node \\S+ failed with the following error: (?:${UNCONNECTED})|^could not establish any connections to the node `,
);

/** Returns whether Citus could not connect to the node of a call: then the call had no effect. */
export function isUnconnected(error: unknown): boolean {
  return (
    error instanceof Error && errorCode(error) === "08006" && NOT_CONNECTED.test(error.message)
  );
}

/** A node in messages for operators. */
export function describeNode(node: string): string {
  return `node ${node} of its Citus cluster`;
}

/** What to do about a node that processes cannot reach directly. */
export function toNodeRemedy({ host, port }: { host: string; port: number }): string {
  return `let the login of DATABASE_URL connect from here to ${host}:${port} (network, firewall, pg_hba.conf), or set CITUS_NODE_POOL to 0`;
}
