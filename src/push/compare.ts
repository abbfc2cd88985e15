/**
 * Whether a declaration fits a physical table. For apps that do not own it, this is all there is to check: they change
 * nothing, so each difference is either harmless or a conflict.
 *
 * @module
 */
import { indexesOf, keysOf } from "../catalog/mod.ts";
import type { NamedColumn, TableDefinition } from "../dsl/mod.ts";
import { canonicalJson } from "../std/canonical_json.ts";

/** One part of a declaration that does not fit, with what there is instead and what to do. */
export type Conflict = {
  table: string;
  column?: string;
  wanted: string;
  /** What there is instead; absent if the app must not learn it. */
  found?: string;
  remedy: string;
  /** Why it does not fit, if what there is must not be told; default: it does not fit the table. */
  misfit?: string;
  /** Who has what was found; default: the table. */
  holder?: "an app" | "that table" | "the service";
};

/** A conflict that says what there is instead. */
export type Clash = Conflict & { found: string };

/** The aspects of a column that must be the same in every declaration. */
const ASPECTS: readonly { name: string; show: (column: NamedColumn) => string }[] = [
  {
    name: "type",
    show: (column) => (column.kind === "ref" ? `ref(${column.table})` : column.kind),
  },
  {
    name: "required",
    show: (column) => (column.required ? "a required column" : "an optional column"),
  },
  { name: "default", show: showDefault },
  {
    name: "onDelete",
    show: (column) =>
      column.onDelete === undefined ? "no onDelete" : `onDelete ${column.onDelete}`,
  },
];

/** Everything that prevents another app's declaration from using the table as it is. */
export function findConflicts(
  declared: TableDefinition,
  table: TableDefinition,
  remedy: string,
): Clash[] {
  return [
    ...table.columns.flatMap((column) => findLeftOut(declared, table.name, column, remedy)),
    ...declared.columns.flatMap((column) => findColumnConflicts(column, table, remedy)),
    ...findExtraKeys(declared, table, remedy),
  ];
}

/** A required column without a default that is not declared: every create by that app would fail. */
function findLeftOut(
  declared: TableDefinition,
  table: string,
  column: NamedColumn,
  remedy: string,
): Clash[] {
  const isNeeded = column.required && column.default === undefined;
  if (!isNeeded || declared.columns.some((other) => other.name === column.name)) return [];
  return [
    {
      table,
      column: column.name,
      wanted: "no such column",
      found: "a required column without a default",
      remedy,
    },
  ];
}

function findColumnConflicts(column: NamedColumn, table: TableDefinition, remedy: string): Clash[] {
  const there = table.columns.find((other) => other.name === column.name);
  const place = { table: table.name, column: column.name, remedy };
  if (there === undefined) return [{ ...place, wanted: "this column", found: "no such column" }];
  const conflicts = ASPECTS.filter(({ show }) => show(column) !== show(there)).map(({ show }) => ({
    ...place,
    wanted: show(column),
    found: show(there),
  }));
  const lacking =
    isSubsequence(column.values ?? [], there.values ?? []) || column.kind !== there.kind;
  if (lacking) return conflicts;
  return [...conflicts, { ...place, wanted: showValues(column), found: showValues(there) }];
}

/** Unique constraints and indexes belong to the table: an app may declare fewer, but no others. */
function findExtraKeys(declared: TableDefinition, table: TableDefinition, remedy: string): Clash[] {
  const found = new Set(
    [...keysOf(table), ...indexesOf(table)].map((constraint) => constraint.name),
  );
  return [...keysOf(declared), ...indexesOf(declared)]
    .filter((constraint) => !found.has(constraint.name))
    .map(({ kind, columns }) => {
      const [article, word] = kind === "key" ? ["a", "unique constraint"] : ["an", "index"];
      return {
        table: table.name,
        wanted: `${article} ${word} on (${columns.join(", ")})`,
        found: `no such ${word}`,
        remedy,
      };
    });
}

export function showDefault(column: NamedColumn): string {
  return column.default === undefined
    ? "no default"
    : `the default ${canonicalJson(column.default)}`;
}

export function showValues(column: NamedColumn): string {
  return `the values ${JSON.stringify(column.values ?? [])}`;
}

/** Whether `part` occurs in `whole` in the same order, with gaps allowed. */
export function isSubsequence(part: readonly string[], whole: readonly string[]): boolean {
  let next = 0;
  for (const value of whole) if (value === part[next]) next++;
  return next === part.length;
}
