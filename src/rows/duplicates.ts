/** Finds rows of a file with duplicate values in unique columns. Pure. @module */
import type { Json, NamedColumn, TableDefinition } from "../dsl/mod.ts";
import { VALUES } from "../kinds/mod.ts";
import { canonicalJson } from "../std/canonical_json.ts";
import type { FileRow, LineIssue } from "./source.ts";

/** Max characters of remembered values per file. The database detects duplicates among later rows. */
const MAX_REMEMBERED_CHARS = 16_777_216;

/** Returns a function that finds the errors of the next row: duplicates of earlier rows. */
export function makeDuplicateFinder(table: TableDefinition): (row: FileRow) => LineIssue[] {
  const sets = listUniques(table).map((columns) => ({ columns, lines: new Map<string, number>() }));
  let remembered = 0;
  return ({ line, values }) =>
    sets.flatMap(({ columns, lines }): LineIssue[] => {
      const key = toKey(columns, values);
      if (key === undefined) return [];
      const first = lines.get(key);
      if (first !== undefined) return [toIssue(columns, { line, first })];
      if (remembered < MAX_REMEMBERED_CHARS) lines.set(key, line);
      remembered += key.length;
      return [];
    });
}

/** Whether rows of the table must differ in some columns. A check of a file does not see the stored rows. */
export function hasUniques(table: TableDefinition): boolean {
  return listUniques(table).length > 0;
}

function listUniques({ columns, uniques }: TableDefinition): NamedColumn[][] {
  const byName = new Map(columns.map((column) => [column.name, column]));
  return [
    ...columns.filter(({ unique }) => unique).map((column) => [column]),
    ...uniques.map((names) => names.flatMap((name) => byName.get(name) ?? [])),
  ];
}

/** `undefined` if a value is null or omitted: nulls are distinct, and an omitted column gets its default. */
function toKey(columns: readonly NamedColumn[], values: FileRow["values"]): string | undefined {
  const keys: string[] = [];
  for (const { name, kind } of columns) {
    const value: Json = values[name] ?? null;
    if (value === null) return undefined;
    keys.push(canonicalJson(VALUES[kind].toKey?.(value) ?? value));
  }
  return keys.join(",");
}

type Position = { line: number; first: number };

function toIssue(columns: readonly NamedColumn[], { line, first }: Position): LineIssue {
  const [column, ...more] = columns.map(({ name }) => name);
  if (column !== undefined && more.length === 0)
    return { line, column, message: `Duplicates line ${first}: the column must be unique` };
  const names = columns.map(({ name }) => name).join(", ");
  return { line, message: `Has the same ${names} as line ${first}: must be unique together` };
}
