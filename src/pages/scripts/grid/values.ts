/**
 * The value that a typed or pasted text means in a column, as the JSON of the endpoints, and its text for a spreadsheet. A
 * reference is its row's label.
 *
 * @module
 */

import { escapePattern, FIELDS, NEVER_ACCEPTED } from "../../../kinds/mod.ts";
import type { NamedColumn } from "../../../schema/mod.ts";
import { isUuid } from "../../../std/patterns.ts";
import { quoteElement } from "../../../std/quote.ts";
import { LABEL_CHARS, type ListedRow, type Row } from "../../rows/row.ts";
import { isFreeText, type State, toJson, toState, withLineEnds } from "../../rows/state.ts";
import { toDataUrl } from "../data.ts";
import { readQuery, SearchError } from "../search/pages.ts";
import { columnOf } from "./cells.ts";
import { labels, readTable } from "./store.ts";

export type Value = { readonly json: string } | { readonly issue: string };
type Text = { readonly text: string; readonly isPasted?: boolean };
/** A typed or pasted text, or the state of a field. */
export type Input = Text | { readonly state: State };

export function findColumn(name: string): NamedColumn | undefined {
  return readTable().columns.find((column) => column.name === name);
}

/** The choice that a text names; a typed text can be the beginning of a single one. */
function findChoice(
  column: NamedColumn,
  text: string,
  isTyped: boolean,
): State | { readonly issue: string } {
  const options = (FIELDS[column.kind].choices?.(column) ?? []).map((choice): [string, State] => [
    choice,
    { text: choice },
  ]);
  if (!column.required) options.push([NULL, NULL]);
  const wanted = text.toLowerCase();
  const [named] = [
    ...options.filter(([choice]) => choice === text),
    ...options.filter(([choice]) => choice.toLowerCase() === wanted),
  ];
  if (named !== undefined) return named[1];
  const begun = isTyped
    ? options.filter(([choice]) => choice.toLowerCase().startsWith(wanted))
    : [];
  const [first, ...others] = begun;
  if (first === undefined) return { issue: `No choice is ${JSON.stringify(text)}.` };
  if (others.length === 0) return first[1];
  const names = begun.slice(0, MAX_NAMED).map(([choice]) => choice);
  const more = begun.length > MAX_NAMED ? ", …" : "";
  return {
    issue: `${JSON.stringify(text)} begins ${begun.length} choices: ${names.join(", ")}${more}.`,
  };
}

/** Max choices that a message lists. */
const MAX_NAMED = 5;

const NULL = "null";
const NOT_JSON = 'Must be JSON, such as {"a": 1}, [1, 2] or "text" with quotes';

/** The value of an input; a text keeps the line ends of the row's value. */
export async function toValue(column: NamedColumn, input: Input, row?: Row): Promise<Value> {
  const state = "state" in input ? input.state : readText(column, input);
  if (typeof state === "object" && "issue" in state) return state;
  if (state === "default") return { issue: "A stored row has no default" };
  if (
    typeof state === "object" &&
    FIELDS[column.kind].control === "reference" &&
    !isUuid(state.text)
  )
    return await findReferenced(column, state.text);
  const exact = row === undefined ? state : withLineEnds(column, state, row);
  const json = toJson(column, exact);
  const isInvalid = FIELDS[column.kind].control === "json" && json === NEVER_ACCEPTED;
  return isInvalid ? { issue: NOT_JSON } : { json };
}

function readText(
  column: NamedColumn,
  { text: given, isPasted = false }: Text,
): State | { readonly issue: string } {
  const text = isFreeText(column) ? given : given.trim();
  if (text === "" && !isFreeText(column)) return NULL;
  if (FIELDS[column.kind].choices === undefined) return { text };
  return findChoice(column, text, !isPasted);
}

/** The only row of the referenced table with this label. */
async function findReferenced({ table = "", name }: NamedColumn, text: string): Promise<Value> {
  const { api, targets } = readTable();
  const label = targets[table]?.[0];
  const wanted = text.trim();
  if (label === undefined) return { issue: `${name} needs the id of a row of ${table}` };
  // A longer text is shown cut off.
  const test =
    wanted.length < LABEL_CHARS
      ? `eq.${quoteElement(wanted)}`
      : `like.${quoteElement(`${escapePattern(wanted)}*`)}`;
  const parameters = [
    ["and", `(${label}.${test})`],
    ["select", "id"],
  ] as const;
  try {
    const pages = await readQuery(toDataUrl(api, table), { parameters, max: 2 });
    const [only, ...more] = pages.flatMap(({ rows }) => rows);
    if (only !== undefined && more.length === 0) return { json: JSON.stringify(only.id) };
    const count = only === undefined ? "No row" : "More than one row";
    return { issue: `${count} of ${table} is shown as ${JSON.stringify(wanted)}` };
  } catch (error) {
    if (error instanceof SearchError) return { issue: error.message };
    throw error;
  }
}

export function describeSize(rows: number, columns: number): string {
  return rows === 1 && columns === 1 ? "1 cell" : `${rows} × ${columns} cells`;
}

/** The text of a value in a spreadsheet: of a reference its label, of null nothing. */
export function toShown(cell: HTMLTableCellElement, { row }: ListedRow): string {
  const column = findColumn(columnOf(cell) ?? "");
  const state = column === undefined ? "null" : toState(column, row);
  if (column === undefined || typeof state === "string") return "";
  return FIELDS[column.kind].control === "reference"
    ? (labels.get(state.text) ?? state.text)
    : state.text;
}

/** A copied reference is pasted by its text: the id could be of another table. */
export function isSameKind(column: NamedColumn, json: string): boolean {
  if (json === "null") return !column.required;
  return isFreeText(column) && json.startsWith('"');
}

/** The references among new values, whose labels the preview shows. */
export function readIds(values: ReadonlyMap<string, string>): Record<string, unknown> {
  return Object.fromEntries(
    [...values].map(([name, json]) => [name, json.startsWith('"') ? JSON.parse(json) : null]),
  );
}
