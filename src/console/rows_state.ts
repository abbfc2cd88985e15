/**
 * A column's state in a form: a value as text, NULL, or the column's default. A typed value overrides a box that was checked
 * when the form was opened. Pure.
 *
 * @module
 */
import type { NamedColumn } from "../dsl/mod.ts";
import { FIELDS, normalizeLines } from "../kinds/mod.ts";
import { restoreLineEnds } from "../std/line_ends.ts";
import { tryParseJson } from "../std/try_parse_json.ts";
import { type Row, TEXTS } from "./rows_call.ts";

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
  if (typeof state === "string" || column.kind !== "string" || typeof original !== "string")
    return state;
  return { text: restoreLineEnds(state.text, original) };
}

/** The exact text of a value that a script restores: `json` is the text before the edit, with its line ends. */
export function readExact(state: State, json: string | undefined): State {
  const text = tryParseJson(json ?? "");
  if (typeof state === "string" || typeof text !== "string") return state;
  return normalizeLines(text) === state.text ? { text } : state;
}

/** A short text that is equal for equal states; a form has it for each column. */
export function toMark(state: State): string {
  const text = typeof state === "string" ? state : `=${state.text}`;
  return Bun.CryptoHasher.hash("sha256", text, "base64url").slice(0, 12);
}

/** The submitted value of a column; `undefined` if the form had no field for it. */
export function readState(
  column: NamedColumn,
  fields: ReadonlyMap<string, string>,
  options: { first: string; isNew: boolean },
): State | undefined {
  const { name } = column;
  const sent = fields.get(`value.${name}`);
  if (sent === undefined) return undefined;
  if (isChosen(column))
    return sent === "null" || sent === "default" ? sent : { text: sent.replace(/^=/, "") };
  const lines = normalizeLines(sent);
  const text = isFreeText(column) ? lines : lines.trim();
  const isTicked = (box: string) => fields.get(`${box}.${name}`) === "on";
  if (isTicked("null") && (text === "" || options.first !== toMark("null"))) return "null";
  if (isTicked("default") && text === "") return "default";
  if (options.isNew && isEmptyAsked(column) && text === "")
    return isTicked("empty") ? { text } : "null";
  if (text !== "" || isFreeText(column)) return { text };
  return options.isNew && column.default !== undefined ? "default" : "null";
}
