/** Gives a table the indexes that releases before 0.2.0 built without the preview `filters`, under their names in the record. */
import { type Database, migrate, readRows } from "../../src/db/mod.ts";
import {
  indexesOf,
  keysOf,
  nameOf,
  type RecordedDefinition,
} from "../../src/tables/catalog/mod.ts";
import { renderRows, renderTerms } from "../../src/tables/sql/index_terms.ts";

/** As before the upgrade of a database that an earlier release has set up. */
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
