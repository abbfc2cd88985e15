/** Maps names of a file to columns. Pure. @module */

import type { NamedColumn, TableDefinition } from "../schema/mod.ts";
import { findNearest } from "../std/names.ts";
import { quote } from "../std/quote.ts";
import { foldText } from "../std/text.ts";
import type { SourceHeader } from "./read_file.ts";

/** The column for a name; `undefined` if the name is skipped, an issue if no column matches. */
type Target = { readonly column: NamedColumn | undefined } | { readonly issue: string };
export type Mapping = {
  readonly targetOf: (name: string) => Target;
  /** The names that the file must have. */
  readonly mapped: readonly string[];
};

export type MappingOptions = {
  /** Names of the file and their columns, if they differ. */
  readonly map?: ReadonlyMap<string, string>;
  /** Names of the file to skip. */
  readonly skip?: readonly string[];
};

/** Columns that the service generates. */
const OWN_NAMES: readonly string[] = ["id", "app_id"];

/**
 * Maps a name of the file to the column with the same name, ignoring capitals, spaces and signs.
 *
 * @throws {RangeError} the options name a column that the table does not have
 */
export function makeMapping(
  { name: table, columns }: TableDefinition,
  { map = new Map(), skip = [] }: MappingOptions = {},
): Mapping {
  const byName = new Map(columns.map((column) => [column.name, column]));
  const names = [...byName.keys()];
  for (const name of map.values())
    if (!byName.has(name)) throw new RangeError(explainUnknown(table, name, names));
  const byFold = Map.groupBy(columns, (column) => foldText(column.name));
  const usedNames = new Set(map.values());
  const find = (name: string): Target => {
    if (skip.includes(name)) return { column: undefined };
    const chosen = byName.get(map.get(name) ?? name);
    if (chosen !== undefined) return { column: chosen };
    if (OWN_NAMES.includes(name)) return { column: undefined };
    const [alike, ...more] = byFold.get(foldText(name)) ?? [];
    const isFree = alike !== undefined && !usedNames.has(alike.name);
    if (isFree && more.length === 0) return { column: alike };
    return { issue: explainUnknown(table, name, names) };
  };
  const targets = new Map<string, Target>();
  return {
    mapped: [...map.keys()],
    targetOf: (name) => {
      const target = targets.get(name) ?? find(name);
      if (targets.size < MAX_REMEMBERED) targets.set(name, target);
      return target;
    },
  };
}

/** Bounds the cache: each row of NDJSON can have different names. */
const MAX_REMEMBERED = 1000;

function explainUnknown(table: string, name: string, names: readonly string[]): string {
  if (/^#\d+$/.test(name))
    return `Column ${name} has a value but no name: name it in the file, map it to a column, or leave it out`;
  const near = findNearest(name, names);
  const expected = near === undefined ? names.join(", ") : `perhaps ${near}`;
  return `${quote(name)} is not a column of ${table}: ${expected}`;
}

/** The errors of names that are mapped to a column and are not in the file. */
export function findUnmapped({ mapped }: Mapping, names: readonly string[]): string[] {
  return mapped
    .filter((name) => !names.includes(name))
    .map((name) => {
      const folded = foldText(name);
      const near = names.find((other) => foldText(other) === folded) ?? findNearest(name, names);
      const expected = near === undefined ? names.join(", ") : `perhaps ${quote(near)}`;
      return `${quote(name)} is mapped to a column but is not a name in the file: ${expected}`;
    });
}

type HeaderOptions = {
  readonly mapping: Mapping;
  /** The columns that the file must have. */
  readonly needed: (column: NamedColumn) => boolean;
};

/** The errors of the names in a file's first line. */
export function findHeaderIssues(
  table: TableDefinition,
  { names, unnamed }: SourceHeader,
  { mapping, needed }: HeaderOptions,
): string[] {
  // A column without a name is reported by its first value: mostly it has none.
  const targets = names
    .map((name) => ({ name, target: mapping.targetOf(name) }))
    .filter(({ name, target }) => !("issue" in target && unnamed.has(name)));
  const repeated = [...Map.groupBy(targets, ({ name }) => name)]
    .filter(([, [first, ...more]]) => more.length > 0 && !isSkipped(first?.target))
    .map(([name, same]) => `${quote(name)} is the name of ${same.length} columns`);
  const unknown = targets.flatMap(({ target }) => ("issue" in target ? [target.issue] : []));
  const mapped = targets.flatMap(({ name, target }) => {
    const column = "column" in target ? target.column : undefined;
    return column === undefined ? [] : [{ name, column }];
  });
  const shared = [...Map.groupBy(mapped, ({ column }) => column.name)]
    .map(([column, from]) => ({ column, from: new Set(from.map(({ name }) => quote(name))) }))
    .filter(({ from }) => from.size > 1)
    .map(({ column, from }) => `${[...from].join(" and ")} both map to ${column}`);
  const found = new Set(mapped.map(({ column }) => column.name));
  const missing = table.columns
    .filter((column) => needed(column) && !found.has(column.name))
    .map(({ name }) => `${name} is missing: the column is required and has no default`);
  const isForNone = mapped.length === 0 && unknown.length === 0;
  const none = isForNone ? [`No name matches a column of ${table.name}`] : [];
  const unmapped = findUnmapped(mapping, names);
  return [...repeated, ...new Set(unknown), ...unmapped, ...shared, ...missing, ...none];
}

function isSkipped(target: Target | undefined): boolean {
  return target !== undefined && "column" in target && target.column === undefined;
}

/** Returns whether a new row requires a value in a column. */
export function isNeeded(column: NamedColumn): boolean {
  return column.required && column.default === undefined;
}
