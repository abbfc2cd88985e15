/** Deletes idempotency keys whose day is over, and counts what each app has left. @module */
import { call, type Database, type Result } from "../db/mod.ts";
import type { IdempotencyRoom } from "./idempotency.ts";

export type IdempotencySweepDeps = { db: Database; idempotencyRoom: IdempotencyRoom };

/** How many keys one step deletes at most. */
const SWEEP_STEP = 1000;

/** Deletes some keys; returns whether there may be more. After the last ones, every app's room is counted. */
export async function sweepIdempotency({
  db,
  idempotencyRoom,
}: IdempotencySweepDeps): Promise<boolean> {
  if ((await call(db, "sweep_idempotency_keys", { max_rows: SWEEP_STEP })) >= SWEEP_STEP)
    return true;
  idempotencyRoom.reset(await countKeys(db));
  return false;
}

/** No app has it: those that come after it are all. */
const BEFORE_ALL = "00000000-0000-0000-0000-000000000000";

/** The bytes of keys of each app that has any; each call counts some apps. */
async function countKeys(db: Database): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (let after: string | undefined = BEFORE_ALL; after !== undefined; ) {
    const counted: Result<"idempotency_sizes"> = await call(db, "idempotency_sizes", { after });
    for (const { app_id, bytes } of counted) if (bytes > 0) sizes.set(app_id, bytes);
    after = counted.at(-1)?.app_id;
  }
  return sizes;
}
