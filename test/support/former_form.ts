/** The indexes of releases before 0.2.0 without the preview `filters`, and what is left of them after an upgrade. @module */
import { expect } from "bun:test";
import { type Database, migrate, readRows } from "../../src/db/mod.ts";
import {
  indexesOf,
  keysOf,
  makeIsolationCheck,
  nameOf,
  type RecordedDefinition,
} from "../../src/tables/catalog/mod.ts";
import { readDrift } from "../../src/tables/mod.ts";
import { renderRows, renderTerms } from "../../src/tables/sql/index_terms.ts";

/** Gives a table the former indexes, under their names in the record, as before the upgrade of a database that an earlier release has set up. */
export async function buildFormer(admin: Database, table: string): Promise<void> {
  await admin.message(
    "update rowhouse.code set digest = '', compatible_from = '0.1.0', compatible_tables = 2; select 1",
  );
  await migrate(admin, { keepsEarlier: true });
  const [row] = await readRows<{ definition: RecordedDefinition }>(
    admin,
    "select definition from rowhouse.tables where name = $1",
    [table],
  );
  if (row === undefined) throw new Error(`There is no table ${table}`);
  const indexes = [...keysOf(row.definition), ...indexesOf(row.definition)];
  const statements = indexes
    .filter((index) => nameOf(index) !== index.name)
    .flatMap(({ search, ...index }) => [
      `drop index data."${search}"`,
      `create ${index.kind === "key" ? "unique " : ""}index if not exists "${index.name}" on data.${table} (${renderTerms(index)}) where ${renderRows(index)}`,
    ]);
  await admin.message(`${statements.join("; ")}; select 1`);
}

/** The valid indexes of a table besides its primary key. */
export async function listIndexes(admin: Database, table: string): Promise<string[]> {
  const rows = await readRows<{ name: string }>(
    admin,
    `select relname as name from pg_catalog.pg_index join pg_catalog.pg_class on oid = indexrelid
    where indrelid = $1::text::regclass and indisvalid and not indisprimary order by relname collate "C"`,
    [`data.${table}`],
  );
  return rows.map(({ name }) => name);
}

/** Fails if the database is not as this release would have created it, or does not isolate apps. */
export async function expectClean(admin: Database): Promise<void> {
  expect(await readDrift(admin)).toEqual([]);
  expect((await makeIsolationCheck(admin)()).issues).toEqual([]);
}
