/** The body of a write from typed values; the data endpoints validate it. Pure. @module */
import type { Kind, NamedColumn } from "../dsl/mod.ts";
import type { Detail } from "../problem.ts";
import { JSON_NUMBER, toMoment } from "../rows/mod.ts";
import { tryParseJson } from "../std/try_parse_json.ts";
import type { State } from "./rows_state.ts";

export type TypedValue = {
  column: NamedColumn;
  state: State;
  /** The JSON text of the value, if it is copied instead of typed. */
  json?: string | undefined;
};

/** No column accepts this value. The endpoint stores nothing, and also reports the issues of the other fields. */
const NEVER_ACCEPTED = '"\\ud800"';
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
        json === undefined && column.kind === "json" && toJson(column, state) === NEVER_ACCEPTED,
    )
    .map(({ column }) => ({ path: `/${column.name}`, message: NOT_JSON }));
}

/** Sends numbers and JSON as typed, so that no digit is lost before validation. */
function toJson({ kind }: NamedColumn, state: State): string {
  if (typeof state === "string") return "null";
  return JSON_TEXTS[kind](state.text);
}

const JSON_TEXTS = {
  string: JSON.stringify,
  number: (text) => (JSON_NUMBER.test(text) ? text : JSON.stringify(text)),
  decimal: JSON.stringify,
  boolean: (text) => (text === "true" || text === "false" ? text : JSON.stringify(text)),
  uuid: JSON.stringify,
  timestamp: (text) => JSON.stringify(toMoment(text)),
  json: (text) => (tryParseJson(text) === undefined ? NEVER_ACCEPTED : text),
  enum: JSON.stringify,
  ref: JSON.stringify,
} satisfies Record<Kind, (text: string) => string>;
