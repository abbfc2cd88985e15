/**
 * Registered origins in memory, kept last-known-good: an outage of the database must be a readable answer in the
 * browser, not a network error.
 *
 * @module
 */
import type { Database } from "../db/mod.ts";

export type Origins = {
  /** Whether any app has registered this origin. */
  readonly isRegistered: (origin: string) => boolean;
  /** Whether this app has. */
  readonly isOf: (origin: string, appId: string) => boolean;
  /** Reads them again when the version of apps has moved. */
  readonly refresh: (version: number) => Promise<void>;
};

/** No origin is known before the first `refresh`. */
export function makeOrigins(db: Database): Origins {
  let byOrigin = new Map<string, Set<string>>();
  let seen = 0;
  return {
    isRegistered: (origin) => byOrigin.has(origin),
    isOf: (origin, appId) => byOrigin.get(origin)?.has(appId) === true,
    refresh: async (version) => {
      if (version === seen) return;
      byOrigin = await readOrigins(db);
      seen = version;
    },
  };
}

async function readOrigins(db: Database): Promise<Map<string, Set<string>>> {
  const rows = await db.query<{ origin: string; app_id: string }>(
    "select distinct origin, app_id from rowhouse.targets",
    [],
    { effect: "read" },
  );
  const byOrigin = new Map<string, Set<string>>();
  for (const { origin, app_id } of rows)
    byOrigin.set(origin, (byOrigin.get(origin) ?? new Set()).add(app_id));
  return byOrigin;
}
