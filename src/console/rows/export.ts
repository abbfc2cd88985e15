/**
 * All rows of a table as a file, read and sent page by page. Each page begins with the last row of the previous page, so that a
 * deletion during the export skips no rows. An error aborts the response, so that an incomplete file never looks complete.
 *
 * @module
 */

import { type ListedRow, TEXTS } from "../../pages/mod.ts";
import { makeRowsWriter, type PagePosition, readPages } from "../../rows/mod.ts";
import type { Visit } from "../enter.tsx";
import { patiently } from "./call.ts";
import { listRows } from "./list.ts";
import type { RowsTable } from "./table.tsx";

const PAGE_ROWS = 500;

type Format = {
  type: string;
  /** Starts a file: the text before the first row, and the texts of its rows in order. */
  open: (table: RowsTable) => { start: string; toText: (row: ListedRow) => string };
  /** The text after the last row. */
  end: string;
};

const FORMATS: Readonly<Record<"csv" | "json", Format>> = {
  csv: {
    type: "text/csv; charset=utf-8; header=present",
    open: ({ definition }) => {
      const { start, toText } = makeRowsWriter(definition, "csv", { isInert: true });
      return { start, toText: ({ row }) => toText(row[TEXTS]) };
    },
    end: "",
  },
  json: {
    type: "application/json",
    open: () => {
      let separator = "\n";
      return {
        start: "[",
        toText: ({ text }) => {
          const line = `${separator}${text}`;
          separator = ",\n";
          return line;
        },
      };
    },
    end: "\n]\n",
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
    patiently(() => listRows(visit, { appId, table: name, ...position, isExport: true }));
  const pages = readPages(list, { limit: PAGE_ROWS, idOf: ({ row }) => row.id });
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

type Read = { first: IteratorResult<readonly ListedRow[], void>; pages: Pages };

function toStream(table: RowsTable, format: Format, { first, pages }: Read): ReadableStream {
  let read: typeof first | undefined = first;
  const { start, toText } = format.open(table);
  const encoder = new TextEncoder();
  return new ReadableStream({
    pull: async (controller) => {
      try {
        const { done, value } = read ?? (await pages.next());
        const before = read === undefined ? "" : start;
        read = undefined;
        const rows = (done === true ? [] : value).map(toText);
        controller.enqueue(
          encoder.encode(before + rows.join("") + (done === true ? format.end : "")),
        );
        if (done === true) controller.close();
      } catch {
        controller.error(); // without the reason: the server would print it, and it cannot reach the reader
      }
    },
    cancel: () => void pages.return(),
  });
}
