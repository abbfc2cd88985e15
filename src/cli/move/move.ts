/**
 * Moves the rows of a database of another baseline to a new database in the same cluster: for `admin move-database`, and for
 * the embedded database of `dev`. The old database is only read. The new one is marked until every row is compared.
 *
 * @module
 */

import {
  checkTarget,
  clearTarget,
  copyRows,
  createTarget,
  type Database,
  dropTarget,
  findTarget,
  finishTarget,
  isMoving,
  listSessions,
  MOVING,
  type MovedDatabases,
  migrate,
  moveServiceRows,
  openTarget,
  planServiceRows,
  readDialect,
  readPreviews,
  readSourceState,
  ViolationError,
} from "../../db/mod.ts";
import type { Config } from "../../settings/mod.ts";
import { showCount } from "../../std/count.ts";
import { PROCESS_SILENT_S } from "../../std/limits.ts";
import { quote } from "../../std/quote.ts";
import {
  createAppTables,
  finishAppTables,
  planAppTables,
  readDrift,
  toCopyings,
} from "../../tables/mod.ts";
import { RejectedError } from "../command.ts";
import { checkIsolation, unlessStopped, withDatabase, withPushDatabase } from "../database.ts";
import { setUpDatabase } from "../migrate.ts";
import type { Address } from "../settings.ts";
import {
  type Connections,
  compareRows,
  countRows,
  makeProgress,
  type Plan,
  type TableCount,
} from "./rows.ts";

export type Moving = {
  /** The old database, as its administrator. */
  address: Address;
  config: Config;
  /** The name of the new database. */
  name: string;
  /** Only plans and counts: no database of the name is created or changed. */
  isDryRun?: boolean;
  /** Whether all processes certainly ended, whatever the old database recorded. */
  isUnused?: boolean;
  /** Whether other sessions may use the old database. */
  allowsSessions?: boolean;
  report: (line: string) => void;
};

export type Moved = {
  from: string;
  tables: TableCount[];
  /** What is not moved, and why: rows of single tables, and objects that no push created. */
  leftBehind: readonly string[];
};

/** @throws {RejectedError} the database cannot be moved: it is unchanged, and the new one is not served */
export async function moveDatabase(moving: Moving): Promise<Moved> {
  const { address, config, name, isDryRun = false } = moving;
  return await withDatabase(address, config, async (source) => {
    const from = await checkSource(source, moving);
    const { exists, issue } = await findTarget(source, name);
    rejectTarget(name, issue);
    return { from, ...(await (isDryRun ? planMove : move)(moving, { source, from, exists })) };
  });
}

type Found = {
  source: Database;
  from: string;
  /** Whether the new database exists. */
  exists: boolean;
};

async function move(moving: Moving, { source, from, exists }: Found): Promise<Omit<Moved, "from">> {
  const { config, name } = moving;
  if (!exists) rejectTarget(name, await createTarget(source, name));
  const { issues, ...moved } = await withDatabase(toTarget(moving), config, async (target) => {
    rejectTarget(name, await openTarget(target, { name, isCreated: !exists }));
    await migrate(target, { isMoving: true });
    const { issues, ...plan } = await makePlan({ source, target });
    const leftBehind = listLeftBehind(plan);
    if (issues.length > 0) {
      await clearTarget(target);
      return { issues, leftBehind, tables: [] };
    }
    const tables = await withConnections(moving, { source, target }, (connections) =>
      moveRows(connections, plan, moving),
    );
    return { issues, leftBehind, tables };
  });
  if (issues.length > 0 && !exists) await dropTarget(source, name);
  reject(from, issues);
  return moved;
}

/** Compares the old database with a temporary one that has only this release's tables. */
async function planMove(
  moving: Moving,
  { source, from, exists }: Found,
): Promise<Omit<Moved, "from">> {
  const { address, config, name } = moving;
  if (exists)
    await withDatabase(toTarget(moving), config, async (target) =>
      rejectTarget(name, await checkTarget(target, { name, isCreated: false })),
    );
  const temporary = `rowhouse_dry_run_${crypto.randomUUID().replaceAll("-", "").slice(16)}`;
  const { issues, ...plan } = await unlessStopped(async (run) => {
    try {
      rejectTarget(temporary, await createTarget(source, temporary));
      return await run(() =>
        withDatabase(toTarget({ address, name: temporary }), config, async (target) => {
          rejectTarget(temporary, await openTarget(target, { name: temporary, isCreated: true }));
          await migrate(target, { isMoving: true });
          return await makePlan({ source, target });
        }),
      );
    } finally {
      await dropTarget(source, temporary);
    }
  });
  reject(from, issues);
  const tables = await withPushDatabase({ admin: source, address, config }, (reading) => {
    const service = { source, target: source };
    return countRows({ service, apps: { source: reading, target: reading } }, plan);
  });
  return { leftBehind: listLeftBehind(plan), tables };
}

function listLeftBehind({ service, apps }: Plan): string[] {
  return [...service.leftBehind, ...apps.leftBehind];
}

function rejectTarget(name: string, issue: string | undefined): void {
  if (issue !== undefined) throw new RejectedError(`The database ${quote(name)} ${issue}`);
}

/** The new database, as the same administrator. */
export function toTarget({ address, name }: Pick<Moving, "address" | "name">): Address {
  const url = new URL(address.url);
  url.pathname = `/${encodeURIComponent(name)}`;
  return { ...address, url: url.href };
}

/** Returns the name of the old database. */
async function checkSource(
  source: Database,
  { name, isUnused = false, allowsSessions = isUnused }: Moving,
): Promise<string> {
  const { name: from, isRowhouse, processes } = await readSourceState(source);
  if (!isRowhouse)
    throw new RejectedError(`The database ${quote(from)} does not have Rowhouse's tables`);
  if (from === name)
    throw new RejectedError(`The rows are already in the database ${quote(name)}: name a new one`);
  if (await isMoving(source))
    throw new RejectedError(`The database ${quote(from)} ${MOVING.message}: ${MOVING.remedy}`);
  if ((await readDialect(source)).hasNodes)
    throw new RejectedError(
      `The database ${quote(from)} has several nodes, and only a plain database can be moved: restore a dump of it as a plain one first (docs/scaling.md)`,
    );
  if (processes > 0 && !isUnused)
    throw new RejectedError(
      `${showCount(processes, "process", "processes")} used the database ${quote(from)} a moment ago, and what they write now would not move: stop them, and wait ${PROCESS_SILENT_S / 60} minutes if they were killed`,
    );
  const sessions = allowsSessions ? [] : await listSessions(source, from);
  if (sessions.length > 0)
    throw new RejectedError(
      `Other sessions use the database ${quote(from)}, and what they write now would not move: ${sessions.join(", ")}. End them, or add --allow-sessions if they only read`,
    );
  return from;
}

async function makePlan(databases: MovedDatabases): Promise<Plan & { issues: string[] }> {
  const service = await planServiceRows(databases);
  const apps = await planAppTables(databases.source);
  return { service, apps, issues: [...service.issues, ...apps.issues] };
}

function reject(from: string, issues: readonly string[]): void {
  if (issues.length === 0) return;
  const lines = issues.map((issue) => `  ${issue}`);
  throw new RejectedError(
    `Cannot move the database ${quote(from)}, because this release has no place for some of its values. Nothing was moved:\n${lines.join("\n")}`,
  );
}

async function moveRows(
  { service, apps }: Connections,
  plan: Plan,
  { address, config, name, report }: Moving,
): Promise<TableCount[]> {
  for (const line of plan.apps.leftBehind) report(`Not moved: ${line}`);
  const onRows = makeProgress(report);
  const previews = await readPreviews(service.source);
  await moveServiceRows(service, plan.service, onRows).catch(explainRow);
  report("Moved the apps, keys, people, sessions and migrations");
  await createAppTables(apps.target, plan.apps);
  for (const copying of toCopyings(plan.apps))
    await copyRows(apps, copying, (count) => onRows(copying, count)).catch(explainRow);
  report("Moved the rows of all tables; building their indexes");
  await finishAppTables(apps.target, plan.apps).catch(explainRow);
  const counts = await compareRows({ service, apps }, plan);
  report("Compared every row with the old database");
  const administering = toTarget({ address, name }).url;
  const serving = { ...config, ADMIN_DATABASE_URL: administering, PREVIEW: previews };
  await setUpDatabase(service.target, serving, { print: report, isMoving: true });
  await checkIsolation(service.target);
  const [drift] = await readDrift(service.target);
  if (drift !== undefined)
    throw new Error(`${drift.thing}: wanted ${drift.wanted}, found ${drift.found}`);
  await finishTarget(service, name);
  return counts;
}

/** @throws {RejectedError} a row of the old database violates a rule of this release */
function explainRow(error: unknown): never {
  if (!(error instanceof ViolationError)) throw error;
  const { kind, constraint } = error.violation;
  throw new RejectedError(
    `A row of the old database violates a rule of this release (${kind}${constraint === undefined ? "" : `, ${constraint}`}). The new database is incomplete and is not served; the old one is unchanged`,
  );
}

/** Runs a task with logins for apps' rows: code in the schemas `data` and `api` of the old database has only their rights. */
async function withConnections<Result>(
  moving: Moving,
  { source, target }: MovedDatabases,
  task: (connections: Connections) => Promise<Result>,
): Promise<Result> {
  const { address, config } = moving;
  const next = toTarget(moving);
  return await withPushDatabase({ admin: source, address, config }, (reading) =>
    withPushDatabase({ admin: target, address: next, config }, (writing) =>
      task({ service: { source, target }, apps: { source: reading, target: writing } }),
    ),
  );
}
