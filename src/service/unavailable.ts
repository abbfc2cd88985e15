/** Turns a failed connection to the database into a result with a remedy. @module */

import { type Condition, findCondition } from "../db/mod.ts";
import { type Log, type ResponseRecord, toCause } from "../observe.ts";
import { Problem } from "../problem.ts";
import { errorCode } from "../std/network.ts";
import { type CheckResult, fail } from "./check_result.ts";

/** The settings that hold a connection string of the service. */
export type DatabaseVariable =
  | "DATABASE_URL"
  | "ADMIN_DATABASE_URL"
  | "CONSOLE_DATABASE_URL"
  | "IDENTITY_DATABASE_URL";

type ConnectFailure = { message: string; remedy: (variable: DatabaseVariable) => string };

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
  const known = UNCHECKED[code ?? ""];
  if (known !== undefined) return { message: known.message, remedy: known.remedy(variable) };
  const again = `check that the database of ${variable} responds, and run rowhouse doctor again`;
  const condition = findCondition(error);
  if (condition === undefined) return { message, remedy: again };
  const { is, sqlState, remedy } = condition;
  return { message: `the database ${is} (${sqlState})`, remedy: remedy?.(variable) ?? again };
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
    const { message, remedy } = toConnectFailure(error) ?? UNCHECKED[code ?? ""] ?? toSilence(code);
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

function toConnectFailure(error: unknown): ConnectFailure | undefined {
  const found = findCondition(error);
  if (found === undefined) return undefined;
  const { is, sqlState, remedy = () => "wait, and check PostgreSQL's log" } = found;
  return { message: `${is} (${sqlState})`, remedy };
}

function toSilence(code: string | undefined): ConnectFailure {
  return {
    message: `does not respond${code === undefined ? "" : ` (${code})`}`,
    remedy: (variable) => `start it, or correct ${variable}`,
  };
}

// Logs a database outage once when it begins and once when it ends, with its duration and the
// number of failed requests. A condition that only an operator ends, such as a full disk, is logged once a minute while requests
// fail because of it. Each failed request also has its own log line, without a stack.

type Outage = {
  /** Call when no connection can be opened; `cause` is the error of the first attempt. */
  readonly begin: (cause: unknown) => void;
  /** Call when the database refuses another connection while some are open. */
  readonly refuse: (cause: unknown) => void;
  /** Call when a connection opens. */
  readonly end: () => void;
  readonly isUnderWay: () => boolean;
  /** Counts a response during the outage, and logs a condition of the database that it failed by. */
  readonly record: (response: ResponseRecord) => void;
};

const CONDITION_INTERVAL_MS = 60_000;

/** `now` is a monotonic clock. */
export function makeOutage({ log, now }: { log: Log; now: () => number }): Outage {
  let beganAt: number | undefined;
  let rejected = 0;
  const loggedAt = new Map<string, number>();
  const logCondition = (cause: unknown): void => {
    const found = findCondition(cause);
    if (found?.remedy === undefined) return;
    const last = loggedAt.get(found.sqlState);
    if (last !== undefined && now() - last < CONDITION_INTERVAL_MS) return;
    loggedAt.set(found.sqlState, now());
    log("error", "database condition", { message: toText(found), cause: found.sqlState });
  };
  return {
    begin: (cause) => {
      if (beganAt !== undefined) return;
      beganAt = now();
      rejected = 0;
      const condition = findCondition(cause);
      const message = `${condition === undefined ? "" : `${toText(condition)}. `}Requests that need the database get 503 until it is available`;
      log("warn", "database unavailable", { message, cause: toCause(cause) });
    },
    refuse: logCondition,
    end: () => {
      if (beganAt === undefined) return;
      log("warn", "database available", { ms: Math.round(now() - beganAt), rejected });
      beganAt = undefined;
    },
    isUnderWay: () => beganAt !== undefined,
    record: ({ code, cause }) => {
      if (code !== "unavailable") return;
      if (beganAt === undefined) logCondition({ code: cause });
      else rejected++;
    },
  };
}

/** The condition and its remedy; the log does not know which login it was. */
function toText({ is, remedy }: Condition): string {
  const advice = remedy?.("the connection string");
  return `The database ${is}${advice === undefined ? "" : `: ${advice}`}`;
}
