/** Searches the rows of a table: compares their columns and texts as the page displays them. @module */

import { FIELDS, type FieldKind, shortenId, toMomentText } from "../../../kinds/mod.ts";
import { type PagePosition, readPages } from "../../../rows/mod.ts";
import { makeCompare, matches } from "../../../sdk/matches.ts";
import { toConditionParameters } from "../../../sdk/query_text.ts";
import { splitObject } from "../../../std/json_text.ts";
import { foldSpelling } from "../../../std/letter_case.ts";
import { MAX_ROWS } from "../../../std/limits.ts";
import { md5 } from "../../../std/md5.ts";
import { formatTime } from "../times.ts";
import { type Row, readPage, readQueryPages, SearchError } from "./pages.ts";
import { type SearchColumn, type SearchState, toWhere } from "./state.ts";

// Whether a row contains a text as the page displays its values: in every column, in any case and
// spelling.

/** The ids of the referenced rows whose label has the text, by column. */
type FoundTargets = ReadonlyMap<string, ReadonlySet<string>>;

/** Spaces of every kind are equal: times contain narrow ones. */
function fold(text: string): string {
  return foldSpelling(text).replaceAll(/\s+/g, " ");
}

/** The texts that a cell displays instead of the value. */
const DISPLAYED: Readonly<Partial<Record<FieldKind["cell"], (text: string) => readonly string[]>>> =
  {
    moment: (time) => [toMomentText(time), formatTime(time)],
    mono: (id) => [shortenId(id)],
    reference: (id) => [shortenId(id)],
  };

/** The test of a row; `json` is its text, in which numbers have all their digits. */
function makeTextTest(
  text: string,
  columns: readonly SearchColumn[],
  targets: FoundTargets,
): (row: Row, json: string) => boolean {
  const wanted = fold(text.trim());
  const has = (visible: string) => fold(visible).includes(wanted);
  return (row, json) => {
    const texts = splitObject(json);
    return columns.some(({ name, kind }) => {
      const value = row[name];
      if (value === null || value === undefined) return false;
      const exact = texts.get(name) ?? "";
      const { cell } = FIELDS[kind];
      if (cell === "json") return has(exact) || has(JSON.stringify(value));
      if (typeof value !== "string") return has(exact);
      const displayed = DISPLAYED[cell]?.(value) ?? [];
      return [value, ...displayed].some(has) || targets.get(name)?.has(value) === true;
    });
  };
}

// Finds rows of a table: with conditions of the list endpoint if it supports them, otherwise by
// reading the table and comparing each row with the client's `matches()`. Stores only the id and
// the sort value of a row, to save memory.

export type Search = {
  /** The address of pages of rows as JSON. */
  readonly url: string;
  readonly columns: readonly SearchColumn[];
  readonly state: SearchState;
  /** Whether to use the conditions of the list endpoint. */
  readonly hasFilters: boolean;
  /** Whether the list endpoint can sort all rows. Otherwise it sorts only by an index. */
  readonly isSmall?: boolean;
  /** Whether the endpoint also searches the text, because the table has too many rows to read. */
  readonly isLarge?: boolean;
  /** A column whose values are returned with the ids. */
  readonly label?: string;
  /** Without an order, the search ends after this number of rows. */
  readonly max?: number;
};

export type SearchReport =
  | {
      readonly kind: "progress";
      /** Unknown if the list endpoint compares the rows. */
      readonly searched?: number;
      readonly found: number;
      /** The first rows found, if they are in their final order. */
      readonly first?: readonly string[];
    }
  | {
      readonly kind: "found";
      readonly ids: readonly string[];
      /** Values of the requested column, as text. */
      readonly labels: readonly string[];
      readonly searched: number;
      /** Whether the search ended before the last row. */
      readonly isCut: boolean;
    }
  | { readonly kind: "failed"; readonly reason: string };

export const MAX_SEARCHED = 50_000;
/** As many as a page shows. */
const MAX_FIRST = 250;
/** Errors of an endpoint that does not support the query, or not in time. The script then compares the rows itself. */
export const FALLBACK_CODES = [
  ...["unsupported_query", "needs_index", "not_implemented"],
  ...["timeout", "rate_limited"],
];

type Report = (report: SearchReport) => void;

/** Reports progress, and the result at the end. */
export async function findRows(search: Search, report: Report): Promise<void> {
  try {
    const isText = search.state.text !== "" && search.isLarge !== true;
    const found = search.hasFilters && !isText ? await findByEndpoint(search, report) : undefined;
    report(found ?? (await findHere(search, report)));
  } catch (error) {
    report({ kind: "failed", reason: error instanceof SearchError ? error.message : `${error}` });
  }
}

/** `undefined` if the endpoint does not support such a query. Rows that it would not sort are sorted here. */
async function findByEndpoint(
  { url, columns, state, isSmall = false, label, max = MAX_SEARCHED }: Search,
  report: Report,
): Promise<SearchReport | undefined> {
  const { order } = state;
  const isSorted =
    order === undefined ||
    isSmall ||
    columns.some(({ name, isSorted }) => name === order.column && isSorted === true);
  const selected = new Set(["id", label ?? "id", ...(isSorted ? [] : [order.column])]);
  const parameters: [string, string][] = [
    ...toParameters({ ...state, order: isSorted ? order : undefined }, columns),
    ["select", [...selected].join(",")],
  ];
  const found: Match[] = [];
  let isCut = false;
  try {
    for await (const page of readQueryPages(url, { parameters, max })) {
      found.push(...page.rows.map((row) => toMatch(row, { state, label, columns })));
      isCut = page.next !== undefined;
      report({ kind: "progress", found: found.length });
    }
  } catch (error) {
    if (error instanceof SearchError && FALLBACK_CODES.includes(error.code)) return undefined;
    throw error;
  }
  const sorted = isSorted ? found : sortMatches(found, state, columns);
  return { ...toFound(sorted), searched: found.length, isCut };
}

/** The query of the list endpoint for a search. */
export function toParameters(state: SearchState, columns: readonly SearchColumn[]) {
  const { order } = state;
  const direction = order?.isDescending === true ? "desc" : "asc";
  return [
    ...toConditionParameters(toWhere(state, columns)),
    ...(order === undefined ? [] : [["order", `${order.column}.${direction}`] as [string, string]]),
  ];
}

type MatchOptions = Pick<Search, "state" | "columns"> & { readonly label: string | undefined };

function toMatch(row: Row, { state: { order }, label, columns }: MatchOptions): Match {
  const column = columns.find(({ name }) => name === order?.column);
  return {
    id: row.id,
    value: column && toSortValue(row[column.name], column),
    label: label === undefined ? "" : toLabel(row[label]),
  };
}

function toFound(matches: readonly Match[]) {
  return {
    kind: "found",
    ids: matches.map(({ id }) => id),
    labels: matches.map(({ label }) => label),
  } as const;
}

type Value = string | number | boolean;
/** A matching row. `value` is the value to sort by; `undefined` if it is null. */
type Match = { readonly id: string; readonly value: Value | undefined; readonly label: string };

async function findHere(
  { url, columns, state, label, max = MAX_SEARCHED }: Search,
  report: Report,
): Promise<SearchReport> {
  const where = toWhere({ ...state, text: "" }, columns);
  const hasText =
    state.text === ""
      ? undefined
      : makeTextTest(state.text, columns, await findTargets(state.text, columns));
  const kinds = Object.fromEntries(columns.map((column) => [column.name, { column }]));
  const found: Match[] = [];
  let searched = 0;
  let hasMore = false;
  const list = async ({ limit, offset }: PagePosition) => {
    const page = await readPage(`${url}?limit=${limit}&offset=${offset}`);
    hasMore = page.hasMore;
    const texts = hasText === undefined ? [] : page.texts();
    return {
      rows: page.rows.map((row, index) => ({ row, json: texts[index] ?? "{}" })),
      hasMore,
    };
  };
  for await (const rows of readPages(list, { limit: MAX_ROWS, idOf: ({ row }) => row.id })) {
    for (const { row, json } of rows)
      if (matches(row, where, kinds) && hasText?.(row, json) !== false)
        found.push(toMatch(row, { state, label, columns }));
    searched += rows.length;
    const first = state.order === undefined ? found.slice(0, MAX_FIRST).map(({ id }) => id) : [];
    report({ kind: "progress", searched, found: found.length, first });
    const isEnough = state.order === undefined && found.length >= max;
    if (searched >= MAX_SEARCHED || isEnough) break;
  }
  return { ...toFound(sortMatches(found, state, columns)), searched, isCut: hasMore };
}

/** The ids of referenced rows whose label has the text. */
async function findTargets(text: string, columns: readonly SearchColumn[]): Promise<FoundTargets> {
  const found = new Map<string, ReadonlySet<string>>();
  const ofTable = new Map<string, ReadonlySet<string>>();
  for (const { name, target } of columns) {
    if (target === undefined) continue;
    const ids = ofTable.get(target.url) ?? (await findLabeled(text, target));
    ofTable.set(target.url, ids);
    found.set(name, ids);
  }
  return found;
}

async function findLabeled(
  text: string,
  { url, label }: NonNullable<SearchColumn["target"]>,
): Promise<ReadonlySet<string>> {
  const hasText = makeTextTest(text, [{ name: label, kind: "string", required: false }], new Map());
  const ids = new Set<string>();
  let searched = 0;
  const list = ({ limit, offset }: PagePosition) =>
    readPage(`${url}?limit=${limit}&offset=${offset}`);
  for await (const rows of readPages(list, { limit: MAX_ROWS, idOf: ({ id }) => id })) {
    for (const row of rows) if (hasText(row, "{}")) ids.add(row.id);
    searched += rows.length;
    if (searched >= MAX_SEARCHED) break;
  }
  return ids;
}

const LABEL_CHARS = 60;

function toLabel(value: unknown): string {
  return typeof value === "string" ? value.slice(0, LABEL_CHARS) : "";
}

function toSortValue(value: unknown, { kind }: SearchColumn): Value | undefined {
  if (typeof value === "string") return FIELDS[kind].search.toSortKey?.(value, md5) ?? value;
  return typeof value === "number" || typeof value === "boolean" ? value : undefined;
}

/** Sorts like the list endpoint: nulls come last in both directions, equal values in the order of their ids. */
function sortMatches(
  found: readonly Match[],
  { order }: SearchState,
  columns: readonly SearchColumn[],
): readonly Match[] {
  if (order === undefined) return found;
  const compare = makeCompare(columns.find(({ name }) => name === order.column));
  const direction = order.isDescending ? -1 : 1;
  return found.toSorted((a, b) => {
    const byId = direction * (a.id < b.id ? -1 : 1);
    if (a.value === undefined || b.value === undefined)
      return Number(a.value === undefined) - Number(b.value === undefined) || byId;
    return direction * compare(a.value, b.value) || byId;
  });
}
