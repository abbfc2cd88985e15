/** Finds the node in an error of a Citus coordinator that could not reach the node. Pure. @module */
import { Problem } from "../../problem.ts";
import { errorCode } from "../../std/network.ts";
import { findLostNode } from "./node_error.ts";

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
