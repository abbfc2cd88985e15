/** Turns a failed connection to the database into a result with a remedy. @module */

import { type Log, type ResponseRecord, toCause } from "../observe.ts";
import { Problem } from "../problem.ts";
import { errorCode } from "../std/network.ts";
import { type CheckResult, fail } from "./doctor/check_result.ts";

/** The settings that hold a connection string of the service. */
export type DatabaseVariable =
  | "DATABASE_URL"
  | "ADMIN_DATABASE_URL"
  | "CONSOLE_DATABASE_URL"
  | "IDENTITY_DATABASE_URL";

type ConnectFailure = { message: string; remedy: (variable: DatabaseVariable) => string };

/** By SQLSTATE: PostgreSQL responded and rejected the login. */
const REJECTIONS: Readonly<Record<string, ConnectFailure>> = {
  "28P01": {
    message: "rejects the login's password (28P01)",
    remedy: (variable) =>
      `correct the password in ${variable}; a .env file needs \\$ for each $ of it, in every kind of quotes, and a URL %40 for @, %2F for / and %25 for %`,
  },
  "28000": {
    message: "rejects the login (28000)",
    remedy: (variable) => `correct the login in ${variable}, and check pg_hba.conf`,
  },
  "3D000": {
    message: "does not exist (3D000)",
    remedy: (variable) => `create the database, or correct ${variable}`,
  },
  // PgBouncer uses one SQLSTATE for all rejections.
  "08P01": {
    message: "is behind a pooler that rejects the login (08P01)",
    remedy: (variable) =>
      `check the login, password and database in ${variable}, and in the pooler's configuration`,
  },
};

/** By SQLSTATE: PostgreSQL rejected a statement of a check. */
const UNCHECKED: Readonly<Record<string, ConnectFailure>> = {
  "42501": {
    message: "the login has no right to read what this check needs (42501)",
    remedy: (variable) =>
      `run rowhouse migrate with this ${variable} and the administrator's ADMIN_DATABASE_URL: it grants the rights`,
  },
  ...Object.fromEntries(
    ["42P01", "42883", "3F000", "42704", "42703"].map((code) => [
      code,
      {
        message: `the database has no tables of this release (${code})`,
        remedy: (variable: DatabaseVariable) =>
          `run rowhouse migrate, and check that ${variable} names the same database as the other connection strings`,
      },
    ]),
  ),
};

/** The issue and the remedy of a check that ended with an error. Never its message, which can have values. */
function toAdvice(
  error: unknown,
  variable: DatabaseVariable | undefined,
): { message: string; remedy: string } {
  const code = errorCode(error instanceof Problem ? error.cause : error);
  const message = `this check could not run${code === undefined ? "" : ` (${code})`}`;
  if (variable === undefined) return { message, remedy: "run rowhouse doctor again" };
  const known = UNCHECKED[code ?? ""] ?? REJECTIONS[code ?? ""];
  if (known !== undefined) return { message: known.message, remedy: known.remedy(variable) };
  const remedy = `check that the database of ${variable} responds, and run rowhouse doctor again`;
  return { message, remedy };
}

/** The failed result of a check that ended with an error; `variable`: the connections that it used. */
export function toFailedCheck(
  about: string,
  variable: DatabaseVariable | undefined,
): (error: unknown) => CheckResult[] {
  return (error) => [fail(about, toAdvice(error, variable))];
}

/** A failed result for a connection error, with the variable to check. */
export function toUnavailable(variable: DatabaseVariable): (error: unknown) => CheckResult {
  return (error) => {
    const code = errorCode(error instanceof Problem ? error.cause : error);
    const { message, remedy } = REJECTIONS[code ?? ""] ?? UNCHECKED[code ?? ""] ?? toSilence(code);
    return fail("database", { message, remedy: remedy(variable) });
  };
}

/** The failed result of a check of one login. */
export function toNoConnection(
  variable: DatabaseVariable,
  about: string,
): (error: unknown) => CheckResult {
  return (error) => {
    const { message, ...result } = toUnavailable(variable)(error);
    return { ...result, about, message: `cannot connect: the database ${message}` };
  };
}

function toSilence(code: string | undefined): ConnectFailure {
  return {
    message: `does not respond${code === undefined ? "" : ` (${code})`}`,
    remedy: (variable) => `start it, or correct ${variable}`,
  };
}

// Logs a database outage once when it begins and once when it ends, with its duration and the
// number of failed requests. Each failed request also has its own log line, without a stack.

type Outage = {
  /** Call when no connection can be opened; `cause` is the error of the first attempt. */
  readonly begin: (cause: unknown) => void;
  /** Call when a connection opens. */
  readonly end: () => void;
  readonly isUnderWay: () => boolean;
  /** Counts a response during the outage. */
  readonly record: (response: ResponseRecord) => void;
};

/** `now` is a monotonic clock. */
export function makeOutage({ log, now }: { log: Log; now: () => number }): Outage {
  let beganAt: number | undefined;
  let rejected = 0;
  return {
    begin: (cause) => {
      if (beganAt !== undefined) return;
      beganAt = now();
      rejected = 0;
      const message = "Requests that need the database get 503 until it is available";
      log("warn", "database unavailable", { message, cause: toCause(cause) });
    },
    end: () => {
      if (beganAt === undefined) return;
      log("warn", "database available", { ms: Math.round(now() - beganAt), rejected });
      beganAt = undefined;
    },
    isUnderWay: () => beganAt !== undefined,
    record: ({ code }) => {
      if (beganAt !== undefined && code === "unavailable") rejected++;
    },
  };
}
