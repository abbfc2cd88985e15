/**
 * Checks the schema file before an explicit change: the file must already declare the result, so that the next push has no
 * changes. Reports the line to edit; never edits the file. Pure.
 *
 * @module
 */
import type { Definition, NamedColumn } from "../../schema/mod.ts";
import { type Cases, matchKind } from "../../std/match_kind.ts";
import { quote } from "../../std/quote.ts";
import type { Change } from "../../tables/plan/change.ts";

type Schema = {
  definition: Definition;
  /** The text of the file, and its path. */
  text: string;
  location: string;
};

/** The edit that the schema file still requires; `undefined` if none. */
export function findEdit(change: Change, schema: Schema): string | undefined {
  return matchKind(EDITS, change, schema);
}

const EDITS: Cases<Change, string | undefined, [schema: Schema]> = {
  rename_column: (change, schema) => {
    if (!declares(change, schema)) return undefined;
    return `${findLine(change, schema)} declares ${change.column}: write ${change.to} there instead`;
  },
  rename_table: (change, schema) => {
    if (!declaresTable(change, schema)) return undefined;
    return `${findLine(change, schema)} declares ${change.table}: write ${change.to} there instead`;
  },
  drop_table: (change, schema) => {
    if (!declaresTable(change, schema)) return undefined;
    return `${findLine(change, schema)} declares ${change.table}: delete the table there`;
  },
  drop_value: (change, schema) => {
    const { value } = change;
    const declared = findColumn(change, schema);
    if (declared?.values?.includes(value) !== true) return undefined;
    return `${findLine(change, schema)} declares the value ${quote(value)}: delete it there`;
  },
  retype_column: (change, schema) => {
    const { table, column, type } = change;
    const declared = findColumn(change, schema);
    if (declared === undefined || declared.kind === type.kind) return undefined;
    return `${findLine(change, schema)} declares ${table}.${column} as ${declared.kind}: write t.${type.kind}() there instead`;
  },
  drop_column: (change, schema) => {
    if (!declares(change, schema)) return undefined;
    return `${findLine(change, schema)} declares ${change.column}: delete it there`;
  },
};

/** Whether the file declares the table. */
function declaresTable({ table }: { table: string }, { definition }: Schema): boolean {
  return definition.tables.some(({ name }) => name === table);
}

type ColumnLocation = { table: string; column: string };

function declares(location: ColumnLocation, schema: Schema): boolean {
  return findColumn(location, schema) !== undefined;
}

export function findColumn(
  { table, column }: ColumnLocation,
  { definition }: Pick<Schema, "definition">,
): NamedColumn | undefined {
  const declared = definition.tables.find(({ name }) => name === table);
  return declared?.columns.find(({ name }) => name === column);
}

/** The file, with the line that declares a table or column if it can be found. */
function findLine(
  { table, column = table }: { table: string; column?: string },
  { text, location }: Schema,
): string {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => isKey(line, table));
  const index = lines.findIndex((line, number) => number >= start && isKey(line, column));
  return start === -1 || index === -1 ? location : `${location}:${index + 1}`;
}

function isKey(line: string, name: string): boolean {
  return new RegExp(`(?<![\\w$.])${name}["']?\\s*:`).test(line);
}
