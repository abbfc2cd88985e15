/** Writes with an idempotency key: their claims, and the replay of their responses. @module */
import { MAX_STORED_RESPONSE_BYTES } from "../db/mod.ts";
import type { KeyRequestContext } from "../http/mod.ts";
import type { DataDeps } from "./deps.ts";
import { KEY_BYTES, type Replay, readReplay, toClaim } from "./idempotency.ts";

type KeyedRequest = { key: string | undefined; path: string; body: string };

/** The claim of a request with an idempotency key. */
export function claimFor(
  { idempotencyCapacity }: DataDeps,
  context: KeyRequestContext,
  { key, path, body }: KeyedRequest,
): Uint8Array | null {
  if (key === undefined) return null;
  const hasCapacity = idempotencyCapacity.hasCapacity(context.principal.appId);
  return toClaim(context, { key, path, body, hasCapacity });
}

type Written = { key: string | undefined; found: Uint8Array<ArrayBuffer> | null; rows?: number };

/** The first response to this key, if this call is a replay. */
export function findReplay(
  { idempotencyCapacity }: DataDeps,
  { principal }: KeyRequestContext,
  { key, found, rows = 1 }: Written,
): Replay | undefined {
  if (key === undefined) return undefined;
  const replay = readReplay(found);
  if (replay === undefined && found !== null)
    idempotencyCapacity.add(principal.appId, countStored(found.length, rows) + KEY_BYTES);
  return replay;
}

/** The recorded bytes of a response. */
function countStored(bytes: number, rows: number): number {
  return bytes <= MAX_STORED_RESPONSE_BYTES ? bytes : rows * (ID_START + ID_LENGTH + '"},'.length);
}

/** The id at the start of a row's text. */
export function readId(row: Uint8Array): string {
  return new TextDecoder().decode(row.subarray(ID_START, ID_START + ID_LENGTH));
}

const ID_START = '{"id":"'.length;
const ID_LENGTH = 36;
