/**
 * Checks the schema file before an explicit change: the file must already declare the result, so that the next push has no
 * changes. Reports the line to edit; never edits the file. Pure.
 *
 * @module
 */
import type { Definition } from "../../schema/mod.ts";
import { type Cases, matchKind } from "../../std/match_kind.ts";
import { quote } from "../../std/quote.ts";
import type { Change } from "../../tables/plan/change.ts";
import { findColumn, hasChanged } from "../../tables/plan/declared.ts";

type Schema = {
  definition: Definition;
  /** The text of the file, and its path. */
  text: string;
  location: string;
};

/** The edit that the schema file still requires; `undefined` if none. */
export function findEdit(change: Change, schema: Schema): string | undefined {
  const { definition } = schema;
  if (!hasChanged(definition, change)) return undefined;
  const edit = matchKind(EDITS, change, definition);
  return edit && `${findLine(change, schema)} declares ${edit}`;
}

const EDITS: Cases<Change, string | undefined, [definition: Definition]> = {
  rename_column: ({ column, to }) => `${column}: write ${to} there instead`,
  rename_table: ({ table, to }) => `${table}: write ${to} there instead`,
  drop_table: ({ table }) => `${table}: delete the table there`,
  drop_value: ({ value }) => `the value ${quote(value)}: delete it there`,
  retype_column: ({ table, column, type }, definition) => {
    const kind = findColumn(definition, table, column)?.kind;
    if (kind === type.kind) return undefined;
    return `${table}.${column} as ${kind}: write t.${type.kind}() there instead`;
  },
  drop_column: ({ column }) => `${column}: delete it there`,
};

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
