/**
 * The limits of apps and their keys in requests per minute, in memory: the operator's value for an app, otherwise the
 * default.
 *
 * @module
 */

import { call, type Database } from "../../db/mod.ts";
import { Problem } from "../../problem.ts";
import { type Actor, runAction } from "../actions/action.ts";

/** Requests per minute of the whole app, and of each key. */
type Limit = { readonly app: number; readonly key: number };

export type Limits = {
  readonly of: (appId: string) => Limit;
  /** Reads again if the version of apps has changed. */
  readonly refresh: (version: number) => Promise<void>;
};

/** 10,000 per second for a whole minute: only a runaway program reaches it. */
export const DEFAULT_PER_MINUTE = 600_000;
export const MAX_PER_MINUTE = 100_000_000;

const DEFAULT_LIMIT: Limit = { app: DEFAULT_PER_MINUTE, key: DEFAULT_PER_MINUTE };

/** Every app has the default before the first `refresh`. */
export function makeLimits(db: Database): Limits {
  let byApp = new Map<string, Limit>();
  let seen = 0;
  return {
    of: (appId) => byApp.get(appId) ?? DEFAULT_LIMIT,
    refresh: async (version) => {
      if (version === seen) return;
      byApp = await readLimits(db);
      seen = version;
    },
  };
}

async function readLimits(db: Database): Promise<Map<string, Limit>> {
  const rows = await call(db, "read_limits", { default_per_minute: DEFAULT_PER_MINUTE });
  return new Map(
    rows.map((row) => [row.app_id, { app: row.per_minute, key: row.per_minute_of_key }]),
  );
}

/** The operator's values. `undefined` means the default; a key defaults to its app's limit. */
type SetLimitOptions = {
  slug: string;
  perMinute?: number | undefined;
  perMinuteOfKey?: number | undefined;
};

/**
 * Sets an app's limits; every process applies them within seconds.
 *
 * @throws {Problem} unknown_app; invalid_request — a limit is not a whole number of at least 1
 */
export async function setLimit(
  actor: Actor,
  { slug, perMinute, perMinuteOfKey }: SetLimitOptions,
): Promise<void> {
  for (const limit of [perMinute, perMinuteOfKey]) if (limit !== undefined) checkLimit(limit);
  const values = { app_slug: slug, per_minute: perMinute, key_per_minute: perMinuteOfKey };
  await runAction(actor, "set_limit", values);
}

/** @throws {Problem} invalid_request — it is not a whole number of at least 1 */
export function checkLimit(limit: number): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_PER_MINUTE) return limit;
  throw new Problem("invalid_request", {
    message: `Cannot set a limit of ${limit} requests per minute: must be a whole number from 1 to ${MAX_PER_MINUTE}`,
  });
}
