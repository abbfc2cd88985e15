/**
 * Finds the page of a list: its tag, and its rows unless the caller has them. A page that may be short is requested in a
 * pipelined call. If the page has changed and is large, a second call on its own connection returns it.
 *
 * @module
 */

import type { KeyRequestContext } from "../../http/mod.ts";
import { type RecordedTable, TAG_LENGTH } from "../../tables/catalog/mod.ts";
import { callFunction } from "../call.ts";
import type { DataDeps } from "../deps.ts";

/** `body` is absent if the caller has the tag. */
export type FoundPage = {
  readonly tag: string;
  readonly body: Uint8Array<ArrayBuffer> | undefined;
};

export type PageQuery = {
  readonly table: RecordedTable;
  readonly limit: number;
  readonly offset: number;
  /** The tags of the available states of the page. */
  readonly tags: readonly string[];
};

/** Max bytes of a page in a pipelined call: about 1 ms in PostgreSQL. */
const INLINE_BYTES = 65_536;
/** Max rows that a pipelined call skips and visits: less than 1 ms. */
const MAX_TAGGED_ROWS = 2000;
/** A page with more rows is probably too large for a pipelined call. Without a tag, the first call is not pipelined. */
const MAX_INLINE_ROWS = 100;

export async function findPage(
  deps: DataDeps,
  context: KeyRequestContext,
  { table, limit, offset, tags }: PageQuery,
): Promise<FoundPage> {
  const values = { limit, offset, bytes: deps.maxResponseBytes, known: tags.join(",") };
  const call = (inline: number | null) =>
    callFunction(deps, context, { table, endpoint: "list", values: { ...values, inline } });
  const isShort =
    limit + offset <= MAX_TAGGED_ROWS && (limit <= MAX_INLINE_ROWS || tags.length > 0);
  if (isShort) {
    const found = readFound(await call(INLINE_BYTES));
    if (found.body !== undefined || values.known.split(",").includes(found.tag)) return found;
  }
  return readFound(await call(null));
}

/** The function's result: the tag, the page's identity, and the rows if they were sent. */
export function readFound(found: Uint8Array<ArrayBuffer> | null): FoundPage {
  if (found === null) throw new Error("A list function returned nothing");
  const tag = ascii.decode(found.subarray(0, TAG_LENGTH));
  const start = found.indexOf(BRACE, TAG_LENGTH);
  return { tag, body: start < 0 ? undefined : found.subarray(start) };
}

const BRACE = "{".charCodeAt(0);
const ascii = new TextDecoder();
