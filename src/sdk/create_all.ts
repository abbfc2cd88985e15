/** Creates any number of rows in several calls. If a call fails, reports the rows stored before it. @module */
import type { MAX_BATCH, MAX_BODY_BYTES } from "../std/limits.ts";
import { DataError } from "./data_error.ts";

type Row = { readonly id: string };

/** Settings of `createAll`. */
export type CreateAllOptions<Stored extends Row = Row> = {
  /** Ends the calls. Rows stored before that remain stored; `onStored` has received them. */
  readonly signal?: AbortSignal | undefined;
  /** Max milliseconds per call, retries included. */
  readonly timeoutMs?: number | undefined;
  /** Receives the rows of each call once they are stored. */
  readonly onStored?: ((rows: readonly Stored[]) => void) | undefined;
};

/** The service's limits per call. */
const MAX_ROWS: typeof MAX_BATCH = 1000;
const MAX_BYTES: typeof MAX_BODY_BYTES = 102_400;

/** The body of one call. */
export type Batch = { readonly body: string; readonly count: number };

type AnyRows = Iterable<object> | AsyncIterable<object>;

type Task = {
  readonly toJson: (value: object) => string;
  readonly send: (batch: Batch) => Promise<Row[]>;
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
async function* splitRows(values: AnyRows, { toJson }: Task): AsyncGenerator<Batch> {
  const encoder = new TextEncoder();
  let texts: string[] = [];
  let bytes = 1;
  const flush = () => ({ body: `[${texts}]`, count: texts.length });
  for await (const value of values) {
    const text = toJson(value);
    const size = encoder.encode(text).length + 1;
    if (texts.length === MAX_ROWS || (bytes + size > MAX_BYTES && bytes > 1)) {
      yield flush();
      texts = [];
      bytes = 1;
    }
    texts.push(text);
    bytes += size;
  }
  if (bytes > 1) yield flush();
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
