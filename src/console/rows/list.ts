/** Rows from the data endpoints, each with its text and tag: pages and rows by id. @module */

import { readParameters } from "../../http/mod.ts";
import { type ListedRow, type Place, readPlace, readRow, type State } from "../../pages/mod.ts";
import { isObject, tryParseJson } from "../../std/json.ts";
import { splitList, splitObject } from "../../std/json_text.ts";
import { mapBounded } from "../../std/map_bounded.ts";
import { rowTag } from "../../tables/catalog/mod.ts";
import type { Visit } from "../enter.tsx";
import { callRows } from "./call.ts";

/** The place in the address of a page. Forms that were opened from the page return to it. */
export function readPosition({ context }: Visit): Place {
  return readPlace(new Map(readParameters(context.query)));
}

export type RowsPage = { rows: ListedRow[]; hasMore: boolean; next: string | undefined };

type ListOptions = Place & { appId: string; table: string; isExport?: boolean };

export async function listRows(visit: Visit, options: ListOptions): Promise<RowsPage> {
  const { appId, table, limit, offset, isExport = false } = options;
  const path = `${table}?limit=${limit}&offset=${offset}`;
  return readPage((await callRows(visit, { appId, path, isExport })).text);
}

/** The rows of a query, at most `max`. A page ends early at a limit of its work: rows can follow an empty one. */
export async function queryRows(
  visit: Visit,
  { appId, table, parameters, max }: RowsQuery,
): Promise<ListedRow[]> {
  const found: ListedRow[] = [];
  let next: string | undefined;
  do {
    const query = new URLSearchParams({
      ...{ ...parameters, limit: `${max - found.length}` },
      ...(next === undefined ? {} : { after: next }),
    });
    const page = readPage((await callRows(visit, { appId, path: `${table}?${query}` })).text);
    found.push(...page.rows);
    next = page.next;
  } while (next !== undefined && found.length < max);
  return found;
}

type RowsQuery = {
  appId: string;
  table: string;
  parameters: Readonly<Record<string, string>>;
  max: number;
};

function readPage(text: string): RowsPage {
  const page = tryParseJson(text);
  const rows = splitList(splitObject(text).get("rows") ?? "[]").map((part) => ({
    row: readRow(part),
    text: part,
  }));
  const { hasMore, next } = isObject(page) ? page : {};
  return { rows, hasMore: hasMore === true, next: typeof next === "string" ? next : undefined };
}

/** Max concurrent calls. */
const MAX_CALLS = 10;
/** Max ids of one condition. */
const MAX_IDS = 100;

/** The rows with these ids; omits ids without a row. */
export async function findRows(
  visit: Visit,
  { appId, table, ids, select }: { appId: string; table: string; ids: string[]; select?: string },
): Promise<ListedRow[]> {
  const groups = Array.from({ length: Math.ceil(ids.length / MAX_IDS) }, (_, index) =>
    ids.slice(index * MAX_IDS, (index + 1) * MAX_IDS),
  );
  const found = await mapBounded(groups, MAX_CALLS, (group) => {
    const parameters = { id: `in.(${group})`, ...(select === undefined ? {} : { select }) };
    return queryRows(visit, { appId, table, parameters, max: group.length });
  });
  return found.flat();
}

/** The `If-Match` value for a row of a list. */
export function tagOf({ text }: ListedRow): string {
  return `"${rowTag(new TextEncoder().encode(text))}"`;
}

/** A short text that is equal for equal states; a form has it for each column. */
export function toMark(state: State): string {
  const text = typeof state === "string" ? state : `=${state.text}`;
  return Bun.CryptoHasher.hash("sha256", text, "base64url").slice(0, 12);
}
