/**
 * The catalog: the recorded tables in memory and which apps use them. Reads only what changed since it last looked,
 * so that a push costs every process work in proportion to the push.
 *
 * @module
 */
import { type Database, SERVICE_QUEUE } from "../db/mod.ts";
import type { TableDefinition } from "../dsl/mod.ts";

/** A physical table as its owner's pushes recorded it. A changed table is a new object. */
export type RecordedTable = {
  readonly name: string;
  readonly ownerAppId: string;
  readonly definition: TableDefinition;
};

export type Catalog = {
  /** The table, if this app has pushed it: another app's table is as unknown as none. */
  readonly find: (appId: string, name: string) => RecordedTable | undefined;
  /** Makes sure that the catalog is as new as the call; callers at the same time share one look-up. */
  readonly refresh: () => Promise<void>;
};

export type CatalogStore = Catalog & {
  /** Reads what changed up to a version that a look-up found. */
  readonly follow: (version: number) => Promise<void>;
};

type News = {
  version: number;
  tables: { name: string; ownerAppId: string; definition: TableDefinition }[];
  registrations: { appId: string; table: string }[];
};

/** An empty catalog; `look` is the shared look-up of versions, which calls `follow` before it is done. */
export function makeCatalog(deps: { db: Database; look: () => Promise<unknown> }): CatalogStore {
  const tables = new Map<string, RecordedTable>();
  const users = new Map<string, Set<string>>();
  let seen = 0;
  return {
    find: (appId, name) => (users.get(name)?.has(appId) === true ? tables.get(name) : undefined),
    refresh: async () => {
      await deps.look();
    },
    follow: async (version) => {
      if (version === seen) return;
      // A version that went back is another database, such as a restored one: nothing kept is true of it.
      const news = await readNews(deps.db, version < seen ? 0 : seen);
      if (version < seen) forget(tables, users);
      for (const table of news.tables) tables.set(table.name, Object.freeze(table));
      for (const { appId, table } of news.registrations)
        users.set(table, (users.get(table) ?? new Set()).add(appId));
      seen = news.version;
    },
  };
}

function forget(tables: Map<string, RecordedTable>, users: Map<string, Set<string>>): void {
  tables.clear();
  users.clear();
}

async function readNews(db: Database, since: number): Promise<News> {
  const [row] = await db.query<{ news: string }>(
    `select json_build_object(
      'version', (select version from rowhouse.versions where name = 'catalog'),
      'tables', (select coalesce(json_agg(json_build_object(
          'name', name, 'ownerAppId', owner_app_id, 'definition', definition)), '[]')
        from rowhouse.tables where version > $1),
      'registrations', (select coalesce(json_agg(json_build_object('appId', app_id, 'table', table_name)), '[]')
        from rowhouse.registrations where version > $1))::text as news`,
    [since],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  if (row === undefined) throw new Error("The catalog's query gave no row");
  return JSON.parse(row.news) as News;
}
