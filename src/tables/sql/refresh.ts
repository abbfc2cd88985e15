/**
 * Renews the functions of existing tables that differ from this release's output.
 * Changes no rows, tables or records. Works on one table at a time, under the locks of a push.
 *
 * @module
 */

import {
  call,
  type Database,
  DIALECTS,
  type DialectName,
  dialectOf,
  LOCK_BUDGET_MS,
  quoteLiteral,
  readRows,
} from "../../db/mod.ts";
import { Problem } from "../../problem.ts";
import { makeGiveWay } from "../../std/give_way.ts";
import { canonicalJson } from "../../std/json.ts";
import {
  type ColumnSet,
  type FunctionSite,
  hashColumnSet,
  listViewSets,
  printedArguments,
  printedSignature,
  REQUIRED,
  SET_FUNCTIONS,
  serveSet,
  TABLE_LENGTH,
  type TableUse,
  type ViewSet,
} from "../catalog/mod.ts";
import { isExpired, planDrop, UNUSED_SET_LIFE_S } from "../plan/plan_sets.ts";
import { readMessageResult } from "../plan/rejections.ts";
import { MESSAGE_SETTINGS, MESSAGE_TIMEOUT_MS } from "../plan/retype_messages.ts";
import type { SetUse } from "../state.ts";
import { findForeign, type Generate, makeGenerate } from "./foreign_functions.ts";
import {
  findUnserved,
  renderDropFunctions,
  renderDropUnserved,
  renderFunctions,
} from "./functions/functions.ts";
import { type IndexedTable, isOutdated, listIndexStates, readIndexes } from "./index_forms.ts";
import { renderForgetSets, renderLockTable, toRecordedView } from "./message.ts";
import {
  findUnverified,
  forgetFormerDigests,
  hasRecord,
  readChangedBodies,
  readStoredTables,
  recordVerified,
  rereadTables,
  type StoredTable,
  type StoredTables,
  toSlices,
} from "./verified_tables.ts";

type OutdatedTable = StoredTable & {
  /** The views of apps as of their rules. */
  viewSets: readonly ViewSet[];
  site: FunctionSite;
};

/** How long to retry a table that other pushes hold. */
const PATIENCE_MS = 60_000;
const TRY_AGAIN_MS = 100;

/** `index` of `count` tables that were not verified before. Without a name: so many are compared. */
type Report = (done: { name?: string; index: number; count: number }) => void;

/**
 * Renews the functions of every outdated table, and returns the tables' names. Idempotent, even if several processes run it
 * concurrently or apps push: leaves functions that others have created since. Records what it has compared after each slice of
 * tables, so that a run after one that was ended goes on there.
 *
 * @throws {Problem} push_busy — pushes hold a table for longer than a minute
 */
export async function refreshFunctions(
  admin: Database,
  report: Report = () => undefined,
): Promise<string[]> {
  // First for all: a new function of one table sets what the listeners of others hear when it cascades.
  await fitListeners(admin);
  await readChangedBodies(admin);
  const { tables, hasOthers } = await findUnverified(admin);
  const names = tables.map(({ name }) => name);
  const refreshed: string[] = [];
  let done = 0;
  for (const slice of toSlices(names)) {
    const { outdated, verified } = await compareTables(await readStoredTables(admin, slice));
    for (const { name } of outdated) {
      if (!(await refreshTable(admin, name))) continue;
      refreshed.push(name);
      report({ name, index: names.indexOf(name) + 1, count: names.length });
    }
    const renewed = outdated.map(({ name }) => name);
    const again = await compareTables(await readStoredTables(admin, renewed));
    await recordVerified(admin, [...verified, ...again.verified]);
    done += slice.length;
    if (slice.length < names.length) report({ index: done, count: names.length });
  }
  // A process that starts next does not read them.
  if (refreshed.length > 0) await readChangedBodies(admin);
  if (tables.length > 0 || hasOthers) await forgetFormerDigests(admin);
  return refreshed;
}

/** Drops functions of an earlier release that someone changed or created: no release can renew them. Returns their signatures. */
export async function dropChangedFormer(admin: Database): Promise<string[]> {
  return await call(admin, "drop_changed_former", {});
}

/** Gives all tables the listeners that their apps need, and removes others where no request holds the table. */
async function fitListeners(admin: Database): Promise<void> {
  const { unheard, names } = await call(admin, "read_listeners", {});
  for (const name of unheard)
    await whileHeld(name, "record the changes", async () => {
      const values = { names: [name], budget_ms: LOCK_BUDGET_MS };
      await call(admin, "fit_listeners", values);
      return true;
    });
  await call(admin, "drop_listeners", { names });
}

/** Whether this call renewed the functions. */
async function refreshTable(admin: Database, name: string): Promise<boolean> {
  return await whileHeld(name, "renew the functions", async () => {
    const { outdated } = await compareTables(await readStoredTables(admin, [name]));
    const [table] = outdated;
    if (table === undefined) return false;
    await admin.message(renderRefresh(table), { timeoutMs: MESSAGE_TIMEOUT_MS });
    return true;
  });
}

/** Tries again while pushes hold the table. @throws {Problem} push_busy — for longer than a minute */
export async function whileHeld(
  name: string,
  task: string,
  attempt: () => Promise<boolean>,
): Promise<boolean> {
  for (const startedAt = performance.now(); performance.now() - startedAt < PATIENCE_MS; ) {
    try {
      return await attempt();
    } catch (error) {
      readMessageResult(error);
    }
    await Bun.sleep(TRY_AGAIN_MS * (0.5 + Math.random()));
  }
  throw new Problem("push_busy", {
    message: `Cannot ${task} of table ${name}: pushes keep it locked; run rowhouse migrate again`,
    retryAfterS: 1,
  });
}

function renderRefresh(table: OutdatedTable): string {
  const { name, definition, sets, viewSets, stamp, site } = table;
  const { toStatement } = dialectOf(site);
  const render = (set: ColumnSet) => {
    const drops = renderDropUnserved(set, site).map(toStatement);
    return [...renderFunctions(serveSet(set, definition), site), ...drops];
  };
  const formerDrops = findFormer(table).flatMap(({ hash }) =>
    renderDropFunctions({ table: name, hash }).map(toStatement),
  );
  return [
    renderLockTable(name, stamp),
    ...MESSAGE_SETTINGS,
    ...[...sets, ...viewSets].flatMap(render),
    ...formerDrops,
    ...(areRecorded(table) ? [] : [renderRenewViews(table)]),
    `select ${quoteLiteral(name)} as name`,
  ].join(";\n");
}

/** The recorded views that no app has any more. */
function findFormer({ views, viewSets }: Pick<OutdatedTable, "views" | "viewSets">) {
  const wanted = new Set(viewSets.map(hashColumnSet));
  return views.filter(({ hash }) => !wanted.has(hash));
}

function areRecorded(table: Pick<OutdatedTable, "views" | "viewSets">): boolean {
  const recorded = new Set(table.views.map(({ hash }) => hash));
  return (
    findFormer(table).length === 0 &&
    table.viewSets.every((set) => recorded.has(hashColumnSet(set)))
  );
}

function renderRenewViews({ name, viewSets }: OutdatedTable): string {
  const views = viewSets.map((set) => ({ appId: set.view.app, ...toRecordedView(name, set) }));
  const values = [name, canonicalJson(views)].map(quoteLiteral).join(", ");
  return `select rowhouse.renew_views(${values})`;
}

/** The names of tables with functions of another release. `isReread`: reads each body, also if the version of its row says that it has not changed. */
export async function findOutdatedTables(db: Database, isReread = false): Promise<string[]> {
  const outdated: string[] = [];
  const compare = async (stored: StoredTables) => {
    const compared = await compareTables(stored);
    outdated.push(...compared.outdated.map(({ name }) => name));
  };
  if (!(await hasRecord(db))) {
    await compare(await readAllTables(db));
    return outdated;
  }
  const names = isReread
    ? await rereadTables(db)
    : (await findUnverified(db)).tables.map(({ name }) => name);
  for (const slice of toSlices(names)) await compare(await readStoredTables(db, slice, isReread));
  return outdated;
}

/** All tables of a database, also of one that an earlier release migrated: its function has no views and uses. */
async function readAllTables(db: Database): Promise<StoredTables> {
  type Stored = Omit<StoredTable, "views" | "functions"> & Partial<Pick<StoredTable, "views">>;
  const { tables, functions, uses, ...site } = (await call(db, "read_generated", {
    ...{ wanted: null, endpoints: SET_FUNCTIONS },
  })) as FunctionSite & {
    tables: Stored[];
    functions: { name: string; arguments: string; digest: string }[];
    uses?: TableUse[];
  };
  const bySet = Map.groupBy(functions, ({ name }) => name.slice(0, name.lastIndexOf("__") + 18));
  return {
    ...site,
    uses: uses ?? [],
    tables: tables.map(({ views = [], ...table }) => ({
      ...{ ...table, views },
      functions: [...table.sets.map(hashColumnSet), ...views.map(({ hash }) => hash)]
        .flatMap((hash) => bySet.get(`${table.name.slice(0, TABLE_LENGTH)}__${hash}`) ?? [])
        .map((found) => ({ signature: `${found.name}(${found.arguments})`, digest: found.digest })),
    })),
  };
}

type Compared = {
  outdated: OutdatedTable[];
  /** The digests of tables whose functions are this release's output. */
  verified: string[];
};

async function compareTables(stored: StoredTables): Promise<Compared> {
  const { tables, uses, ...site } = stored;
  const giveWay = makeGiveWay();
  const generate = makeGenerate(site, giveWay);
  const wanted = listViewSets(uses);
  const outdated: OutdatedTable[] = [];
  const current: StoredTable[] = [];
  for (const table of tables) {
    const served = { ...table, viewSets: wanted.get(table.name) ?? [], site };
    if (await isOutdatedTable(served, generate)) outdated.push(served);
    else current.push(table);
  }
  const foreign = await findForeign({ ...stored, tables: current }, generate, giveWay);
  const verified = current
    .filter(({ name }) => foreign.get(name)?.length === 0)
    .flatMap(({ digest }) => digest ?? []);
  return { outdated, verified };
}

async function isOutdatedTable(table: OutdatedTable, generate: Generate): Promise<boolean> {
  const { definition, sets, viewSets, functions, site } = table;
  if (!areRecorded(table)) return true;
  if (functions.some(({ signature }) => signature.startsWith("find."))) return true;
  const found = new Map(functions.map(({ signature, digest }) => [signature, digest]));
  for (const set of [...sets, ...viewSets]) {
    const generated = await generate(serveSet(set, definition));
    if ([...generated].some(([signature, digest]) => found.get(signature) !== digest)) return true;
    if (findUnserved(set, site).some((name) => found.has(printedSignature(set, name)))) return true;
  }
  return false;
}

/** The tables that this release cannot serve: a function is missing or has other arguments. */
export async function findUncallableTables(db: Database): Promise<string[]> {
  const wanted = REQUIRED.map((endpoint) => ({ endpoint, arguments: printedArguments(endpoint) }));
  return await call(db, "find_uncallable_tables", { wanted });
}

// Drops the functions of column sets that no app has used for an hour; part of `rowhouse migrate`.

type Table = { name: string; stamp: number; sets: SetUse[]; dialect: DialectName };

/** Skips tables with a running push: that push or the next sweep drops their functions. */
export async function sweepSets(admin: Database): Promise<void> {
  const tables = (await call(admin, "find_unused_sets", {
    unused_s: UNUSED_SET_LIFE_S,
  })) as Table[];
  for (const { name, stamp, sets, dialect } of tables) {
    const removed = sets.filter(isExpired);
    const left = sets.filter((set) => !isExpired(set)).map(({ hash }) => hash);
    const messages = planDrop(name, removed, left).map((step) =>
      [
        renderLockTable(name, stamp),
        ...MESSAGE_SETTINGS,
        ...step.hashes
          .flatMap((hash) => renderDropFunctions({ table: name, hash }))
          .map(DIALECTS[dialect].toStatement),
        renderForgetSets(step),
        `select ${quoteLiteral(name)} as name`,
      ].join(";\n"),
    );
    for (const text of messages)
      await admin.message(text, { timeoutMs: MESSAGE_TIMEOUT_MS }).catch(readMessageResult);
  }
}

// Indexes of releases before 0.2.0, which these use until `rowhouse migrate --contract`. Beside them, deferred steps build those of this
// release; part of `rowhouse migrate`.

/** Records the rebuilds, and returns the names of the indexes. Idempotent. @throws {Problem} push_busy */
export async function deferRebuilds(admin: Database): Promise<string[]> {
  const outdated = await findRebuilds(admin);
  for (const { name } of outdated)
    await whileHeld(name, "rebuild the indexes", async () => {
      const [table] = await findRebuilds(admin, name);
      if (table === undefined) return false;
      await admin.message(renderRebuilds(table), { timeoutMs: MESSAGE_TIMEOUT_MS });
      return true;
    });
  return outdated.flatMap(({ rebuilds }) => rebuilds.map((rebuild) => rebuild.name));
}

type Rebuilds = Pick<IndexedTable, "name" | "stamp"> & {
  rebuilds: { name: string; columns: readonly string[] }[];
};

async function findRebuilds(db: Database, wanted: string | null = null): Promise<Rebuilds[]> {
  return (await readIndexes(db, wanted)).flatMap((table) => {
    const rebuilds = listIndexStates(table)
      .filter(isOutdated)
      .map((state) => ({ name: state.wanted, columns: state.index.columns }));
    return rebuilds.length === 0 ? [] : [{ name: table.name, stamp: table.stamp, rebuilds }];
  });
}

/** A table whose indexes a run of `rowhouse migrate` would build again. */
export type PlannedRebuilds = {
  readonly table: string;
  readonly indexes: readonly string[];
  /** As of PostgreSQL's statistics; `null` without any. */
  readonly rows: number | null;
  readonly bytes: number;
};

/** Calls no function, because a database of an earlier release lacks them. */
export async function planRebuilds(db: Database): Promise<PlannedRebuilds[]> {
  const tables = await readRows<
    Pick<IndexedTable, "name" | "definition" | "indexes" | "unfinished"> &
      Pick<PlannedRebuilds, "rows" | "bytes">
  >(
    db,
    `select tables.name, definition,
        nullif(table_class.reltuples, -1)::pg_catalog.float8 as rows,
        pg_catalog.pg_table_size(table_class.oid)::pg_catalog.float8 as bytes,
        pg_catalog.to_json(array(select index_class.relname from pg_catalog.pg_index
          join pg_catalog.pg_class as index_class on index_class.oid = indexrelid
          where indrelid = table_class.oid and indisvalid)) as indexes,
        pg_catalog.to_json(array(select index_class.relname from pg_catalog.pg_index
          join pg_catalog.pg_class as index_class on index_class.oid = indexrelid
          where indrelid = table_class.oid and not indisvalid
          union select deferred_steps.name from rowhouse.deferred_steps
          where table_name = tables.name and kind = 'index' and state <> 'done')) as unfinished
      from rowhouse.tables
      join pg_catalog.pg_class as table_class on table_class.relname = tables.name
        and relnamespace = 'data'::pg_catalog.regnamespace
      order by tables.name`,
  );
  return tables.flatMap(({ rows, bytes, ...table }) => {
    const outdated = listIndexStates(table).filter(isOutdated);
    const indexes = outdated.map(({ wanted }) => wanted);
    return indexes.length === 0 ? [] : [{ table: table.name, indexes, rows, bytes }];
  });
}

function renderRebuilds({ name, stamp, rebuilds }: Rebuilds): string {
  const values = [name, JSON.stringify(rebuilds)].map(quoteLiteral).join(", ");
  return [
    renderLockTable(name, stamp),
    ...MESSAGE_SETTINGS,
    `select rowhouse.defer_rebuilds(${values})`,
  ].join(";\n");
}
