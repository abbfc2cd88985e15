/**
 * Registered origins in memory. The last known origins stay when the database is unavailable, so that a browser can read the
 * response instead of a network error. Includes origins of disabled apps, whose pages read errors and sign out: sign-in rejects
 * their return addresses itself.
 *
 * @module
 */
import { call, type Database, type Result } from "../../db/mod.ts";

export type Origins = {
  /** Whether any app has registered this origin. */
  readonly isRegistered: (origin: string) => boolean;
  /** Whether any app that is not disabled has registered this origin. */
  readonly isEnabled: (origin: string) => boolean;
  /** Whether this app has registered this origin. */
  readonly isOf: (origin: string, appId: string) => boolean;
  /** The id of the app with this slug, as far as this process knows. */
  readonly findAppId: (slug: string) => string | undefined;
  /** Reads again if the version of apps has changed. */
  readonly refresh: (version: number) => Promise<void>;
};

/** No origin is known before the first `refresh`. */
export function makeOrigins(db: Database): Origins {
  let byOrigin = new Map<string, Set<string>>();
  let enabled = new Set<string>();
  let bySlug = new Map<string, string>();
  let seen = 0;
  return {
    isRegistered: (origin) => byOrigin.has(origin),
    isEnabled: (origin) => enabled.has(origin),
    isOf: (origin, appId) => byOrigin.get(origin)?.has(appId) === true,
    findAppId: (slug) => bySlug.get(slug),
    refresh: async (version) => {
      if (version === seen) return;
      const rows = await call(db, "list_origins", {});
      byOrigin = groupByOrigin(rows);
      enabled = new Set(
        rows.flatMap(({ origin, is_disabled }) => (is_disabled ? [] : (origin ?? []))),
      );
      bySlug = new Map(rows.map((row) => [row.slug, row.app_id]));
      seen = version;
    },
  };
}

function groupByOrigin(rows: Result<"list_origins">): Map<string, Set<string>> {
  const byOrigin = new Map<string, Set<string>>();
  for (const { origin, app_id } of rows) {
    if (origin !== null) byOrigin.set(origin, (byOrigin.get(origin) ?? new Set()).add(app_id));
  }
  return byOrigin;
}
