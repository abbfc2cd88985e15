/**
 * The guard: checks continuously that the database still isolates apps. If it does not, the service rejects apps'
 * requests until it does. Never repairs the database.
 *
 * @module
 */

import { coalesce, type Database, holdNewNodes, type NodeMap } from "../db/mod.ts";
import { type Log, logError } from "../observe.ts";
import { isOutage, Problem } from "../problem.ts";
import { type Isolation, listIssues, makeIsolationCheck } from "../tables/catalog/mod.ts";
import { type CheckBodies, digestRelease } from "../tables/mod.ts";

export type Guard = {
  /** Checks the whole database now. If the check itself fails, it rejects, and the last verdict keeps aging. */
  readonly read: () => Promise<Isolation>;
  /**
   * Uses the last verdict; checks the database first if there is no verdict, or it is too old.
   *
   * @throws {Problem} unavailable — the database does not isolate apps, or the check failed
   */
  readonly check: () => Promise<void>;
  /**
   * Checks the node with this app's rows. Call it after `check`.
   *
   * @throws {Problem} unavailable — the node does not isolate apps
   */
  readonly checkApp: (appId: string) => void;
  /** The last verdict; `undefined` before the first check. */
  readonly evaluate: () => Evaluation | undefined;
  readonly stop: () => void;
};

export type Evaluation = { issues: readonly string[]; ageMs: number };

export const CHECK_INTERVAL_MS = 10_000;
/** One process checks for all, once a minute and after pushes; the others read its result. */
const READS_PER_CHECK = 6;
/** How long a verdict is valid. */
export const MAX_AGE_MS = 120_000;

/** `now` is a monotonic clock. */
type GuardDeps = {
  db: Database;
  /** Updated with the state of the nodes of a database with several. */
  nodes?: NodeMap;
  /** Compares apps' functions with those that this release generates; `undefined` if the process serves no rows. */
  checkBodies?: CheckBodies | undefined;
  log: Log;
  now: () => number;
  /** Defaults to {@linkcode CHECK_INTERVAL_MS}. */
  checkIntervalMs?: number | undefined;
  /** How old the first verdict can be; defaults to 0. */
  startAgeMs?: number | undefined;
};

/** A guard that checks on demand, and reads the shared result every ten seconds. */
export function makeGuard(deps: GuardDeps): Guard {
  const { db, nodes, checkBodies, log, now } = deps;
  const { checkIntervalMs = CHECK_INTERVAL_MS, startAgeMs = 0 } = deps;
  let isolation: Isolation | undefined;
  let foundAt = Number.NEGATIVE_INFINITY;
  const findIsolation = makeIsolationCheck(db, nodes);
  let lastRelease: string | null | undefined;
  const findBodyIssues = async ({ bodies, release }: Isolation): Promise<readonly string[]> => {
    if (checkBodies === undefined) return [];
    const isNew = release !== lastRelease;
    lastRelease = release;
    if (release === digestRelease()) return await checkBodies(bodies);
    if (isNew)
      log("warn", release === null ? "functions of no release" : "functions of another release", {
        message:
          release ?? "rowhouse migrate has not finished: if it was interrupted, run it again",
      });
    return [];
  };
  const checkWithin = async (maxAgeMs: number) => {
    const startedAt = now();
    const checked = await findIsolation({ maxAgeMs });
    const found = { ...checked, issues: [...checked.issues, ...(await findBodyIssues(checked))] };
    logChanges(log, isolation, found);
    isolation = found;
    foundAt = startedAt - found.ageMs;
    if (found.added.length > 0)
      await holdNewNodes(db).catch(logError(log, "keeping rows from a new node"));
    return found;
  };
  const read = coalesce(() => checkWithin(isolation === undefined ? startAgeMs : 0));
  const checkShared = coalesce(() => checkWithin(READS_PER_CHECK * checkIntervalMs));
  const timer = setInterval(() => {
    checkShared().catch(logError(log, "the check of the isolation"));
  }, checkIntervalMs);
  timer.unref();
  return {
    read,
    check: async () => {
      const isOld = now() - foundAt > MAX_AGE_MS;
      const known =
        isolation === undefined || isOld ? await read().catch(rejectUnknown) : isolation;
      if (known.issues.length > 0) throw stopped(undefined);
    },
    checkApp: (appId) => {
      const broken = Object.keys(isolation?.ofNodes ?? {});
      if (broken.length === 0) return;
      const node = nodes?.find(appId);
      if (node === undefined || broken.includes(node)) throw stopped(undefined);
    },
    evaluate: () =>
      isolation === undefined
        ? undefined
        : { issues: listIssues(isolation), ageMs: now() - foundAt },
    stop: () => clearInterval(timer),
  };
}

function logChanges(log: Log, before: Isolation | undefined, found: Isolation): void {
  const [issues, earlier] = [listIssues(found), before && listIssues(before)];
  const silent = before?.silent ?? [];
  for (const node of found.added)
    if (before?.added.includes(node) !== true)
      log("warn", "node not set up", { message: `${node}: run rowhouse migrate` });
  for (const node of found.silent)
    if (!silent.includes(node)) log("warn", "node unreachable", { message: node });
  for (const node of silent)
    if (!found.silent.includes(node)) log("info", "node responds again", { message: node });
  for (const issue of issues)
    if (earlier?.includes(issue) !== true) log("error", "isolation broken", { message: issue });
  if (issues.length === 0 && earlier !== undefined && earlier.length > 0)
    log("info", "isolation holds again");
}

/** An outage is reported as an outage; after any other failed check the database is not trusted. */
function rejectUnknown(error: unknown): never {
  throw isOutage(error) ? error : stopped(error);
}

function stopped(cause: unknown): Problem {
  return new Problem("unavailable", {
    message: "The service has stopped serving: the operator must check the log",
    retryAfterS: 60,
    cause,
  });
}
