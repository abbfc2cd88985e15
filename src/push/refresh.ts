/**
 * Renews the functions of existing tables where this release generates them differently from the one that created them.
 * Touches no rows, no tables and no records; works on one table at a time, under the locks of a push.
 *
 * @module
 */
import {
  type ColumnSet,
  ENDPOINTS,
  type Endpoint,
  functionName,
  printedArguments,
} from "../catalog/mod.ts";
import { call, type Database, quoteLiteral } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import { renderDistributedFunctions } from "./distributed.ts";
import { renderBody, renderFunctions } from "./functions.ts";
import { renderLockTable } from "./message.ts";
import { MESSAGE_SETTINGS, MESSAGE_TIMEOUT_MS } from "./message_settings.ts";
import { readMessageResult } from "./refusals.ts";
import { digestOf } from "./release.ts";

/** A recorded table with functions that are not from this release. */
export type OutdatedTable = {
  name: string;
  /** The sets of columns that apps are or were served. */
  sets: ColumnSet[];
  /** The highest version recorded for it: its functions are renewed only if this is still true. */
  stamp: number;
  isDistributed: boolean;
};

type Recorded = {
  isDistributed: boolean;
  tables: Omit<OutdatedTable, "isDistributed">[];
  functions: RecordedFunction[];
};

type RecordedFunction = { name: string; arguments: string; digest: string };

/** How long to retry a table that others are pushing. */
const PATIENCE_MS = 60_000;
const TRY_AGAIN_MS = 100;

/**
 * Renews the functions of every outdated table; returns the tables' names. Idempotent, even if several processes do it at
 * once or apps push meanwhile: what another one created in between is left as it is.
 *
 * @throws {Problem} push_busy — pushes hold a table for longer than a minute
 */
export async function refreshFunctions(
  admin: Database,
  tell: (done: { name: string; index: number; count: number }) => void = () => undefined,
): Promise<string[]> {
  const outdated = await findOutdatedTables(admin);
  const refreshed: string[] = [];
  for (const [index, { name }] of outdated.entries()) {
    if (!(await refreshTable(admin, name))) continue;
    refreshed.push(name);
    tell({ name, index: index + 1, count: outdated.length });
  }
  return refreshed;
}

/** Whether this call renewed the functions. */
async function refreshTable(admin: Database, name: string): Promise<boolean> {
  for (const startedAt = performance.now(); performance.now() - startedAt < PATIENCE_MS; ) {
    const [table] = await findOutdatedTables(admin, name);
    if (table === undefined) return false;
    try {
      await admin.message(renderRefresh(table), { timeoutMs: MESSAGE_TIMEOUT_MS });
      return true;
    } catch (error) {
      readMessageResult(error);
    }
    await Bun.sleep(TRY_AGAIN_MS * (0.5 + Math.random()));
  }
  throw new Problem("push_busy", {
    message: `Cannot renew the functions of table ${name}: pushes keep it locked; run rowhouse migrate again`,
    retryAfterS: 1,
  });
}

function renderRefresh({ name, sets, stamp, isDistributed }: OutdatedTable): string {
  const render = isDistributed
    ? renderDistributedFunctions
    : (set: ColumnSet) => renderFunctions(set, { isDistributed });
  return [
    renderLockTable(name, stamp),
    ...MESSAGE_SETTINGS,
    ...sets.flatMap(render),
    `select ${quoteLiteral(name)} as name`,
  ].join(";\n");
}

/** The tables whose functions are not from this release; of one name, or of all. */
export async function findOutdatedTables(
  db: Database,
  name: string | null = null,
): Promise<OutdatedTable[]> {
  const values = { wanted: name, endpoints: ENDPOINTS };
  const recorded = (await call(db, "read_generated", values)) as Recorded;
  const { tables, functions, isDistributed } = recorded;
  const digests = new Map(functions.map((one) => [`${one.name}(${one.arguments})`, one.digest]));
  const isOutdated = (set: ColumnSet, endpoint: Endpoint) =>
    digests.get(`${functionName(set, endpoint)}(${printedArguments(endpoint)})`) !==
    digestOf(renderBody(set, endpoint, { isDistributed }));
  return tables
    .filter(({ sets }) =>
      sets.some((set) => ENDPOINTS.some((endpoint) => isOutdated(set, endpoint))),
    )
    .map((table) => ({ ...table, isDistributed }));
}

/** The tables that this release cannot serve: a function that it would call is missing, or takes other arguments. */
export async function findUncallableTables(db: Database): Promise<string[]> {
  const wanted = ENDPOINTS.map((endpoint) => ({ endpoint, arguments: printedArguments(endpoint) }));
  return await call(db, "find_uncallable_tables", { wanted });
}
