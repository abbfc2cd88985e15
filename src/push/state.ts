/** What a push plans against: the recorded tables and registrations that concern one app. Read in one statement. @module */
import type { RecordedDefinition } from "../catalog/mod.ts";
import { type Database, IS_DISTRIBUTED_SQL } from "../db/mod.ts";
import type { TableDefinition } from "../dsl/mod.ts";
import { findLargeTables } from "./large_shards.ts";

/** `definition`: everything that the app declares or has declared. */
export type RecordedUse = { appId: string; slug: string; definition: TableDefinition };

/** A set of columns that an app is served, or was; `unusedS`: for how many seconds it has not been. */
export type RecordedSet = { appId: string; hash: string; unusedS: number | null };

/** A recorded table with every app's declaration of it. */
export type TableState = {
  name: string;
  ownerAppId: string;
  ownerSlug: string;
  definition: RecordedDefinition;
  /** The highest version recorded for it: a plan is applied only if this is still true. */
  stamp: number;
  /** Whether a build on it would take noticeably long. */
  isLarge: boolean;
  /** How many references there are to it from tables of other apps than its owner: of this app, and of all. */
  references: { own: number; foreign: number };
  uses: RecordedUse[];
  sets: RecordedSet[];
};

export type AppliedMigration = { seq: number; name: string; checksum: string };

export type PushState = {
  tables: TableState[];
  /** The app's migrations in order. */
  migrations: AppliedMigration[];
  /** The size of their texts and SQL together in bytes. */
  journalBytes: number;
  /** Whether any app's push left unfinished steps. */
  hasDeferredSteps: boolean;
  isDistributed: boolean;
};

/** From this many pages on a build is deferred: 32 MB, which take about a second. */
export const LARGE_TABLE_PAGES = 4096;
/** Assumed rows per page of a table that was never analysed: few, so that in doubt it counts as large. */
const ROWS_A_PAGE = 8;

/** The state that concerns an app that declares `names`: those tables, and all that it has registered. */
export async function readState(
  admin: Database,
  appId: string,
  names: readonly string[],
  options: { largeTablePages: number },
): Promise<PushState> {
  const [row] = await admin.query<{ state: string }>(
    `with concerned as (
      select name, owner_app_id, definition, version from rowhouse.tables
      where name in (select jsonb_array_elements_text($2::text::jsonb))
        or name in (select table_name from rowhouse.registrations where app_id = $1)
    )
    select json_build_object(
      'tables', (select coalesce(json_agg(json_build_object(
          'name', concerned.name, 'ownerAppId', owner_app_id, 'definition', concerned.definition,
          'stamp', greatest(version, (select max(version) from rowhouse.registrations where table_name = concerned.name)),
          -- Of a table that was never analysed the statistics tell how many rows went in. Its size on disk cannot be
          -- asked for: that waits for whoever has the table locked.
          'isLarge', coalesce((select case when reltuples < 0
              then pg_catalog.pg_stat_get_live_tuples(oid) / ${ROWS_A_PAGE} else relpages end >= $3::pg_catalog.int4
            from pg_catalog.pg_class where relname = concerned.name and relkind in ('r', 'p')
              and relnamespace = (select oid from pg_catalog.pg_namespace where nspname = 'data')), false),
          -- Each reference has triggers on the table that it refers to, which are found by index.
          'references', (select json_build_object('own', count(distinct tgconstraint) filter (where source.owner_app_id = $1),
              'foreign', count(distinct tgconstraint))
            from pg_catalog.pg_trigger
            join pg_catalog.pg_constraint on pg_constraint.oid = tgconstraint and confrelid = tgrelid and contype = 'f'
            join pg_catalog.pg_class on pg_class.oid = conrelid
            join rowhouse.tables as source on source.name = relname
            where tgrelid = (select oid from pg_catalog.pg_class where relname = concerned.name and relkind in ('r', 'p')
                and relnamespace = (select oid from pg_catalog.pg_namespace where nspname = 'data'))
              and source.owner_app_id <> concerned.owner_app_id),
          'ownerSlug', (select slug from rowhouse.apps where id = owner_app_id),
          'uses', (select coalesce(json_agg(json_build_object(
              'appId', app_id, 'slug', slug, 'definition', registrations.definition) order by slug), '[]')
            from rowhouse.registrations join rowhouse.apps on apps.id = app_id
            where table_name = concerned.name),
          'sets', (select coalesce(json_agg(json_build_object('appId', app_id, 'hash', hash,
              'unusedS', extract(epoch from now() - unused_since)::pg_catalog.float8)), '[]')
            from rowhouse.column_sets where table_name = concerned.name)) order by concerned.name), '[]') from concerned),
      'migrations', (select coalesce(json_agg(json_build_object('seq', seq, 'name', name, 'checksum', checksum)
          order by seq), '[]') from rowhouse.migrations where app_id = $1),
      'journalBytes', (select coalesce(sum(octet_length(text) + octet_length(sql)), 0) from rowhouse.migrations where app_id = $1),
      'isDistributed', ${IS_DISTRIBUTED_SQL},
      'hasDeferredSteps', exists (select from rowhouse.deferred_steps where state <> 'done'))::text as state`,
    [appId, JSON.stringify(names), options.largeTablePages],
    { retry: "safe", queue: appId },
  );
  if (row === undefined) throw new Error("The query of push's state gave no row");
  const state = JSON.parse(row.state) as PushState;
  if (!state.isDistributed) return state;
  const recorded = state.tables.map(({ name }) => name);
  const large = await findLargeTables(admin, recorded, { ...options, rowsAPage: ROWS_A_PAGE });
  const tables = state.tables.map((table) => ({ ...table, isLarge: large.has(table.name) }));
  return { ...state, tables };
}
