/** The tables of a schema as the catalog has them, with all columns and without a database. @module */
import { toDefinition } from "../../src/schema/mod.ts";
import type { RecordedTable } from "../../src/tables/catalog/mod.ts";

/** Returns what finds the tables of a schema. */
export function findIn(schema: unknown): (name: string) => RecordedTable | undefined {
  const read = toDefinition(schema);
  if ("issues" in read) throw new Error(JSON.stringify(read.issues, null, 2));
  return (name) => {
    const definition = read.definition.tables.find((table) => table.name === name);
    return definition && { name, definition, whole: definition };
  };
}

/** @throws {Error} the schema lacks the table */
export function findTable(schema: unknown, name: string): RecordedTable {
  const table = findIn(schema)(name);
  if (table === undefined) throw new Error(`The schema has no table ${name}`);
  return table;
}
