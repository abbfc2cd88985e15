/** An archive's migrations for their replay, after which the app has the archive's tables. Writes nothing. @module */
import type { Definition, TableDefinition } from "../schema/mod.ts";
import { canonicalJson, tryParseJson } from "../std/json.ts";
import {
  changeDefinition,
  hasChanged,
  type CheckedMigration as Migration,
  mergeDeclared,
  readTexts,
  workInPlace,
} from "../tables/mod.ts";
import { type ArchiveHeader, readBlocks } from "./file.ts";

/** `definition`: the tables of the archive. The last migration is planned with this definition. */
export type ArchivedHistory = { migrations: Migration[]; definition: Definition };

export async function readHistory(
  path: string,
  header: ArchiveHeader,
  appId: string,
): Promise<ArchivedHistory> {
  const migrations: Migration[] = [];
  for (const file of header.migrations) migrations.push(await readMigration(file, appId));
  const definition = await readTables(path, header.tables, migrations);
  const last = migrations.pop();
  if (last !== undefined) migrations.push(endWith(last, definition));
  return { migrations, definition };
}

async function readMigration(
  file: ArchiveHeader["migrations"][number],
  appId: string,
): Promise<Migration> {
  if (typeof file === "string") {
    const [read] = await readTexts(workInPlace, [{ text: file, path: "" }], appId);
    if (read === undefined) throw new Error("The migration was not read");
    return read;
  }
  const migration = await readMigration(file.text, appId);
  const { definition } = migration;
  const joins = await readTexts(
    workInPlace,
    file.joins.map((text) => ({ text, path: "" })),
    appId,
  );
  // The join also created what only the joined migrations declare.
  return { ...migration, joins, definition: mergeDeclared([...joins, { definition }]) };
}

/** The last migration with this definition; without its change if the tables lack it, because another app owned the table. */
function endWith({ change, ...last }: Migration, definition: Definition): Migration {
  const isApplied =
    change !== undefined &&
    canonicalJson(changeDefinition(definition, change)) === canonicalJson(definition);
  return { ...last, definition, ...(isApplied ? { change } : {}) };
}

/**
 * The archive's tables. Omits enum values that a migration dropped and no row has: if the app owns the table here, they would
 * block the project's next push.
 */
async function readTables(
  path: string,
  tables: readonly TableDefinition[],
  migrations: readonly Migration[],
): Promise<Definition> {
  const omitted = findDroppedValues(tables, migrations);
  if (omitted.size > 0)
    await readBlocks(path, async ({ table, rows }) => {
      for (const line of rows.lines.split("\n"))
        for (const [column, value] of Object.entries(Object(tryParseJson(line))))
          omitted.delete(toPath({ table, column, value }));
    });
  const declared = tables.map(({ name: table, columns, ...lists }) => ({
    ...lists,
    name: table,
    columns: columns.map(({ values, ...column }) => {
      if (values === undefined) return column;
      const isLeft = (value: string) => !omitted.has(toPath({ table, column: column.name, value }));
      return { ...column, values: values.filter(isLeft) };
    }),
  }));
  return { version: 1, tables: declared.sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

/** The dropped values that the tables still have. */
function findDroppedValues(
  tables: readonly TableDefinition[],
  migrations: readonly Migration[],
): Set<string> {
  const [here, merged] = [{ version: 1, tables } as const, mergeDeclared(migrations)];
  const dropped = migrations.flatMap(({ change }) =>
    change?.kind === "drop_value" && hasChanged(here, change) && !hasChanged(merged, change)
      ? [toPath(change)]
      : [],
  );
  return new Set(dropped);
}

type EnumValue = { table: string; column: string; value: unknown };

function toPath({ table, column, value }: EnumValue): string {
  return JSON.stringify([table, column, value]);
}
