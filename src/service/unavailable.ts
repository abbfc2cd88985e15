/** Turns a failed connection to the database into a result with a remedy. @module */
import { Problem } from "../problem.ts";
import { errorCode } from "../std/error_code.ts";
import { type CheckResult, fail } from "./check_result.ts";

/** The settings that hold a connection string of the service. */
export type DatabaseVariable =
  | "DATABASE_URL"
  | "ADMIN_DATABASE_URL"
  | "CONSOLE_DATABASE_URL"
  | "IDENTITY_DATABASE_URL";

type ConnectFailure = { says: string; remedy: (variable: DatabaseVariable) => string };

/** By SQLSTATE: PostgreSQL responded and rejected the login. */
const REJECTIONS: Readonly<Record<string, ConnectFailure>> = {
  "28P01": {
    says: "rejects the login's password (28P01)",
    remedy: (variable) => `correct the password in ${variable}`,
  },
  "28000": {
    says: "rejects the login (28000)",
    remedy: (variable) => `correct the login in ${variable}, and check pg_hba.conf`,
  },
  "3D000": {
    says: "does not exist (3D000)",
    remedy: (variable) => `create the database, or correct ${variable}`,
  },
  // PgBouncer uses one SQLSTATE for all rejections.
  "08P01": {
    says: "is behind a pooler that rejects the login (08P01)",
    remedy: (variable) =>
      `check the login, password and database in ${variable}, and in the pooler's configuration`,
  },
};

/** A failed result for a connection error, with the variable to check. */
export function toUnavailable(variable: DatabaseVariable): (error: unknown) => CheckResult {
  return (error) => {
    const code = errorCode(error instanceof Problem ? error.cause : error);
    const { says, remedy } = REJECTIONS[code ?? ""] ?? toSilence(code);
    return fail("database", { says, remedy: remedy(variable) });
  };
}

/** The failed result of a check of one login. */
export function toNoConnection(
  variable: DatabaseVariable,
  about: string,
): (error: unknown) => CheckResult {
  return (error) => {
    const { says, ...result } = toUnavailable(variable)(error);
    return { ...result, about, says: `cannot connect: the database ${says}` };
  };
}

function toSilence(code: string | undefined): ConnectFailure {
  return {
    says: `does not respond${code === undefined ? "" : ` (${code})`}`,
    remedy: (variable) => `start it, or correct ${variable}`,
  };
}
