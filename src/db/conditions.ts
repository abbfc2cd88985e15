/**
 * What an SQLSTATE says about the database as a whole, in our own sentences: for the log, `rowhouse doctor` and commands. Callers
 * hear only of a full disk. PostgreSQL's messages are never used.
 *
 * @module
 */
import { Problem } from "../problem.ts";
import { errorCode } from "../std/network.ts";

/** A condition of the database. */
export type Condition = {
  /** Continues "The database". */
  readonly is: string;
  /** What the operator does; `variable` names the connection string. Absent if the condition ends without an operator. */
  readonly remedy?: (variable: string) => string;
};

const CONDITIONS: Readonly<Record<string, Condition>> = {
  "08P01": {
    is: "is behind a pooler that rejects the login or cannot connect",
    remedy: (variable) =>
      `check the login, password and database in ${variable}, and in the pooler's configuration`,
  },
  "25006": {
    is: "accepts only reads",
    remedy: (variable) =>
      `let ${variable} name the primary server, not a standby; or turn off default_transaction_read_only`,
  },
  "28000": {
    is: "rejects the login",
    remedy: (variable) => `correct the login in ${variable}, and check pg_hba.conf`,
  },
  "28P01": {
    is: "rejects the login's password",
    remedy: (variable) =>
      `correct the password in ${variable}; a .env file needs \\$ for each $ of it, in every kind of quotes, and a URL %40 for @, %2F for / and %25 for %`,
  },
  "3D000": {
    is: "does not exist",
    remedy: (variable) => `create the database, or correct ${variable}`,
  },
  "53100": {
    is: "cannot write, because its disk is full",
    remedy: () =>
      "free or add disk space on the server of PostgreSQL, and never delete files of its data directory",
  },
  "53200": {
    is: "is out of memory",
    remedy: () =>
      "add memory to the server of PostgreSQL, or lower its work_mem, shared_buffers or number of connections",
  },
  "53300": {
    is: "has no free connection",
    remedy: () =>
      "lower DATABASE_POOL and WORKERS, or raise max_connections or the connection limit of the login or the database",
  },
  "53400": {
    is: "has reached a limit of its configuration",
    remedy: () =>
      "raise the limit that PostgreSQL's log names, such as temp_file_limit of the login, or narrow the requests",
  },
  "55000": {
    is: "does not accept connections, or is not ready for this statement",
    remedy: (variable) =>
      `check in PostgreSQL's log whether it is a standby, and that "alter database … allow_connections" is true for the database of ${variable}`,
  },
  "55P03": { is: "waited too long for a lock" },
  "57P01": { is: "ended the session, such as for a restart" },
  "57P02": { is: "restarts after a crash" },
  "57P03": { is: "is starting, stopping or recovering" },
  "57P04": {
    is: "was dropped",
    remedy: (variable) => `restore the database, or correct ${variable}`,
  },
  "57P05": { is: "ended an idle session" },
  "58030": {
    is: "cannot read or write its files",
    remedy: () => "check the disk of PostgreSQL's server and PostgreSQL's log",
  },
};

/** The SQLSTATE and the condition that an error names; `undefined` for any other error. */
export function findCondition(error: unknown): (Condition & { sqlState: string }) | undefined {
  const sqlState = errorCode(error instanceof Problem ? error.cause : error) ?? "";
  const found = CONDITIONS[sqlState];
  return found && { ...found, sqlState };
}

const FULL_DISK = "53100";

/** The message for callers, as an option of a problem: only of a full disk, because other conditions describe how the service is operated. */
export function toConditionMessage(error: unknown): { message?: string } {
  const found = findCondition(error);
  return found?.sqlState === FULL_DISK ? { message: `The database ${found.is}` } : {};
}
