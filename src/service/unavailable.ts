/** Turns a failed connection to the database into a result with a remedy. @module */

import { findCondition } from "../db/mod.ts";
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
