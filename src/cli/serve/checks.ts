/** Checks before a process serves: errors prevent the start, warnings are logged. @module */

import { type Database, isDriverPatched } from "../../db/mod.ts";
import type { Log } from "../../observe.ts";
import { servesPeople, servesRows } from "../../role.ts";
import {
  type CheckResult,
  checkCookieDomain,
  checkLogins,
  checkPooler,
  evaluateDriver,
  evaluateProxies,
  evaluateRemoved,
  type Service,
} from "../../service/mod.ts";
import { type Config, type Environment, findRemoved } from "../../settings/mod.ts";
import { showCount } from "../../std/count.ts";
import { findUncallableTables } from "../../tables/mod.ts";
import { RejectedError } from "../command.ts";
import { checkMigrated, checkVersion, isUnavailable } from "../database.ts";
import type { ServeConfig } from "../settings.ts";

/** How often to retry a database that was unavailable at the start. */
const CHECK_INTERVAL_MS = 500;

/** Called once, by the process that the operator started. */
export function warnOfSettings(
  env: Environment,
  { config: { TRUSTED_PROXIES }, log }: { config: Config; log: Log },
): void {
  warn("setting without effect", evaluateRemoved(findRemoved(env)), log);
  warn("driver not patched", [evaluateDriver(isDriverPatched())], log);
  warn("every address is a trusted proxy", evaluateProxies(TRUSTED_PROXIES), log);
}

/** Checks the pushing login only in processes that push. */
export async function warnOfLogins(
  { db, admin }: Service,
  { config: { ROLE, ADMIN_DATABASE_URL }, log }: { config: Config; log: Log },
): Promise<void> {
  const variable = ADMIN_DATABASE_URL === undefined ? "DATABASE_URL" : "ADMIN_DATABASE_URL";
  const results = await checkLogins(db, servesRows(ROLE) ? { admin, variable } : undefined);
  const failed = results.filter(({ level }) => level === "fail");
  warn("login cannot push", failed, log);
  warn(
    "login with too many rights",
    results.filter((result) => !failed.includes(result)),
    log,
  );
}

/** The pushing login is not required at the start: if it cannot connect, that is only a warning. */
async function checkPoolers(config: ServeConfig): Promise<CheckResult[]> {
  const { DATABASE_URL, ADMIN_DATABASE_URL, DATABASE_PREPARE: prepare, ROLE } = config;
  const serving = await checkPooler({ url: DATABASE_URL, prepare, variable: "DATABASE_URL" });
  if (ADMIN_DATABASE_URL === undefined || !servesRows(ROLE)) return [serving];
  const pushing = { url: ADMIN_DATABASE_URL, prepare, variable: "ADMIN_DATABASE_URL" } as const;
  return [
    serving,
    ...(await checkPooler(pushing).then(
      (check) => [check],
      () => [],
    )),
  ];
}

/** Whether the database is available. @throws {RejectedError} it is available, but cannot be served */
export async function checkService(service: Service, config: ServeConfig): Promise<boolean> {
  const { ROLE, COOKIE_DOMAIN } = config;
  try {
    reject(await checkPoolers(config));
    await checkVersion(service.db);
    await checkMigrated(service.db);
    if (servesRows(ROLE)) await checkFunctions(service.db);
    if (servesPeople(ROLE)) reject(await checkCookieDomain(service.db, COOKIE_DOMAIN));
    await service.warm();
    return true;
  } catch (error) {
    if (isUnavailable(error)) return false;
    throw error;
  }
}

/** @throws {RejectedError} tables have functions of an incompatible release */
async function checkFunctions(database: Database): Promise<void> {
  const tables = await findUncallableTables(database);
  if (tables.length === 0) return;
  throw new RejectedError(
    `The functions of ${showCount(tables.length, "table")} are from another release: run rowhouse migrate first`,
  );
}

/** Waits until the database is available. Until then, requests get a 503 response. */
export async function waitForDatabase(
  service: Service,
  config: ServeConfig,
  stopped: Promise<void>,
): Promise<void> {
  let isStopping = false;
  void stopped.then(() => {
    isStopping = true;
  });
  while (!isStopping) {
    await Bun.sleep(CHECK_INTERVAL_MS);
    if (await checkService(service, config)) return;
  }
}

function warn(event: string, results: readonly CheckResult[], log: Log): void {
  for (const { about, level, message, remedy } of results)
    if (level !== "ok") log("warn", event, { message: `The ${about} ${message}: ${remedy}` });
}

/** @throws {RejectedError} lists all failed checks */
function reject(results: readonly CheckResult[]): void {
  const failed = results.filter(({ level }) => level === "fail");
  if (failed.length === 0) return;
  const lines = failed.map(({ about, message, remedy }) => `  ${about}: ${message}; ${remedy}`);
  throw new RejectedError(`Cannot serve this database\n${lines.join("\n")}`);
}
