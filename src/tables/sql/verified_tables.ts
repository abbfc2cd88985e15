/**
 * The record of tables whose functions are this release's output: `rowhouse migrate` writes it. A comparison of all functions reads
 * and generates only those of other tables. The database computes a table's digest, which covers the release, everything that the
 * functions are generated from, and the functions that it has: a changed definition, or a changed body, is not in the record.
 *
 * @module
 */
import {
  BODIES_AT_ONCE,
  call,
  type Database,
  RELEASE_TEXT,
  readRows,
  readValue,
} from "../../db/mod.ts";
import type { ColumnSet, FunctionSite, RecordedDefinition, TableUse } from "../catalog/mod.ts";
import { digestOf, digestRelease } from "./release.ts";

type FoundFunction = { readonly signature: string; readonly digest: string };

/** A table as pushes recorded it, and its functions. The pushing login can have stored any other JSON. */
export type StoredTable = {
  name: string;
  /** Absent in a database of another release. */
  digest?: string;
  /** Its highest recorded version: its functions are renewed only if this is still current. */
  stamp: number;
  definition: RecordedDefinition;
  /** The column sets that apps use or used. */
  sets: ColumnSet[];
  views: { appId: string; hash: string }[];
  /** Those of the schema `api`, and its finder in `find` if the finder has a false text. */
  functions: FoundFunction[];
};

/** `uses`: everything that apps with rules for these tables use. */
export type StoredTables = FunctionSite & { tables: StoredTable[]; uses: TableUse[] };

type Unverified = {
  /** A digest of all functions. */
  bodies: string;
  tables: { name: string; digest: string }[];
  /** Whether the record has more than the verified tables. */
  hasOthers: boolean;
};

/** How many tables are read at once: more need more memory. */
const SLICE = 100;

/** The digests of this release are not those of another one. */
function toRelease(): string {
  return digestOf([RELEASE_TEXT, digestRelease()].join("\n"));
}

/** The tables that are not in the record, of all. */
export async function findUnverified(db: Database): Promise<Unverified> {
  const values = { release: toRelease(), wanted: null, is_reread: false };
  return (await call(db, "find_unverified", values)) as Unverified;
}

/** The names of the tables that are not in the record after a reading of each body, whatever the version of its row says. */
export async function rereadTables(db: Database): Promise<string[]> {
  const rows = await readRows<{ name: string }>(
    db,
    "select name from rowhouse.tables order by name",
  );
  const names: string[] = [];
  for (const slice of toSlices(rows.map(({ name }) => name))) {
    const values = { release: toRelease(), wanted: slice, is_reread: true };
    const { tables } = (await call(db, "find_unverified", values)) as Unverified;
    names.push(...tables.map(({ name }) => name));
  }
  return names;
}

export async function readStoredTables(
  db: Database,
  names: readonly string[],
  isReread = false,
): Promise<StoredTables> {
  const values = { release: toRelease(), wanted: names, is_reread: isReread };
  return (await call(db, "read_generated_tables", values)) as StoredTables;
}

/** Reads the bodies that have changed, some at once, so that no statement that compares them reads many. Needs an administrator. */
export async function readChangedBodies(admin: Database): Promise<void> {
  const values = { max_bodies: BODIES_AT_ONCE };
  while ((await call(admin, "refresh_bodies", values)) === BODIES_AT_ONCE);
}

/** Lists of at most {@linkcode SLICE}. */
export function toSlices<Item>(items: readonly Item[]): Item[][] {
  const count = Math.ceil(items.length / SLICE);
  return Array.from({ length: count }, (_, n) => items.slice(n * SLICE, (n + 1) * SLICE));
}

/** Whether the database has the functions of this record: one that another release migrated can lack them. */
export async function hasRecord(db: Database): Promise<boolean> {
  return await readValue<boolean>(
    db,
    "select pg_catalog.to_regproc('rowhouse.find_unverified') is not null as is_there",
  );
}

/** Adds to the record. Needs an administrator. */
export async function recordVerified(admin: Database, digests: readonly string[]): Promise<void> {
  if (digests.length > 0) await call(admin, "record_verified", { verified: digests });
}

/** Removes former states of tables from the record. Needs an administrator. */
export async function forgetFormerDigests(admin: Database): Promise<void> {
  await call(admin, "forget_former_digests", { release: toRelease() });
}
