/** The keys of this process for reading and writing rows, cached per visitor until they expire. @module */
import { openRows, type RowsKey } from "../accounts/console/mod.ts";
import { BoundedMap } from "../std/bounded_map.ts";
import type { Visit } from "./enter.ts";

const MAX_KEYS = 1000;

/** A store of keys. When the store is full, the oldest key is evicted. */
export function makeRowsKeys(): Map<string, RowsKey> {
  return new BoundedMap(MAX_KEYS);
}

/** A key that expires within this time is not used. */
const MARGIN_MS = 10_000;

export type RowsUse = {
  appId: string;
  isWrite: boolean;
  /** `rows` or `export`, for the audit log. */
  usedFor: string;
};

/** A key of the app for this visitor: cached, or new and recorded in the audit log. */
export async function readRowsKey(visit: Visit, use: RowsUse): Promise<RowsKey> {
  const { deps } = visit;
  const name = toName(visit, use);
  const found = deps.rowsKeys.get(name);
  if (found !== undefined && found.endsAt - MARGIN_MS > deps.now()) return found;
  const { appId, isWrite, usedFor } = use;
  const scopes = isWrite ? (["data:read", "data:write"] as const) : (["data:read"] as const);
  const created = await openRows(deps, { appId, scopes, usedFor });
  deps.rowsKeys.set(name, created);
  return created;
}

export function dropRowsKey(visit: Visit, use: RowsUse): void {
  visit.deps.rowsKeys.delete(toName(visit, use));
}

/** A digest of the cookies, so that no cookie stays in memory. */
function toName({ deps: { cookies } }: Visit, { appId, isWrite, usedFor }: RowsUse): string {
  const parts = [cookies.session, cookies.identity, appId, String(isWrite), usedFor];
  return Bun.CryptoHasher.hash("sha256", parts.join("\n"), "base64");
}
