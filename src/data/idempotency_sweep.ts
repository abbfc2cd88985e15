/** Deletes expired idempotency keys, and counts the remaining bytes of each app. @module */
import { call, type Database, type Result } from "../db/mod.ts";
import { SWEEP_STEP } from "../std/limits.ts";
import type { IdempotencyCapacity } from "./idempotency.ts";

export type IdempotencySweepDeps = { db: Database; idempotencyCapacity: IdempotencyCapacity };

/** Deletes some keys, and returns whether there may be more. After the last keys, counts every app's space. */
export async function sweepIdempotency({
  db,
  idempotencyCapacity,
}: IdempotencySweepDeps): Promise<boolean> {
  if ((await call(db, "sweep_idempotency_keys", { max_rows: SWEEP_STEP })) >= SWEEP_STEP)
    return true;
  idempotencyCapacity.reset(await countKeys(db));
  return false;
}

/** An id before that of every app. */
const BEFORE_ALL = "00000000-0000-0000-0000-000000000000";

/** The bytes of keys of each app with keys. Each call counts some apps. */
async function countKeys(db: Database): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (let after: string | undefined = BEFORE_ALL; after !== undefined; ) {
    const counted: Result<"idempotency_sizes"> = await call(db, "idempotency_sizes", { after });
    for (const { app_id, bytes } of counted) if (bytes > 0) sizes.set(app_id, bytes);
    after = counted.at(-1)?.app_id;
  }
  return sizes;
}
