/**
 * What a form has of each column: a value as text, NULL, or the column's default. Whoever typed a value over a box that was
 * ticked when the form was opened means the value. Pure.
 *
 * @module
 */
import type { NamedColumn } from "../dsl/mod.ts";
import type { Row } from "./rows_call.ts";
import { toMomentText } from "./rows_cells.ts";

export type State = "null" | "default" | { readonly text: string };

/** Kinds with few values, which are chosen and not typed. */
export function isChosen({ kind }: NamedColumn): boolean {
  return kind === "enum" || kind === "boolean";
}

/** What the form of a new row begins with. */
export function toFirstState({ required, default: initial }: NamedColumn): State {
  if (initial !== undefined) return "default";
  return required ? { text: "" } : "null";
}

/** What the form of a row begins with. */
export function toState({ name, kind }: NamedColumn, row: Row): State {
  const value = row[name];
  if (value === null || value === undefined) return "null";
  if (kind === "json") return { text: JSON.stringify(value, null, 2) };
  if (typeof value !== "string") return { text: JSON.stringify(value) };
  // Browsers end lines of a form in their own way: they cannot be told apart.
  return { text: kind === "timestamp" ? toMomentText(value) : value.replaceAll("\r\n", "\n") };
}

/** Equal for equal states, and short: a form carries it for each column. */
export function toMark(state: State): string {
  const text = typeof state === "string" ? state : `=${state.text}`;
  return Bun.CryptoHasher.hash("sha256", text, "base64url").slice(0, 12);
}

/** What was sent for a column; `undefined` where the form had no field for it. */
export function readState(
  column: NamedColumn,
  fields: ReadonlyMap<string, string>,
  options: { first: string; isNew: boolean },
): State | undefined {
  const { name, kind } = column;
  const sent = fields.get(`value.${name}`);
  if (sent === undefined) return undefined;
  if (isChosen(column))
    return sent === "null" || sent === "default" ? sent : { text: sent.replace(/^=/, "") };
  const text = kind === "string" ? sent.replaceAll("\r\n", "\n") : sent.trim();
  const isTicked = (box: string) => fields.get(`${box}.${name}`) === "on";
  if (isTicked("null") && (text === "" || options.first !== toMark("null"))) return "null";
  if (isTicked("default") && text === "") return "default";
  if (text !== "" || kind === "string") return { text };
  return options.isNew && column.default !== undefined ? "default" : "null";
}
