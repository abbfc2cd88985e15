/** Deletes idempotency keys whose day is over, and counts what each app has left. @module */
import { type Database, SERVICE_QUEUE } from "../db/mod.ts";
import type { IdempotencyRoom } from "./idempotency.ts";

export type IdempotencySweepDeps = { db: Database; idempotencyRoom: IdempotencyRoom };

/** How many keys one step deletes at most. */
const SWEEP_STEP = 1000;
const CALL = { retry: "safe", queue: SERVICE_QUEUE } as const;

/** Deletes some keys; returns whether there may be more. After the last ones, every app's room is counted. */
export async function sweepIdempotency({
  db,
  idempotencyRoom,
}: IdempotencySweepDeps): Promise<boolean> {
  const [row] = await db.query<{ swept: number }>(
    "select rowhouse.sweep_idempotency_keys($1) as swept",
    [SWEEP_STEP],
    CALL,
  );
  if ((row?.swept ?? 0) >= SWEEP_STEP) return true;
  idempotencyRoom.reset(await countKeys(db));
  return false;
}

/** No app has it: those that come after it are all. */
const BEFORE_ALL = "00000000-0000-0000-0000-000000000000";

/** The bytes of keys of each app that has any; each call counts some apps. */
async function countKeys(db: Database): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (let after: string | undefined = BEFORE_ALL; after !== undefined; ) {
    const counted: { appId: string; bytes: number }[] = await db.query(
      `select app_id as "appId", bytes::float8 as bytes from rowhouse.idempotency_sizes($1)`,
      [after],
      CALL,
    );
    for (const { appId, bytes } of counted) if (bytes > 0) sizes.set(appId, bytes);
    after = counted.at(-1)?.appId;
  }
  return sizes;
}
