/**
 * The rows that this page has read, by their ids: their exact text, their entity tags and the labels of the rows that they
 * reference, and how many rows the table has. Calls the data endpoints; never touches the page.
 *
 * @module
 */

import { splitList, splitObject } from "../../../std/json_text.ts";
import { MAX_COUNTED } from "../../../std/limits.ts";
import { mapBounded } from "../../../std/map_bounded.ts";
import { isUuid } from "../../../std/patterns.ts";
import type { GridTable, Total } from "../../rows/grid.tsx";
import { type ListedRow, readRow, toLabelText } from "../../rows/row.ts";
import { type Answer, callPatiently, toDataUrl } from "../data.ts";
import { type RowsPage, readPage, readQuery, SearchError } from "../search/pages.ts";

const MAX_CALLS = 8;
/** Max ids of one condition. */
const MAX_IDS = 100;
const MAX_LABELS = 200;
const TAG_LENGTH = 32;

const stored = new Map<string, ListedRow>();
/** The texts of the rows that this page wrote, in order: their events are not from another user. */
const written = new Map<string, string[]>();
export const labels = new Map<string, string>();

let opened: GridTable | undefined;

/** The table of the page. */
export function readTable(): GridTable {
  const text = document.querySelector<HTMLElement>("[data-table]")?.dataset["table"];
  if (opened === undefined && text !== undefined) opened = JSON.parse(text) as GridTable;
  if (opened === undefined) throw new Error("This page has no table");
  return opened;
}

export function toUrl(id?: string): string {
  const { api, table } = readTable();
  return toDataUrl(api, table, id);
}

export function findStored(id: string): ListedRow | undefined {
  return stored.get(id);
}

export function keep(rows: readonly ListedRow[]): void {
  for (const row of rows) stored.set(row.row.id, row);
}

/** Keeps only the rows of a new page, so that the page never grows. */
export function keepOnly(rows: readonly ListedRow[]): void {
  for (const known of [stored, written, labels]) known.clear();
  keep(rows);
}

export function forget(id: string): void {
  stored.delete(id);
}

export function toListed(text: string): ListedRow {
  return { row: readRow(text), text };
}

/** The rows in the text of a page. */
export function toRows(text: string): ListedRow[] {
  return splitList(splitObject(text).get("rows") ?? "[]").map(toListed);
}

/** The entity tag of a row. */
export async function tagOf({ text }: ListedRow): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const hex = Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0"));
  return `"${hex.join("").slice(0, TAG_LENGTH)}"`;
}

/** The current row; `undefined` if it does not exist. */
export async function fetchRow(id: string): Promise<ListedRow | Answer | undefined> {
  const answer = await callPatiently(toUrl(id));
  if (answer.kind === "done") {
    const listed = toListed(answer.text);
    keep([listed]);
    return listed;
  }
  if (answer.kind !== "rejected" || answer.status !== 404) return answer;
  forget(id);
  return undefined;
}

/** As `startAct()` returns them. */
type Headers = Readonly<Record<string, string>>;

/** Writes values of a row, unless it has changed since `from`. */
export async function patchRow(from: ListedRow, body: string, act?: Headers): Promise<Answer> {
  const { id } = from.row;
  const headers = { ...act, "if-match": await tagOf(from) };
  const answer = await callPatiently(toUrl(id), { method: "PATCH", body, headers });
  if (answer.kind === "done") keepWritten(answer.text);
  return answer;
}

export async function deleteRow(row: ListedRow, act: Headers): Promise<Answer> {
  const headers = { ...act, "if-match": await tagOf(row) };
  const answer = await callPatiently(toUrl(row.row.id), { method: "DELETE", headers });
  if (answer.kind === "done") forget(row.row.id);
  return answer;
}

export function keepWritten(text: string): ListedRow {
  const listed = toListed(text);
  keep([listed]);
  written.set(listed.row.id, [...(written.get(listed.row.id) ?? []), text]);
  return listed;
}

/** Whether a version is the current one or an earlier one of this page. */
export function isOwn(id: string, text: string): boolean {
  return stored.get(id)?.text === text || written.get(id)?.includes(text) === true;
}

/** The rows with these ids in this order, those of the page without a request. Omits ids without a row. */
export async function readRows(ids: readonly string[], isFresh = false): Promise<ListedRow[]> {
  const missing = ids.filter((id) => isFresh || !stored.has(id));
  const found = new Set<string>();
  for (const listed of await fetchRows(readTable().table, missing)) {
    keep([listed]);
    found.add(listed.row.id);
  }
  for (const id of missing) if (!found.has(id)) forget(id);
  return ids.flatMap((id) => stored.get(id) ?? []);
}

/** One request reads many rows. @throws {Error} a request failed; the message gives the reason */
async function fetchRows(
  table: string,
  ids: readonly string[],
  select?: string,
): Promise<ListedRow[]> {
  const url = toDataUrl(readTable().api, table);
  const groups = Array.from({ length: Math.ceil(ids.length / MAX_IDS) }, (_, index) =>
    ids.slice(index * MAX_IDS, (index + 1) * MAX_IDS),
  );
  const pages = await mapBounded(groups, MAX_CALLS, async (group) => {
    const parameters: [string, string][] = [["id", `in.(${group})`]];
    if (select !== undefined) parameters.push(["select", select]);
    return await readQuery(url, { parameters, max: group.length });
  });
  return pages.flat().flatMap((page) => page.texts().map(toListed));
}

/** Reads the labels of the rows that these rows reference. Without a label, the grid shows the id. */
export async function readLabels(
  rows: readonly { readonly row: Readonly<Record<string, unknown>> }[],
): Promise<void> {
  const { columns, targets } = readTable();
  const asked = new Map<string, Set<string>>();
  for (const { name, table = "" } of columns) {
    if ((targets[table] ?? []).length === 0) continue;
    const ids = asked.get(table) ?? new Set();
    asked.set(table, ids);
    for (const { row } of rows) {
      const id = row[name];
      if (typeof id === "string" && isUuid(id) && !labels.has(id) && ids.size < MAX_LABELS)
        ids.add(id);
    }
  }
  await Promise.all(
    [...asked].map(async ([table, ids]) => {
      const column = targets[table]?.[0] ?? "id";
      // Without an answer, the grid shows ids.
      const found = await fetchRows(table, [...ids], `id,${column}`).catch(() => []);
      for (const { row } of found) {
        const label = toLabelText(row[column]);
        if (label !== undefined) labels.set(row.id, label);
      }
    }),
  );
}

/** The label of the row that a reference names; the id without one. */
export async function readLabel(column: string, id: string): Promise<string> {
  const { columns, targets } = readTable();
  const table = columns.find(({ name }) => name === column)?.table ?? "";
  const named = targets[table]?.[0] ?? "id";
  const [listed] = labels.has(id)
    ? []
    : await fetchRows(table, [id], `id,${named}`).catch(() => []);
  return labels.get(id) ?? toLabelText(listed?.row[named]) ?? id;
}

/** Calls `onFound` with each better number; never on a database that cannot count. */
export async function countRows(onFound: (total: Total) => void): Promise<void> {
  const page = await ask("estimated");
  if (page?.count === undefined) return;
  const { count, isEstimate } = page;
  if (count === null) return onFound({ over: MAX_COUNTED });
  onFound({ count, ...(isEstimate ? { isEstimate: true } : {}) });
  if (!isEstimate || count > MAX_COUNTED) return;
  const exact = (await ask("exact"))?.count;
  if (typeof exact === "number") onFound({ count: exact });
}

/** `undefined` without an answer: the page then shows no total. */
async function ask(preference: "exact" | "estimated"): Promise<RowsPage | undefined> {
  return await readPage(toUrl(), {
    query: "limit=1",
    headers: { prefer: `count=${preference}` },
  }).catch((error: unknown) => {
    if (error instanceof SearchError) return undefined;
    throw error;
  });
}
