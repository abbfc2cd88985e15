/** What a push plans against: the recorded tables and registrations that concern one app. Read in one statement. @module */
import type { FunctionSite, RecordedDefinition } from "../catalog/mod.ts";
import { call, type Database } from "../db/mod.ts";
import type { TableDefinition } from "../dsl/mod.ts";
import type { Change } from "./change.ts";
import { findLargeTables } from "./large_shards.ts";
import { type RecordedMigration, toProjectHistory } from "./project_history.ts";

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
  /** A retype of one of its columns that is under way. */
  retype: Change | null;
  uses: RecordedUse[];
  sets: RecordedSet[];
};

export type AppliedMigration = { seq: number; name: string; checksum: string };

export type PushState = FunctionSite & {
  tables: TableState[];
  /** The app's migrations in order, by the project's numbers. */
  migrations: AppliedMigration[];
  /** The last migration as the service recorded it. */
  head: { seq: number; checksum: string } | undefined;
  /** The size of their texts and SQL together in bytes. */
  journalBytes: number;
  /** Whether any app's push left unfinished steps. */
  hasDeferredSteps: boolean;
};

type ReadState = Omit<PushState, "migrations" | "head"> & {
  migrations: Omit<RecordedMigration, "parent">[];
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
  const values = {
    app: appId,
    names,
    large_pages: options.largeTablePages,
    rows_a_page: ROWS_A_PAGE,
  };
  const read = (await call(admin, "read_push_state", values, { queue: appId })) as ReadState;
  const migrations = toProjectHistory(read.migrations);
  const state: PushState = { ...read, migrations, head: read.migrations.at(-1) };
  if (!state.isDistributed) return state;
  const recorded = state.tables.map(({ name }) => name);
  const large = await findLargeTables(admin, recorded, { ...options, rowsAPage: ROWS_A_PAGE });
  const tables = state.tables.map((table) => ({ ...table, isLarge: large.has(table.name) }));
  return { ...state, tables };
}
