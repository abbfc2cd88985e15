/** Rows in batches of one request each, in chunks of a file and in pages of a list. Pure. @module */

import { showCount } from "../std/count.ts";
import { isObject, tryParseJson } from "../std/json.ts";
import { splitList } from "../std/json_text.ts";
import { utf8Length } from "../std/text.ts";
import { decodeChunks, type FileRow, type LineIssue } from "./read_file.ts";
import type { RowsRead, RowsReader } from "./read_rows.ts";

/** The body of a request, and the line number of each row. */
export type Batch = { readonly body: string; readonly lines: readonly number[] };

/** `row`: max bytes of a row, which is sent alone if it is larger than a batch. */
type BatchLimits = { readonly rows: number; readonly bytes: number; readonly row?: number };

type Batcher = {
  /** The batches that this row completes, and whether the row is too large for any batch. */
  readonly add: (row: FileRow) => { readonly full: readonly Batch[]; readonly issue?: LineIssue };
  /** The remaining rows. */
  readonly end: () => readonly Batch[];
};

/** Splits by rows and by bytes, as counted by `sizeOf`. The same rows always give the same batches. */
export function makeBatcher(limits: BatchLimits, sizeOf = utf8Length): Batcher {
  let [texts, lines, bytes]: [string[], number[], number] = [[], [], 0];
  const separator = sizeOf(",");
  const brackets = sizeOf("[") + sizeOf("]");
  const flush = (): Batch[] => {
    if (texts.length === 0) return [];
    const batch = { body: `[${texts.join(",")}]`, lines };
    [texts, lines, bytes] = [[], [], 0];
    return [batch];
  };
  return {
    add: ({ line, values }) => {
      const text = JSON.stringify(values);
      const size = sizeOf(text) + separator;
      const max = limits.row ?? limits.bytes;
      if (size + brackets > max) {
        const message = `Is ${size} bytes: a request allows max ${max}`;
        return { full: [], issue: { line, message } };
      }
      const isFull = texts.length === limits.rows || bytes + size + brackets > limits.bytes;
      const full = isFull ? flush() : [];
      texts.push(text);
      lines.push(line);
      bytes += size;
      return { full };
    },
    end: flush,
  };
}

/** The batch in parts of at most `most` rows. */
export function splitBatch({ body, lines }: Batch, most: number): Batch[] {
  const rows = splitList(body);
  return Array.from({ length: Math.ceil(lines.length / most) }, (_, number) => {
    const [start, end] = [number * most, (number + 1) * most];
    return { body: `[${rows.slice(start, end).join(",")}]`, lines: lines.slice(start, end) };
  });
}

// Describes which rows an import stored before it stopped. Pure.

/** Whether the rows of the batch that failed are stored; `unknown`: the response was lost, or was an error of the service. */
export type RowsFate = "stored" | "not stored" | "unknown";

type StoppedImport = {
  /** The number of rows in the batches before the failed batch. */
  readonly stored: number;
  /** The lines of the failed batch. */
  readonly lines: readonly number[];
  readonly rows: RowsFate;
};

function showStored(rows: number): string {
  return `${showCount(rows, "row")} ${rows === 1 ? "is" : "are"} stored`;
}

/** Sentences about the rows before, in and after the failed batch. */
export function describeStored({ stored, lines, rows }: StoppedImport): string {
  const [first = 1] = lines;
  const last = lines.at(-1) ?? first;
  const range = first === last ? `line ${first}` : `lines ${first} to ${last}`;
  switch (rows) {
    case "not stored":
      return `${showStored(stored)}; rows from line ${first} on are not.`;
    case "stored":
      return `${showStored(stored + lines.length)}, those of ${range} without these values; rows after line ${last} are not stored.`;
    case "unknown":
      return `${showStored(stored)}; the rows of ${range} may be stored; rows after line ${last} are not.`;
  }
}

// Reads a file in chunks of bytes, from a disk or a browser.

/** The rows and errors of a file in this encoding; default: UTF-8. */
export async function* readChunks(
  chunks: AsyncIterable<Uint8Array>,
  reader: RowsReader,
  encoding?: string,
): AsyncGenerator<RowsRead, void> {
  let line = 0;
  for await (const decoded of decodeChunks(chunks, encoding)) {
    if ("issue" in decoded) {
      yield { rows: [], issues: [{ line: line + 1, message: decoded.issue }] };
      return;
    }
    const part = reader.push(decoded.text);
    line = part.rows.at(-1)?.line ?? line;
    yield part;
  }
  yield reader.end();
}

// Reads all rows of a table page by page while others write to it.

type ListedPage<Row> = { readonly rows: readonly Row[]; readonly hasMore: boolean };
export type PagePosition = { readonly limit: number; readonly offset: number };

/**
 * Yields the pages of a table; each row appears once. A page starts with the last row of the previous page, so a concurrent
 * delete does not make it skip rows.
 */
export async function* readPages<Row>(
  list: (position: PagePosition) => Promise<ListedPage<Row>>,
  { limit, idOf }: { limit: number; idOf: (row: Row) => string },
): AsyncGenerator<readonly Row[], void> {
  let last = "";
  let overlaps = false;
  for (let offset = 0; ; ) {
    const page = await list({ limit, offset });
    const [first] = page.rows;
    // Earlier rows were deleted, so the last read row has moved up.
    if (overlaps && offset > 0 && (first === undefined || idOf(first) > last)) {
      offset = Math.max(offset - limit, 0);
      continue;
    }
    const rows = page.rows.filter((row) => idOf(row) > last);
    yield rows;
    const end = rows.at(-1);
    last = end === undefined ? last : idOf(end);
    if (!page.hasMore) return;
    // A page of large rows can have only one row.
    overlaps = page.rows.length > 1;
    offset += overlaps ? page.rows.length - 1 : 1;
  }
}

// Finds columns that a batch sent and the table no longer had: the endpoints ignore unknown fields.

/**
 * The columns of a batch that the stored rows lack, because another program renamed or dropped them during the import.
 * Empty for a response of ids only, which a key gets that cannot read rows.
 */
export function findLostColumns(body: string, response: unknown): string[] {
  const stored = isObject(response) ? response["rows"] : undefined;
  const [row] = Array.isArray(stored) ? stored : [];
  if (!isObject(row) || Object.keys(row).every((name) => name === "id")) return [];
  const sent = tryParseJson(body);
  const names = Array.isArray(sent) ? sent.flatMap((item) => Object.keys(Object(item))) : [];
  return [...new Set(names)].filter((name) => !Object.hasOwn(row, name));
}
