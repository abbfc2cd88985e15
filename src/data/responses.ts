/** Responses with rows and their tags, or 304 for a caller that has the current state. @module */
import { rowTag } from "../catalog/mod.ts";
import {
  isNamed,
  type NamedTags,
  type ResponseOptions,
  respondNotModified,
  respondWithBytes,
  tagHeader,
} from "../http/mod.ts";
import { Problem } from "../problem.ts";

/** The response with a row. @throws {Problem} not_found */
export function respondWithRow(
  row: Uint8Array<ArrayBuffer> | null,
  options: ResponseOptions = {},
): Response {
  if (row === null) throw new Problem("not_found");
  const headers = { etag: tagHeader(rowTag(row)), ...options.headers };
  return respondWithBytes(row, { ...options, headers });
}

/** The response with the rows of a batch, which have no common URL and no tag. */
export function respondWithBatch(
  rows: Uint8Array<ArrayBuffer> | null,
  headers: Record<string, string> = {},
): Response {
  if (rows === null) throw new Error("A function that creates rows returned nothing");
  return respondWithBytes(rows, { status: 201, headers });
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
