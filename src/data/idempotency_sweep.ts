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
  const sizes = await db.query<{ appId: string; bytes: number }>(
    `select app_id as "appId", bytes::float8 as bytes from rowhouse.idempotency_sizes()`,
    [],
    CALL,
  );
  idempotencyRoom.reset(new Map(sizes.map(({ appId, bytes }) => [appId, bytes])));
  return false;
}
