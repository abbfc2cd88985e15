/**
 * All rows of a table as a file, read and sent page by page. Each page begins with the last row of the previous page, so that a
 * deletion during the export skips no rows. An error aborts the response, so that an incomplete file never looks complete.
 *
 * @module
 */
import { type PagePosition, readPages, toCsvNames, toCsvValues } from "../rows/mod.ts";
import { toCsvLine } from "../std/csv.ts";
import type { Visit } from "./enter.ts";
import { toRejection } from "./rows_call.ts";
import { findRows, type ListedRow, listRows, type RowsPage } from "./rows_list.ts";
import { readPosition } from "./rows_position.ts";
import type { RowsTable } from "./rows_table.ts";

const PAGE_ROWS = 500;
const MAX_WAITS = 5;
/** Sockets are closed after a longer silence. */
const MAX_WAIT_S = 20;

type Format = {
  type: string;
  /** The text before the first row, and the text after the last row. */
  start: (table: RowsTable) => string;
  end: string;
  toText: (table: RowsTable, row: ListedRow, isFirst: boolean) => string;
};

const FORMATS: Readonly<Record<"csv" | "json", Format>> = {
  csv: {
    type: "text/csv; charset=utf-8; header=present",
    start: ({ definition }) => toCsvLine(toCsvNames(definition)),
    end: "",
    toText: ({ definition }, { row }) => toCsvLine(toCsvValues(definition, row)),
  },
  json: {
    type: "application/json",
    start: () => "[",
    end: "\n]\n",
    toText: (_, { text }, isFirst) => `${isFirst ? "\n" : ",\n"}${text}`,
  },
};

export const handleCsv = (visit: Visit, table: RowsTable) => handleExport(visit, table, "csv");
export const handleJsonFile = (visit: Visit, table: RowsTable) =>
  handleExport(visit, table, "json");

async function handleExport(
  visit: Visit,
  table: RowsTable,
  format: keyof typeof FORMATS,
): Promise<Response> {
  const { appId, table: name } = table;
  const list = (position: PagePosition) =>
    listPatiently(visit, { appId, table: name, ...position });
  const { ids } = readPosition(visit);
  const pages =
    ids.length > 0
      ? readSome(visit, table, ids)
      : readPages(list, { limit: PAGE_ROWS, idOf: ({ row }) => row.id });
  // Read the first page before the response begins, so that an error is a page.
  const first = await pages.next();
  return new Response(toStream(table, FORMATS[format], { first, pages }), {
    headers: {
      "content-type": FORMATS[format].type,
      "content-disposition": `attachment; filename="${table.slug}-${table.table}.${format}"`,
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; sandbox",
      "cross-origin-resource-policy": "same-origin",
    },
  });
}

type Pages = AsyncGenerator<readonly ListedRow[], void>;

/** The rows in the address. */
async function* readSome(visit: Visit, table: RowsTable, ids: readonly string[]): Pages {
  yield await findRows(visit, { ...table, ids });
}

/** Waits if the rate limit is reached. */
async function listPatiently(
  visit: Visit,
  position: { appId: string; table: string } & PagePosition,
): Promise<RowsPage> {
  for (let waited = 0; ; waited++) {
    try {
      return await listRows(visit, { ...position, isExport: true });
    } catch (error) {
      const { code, headers } = toRejection(error);
      if (code !== "rate_limited" || waited === MAX_WAITS) throw error;
      await Bun.sleep(Math.min(Number(headers["retry-after"] ?? 1), MAX_WAIT_S) * 1000);
    }
  }
}

type Read = { first: IteratorResult<readonly ListedRow[], void>; pages: Pages };

function toStream(table: RowsTable, format: Format, { first, pages }: Read): ReadableStream {
  let read: typeof first | undefined = first;
  let isFirst = true;
  const encoder = new TextEncoder();
  return new ReadableStream({
    pull: async (controller) => {
      try {
        const { done, value } = read ?? (await pages.next());
        const start = read === undefined ? "" : format.start(table);
        read = undefined;
        const rows = (done === true ? [] : value).map((row) => {
          const text = format.toText(table, row, isFirst);
          isFirst = false;
          return text;
        });
        controller.enqueue(
          encoder.encode(start + rows.join("") + (done === true ? format.end : "")),
        );
        if (done === true) controller.close();
      } catch {
        controller.error(); // without the reason: the server would print it, and it cannot reach the reader
      }
    },
    cancel: () => void pages.return(),
  });
}
