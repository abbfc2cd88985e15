/** Which node of a Citus cluster an error is about, where the coordinator was reached and could not reach another. Pure. @module */
import { Problem } from "../../problem.ts";
import { errorCode } from "../../std/error_code.ts";

/** Citus says so in words of its own, with the SQLSTATE of a connection that the service itself might have lost. */
const WORDS =
  /^(?:connection to the remote node |could not connect to |failed to connect to )(?:[^@\s]*@)?(\S+)/;

/** The node's address; `undefined` if the error is another one. */
export function findAwayNode(error: unknown): string | undefined {
  const cause = error instanceof Problem ? error.cause : error;
  return cause instanceof Error ? WORDS.exec(cause.message)?.[1] : undefined;
}

/** What libpq says, and then a node, only where no connection is made. Words of another language are not known. */
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

/** Whether Citus could not connect to the node that a call was for: then it cannot have done anything. */
export function isUnconnected(error: unknown): boolean {
  return (
    error instanceof Error && errorCode(error) === "08006" && NOT_CONNECTED.test(error.message)
  );
}
