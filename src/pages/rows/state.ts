/**
 * A column's state in a form: a value as text, NULL, or the column's default, and the JSON that stores it. A typed value overrides
 * a box that was checked when the form was opened. Used by the server and by the scripts of the grid. Pure.
 *
 * @module
 */
import { FIELDS, NEVER_ACCEPTED, normalizeLines } from "../../kinds/mod.ts";
import type { Detail } from "../../problem.ts";
import type { NamedColumn } from "../../schema/mod.ts";
import { restoreLineEnds } from "../../std/line_ends.ts";
import { type Row, TEXTS } from "./row.ts";

export type State = "null" | "default" | { readonly text: string };

export function isChosen({ kind }: NamedColumn): boolean {
  return FIELDS[kind].choices !== undefined;
}

export function isFreeText({ kind }: NamedColumn): boolean {
  return FIELDS[kind].isFreeText === true;
}

/** Whether the form of a new row stores an empty text only on request: an empty field is ambiguous. */
export function isEmptyAsked(column: NamedColumn): boolean {
  return column.required && column.default === undefined && isFreeText(column);
}

/** The initial input of the form of a new row. */
export function toFirstState(column: NamedColumn): State {
  const { required, default: initial } = column;
  if (initial !== undefined) return "default";
  return required && isChosen(column) ? { text: "" } : "null";
}

/** The initial input of the form of a row. */
export function toState({ name, kind }: NamedColumn, row: Row): State {
  const value = row[name];
  if (value === null || value === undefined) return "null";
  const { toText = String } = FIELDS[kind];
  return { text: toText(value, row[TEXTS].get(name) ?? "") };
}

/** The exact text of a state: its lines end as in the row, where it has the same lines. */
export function withLineEnds(column: NamedColumn, state: State, row: Row): State {
  const original = row[column.name];
  if (typeof state === "string" || !isFreeText(column) || typeof original !== "string")
    return state;
  return { text: restoreLineEnds(state.text, original) };
}

/** The submitted value of a column; `undefined` if the form had no field for it. */
export function readState(
  column: NamedColumn,
  fields: ReadonlyMap<string, string>,
  options: { wasNull: boolean; isNew: boolean },
): State | undefined {
  const { name } = column;
  const sent = fields.get(`value.${name}`);
  if (sent === undefined) return undefined;
  if (isChosen(column))
    return sent === "null" || sent === "default" ? sent : { text: sent.replace(/^=/, "") };
  const lines = normalizeLines(sent);
  const text = isFreeText(column) ? lines : lines.trim();
  const isTicked = (box: string) => fields.get(`${box}.${name}`) === "on";
  if (isTicked("null") && (text === "" || !options.wasNull)) return "null";
  if (isTicked("default") && text === "") return "default";
  if (options.isNew && isEmptyAsked(column) && text === "")
    return isTicked("empty") ? { text } : "null";
  if (text !== "" || isFreeText(column)) return { text };
  return options.isNew && column.default !== undefined ? "default" : "null";
}

// The body of a write from typed values; the data endpoints validate it.

export type TypedValue = {
  column: NamedColumn;
  state: State;
  /** The JSON text of the value, if it is copied instead of typed. */
  json?: string | undefined;
};

const NOT_JSON = 'Must be JSON, such as {"a": 1}, [1, 2] or "text" with quotes';

/** Leaves out columns with their default. */
export function toBody(values: readonly TypedValue[]): string {
  const members = values
    .filter(({ state, json }) => json !== undefined || state !== "default")
    .map(
      ({ column, state, json }) =>
        `${JSON.stringify(column.name)}:${json ?? toJson(column, state)}`,
    );
  return `{${members.join(",")}}`;
}

/** Issues that only this page can find, because only it has the typed text. */
export function findTypingIssues(values: readonly TypedValue[]): Detail[] {
  return values
    .filter(
      ({ column, state, json }) =>
        json === undefined &&
        FIELDS[column.kind].control === "json" &&
        toJson(column, state) === NEVER_ACCEPTED,
    )
    .map(({ column }) => ({ path: `/${column.name}`, message: NOT_JSON }));
}

/** Sends numbers and JSON as typed, so that no digit is lost before validation. */
export function toJson({ kind }: NamedColumn, state: State): string {
  if (typeof state === "string") return "null";
  return FIELDS[kind].toJson?.(state.text) ?? JSON.stringify(state.text);
}

const VISIBLE_CHARS = 200;

/** The state as text, cut. */
export function showState(state: State): string {
  const text = typeof state === "string" ? state : state.text === "" ? "empty" : state.text;
  return text.length > VISIBLE_CHARS ? `${text.slice(0, VISIBLE_CHARS)}…` : text;
}
