/** A row as the endpoints send it, and the names of rows. Used by the server and by the scripts of the grid. @module */
import { FIELDS } from "../../kinds/mod.ts";
import type { NamedColumn, TableDefinition } from "../../schema/mod.ts";
import { isObject } from "../../std/json.ts";
import { splitObject } from "../../std/json_text.ts";

/** The values of a row as JSON text. */
export const TEXTS: unique symbol = Symbol("texts");

/** A row as the endpoints send it. Numbers have all their digits only as text. */
export type Row = Readonly<Record<string, unknown>> & {
  readonly id: string;
  readonly [TEXTS]: ReadonlyMap<string, string>;
};

/** A row and its JSON text, whose digest is its entity tag. */
export type ListedRow = { readonly row: Row; readonly text: string };

export function readRow(text: string): Row {
  const row: unknown = JSON.parse(text);
  if (isObject(row) && typeof row["id"] === "string")
    return { ...row, id: row["id"], [TEXTS]: splitObject(text) };
  throw new Error("The data endpoints sent a row without an id");
}

/** The JSON text of a value; `null` for a value that the row does not have. */
export function textOf(row: Row, column: string): string {
  return row[TEXTS].get(column) ?? "null";
}

/** Labels of referenced rows, by their ids. */
export type Labels = ReadonlyMap<string, string>;

/** The characters of a longer text that are shown as the label of its row. */
export const LABEL_CHARS = 60;

/** The column with the label of a row: the first unique column of free text, otherwise the first of free text, otherwise a unique address. */
export function findLabelColumn({
  columns,
}: Pick<TableDefinition, "columns">): NamedColumn | undefined {
  const texts = columns.filter(({ kind }) => FIELDS[kind].isFreeText === true);
  const addresses = columns.filter(({ kind }) => FIELDS[kind].cell === "link");
  return texts.find(({ unique }) => unique) ?? texts[0] ?? addresses.find(({ unique }) => unique);
}

/**
 * The columns by which a row is found, beginning with its label: beside a unique text, such as a number, the first required text,
 * such as a name; beside a name, a unique address.
 */
export function listFinders({ columns }: Pick<TableDefinition, "columns">): string[] {
  const label = findLabelColumn({ columns });
  if (label === undefined) return [];
  const other = columns.find(({ name, kind, unique, required }) => {
    const { isFreeText, cell } = FIELDS[kind];
    if (name === label.name) return false;
    return label.unique ? required && isFreeText === true : unique && cell === "link";
  });
  return [label, ...(other === undefined ? [] : [other])].map(({ name }) => name);
}

export function toLabel(
  definition: Pick<TableDefinition, "columns"> | undefined,
  row: Readonly<Record<string, unknown>>,
): string | undefined {
  const column = definition && findLabelColumn(definition);
  return column && toLabelText(row[column.name]);
}

export function toLabelText(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.slice(0, LABEL_CHARS) : undefined;
}
