/** Checks the server, the database and the clock through a session of the serving login. @module */
import {
  type Database,
  findLoggingNodes,
  isSupportedVersion,
  MIN_POSTGRES_VERSION,
  quoteName,
  readValue,
} from "../../db/mod.ts";
import { type CheckResult, fail, pass, warn } from "../check_result.ts";
import { evaluateOpenFunctions } from "../logins/limits.ts";
import SESSION from "./session.sql" with { type: "text" };

export type Session = {
  version: number;
  login: string;
  database: string;
  /** Whether every login can create temporary tables in this database. */
  publicTemp: boolean;
  /** Whether the server logs parameter values: rows, and proofs of keys. */
  logsParameters: boolean;
  /** Whether the server logs the text of this login's failed statements. */
  logsFailures: boolean;
  /** Actions that built-in functions allow to every login. */
  openFunctions: ("locks" | "files")[];
  epochMs: number;
};

const MAX_SKEW_MS = 1000;

export async function readSession(db: Database): Promise<Session> {
  return await readValue<Session>(db, SESSION);
}

/** All checks of the session except the server's version. */
export function evaluateSession(session: Session, nowMs: number): CheckResult[] {
  return [
    evaluateTemp(session),
    evaluateOpenFunctions(session.openFunctions),
    evaluateParameterLog(session),
    evaluateFailureLog(session),
    evaluateClock(session, nowMs),
  ];
}

export function evaluateVersion({ version }: Session): CheckResult {
  const message = `PostgreSQL ${version}`;
  if (isSupportedVersion(version)) return pass("version", message);
  return fail("version", {
    message,
    remedy: `upgrade to ${MIN_POSTGRES_VERSION} or newer`,
  });
}

/** A function with an unsafe search path would find a hostile type in a temporary schema first. */
export function evaluateTemp({ publicTemp, database }: Session): CheckResult {
  const about = "temporary tables";
  if (!publicTemp) return pass(about, "restricted");
  return warn(about, {
    message:
      "every login can create temporary tables in this database, for example after a restore without --create",
    remedy: `revoke temporary on database ${quoteName(database)} from public`,
  });
}

/** PostgreSQL logs the parameters of slow statements unless it is configured not to. */
export function evaluateParameterLog({ logsParameters }: Session): CheckResult {
  const about = "parameters";
  if (!logsParameters) return pass(about, "are not logged by the database");
  return warn(about, {
    message: "of statements are logged by the database: values of rows, and proofs of keys",
    remedy: "set log_parameter_max_length = 0 and log_parameter_max_length_on_error = 0",
  });
}

/** A call that was sent on to another node has its values in the statement: a failed one contains a row and a proof. */
export function evaluateFailureLog({ logsFailures, login }: Session): CheckResult {
  const about = "failures";
  if (!logsFailures) return pass(about, "are logged by the database without statements");
  return warn(about, {
    message: `are logged by the database with the statements of ${login}`,
    remedy:
      "as a superuser, grant set on parameter log_min_error_statement to the administrator, then run rowhouse migrate",
  });
}

/** A warning for each node that logs statements; unavailable nodes are reported elsewhere. */
export async function checkNodeLogs(db: Database): Promise<CheckResult[]> {
  const nodes = await findLoggingNodes(db);
  return nodes.map((node) =>
    warn("nodes", {
      message: `${node} logs statements: values of rows, and proofs of keys`,
      remedy:
        "run rowhouse migrate as a superuser, and set log_statement = 'none' and log_min_duration_statement = -1 on the node",
    }),
  );
}

export function evaluateClock({ epochMs }: Session, nowMs: number): CheckResult {
  const skewMs = Math.round(Math.abs(epochMs - nowMs));
  const about = "clock";
  if (skewMs <= MAX_SKEW_MS) return pass(about, "agrees with the database's");
  return warn(about, {
    message: `differs from the database's by ${skewMs} ms`,
    remedy:
      "synchronize both machines with a time server: signatures and sessions depend on the clock",
  });
}
