/** Requests pages of a table's rows as JSON for a search. Waits at a rate limit; explains every other failure. @module */
import { isObject } from "../../../std/json.ts";
import { splitList, splitObject } from "../../../std/json_text.ts";

export type Row = { readonly id: string; readonly [column: string]: unknown };

export type RowsPage = {
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
  readonly next: string | undefined;
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

const DEFAULT_WAIT_S = 1;

/**
 * Requests a page of rows. Sends conditions in a header, because proxies log addresses.
 *
 * @throws {SearchError} the request failed; the message gives the reason
 */
export async function readPage(url: string, options: { query?: string } = {}): Promise<RowsPage> {
  const headers = options.query === undefined ? undefined : { "rows-query": options.query };
  for (;;) {
    const response = await fetch(url, headers === undefined ? {} : { headers }).catch(() => {
      throw new SearchError("The server did not respond.");
    });
    if (response.status === 429) {
      await wait(Number(response.headers.get("retry-after")) || DEFAULT_WAIT_S);
      continue;
    }
    const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
    if (!isJson)
      throw new SearchError(
        response.redirected
          ? "Your session has ended. Sign in again in another tab, then search again."
          : `The server responded with ${response.status}.`,
      );
    const text = await response.text();
    const body: unknown = JSON.parse(text);
    if (!response.ok) throw toError(body, response.status);
    return toPage(body, text);
  }
}

function wait(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}

function toError(body: unknown, status: number): SearchError {
  const { error, message } = isObject(body) ? body : {};
  return new SearchError(
    typeof message === "string" ? message : `The server responded with ${status}.`,
    typeof error === "string" ? error : "",
  );
}

function toPage(body: unknown, text: string): RowsPage {
  const { rows, hasMore, next } = isObject(body) ? body : {};
  if (!Array.isArray(rows)) throw new SearchError("The server sent no rows.");
  return {
    rows: rows.filter(isRow),
    hasMore: hasMore === true,
    next: typeof next === "string" ? next : undefined,
    texts: () => splitList(splitObject(text).get("rows") ?? "[]"),
  };
}

function isRow(row: unknown): row is Row {
  return isObject(row) && typeof row["id"] === "string";
}
