/** Responses with rows and their tags, or 304 for a caller that has the current state. @module */

import * as v from "valibot";
import {
  isNamed,
  type NamedTags,
  type ResponseOptions,
  respondNotModified,
  respondWithBytes,
  tagHeader,
} from "../http/mod.ts";
import { Problem } from "../problem.ts";
import { NO_MATCH, NO_MATCHES, ROW_MATCH, rowTag } from "../tables/catalog/mod.ts";
import { UPSERT_RESULTS } from "./bodies.ts";
import { readId } from "./idempotency.ts";

/** The response with a row. @throws {Problem} not_found */
function respondWithRow(
  row: Uint8Array<ArrayBuffer> | null,
  options: ResponseOptions = {},
): Response {
  if (row === null) throw new Problem("not_found");
  const headers = { etag: tagHeader(rowTag(row)), ...options.headers };
  return respondWithBytes(row, { ...options, headers });
}

/** A completed write, or the stored response to an earlier write with the same idempotency key. */
export type Written = {
  /** The path of the table or of the row. */
  readonly path: string;
  readonly body: Uint8Array<ArrayBuffer> | null;
  /** Whether the body has only the ids. */
  readonly isShort: boolean;
  readonly headers: Record<string, string>;
};

export function respondWithCreated(written: Written): Response {
  const { path, body, headers } = written;
  const location = body === null ? "" : `${path}/${readId(body)}`;
  return respondWithWritten({ ...written, headers: { location, ...headers } }, 201);
}

/** The response with the rows of a batch, which have no common URL and no tag. */
export function respondWithBatch({ body, headers }: Written, status = 201): Response {
  if (body === null) throw new Error("A function that writes rows returned nothing");
  return respondWithBytes(body, { status, headers });
}

const ROWS_START = '{"rows":['.length;

/** The response with the row of an upsert, without the list that its function returns. */
export function respondWithUpserted(written: Written): Response {
  const { body } = written;
  for (const result of UPSERT_RESULTS) {
    const end = new TextEncoder().encode(`],"results":["${result}"]}`);
    const length = (body?.length ?? 0) - end.length;
    if (body === null || Buffer.compare(body.subarray(length), end) !== 0) continue;
    if (result === "missing") throw new Problem("not_found");
    const row = { ...written, body: body.subarray(ROWS_START, length) };
    return result === "created" ? respondWithCreated(row) : respondWithWritten(row);
  }
  throw new Error("A function that upserts a row returned no result");
}

/** The response with updated rows. @throws {Problem} not_found; precondition_failed; with the positions of the rows */
export function respondWithUpdates(written: Written): Response {
  const { body } = written;
  if (body?.[0] !== NO_MATCHES.charCodeAt(0)) return respondWithBatch(written, 200);
  const found = v.parse(UNMATCHED, JSON.parse(new TextDecoder().decode(body.subarray(1))));
  const missing = found.missing.map((index) => ({
    path: `/${index}/id`,
    message: "No row has this id",
  }));
  const unmatched = found.unmatched.map((index) => ({
    path: `/${index}/${ROW_MATCH}`,
    message: "The row has changed since this version",
  }));
  const details = [...missing, ...unmatched].sort(
    (one, other) => readIndex(one.path) - readIndex(other.path),
  );
  throw new Problem(missing.length > 0 ? "not_found" : "precondition_failed", {
    message: `${missing.length > 0 ? "Some rows do not exist" : "Some rows have changed"}; nothing was written`,
    details,
  });
}

const UNMATCHED = v.object({ missing: v.array(v.number()), unmatched: v.array(v.number()) });

function readIndex(path: string): number {
  return Number(path.split("/")[1]);
}

/** The response with an updated row. @throws {Problem} not_found; precondition_failed */
export function respondWithUpdated(written: Written): Response {
  return respondWithWritten({ ...written, body: readMatched(written.body) });
}

function respondWithWritten({ body, isShort, headers }: Written, status = 200): Response {
  // The ids do not identify the state of the row, so a short response has no tag.
  if (isShort && body !== null) return respondWithBytes(body, { status, headers });
  return respondWithRow(body, { status, headers });
}

/** The result of a write. @throws {Problem} precondition_failed — the row is in another state */
export function readMatched(found: Uint8Array<ArrayBuffer> | null): Uint8Array<ArrayBuffer> | null {
  if (found?.length !== NO_MATCH.length) return found;
  throw new Problem("precondition_failed");
}

/** The response to a read of a row. @throws {Problem} not_found */
export function respondToReader(
  row: Uint8Array<ArrayBuffer> | null,
  known: NamedTags | undefined,
): Response {
  if (row === null || known === undefined) return respondWithRow(row);
  const tag = rowTag(row);
  return isNamed(known, tag) ? respondNotModified(tag, known) : respondWithRow(row);
}
