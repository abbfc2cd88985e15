/**
 * The catalog: the recorded tables in memory, and which apps use them. Reads only what has changed since it last looked,
 * so that a push costs each process only as much work as the push is large.
 *
 * @module
 */
import { call, type Database } from "../db/mod.ts";
import type { TableDefinition } from "../dsl/mod.ts";

/** A table as one app uses it. What the app is served is another object once it has changed. */
export type RecordedTable = {
  readonly name: string;
  /** What the app declares or has declared of it, in the table's order: everything that the app is served. */
  readonly definition: TableDefinition;
  /** The whole table, with what other apps declared: for the names of its constraints, never for answers. */
  readonly whole: TableDefinition;
};

export type Catalog = {
  /** The table, if this app has pushed it: another app's table is as unknown as one that does not exist. */
  readonly find: (appId: string, name: string) => RecordedTable | undefined;
  /** What the app is served, by the name of the table. */
  readonly tablesOf: (appId: string) => readonly TableDefinition[];
  /** The version that it is at. */
  readonly version: () => number;
  /** Whether the tables are distributed over the nodes of a Citus cluster. */
  readonly isDistributed: () => boolean;
  /** Makes sure that the catalog is as new as this call; concurrent callers share one look-up. */
  readonly refresh: () => Promise<void>;
};

export type CatalogStore = Catalog & {
  /** Reads what changed up to a version that a look-up found. */
  readonly follow: (version: number) => Promise<void>;
};

type News = {
  version: number;
  isDistributed: boolean;
  tables: { name: string; definition: TableDefinition }[];
  /** By what is declared: many apps may declare the same, which then travels and is kept once. */
  registrations: { appIds: string[]; definition: TableDefinition }[];
  ended: { appId: string; table: string }[];
};

/** A recorded table, and what each app is served of it. */
type Entry = { whole: TableDefinition; uses: Map<string, TableDefinition> };

/** An empty catalog; `look` is the shared look-up of versions, which calls `follow` before it is done. */
export function makeCatalog(deps: { db: Database; look: () => Promise<unknown> }): CatalogStore {
  const tables = new Map<string, Entry>();
  let seen = 0;
  let isDistributed = false;
  return {
    find: (appId, name) => {
      const entry = tables.get(name);
      const definition = entry?.uses.get(appId);
      if (entry === undefined || definition === undefined) return undefined;
      return { name, definition, whole: entry.whole };
    },
    tablesOf: (appId) =>
      [...tables.values()]
        .flatMap(({ uses }) => uses.get(appId) ?? [])
        .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    version: () => seen,
    isDistributed: () => isDistributed,
    refresh: async () => {
      await deps.look();
    },
    follow: async (version) => {
      if (version === seen) return;
      // A version that went back means another database, such as a restored one: nothing in memory is true of it.
      const news = await readNews(deps.db, version < seen ? 0 : seen);
      if (version < seen) tables.clear();
      for (const { name, definition } of news.tables)
        tables.set(name, { whole: definition, uses: tables.get(name)?.uses ?? new Map() });
      for (const { appIds, definition } of news.registrations)
        for (const appId of appIds) tables.get(definition.name)?.uses.set(appId, definition);
      for (const { appId, table } of news.ended) tables.get(table)?.uses.delete(appId);
      seen = news.version;
      ({ isDistributed } = news);
    },
  };
}

async function readNews(db: Database, since: number): Promise<News> {
  return (await call(db, "read_catalog", { since })) as News;
}
