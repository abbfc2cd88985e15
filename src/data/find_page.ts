/**
 * Finds the page of a list: its tag, and its rows unless the caller has them. A page that may be short is asked for in a
 * pipelined call, which sends no large page that has changed: that is a second call, on a connection of its own.
 *
 * @module
 */
import { type RecordedTable, TAG_LENGTH } from "../catalog/mod.ts";
import type { KeyRequestContext } from "../http/mod.ts";
import { callFunction } from "./call.ts";
import type { DataDeps } from "./deps.ts";

/** `body` is absent if the tag is one of those that were named. */
export type FoundPage = {
  readonly tag: string;
  readonly body: Uint8Array<ArrayBuffer> | undefined;
};

export type PageQuery = {
  readonly table: RecordedTable;
  readonly limit: number;
  readonly offset: number;
  /** The tags of the states of the page that are at hand. */
  readonly tags: readonly string[];
};

/** Up to about this many bytes a page is sent by a pipelined call: that takes PostgreSQL a millisecond or so. */
const INLINE_BYTES = 65_536;
/** How many rows a pipelined call may pass over and look at: that takes less. */
const MAX_LOOKED_AT = 2000;
/** More rows are probably too large to be sent: they are asked for at once, unless there is a tag. */
const MAX_INLINE_ROWS = 100;

export async function findPage(
  deps: DataDeps,
  context: KeyRequestContext,
  { table, limit, offset, tags }: PageQuery,
): Promise<FoundPage> {
  const values = { limit, offset, bytes: deps.maxResponseBytes, known: tags.join(",") };
  const call = (inline: number | null) =>
    callFunction(deps, context, { table, endpoint: "list", values: { ...values, inline } });
  const isShort = limit + offset <= MAX_LOOKED_AT && (limit <= MAX_INLINE_ROWS || tags.length > 0);
  if (isShort) {
    const found = readFound(await call(INLINE_BYTES));
    if (found.body !== undefined || values.known.split(",").includes(found.tag)) return found;
  }
  return readFound(await call(null));
}

/** What the function returned: the tag, whose page it is, and the rows or nothing. */
export function readFound(found: Uint8Array<ArrayBuffer> | null): FoundPage {
  if (found === null) throw new Error("A list function returned nothing");
  const tag = ascii.decode(found.subarray(0, TAG_LENGTH));
  const start = found.indexOf(BRACE, TAG_LENGTH);
  return { tag, body: start < 0 ? undefined : found.subarray(start) };
}

const BRACE = "{".charCodeAt(0);
const ascii = new TextDecoder();
