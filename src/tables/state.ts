/** The input of a plan: the recorded tables and registrations of one app, read in one statement. @module */

import { call, type Database, DIALECT_SQL, dialectOf } from "../db/mod.ts";
import type { TableDefinition } from "../schema/mod.ts";
import {
  type ColumnSet,
  type FunctionSite,
  type RecordedDefinition,
  SET_FUNCTIONS,
  type ViewSet,
} from "./catalog/mod.ts";
import type { MigrationRecord } from "./history/migration_text.ts";
import { type RecordedMigration, toProjectHistory } from "./history/project_history.ts";
import type { Change } from "./plan/change.ts";
import { nodeUnreachable } from "./plan/rejections.ts";
import type { FunctionSizes } from "./sql/function_steps.ts";

/** `definition`: all current and former declarations of the app. */
type RecordedUse = { appId: string; slug: string; definition: TableDefinition };

/** The use of a column set by an app; `unusedS`: seconds since its last use. */
export type SetUse = { appId: string; hash: string; unusedS: number | null };
/** A column set that an app uses or used. */
export type RecordedSet = SetUse & { columns: ColumnSet };

/** A view of an app, whose functions exist. */
export type RecordedView = { appId: string; hash: string; set: ViewSet };

/** A recorded table with every app's declaration of it. */
export type TableState = {
  name: string;
  ownerAppId: string;
  ownerSlug: string;
  definition: RecordedDefinition;
  /** Its highest recorded version: a plan is applied only if this is still current. */
  stamp: number;
  /** Whether a build on the table would be slow. */
  isLarge: boolean;
  /** References to the table from other apps than its owner: from this app, and from all. */
  references: { own: number; foreign: number };
  /** An unfinished retype of one of its columns. */
  retype: Change | null;
  uses: RecordedUse[];
  sets: RecordedSet[];
  views: RecordedView[];
};

export type PushState = FunctionSite & {
  tables: TableState[];
  /** The app's migrations in order, by the project's numbers. */
  migrations: MigrationRecord[];
  /** The last migration as recorded by the service. */
  head: { seq: number; checksum: string } | undefined;
  /** The bytes of their texts and SQL together. */
  journalBytes: number;
  /** Whether pages have access to the app, and the roles that people hold on it. */
  people: { isOpen: boolean; roles: readonly string[] };
  /** The tables that get listeners if the app uses them, because it has live updates or a history. */
  unheard: string[];
  /** Whether there are unfinished deferred steps of any app. */
  hasDeferredSteps: boolean;
};

type ReadState = Omit<PushState, "migrations" | "head"> & {
  migrations: Omit<RecordedMigration, "parent">[];
};

/** Tables with at least this many pages defer builds: 32 MB, about one second. */
export const LARGE_TABLE_PAGES = 4096;
/** Assumed rows per page of a table that was never analyzed: few, so that the table counts as large if in doubt. */
export const ROWS_A_PAGE = 8;

/** The state for an app that declares `names`: these tables and the app's registered tables. */
export async function readState(
  admin: Database,
  appId: string,
  names: readonly string[],
  largeTablePages = LARGE_TABLE_PAGES,
): Promise<PushState> {
  const values = {
    app: appId,
    names,
    large_pages: largeTablePages,
    rows_a_page: ROWS_A_PAGE,
  };
  const read = (await call(admin, "read_push_state", values, { queue: appId })) as ReadState;
  const migrations = toProjectHistory(read.migrations);
  const state: PushState = { ...read, migrations, head: read.migrations.at(-1) };
  const { findLargeTables } = dialectOf(state);
  if (findLargeTables === undefined) return state;
  const recorded = state.tables.map(({ name }) => name);
  const large = await findLargeTables(admin, recorded, {
    largeTablePages,
    rowsAPage: ROWS_A_PAGE,
    reject: nodeUnreachable,
  });
  const tables = state.tables.map((table) => ({ ...table, isLarge: large.has(table.name) }));
  return { ...state, tables };
}

/** The functions that an app uses, by the hash of their column set or view. */
export async function readFunctionSizes(admin: Database, appId: string): Promise<FunctionSizes> {
  const values = { app: appId, endpoints: SET_FUNCTIONS };
  return (await call(admin, "read_function_sizes", values, { queue: appId })) as FunctionSizes;
}

/** The fields of a {@linkcode FunctionSite}, as arguments of `json_build_object`. */
export const SITE_SQL = `'dialect', ${DIALECT_SQL}`;

/**
 * What pushes recorded of tables and their functions: the site, the tables, their column sets, and everything that apps with rules
 * use. As arguments of `json_build_object`.
 */
export const RECORD_SQL = `${SITE_SQL},
      'tables', (select coalesce(pg_catalog.json_agg(definition), '[]') from rowhouse.tables),
      'sets', (select coalesce(pg_catalog.json_agg(definition), '[]') from (
        select distinct on (table_name, hash) definition from rowhouse.column_sets) as sets),
      'uses', (select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('appId', app_id, 'definition', definition)), '[]')
        from rowhouse.registrations where app_id in (
          select app_id from rowhouse.registrations where pg_catalog.jsonb_exists(definition, 'rules')))`;
