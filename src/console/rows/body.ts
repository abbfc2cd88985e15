/** The body of a write from typed values; the data endpoints validate it. Pure. @module */

import { FIELDS, NEVER_ACCEPTED } from "../../kinds/mod.ts";
import type { Detail } from "../../problem.ts";
import type { NamedColumn } from "../../schema/mod.ts";
import type { State } from "./list.ts";

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
function toJson({ kind }: NamedColumn, state: State): string {
  if (typeof state === "string") return "null";
  return FIELDS[kind].toJson?.(state.text) ?? JSON.stringify(state.text);
}
