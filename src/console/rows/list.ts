/** Rows from the data endpoints, each with its text and tag: pages, rows by id, and the number of rows. @module */

import { readParameters } from "../../http/mod.ts";
import { FIELDS, normalizeLines } from "../../kinds/mod.ts";
import type { NamedColumn } from "../../schema/mod.ts";
import { mapBounded } from "../../std/bounded.ts";
import { isObject, tryParseJson } from "../../std/json.ts";
import { splitList, splitObject } from "../../std/json_text.ts";
import { MAX_COUNTED, MAX_ROWS } from "../../std/limits.ts";
import { restoreLineEnds } from "../../std/line_ends.ts";
import { isUuid } from "../../std/patterns.ts";
import { rowTag } from "../../tables/catalog/mod.ts";
import type { Visit } from "../enter.tsx";
import { callRows, type Row, readRow, TEXTS, toRejection } from "./call.ts";

// The rows and columns of a page, from its address. Forms that were opened from the page return to
// it.

export const LIMITS = [25, 50, 100, 250] as const;
const DEFAULT_LIMIT = 50;
export const MAX_OFFSET = 2_147_483_647;

export type Position = {
  limit: number;
  offset: number;
  /** The visible columns; if empty, all columns. */
  columns: readonly string[];
  /** If not empty, only these rows are displayed. */
  ids: readonly string[];
  /** If set, only rows with this reference are displayed. */
  reference: Reference | undefined;
};

export type Reference = { column: string; id: string };

/** The prefix of parameters that name a visible column. */
export const SHOW = "show.";
const MAX_VISIBLE = 200;
const MAX_IDS = 100;

export function readPosition({ context }: Visit): Position {
  const parameters = [...readParameters(context.query)];
  const query = new Map(parameters);
  const limit = LIMITS.find((choice) => String(choice) === query.get("limit")) ?? DEFAULT_LIMIT;
  // Displayed numbers start at 1, offsets at 0.
  const from = query.get("from") ?? "1";
  const offset = /^\d{1,10}$/.test(from) ? Math.min(Math.max(Number(from) - 1, 0), MAX_OFFSET) : 0;
  const columns = [...query.keys()]
    .filter((name) => name.startsWith(SHOW))
    .map((name) => name.slice(SHOW.length));
  const ids = parameters
    .filter(([name, value]) => name === "row" && isUuid(value))
    .map(([, id]) => id);
  return {
    ...{ limit, offset, columns: columns.slice(0, MAX_VISIBLE) },
    ids: [...new Set(ids)].slice(0, MAX_IDS),
    reference: readReference(query.get(REFERENCES)),
  };
}

const REFERENCES = "references";

function readReference(text = ""): Reference | undefined {
  const [, column = "", id = ""] = /^(\w+)\.([^.]+)$/.exec(text) ?? [];
  return isUuid(id) ? { column, id } : undefined;
}

/** The address of the rows whose column references a row. */
export function toReferencePath(path: string, { column, id }: Reference): string {
  return `${path}?${REFERENCES}=${column}.${id}`;
}

/** An address with a position and more parameters. */
export function withPosition(
  path: string,
  position: Position,
  more: Record<string, string> = {},
): string {
  const query = new URLSearchParams({
    ...(position.offset === 0 ? {} : { from: String(position.offset + 1) }),
    ...(position.limit === DEFAULT_LIMIT ? {} : { limit: String(position.limit) }),
    ...Object.fromEntries(position.columns.map((name) => [SHOW + name, "on"])),
    ...more,
  }).toString();
  return query === "" ? path : `${path}?${query}`;
}

export type ListedRow = { row: Row; text: string };
export type RowsPage = { rows: ListedRow[]; hasMore: boolean };

type ListOptions = {
  appId: string;
  table: string;
  limit: number;
  offset: number;
  isExport?: boolean;
};

export async function listRows(visit: Visit, options: ListOptions): Promise<RowsPage> {
  const { appId, table, limit, offset, isExport = false } = options;
  const path = `${table}?limit=${limit}&offset=${offset}`;
  const { text } = await callRows(visit, { appId, path, isExport });
  const page = tryParseJson(text);
  const rows = splitList(splitObject(text).get("rows") ?? "[]").map((part) => ({
    row: readRow(part),
    text: part,
  }));
  return { rows, hasMore: isObject(page) && page["hasMore"] === true };
}

/** Max concurrent calls for single rows. */
const MAX_CALLS = 10;

/** The rows with these ids, in this order; omits ids without a row. */
export async function findRows(
  visit: Visit,
  { appId, table, ids }: { appId: string; table: string; ids: readonly string[] },
): Promise<ListedRow[]> {
  const found = await mapBounded(ids, MAX_CALLS, async (id) => {
    try {
      const { text } = await callRows(visit, { appId, path: `${table}/${id}` });
      return { row: readRow(text), text };
    } catch (error) {
      if (toRejection(error).code !== "not_found") throw error;
      return undefined;
    }
  });
  return found.filter((listed) => listed !== undefined);
}

/** Max rows to search for references. */
export const MAX_SEARCHED = 10_000;

/** The first rows whose column references a row. `hasMore` is also true if not all rows were searched. */
export async function findReferring(
  visit: Visit,
  { appId, table, limit }: Pick<ListOptions, "appId" | "table" | "limit">,
  { column, id }: Reference,
): Promise<RowsPage> {
  const found: ListedRow[] = [];
  let hasMore = true;
  for (let offset = 0; hasMore && offset < MAX_SEARCHED && found.length <= limit; ) {
    const page = await listRows(visit, { appId, table, limit: MAX_ROWS, offset });
    found.push(...page.rows.filter(({ row }) => row[column] === id));
    offset += page.rows.length;
    hasMore = page.hasMore;
  }
  return { rows: found.slice(0, limit), hasMore: hasMore || found.length > limit };
}

type CountOptions = { appId: string; table: string; min: number; max: number };

/** The number of rows of a table, or only that it has more than `over`. */
export type Total =
  | { readonly count: number; readonly isEstimate?: true }
  | { readonly count: undefined; readonly over: number };

/** The number of rows of a table that has at least `min`. */
export async function readTotal(visit: Visit, table: Omit<CountOptions, "max">): Promise<Total> {
  const { count, countIsEstimate } = await readCount(visit, table, "estimated");
  if (typeof count === "number")
    return { count, ...(countIsEstimate === true ? { isEstimate: true } : {}) };
  if (count === null) return { count: undefined, over: MAX_COUNTED };
  const found = await bisectCount(visit, { ...table, max: MAX_SHOWN });
  return found === undefined ? { count: found, over: MAX_SHOWN } : { count: found };
}

/** The number of rows of a table that has at least `min`; `undefined` if it has more than `max`. */
export async function countRows(visit: Visit, options: CountOptions): Promise<number | undefined> {
  const { count } = await readCount(visit, options, "exact");
  return typeof count === "number" ? count : await bisectCount(visit, options);
}

/** Max total if the list endpoint does not count. */
const MAX_SHOWN = 50_000;

/** The count of the list endpoint, if it counts. */
async function readCount(
  visit: Visit,
  { appId, table }: Pick<CountOptions, "appId" | "table">,
  preference: "exact" | "estimated",
): Promise<Readonly<Record<string, unknown>>> {
  const headers = { prefer: `count=${preference}` };
  const { text } = await callRows(visit, { appId, path: `${table}?limit=1`, headers });
  const page = tryParseJson(text);
  return isObject(page) ? { ...page } : {};
}

/** Reads single rows at doubled offsets, and then bisects. */
async function bisectCount(
  visit: Visit,
  { appId, table, min, max }: CountOptions,
): Promise<number | undefined> {
  const isThere = async (offset: number) =>
    (await listRows(visit, { appId, table, limit: 1, offset })).rows.length > 0;
  let low = min;
  let high = Math.min(Math.max(min * 2, 1), max);
  while (await isThere(high)) {
    if (high === max) return undefined;
    low = high + 1;
    high = Math.min(high * 2, max);
  }
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await isThere(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The `If-Match` value for a row of a list. */
export function tagOf({ text }: ListedRow): string {
  return `"${rowTag(new TextEncoder().encode(text))}"`;
}

// A column's state in a form: a value as text, NULL, or the column's default. A typed value
// overrides a box that was checked when the form was opened. Pure.

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
