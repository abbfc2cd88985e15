/** Finds rows of a file with duplicate values in unique columns. Pure. @module */
import type { Json } from "../kinds/mod.ts";
import { VALUES } from "../kinds/mod.ts";
import type { NamedColumn, TableDefinition } from "../schema/mod.ts";
import { canonicalJson } from "../std/json.ts";
import type { FileRow, LineIssue } from "./read_file.ts";

/** Max characters of remembered values per file. The database detects duplicates among later rows. */
const MAX_REMEMBERED_CHARS = 16_777_216;

type DuplicateFinder = {
  /** The errors of the next row: duplicates of earlier rows. */
  readonly find: (row: FileRow) => LineIssue[];
  /** Whether an earlier line has the same values, also in a unique column. */
  readonly isRepeated: (row: FileRow) => boolean;
};

export function makeDuplicateFinder(table: TableDefinition): DuplicateFinder {
  const sets = listUniques(table).map((columns) => ({ columns, lines: new Map<string, number>() }));
  const rows = new Set<string>();
  let remembered = 0;
  const isRepeated = ({ values }: FileRow): boolean => {
    if (!sets.some(({ columns }) => toUniqueKey(columns, values) !== undefined)) return false;
    const text = canonicalJson(values);
    if (rows.has(text)) return true;
    if (remembered < MAX_REMEMBERED_CHARS) rows.add(text);
    remembered += text.length;
    return false;
  };
  const find = ({ line, values }: FileRow) =>
    sets.flatMap(({ columns, lines }): LineIssue[] => {
      const key = toUniqueKey(columns, values);
      if (key === undefined) return [];
      const first = lines.get(key);
      if (first !== undefined) return [describeDuplicate(columns, { line, first })];
      if (remembered < MAX_REMEMBERED_CHARS) lines.set(key, line);
      remembered += key.length;
      return [];
    });
  return { find, isRepeated };
}

/** Whether rows of the table must differ in some columns. A check of a file does not see the stored rows. */
export function hasUniques(table: TableDefinition): boolean {
  return listUniques(table).length > 0;
}

export function listUniques({ columns, uniques }: TableDefinition): NamedColumn[][] {
  const byName = new Map(columns.map((column) => [column.name, column]));
  return [
    ...columns.filter(({ unique }) => unique).map((column) => [column]),
    ...uniques.map((names) => names.flatMap((name) => byName.get(name) ?? [])),
  ];
}

/**
 * The values of a unique constraint as one text, equal for equal values. `undefined` if a value is null or omitted: nulls are
 * distinct, and an omitted column gets its default.
 */
export function toUniqueKey(
  columns: readonly NamedColumn[],
  values: FileRow["values"],
): string | undefined {
  const keys: string[] = [];
  for (const { name, kind } of columns) {
    const value: Json = values[name] ?? null;
    if (value === null) return undefined;
    keys.push(canonicalJson(VALUES[kind].toKey?.(value) ?? value));
  }
  return keys.join(",");
}

type Position = { line: number; first: number };

/** The error of a row with the same values in a unique constraint as a row of the table. */
export function describeTaken(columns: readonly NamedColumn[]) {
  const [column, ...more] = columns.map(({ name }) => name);
  if (column !== undefined && more.length === 0)
    return { column, message: "A stored row has this value: the column must be unique" };
  const names = columns.map(({ name }) => name).join(", ");
  return { message: `A stored row has the same ${names}: must be unique together` };
}

/** The error of a row with the same values in a unique constraint as an earlier one. */
export function describeDuplicate(
  columns: readonly NamedColumn[],
  { line, first }: Position,
): LineIssue {
  const [column, ...more] = columns.map(({ name }) => name);
  if (column !== undefined && more.length === 0)
    return { line, column, message: `Duplicates line ${first}: the column must be unique` };
  const names = columns.map(({ name }) => name).join(", ");
  return { line, message: `Has the same ${names} as line ${first}: must be unique together` };
}
