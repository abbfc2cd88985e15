/** A page of rows as the data endpoints send it, each with the text and the tag that it has by itself. @module */
import { rowTag } from "../catalog/mod.ts";
import { isObject } from "../std/is_object.ts";
import { tryParseJson } from "../std/try_parse_json.ts";
import type { Visit } from "./enter.ts";
import { callRows, type Row, readRow } from "./rows_call.ts";

export type ListedRow = { row: Row; text: string };
export type RowsPage = { rows: ListedRow[]; hasMore: boolean };

export type ListOptions = {
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
  const rows = splitRows(text).map((part) => ({ row: readRow(part), text: part }));
  return { rows, hasMore: isObject(page) && page["hasMore"] === true };
}

/** What `If-Match` takes for a row of a list. */
export function tagOf({ text }: ListedRow): string {
  return `"${rowTag(new TextEncoder().encode(text))}"`;
}

/**
 * The text of each row of `{"rows":[…]}`: as it is in the list it is by itself, to the byte. By hand, because a regular
 * expression finds no string of several megabytes, and does not say so.
 */
function splitRows(list: string): string[] {
  const rows: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < list.length; at++) {
    const character = list[at];
    // In a string a brace is text.
    if (character === '"') at = findEnd(list, at);
    else if (character === "{" && depth++ === 1) start = at;
    else if (character === "}" && --depth === 1) rows.push(list.slice(start, at + 1));
  }
  return rows;
}

/** Where the string ends that begins at a quote. */
function findEnd(list: string, start: number): number {
  for (let end = start + 1; ; end++) {
    end = list.indexOf('"', end);
    if (end === -1) throw new Error("The data endpoints sent a list that ends in a string");
    let escapes = 0;
    while (list[end - 1 - escapes] === "\\") escapes++;
    if (escapes % 2 === 0) return end;
  }
}
