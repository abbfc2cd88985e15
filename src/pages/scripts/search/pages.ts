/** Requests pages of a table's rows as JSON. Waits at a rate limit; explains every other failure. @module */
import { isObject, tryParseJson } from "../../../std/json.ts";
import { splitList, splitObject } from "../../../std/json_text.ts";
import { MAX_ROWS } from "../../../std/limits.ts";
import { callPatiently } from "../data.ts";

export type Row = { readonly id: string; readonly [column: string]: unknown };

export type RowsPage = {
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
  readonly next: string | undefined;
  /** The number of rows, if it was asked for; `null` if they are too many to count. */
  readonly count: number | null | undefined;
  readonly isEstimate: boolean;
  /** The JSON text of each row, in which numbers have all their digits. */
  readonly texts: () => readonly string[];
};

export class SearchError extends Error {
  /** The error code of the response, if any. */
  readonly code: string;

  constructor(message: string, code = "") {
    super(message);
    this.code = code;
  }
}

/** Whether the endpoint rejects the query itself: it does not support it, or would need too long. */
export function isUnserved(error: unknown): boolean {
  return error instanceof SearchError && UNSERVED.includes(error.code);
}

const UNSERVED = [
  "unsupported_query",
  "invalid_query",
  "needs_index",
  "timeout",
  "not_implemented",
];

type PageOptions = { readonly query?: string; readonly headers?: Readonly<Record<string, string>> };

/** @throws {SearchError} the request failed; the message gives the reason */
export async function readPage(url: string, options: PageOptions = {}): Promise<RowsPage> {
  const answer = await callPatiently(url, options);
  if (answer.kind === "rejected") throw new SearchError(answer.message, answer.code);
  if (answer.kind === "lost") throw new SearchError(toSentence(answer.reason), answer.code);
  return toPage(tryParseJson(answer.text), answer.text);
}

type QueryOptions = {
  readonly parameters: readonly (readonly [string, string])[];
  /** Max rows of all pages. */
  readonly max: number;
  readonly after?: string | undefined;
  readonly offset?: number;
};

/**
 * The pages of a query, until it ends or `max` rows are read. The list endpoint ends a page early, also without a row, when it has
 * visited as many rows as one request may: only `next` says whether more follow.
 *
 * @throws {SearchError} as {@linkcode readPage}
 */
export async function* readQueryPages(
  url: string,
  { parameters, max, after, offset = 0 }: QueryOptions,
): AsyncGenerator<RowsPage, void> {
  let left = max;
  let next = after;
  do {
    const query = new URLSearchParams([
      ...parameters.map(([name, value]) => [name, value]),
      ["limit", String(Math.min(left, MAX_ROWS))],
      ...(next !== undefined ? [["after", next]] : offset > 0 ? [["offset", String(offset)]] : []),
    ]);
    const page = await readPage(url, { query: query.toString() });
    yield page;
    left -= page.rows.length;
    next = page.next;
  } while (next !== undefined && left > 0);
}

/** All rows of a query, at most `max`. @throws {SearchError} as {@linkcode readPage} */
export async function readQuery(url: string, options: QueryOptions): Promise<RowsPage[]> {
  return await Array.fromAsync(readQueryPages(url, options));
}

function toSentence(reason: string): string {
  return reason.charAt(0).toUpperCase() + reason.slice(1);
}

function toPage(body: unknown, text: string): RowsPage {
  const { rows, hasMore, next, count, countIsEstimate } = isObject(body) ? body : {};
  if (!Array.isArray(rows)) throw new SearchError("The server sent no rows.");
  return {
    rows: rows.filter(isRow),
    hasMore: hasMore === true,
    next: typeof next === "string" ? next : undefined,
    count: typeof count === "number" || count === null ? count : undefined,
    isEstimate: countIsEstimate === true,
    texts: () => splitList(splitObject(text).get("rows") ?? "[]"),
  };
}

function isRow(row: unknown): row is Row {
  return isObject(row) && typeof row["id"] === "string";
}
