/**
 * A column's state in a form: a value as text, NULL, or the column's default. A typed value overrides a box that was checked
 * when the form was opened. Pure.
 *
 * @module
 */
import type { Kind, NamedColumn } from "../dsl/mod.ts";
import type { Row } from "./rows_call.ts";
import { toMomentText } from "./rows_cells.ts";

export type State = "null" | "default" | { readonly text: string };

/** How a form shows a kind, formats a stored value, and reads typed text. */
type FormKind = {
  /** Whether the value is selected from a list instead of typed. */
  readonly isChosen: boolean;
  /** Whether an empty text is a value, and spaces at its ends are significant. */
  readonly isFreeText: boolean;
  readonly toText: (value: unknown) => string;
};

/** Browsers send different line ends, so texts that differ only in line ends are equal. */
const normalizeLines = (text: string) => text.replaceAll("\r\n", "\n");
const TYPED: FormKind = { isChosen: false, isFreeText: false, toText: String };

const FORM_KINDS = {
  string: { ...TYPED, isFreeText: true, toText: (value) => normalizeLines(String(value)) },
  number: TYPED,
  decimal: TYPED,
  boolean: { ...TYPED, isChosen: true },
  uuid: TYPED,
  timestamp: { ...TYPED, toText: (value) => toMomentText(String(value)) },
  json: { ...TYPED, toText: (value) => JSON.stringify(value, null, 2) },
  enum: { ...TYPED, isChosen: true },
  ref: TYPED,
} satisfies Record<Kind, FormKind>;

export function isChosen({ kind }: NamedColumn): boolean {
  return FORM_KINDS[kind].isChosen;
}

export function isFreeText({ kind }: NamedColumn): boolean {
  return FORM_KINDS[kind].isFreeText;
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
  return { text: FORM_KINDS[kind].toText(value) };
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
  const text = isFreeText(column) ? normalizeLines(sent) : sent.trim();
  const isTicked = (box: string) => fields.get(`${box}.${name}`) === "on";
  if (isTicked("null") && (text === "" || options.first !== toMark("null"))) return "null";
  if (isTicked("default") && text === "") return "default";
  if (options.isNew && isEmptyAsked(column) && text === "")
    return isTicked("empty") ? { text } : "null";
  if (text !== "" || isFreeText(column)) return { text };
  return options.isNew && column.default !== undefined ? "default" : "null";
}
