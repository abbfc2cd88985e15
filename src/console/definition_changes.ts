/** The differences between two definitions of an app by table, as lines of text. Pure. @module */
import type { Definition, NamedColumn, TableDefinition } from "../dsl/mod.ts";

/** A line of a table's text; `was` is the replaced text. */
export type Line =
  | { change: "same" | "added" | "removed"; text: string }
  | { change: "changed"; text: string; was: string };

export type TableChange = {
  table: string;
  change: "added" | "removed" | "changed";
  /** All lines in the table's order; removed lines come last. */
  lines: Line[];
};

/** The tables that differ between two definitions as JSON. The first push has no previous definition. */
export function compareDefinitions(pushed: {
  before: string | null;
  definition: string;
}): TableChange[] {
  const before = JSON.parse(pushed.before ?? "null") as Definition | null;
  const after = JSON.parse(pushed.definition) as Definition;
  const old = new Map(before?.tables.map((table) => [table.name, table]));
  const stored = new Set(after.tables.map(({ name }) => name));
  return [
    ...after.tables.flatMap((table) => compareTables(old.get(table.name), table)),
    ...[...old.values()]
      .filter(({ name }) => !stored.has(name))
      .map(
        (table): TableChange => ({
          table: table.name,
          change: "removed",
          lines: [...toTexts(table).values()].map((text) => ({ change: "removed", text })),
        }),
      ),
  ];
}

function compareTables(before: TableDefinition | undefined, after: TableDefinition): TableChange[] {
  const old = before === undefined ? new Map<string, string>() : toTexts(before);
  const now = toTexts(after);
  const lines = [
    ...[...now].map(([part, text]) => toLine(old.get(part), text)),
    ...[...old]
      .filter(([part]) => !now.has(part))
      .map(([, text]): Line => ({ change: "removed", text })),
  ];
  if (lines.every(({ change }) => change === "same")) return [];
  return [{ table: after.name, change: before === undefined ? "added" : "changed", lines }];
}

function toLine(was: string | undefined, text: string): Line {
  if (was === undefined) return { change: "added", text };
  return was === text ? { change: "same", text } : { change: "changed", text, was };
}

/** A text for each part of a table. */
function toTexts({ columns, indexes, uniques }: TableDefinition): Map<string, string> {
  const list = (names: readonly string[]) => `(${names.join(", ")})`;
  return new Map([
    ...columns.map((column): [string, string] => [`column ${column.name}`, describe(column)]),
    ...uniques.map((names): [string, string] => [`unique ${names}`, `unique ${list(names)}`]),
    ...indexes.map((names): [string, string] => [`index ${names}`, `index ${list(names)}`]),
  ]);
}

function describe(column: NamedColumn): string {
  const { name, kind, table, values, required, unique, index, onDelete } = column;
  const parts = [
    name,
    kind === "ref" ? `ref ${table}` : kind === "enum" ? `enum (${values?.join(", ")})` : kind,
    required && "required",
    unique && "unique",
    index && "index",
    column.default !== undefined && `default ${JSON.stringify(column.default)}`,
    onDelete !== undefined && `on delete ${onDelete}`,
  ];
  return parts.filter((part) => part !== false).join(" ");
}
