/** Creates or updates any number of rows in several calls. If a call fails, reports the rows stored before it. @module */
import type { MAX_BATCH, MAX_BATCH_KEYWORD, MAX_BODY_BYTES } from "../std/limits.ts";
import { type Connection, readObject } from "./data_call.ts";
import { DataError } from "./data_error.ts";
import type { CreateAllOptions } from "./table_client.ts";

type Row = { readonly id: string };

/** The limits per call, unless the service states a higher one. */
const MAX_CALL_ROWS: typeof MAX_BATCH = 1000;
const MAX_BYTES: typeof MAX_BODY_BYTES = 102_400;

/** The body of one call. */
export type Batch = { readonly body: string; readonly count: number };

export type AnyRows = Iterable<object> | AsyncIterable<object>;

type Task = {
  readonly toJson: (value: object) => string;
  readonly send: (batch: Batch) => Promise<Row[]>;
  readonly findMaxBytes: () => Promise<number>;
  readonly onStored: CreateAllOptions["onStored"];
};

/** @throws {DataError} the error of the call that failed, with the rows that were stored before it */
export async function createAll(values: AnyRows, task: Task): Promise<Row[]> {
  const stored: Row[] = [];
  for await (const batch of splitRows(values, task)) {
    const rows = await task.send(batch).catch((error: unknown) => {
      throw error instanceof DataError ? withStored(error, stored) : error;
    });
    for (const row of rows) stored.push(row);
    task.onStored?.(rows);
  }
  return stored;
}

/** A row over the size limit becomes its own batch, which the service rejects. */
async function* splitRows(values: AnyRows, { toJson, findMaxBytes }: Task): AsyncGenerator<Batch> {
  const encoder = new TextEncoder();
  let texts: string[] = [];
  let bytes = 1;
  let maxBytes: number | undefined;
  const flush = () => ({ body: `[${texts}]`, count: texts.length });
  for await (const value of values) {
    const text = toJson(value);
    const size = encoder.encode(text).length + 1;
    // Most calls are small enough for every service.
    if (bytes + size > MAX_BYTES) maxBytes ??= await findMaxBytes();
    if (texts.length === MAX_CALL_ROWS || (bytes + size > (maxBytes ?? MAX_BYTES) && bytes > 1)) {
      yield flush();
      texts = [];
      bytes = 1;
    }
    texts.push(text);
    bytes += size;
  }
  if (bytes > 1) yield flush();
}

const found = new WeakMap<Connection, Promise<number>>();

/** Max bytes of a call, from the description of the API, which is read once. */
export function findMaxBytes(connection: Connection): Promise<number> {
  const known = found.get(connection) ?? readMaxBytes(connection);
  found.set(connection, known);
  return known;
}

const PATH = "/v1/openapi.json";
const KEYWORD: typeof MAX_BATCH_KEYWORD = "x-rowhouse-max-batch-bytes";

/** Without a key: the service describes itself to everyone, and to no person's key. */
async function readMaxBytes({ baseUrl, timeoutMs }: Connection): Promise<number> {
  try {
    const response = await fetch(baseUrl + PATH, { signal: AbortSignal.timeout(timeoutMs) });
    const body = readObject(await response.text()) ?? {};
    return Math.max(Number(body[KEYWORD] ?? 0) || 0, MAX_BYTES);
  } catch {
    return MAX_BYTES; // every service accepts it
  }
}

/** The error with row numbers that count from the first row of all batches. */
function withStored(error: DataError, stored: readonly Row[]): DataError {
  const position = (text: string) =>
    text.replace(/\/(\d+)\//, (_, index) => `/${Number(index) + stored.length}/`);
  return new DataError(`${position(error.message)} (${stored.length} rows before it are stored)`, {
    ...error,
    details: error.details.map(({ path, message }) => ({ path: position(path), message })),
    cause: error,
    stored,
  });
}
