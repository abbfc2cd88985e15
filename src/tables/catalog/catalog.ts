/**
 * The catalog: the recorded tables and their apps, in memory. Reads only changes since the last read,
 * so the cost of a push for each process depends only on the size of the push.
 *
 * @module
 */

import {
  call,
  type Database,
  type Dialect,
  type DialectName,
  dialectOf,
  PLAIN,
} from "../../db/mod.ts";
import { isReference } from "../../kinds/mod.ts";
import type { Principal } from "../../principal.ts";
import type { NamedColumn, TableDefinition } from "../../schema/mod.ts";
import { canonicalJson } from "../../std/json.ts";
import { definitionFor, type ServedDefinition, type View, viewOf } from "./views.ts";

/** A table as one app uses it. A change of the served columns creates a new object. */
export type RecordedTable = {
  readonly name: string;
  /**
   * The app's current and former declarations, in the table's order. The app is served these columns. For people: the columns that
   * they see.
   */
  readonly definition: ServedDefinition;
  /** The whole table, with other apps' declarations. It names constraints, and must not reach responses. */
  readonly whole: TableDefinition;
};

/** Who calls: an app, or a person with a role on it. */
export type Caller = Pick<Principal, "appId" | "person">;

export type Catalog = {
  /** The table, if this app has pushed it. Another app's table looks the same as a missing table. */
  readonly find: (appId: string, name: string) => RecordedTable | undefined;
  /** The table as a caller sees it. For a person, `undefined` is also a table that the role can do nothing with. */
  readonly findFor: (caller: Caller, name: string) => RecordedTable | undefined;
  readonly tablesOf: (appId: string) => readonly TableDefinition[];
  readonly version: () => number;
  readonly dialect: () => Dialect;
  /** When this process learned of a definition, in milliseconds of `performance.now()`. */
  readonly learnedAt: (definition: TableDefinition) => number;
  /** Milliseconds since the start of the last successful check for pushes. */
  readonly age: () => number;
  /** Makes the catalog at least as new as this call. Concurrent callers share one lookup. */
  readonly refresh: () => Promise<void>;
};

type CatalogStore = Catalog & {
  /** Reads the changes up to a version that a lookup found. */
  readonly follow: (version: number) => Promise<void>;
};

type News = {
  version: number;
  dialect: DialectName;
  tables: { name: string; definition: TableDefinition }[];
  /** By declaration: apps with the same declaration share one copy. */
  registrations: { appIds: string[]; definition: TableDefinition }[];
  ended: { appId: string; table: string }[];
};

/**
 * Max age of the catalog where a push must be known. More than the interval of checks, so that requests do not check
 * themselves unless their process is slow.
 */
export const MAX_CATALOG_AGE_MS = 1500;

/** A recorded table, and the columns served to each app. */
type Entry = { whole: TableDefinition; uses: Map<string, TableDefinition> };

/** An empty catalog; `refresh` is the shared lookup of versions, which calls `follow` before it resolves. */
export function makeCatalog(deps: {
  db: Database;
  refresh: () => Promise<unknown>;
  age: () => number;
}): CatalogStore {
  const learned = new WeakMap<TableDefinition, number>();
  const tables = new Map<string, Entry>();
  /** What people see of each app's tables, by role and table: the rules of one table are part of views of others. */
  const seenBy = new Map<string, Map<string, ServedDefinition | undefined>>();
  let seen = 0;
  let dialect = PLAIN;
  const find: Catalog["find"] = (appId, name) => {
    const entry = tables.get(name);
    const definition = entry?.uses.get(appId);
    if (entry === undefined || definition === undefined) return undefined;
    return { name, definition, whole: entry.whole };
  };
  const tablesOf: Catalog["tablesOf"] = (appId) =>
    [...tables.values()]
      .flatMap(({ uses }) => uses.get(appId) ?? [])
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const findSeen = (appId: string, role: string, table: TableDefinition) => {
    const ofApp = seenBy.get(appId) ?? new Map<string, ServedDefinition | undefined>();
    seenBy.set(appId, ofApp);
    const key = `${table.name} ${role}`;
    if (ofApp.has(key)) return ofApp.get(key);
    const view = viewOf(appId, tablesOf(appId), table, role);
    const definition = view === undefined ? undefined : definitionFor(table, view);
    ofApp.set(key, definition);
    return definition;
  };
  return {
    find,
    findFor: ({ appId, person }, name) => {
      const table = find(appId, name);
      if (table === undefined || person === undefined) return table;
      const definition = findSeen(appId, person.role, table.definition);
      return definition === undefined ? undefined : { ...table, definition };
    },
    tablesOf,
    version: () => seen,
    dialect: () => dialect,
    learnedAt: (definition) => learned.get(definition) ?? Number.NEGATIVE_INFINITY,
    age: deps.age,
    refresh: async () => {
      await deps.refresh();
    },
    follow: async (version) => {
      if (version === seen) return;
      // A lower version means another database, such as a restored backup. The tables in memory are then invalid.
      const since = version < seen ? 0 : seen;
      const news = (await call(deps.db, "read_catalog", { since })) as News;
      if (seen > 0) deps.db.countChanges(countSets(news));
      if (version < seen) tables.clear();
      if (version < seen) seenBy.clear();
      for (const { appIds } of news.registrations) for (const appId of appIds) seenBy.delete(appId);
      for (const { appId } of news.ended) seenBy.delete(appId);
      for (const { name, definition } of news.tables)
        tables.set(name, { whole: definition, uses: tables.get(name)?.uses ?? new Map() });
      for (const { definition } of news.registrations) learned.set(definition, performance.now());
      for (const { appIds, definition } of news.registrations)
        for (const appId of appIds) tables.get(definition.name)?.uses.set(appId, definition);
      for (const { appId, table } of news.ended) tables.get(table)?.uses.delete(appId);
      seen = news.version;
      dialect = dialectOf(news);
    },
  };
}

/** About how many sets of functions the news have changed: one for API keys, and one for each role with rights. */
function countSets({ registrations, ended }: News): number {
  const roles = registrations.map(({ definition: { rules } }) => Object.keys(rules?.allow ?? {}));
  return ended.length + roles.reduce((sum, { length }) => sum + 1 + length, 0);
}

// Column sets: the part of an app's declaration that determines its functions. Apps with the same
// column set of a table share its functions, and a push of another column set never replaces them.

/** A table's name and columns, in the table's order, and for people their view. Only these affect its functions. */
export type ColumnSet = {
  readonly name: string;
  readonly columns: readonly Pick<NamedColumn, "name" | "kind" | "default" | "onUpdate">[];
  /** The view of the functions; absent: they are for API keys. */
  readonly view?: View;
  /** The column set of the functions, if these columns are only those that its view shows. */
  readonly served?: ColumnSet;
};

const HASH_LENGTH = 16;

/** The part of a declaration that affects functions. */
export function toColumnSet({ name, columns }: ColumnSet): ColumnSet {
  return { name, columns: columns.map(toSetColumn) };
}

/**
 * The hash in the names of functions. Columns are sorted, because a table has one order for each column set. It covers the whole
 * view, so that no function with other rules has the name.
 */
export function hashColumnSet({ name, columns, view, served }: ColumnSet): string {
  if (served !== undefined) return hashColumnSet(served);
  const sorted = columns.map(toSetColumn).sort((a, b) => (a.name < b.name ? -1 : 1));
  const text = canonicalJson({ name, columns: sorted, ...(view === undefined ? {} : { view }) });
  return Bun.CryptoHasher.hash("sha256", text, "hex").slice(0, HASH_LENGTH);
}

function toSetColumn(column: ColumnSet["columns"][number]): ColumnSet["columns"][number] {
  const { name, kind, default: initial, onUpdate } = column;
  return {
    ...{ name, kind },
    ...(initial === undefined ? {} : { default: initial }),
    ...(onUpdate === undefined ? {} : { onUpdate }),
  };
}

/**
 * The id and then the columns by name: the same order for every app with this column set. Walks number the columns from 1. A column
 * that a view hides has no number.
 */
export function queryColumns({ columns, view }: ColumnSet): ColumnSet["columns"] {
  const shown = columns.filter(({ name }) => view?.hidden.includes(name) !== true);
  return [{ name: "id", kind: "uuid" }, ...shown.sort((a, b) => (a.name < b.name ? -1 : 1))];
}

/** The references among {@linkcode queryColumns}. Plans number them from 1. */
export function referenceColumns(set: ColumnSet): ColumnSet["columns"] {
  return queryColumns(set).filter(isReference);
}
