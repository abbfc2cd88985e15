/**
 * The record of tables whose functions are this release's output: `rowhouse migrate` writes it. A comparison of all functions reads
 * and generates only those of other tables. The database computes a table's digest, which covers the release, everything that the
 * functions are generated from, and the functions that it has: a changed definition, or a changed body, is not in the record.
 *
 * @module
 */
import { call, type Database, RELEASE_TEXT, readValue } from "../../db/mod.ts";
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

/** @param isReread whether to read each body, also if the version of its row says that it has not changed */
export async function findUnverified(db: Database, isReread = false): Promise<Unverified> {
  const values = { release: toRelease(), is_reread: isReread };
  return (await call(db, "find_unverified", values)) as Unverified;
}

export async function readStoredTables(
  db: Database,
  names: readonly string[],
  isReread = false,
): Promise<StoredTables> {
  const values = { release: toRelease(), wanted: names, is_reread: isReread };
  return (await call(db, "read_generated_tables", values)) as StoredTables;
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
