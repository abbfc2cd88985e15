/** The differences between two definitions of an app by table, as lines of text. Pure. @module */
import { FIELDS, isReference } from "../../kinds/mod.ts";
import {
  type Definition,
  explainRights,
  listRoles,
  type NamedColumn,
  type TableDefinition,
} from "../../schema/mod.ts";
import { FOUND, isFound } from "../../std/found.ts";

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

/** Two definitions as JSON. The first push has no previous definition. */
type Pushed = { before: string | null; definition: string };

function parse(pushed: Pushed): { before: Definition | null; after: Definition } {
  return { before: JSON.parse(pushed.before ?? "null"), after: JSON.parse(pushed.definition) };
}

/** The tables that differ between two definitions. */
export function compareDefinitions(pushed: Pushed): TableChange[] {
  const { before, after } = parse(pushed);
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
function toTexts(defined: TableDefinition): Map<string, string> {
  const { columns, indexes, uniques } = defined;
  const list = (names: readonly string[]) => `(${names.join(", ")})`;
  return new Map([
    ...columns.map((column): [string, string] => [`column ${column.name}`, describe(column)]),
    ...uniques.map((names): [string, string] => [`unique ${names}`, `unique ${list(names)}`]),
    ...indexes.map((names): [string, string] => [`index ${names}`, `index ${list(names)}`]),
    ...listRoles([defined]).map((role): [string, string] => [
      `rules of ${role}`,
      `rules of ${role}: ${explainRights(defined, role)}`,
    ]),
  ]);
}

function describe(column: NamedColumn): string {
  const { name, kind, table, values, required, unique, index, onDelete, onUpdate } = column;
  const parts = [
    name,
    [kind, table ?? (values && `(${values.join(", ")})`)].filter((part) => part).join(" "),
    required && "required",
    unique && "unique",
    index && "index",
    column.default !== undefined && `default ${JSON.stringify(column.default)}`,
    onDelete !== undefined && `on delete ${onDelete}`,
    onUpdate !== undefined && `on update ${onUpdate}`,
  ];
  return parts.filter((part) => part !== false).join(" ");
}

/** The values that a column accepts, and the class of the rejected value, in words; `undefined` if the column is not declared. */
export function explainRejected(
  pushed: Pushed,
  { table, field, found }: { table: string; field: string; found: string | undefined },
): { expected: string; found: string | undefined } | undefined {
  const { after } = parse(pushed);
  const columns = after.tables.find(({ name }) => name === table)?.columns;
  const column = columns?.find(({ name }) => name === field);
  if (column === undefined) return undefined;
  const expected = FIELDS[column.kind].expected(column);
  if (isReference(column) && found === "id_text")
    return { expected, found: "an id that no row has" };
  return { expected, found: isFound(found) ? FOUND[found] : undefined };
}

function withoutName(column: NamedColumn): string {
  return describe(column).slice(column.name.length + 1);
}

/** Describes the change of a column after which input can be rejected that was valid before; without such a change `undefined`. */
export function findRestriction(
  pushed: Pushed,
  { table, field }: { table: string; field: string },
): string | undefined {
  const { before, after } = parse(pushed);
  const [old, now] = [before, after].map((all) => all?.tables.find(({ name }) => name === table));
  const [was, is] = [old, now].map((defined) =>
    defined?.columns.find(({ name }) => name === field),
  );
  if (was === undefined) return is && `added it as ${withoutName(is)}`;
  if (is === undefined) return "removed it";
  if (isStricter(was, is)) return `changed it from ${withoutName(was)} to ${withoutName(is)}`;
  const known = new Set(old?.uniques.map(String));
  const unique = now?.uniques.find((names) => names.includes(field) && !known.has(String(names)));
  return unique && `added unique (${unique.join(", ")})`;
}

function isStricter(was: NamedColumn, is: NamedColumn): boolean {
  const isNeeded = (column: NamedColumn) => column.required && column.default === undefined;
  return (
    [was.kind !== is.kind, was.table !== is.table, !was.unique && is.unique].includes(true) ||
    [!was.required && is.required, !isNeeded(was) && isNeeded(is)].includes(true) ||
    was.values?.some((value) => is.values?.includes(value) !== true) === true
  );
}
