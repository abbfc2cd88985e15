/**
 * Registered origins in memory; the last known ones are kept, so that a browser can read the answer when the database is
 * away, instead of getting a network error. Those of disabled apps are unknown.
 *
 * @module
 */
import { type Database, SERVICE_QUEUE } from "../db/mod.ts";

export type Origins = {
  /** Whether any app has registered this origin. */
  readonly isRegistered: (origin: string) => boolean;
  /** Whether this app has. */
  readonly isOf: (origin: string, appId: string) => boolean;
  /** The id of the app with this slug, as far as this process knows. */
  readonly findAppId: (slug: string) => string | undefined;
  /** Reads them again if the version of apps has changed. */
  readonly refresh: (version: number) => Promise<void>;
};

/** No origin is known before the first `refresh`. */
export function makeOrigins(db: Database): Origins {
  let byOrigin = new Map<string, Set<string>>();
  let bySlug = new Map<string, string>();
  let seen = 0;
  return {
    isRegistered: (origin) => byOrigin.has(origin),
    isOf: (origin, appId) => byOrigin.get(origin)?.has(appId) === true,
    findAppId: (slug) => bySlug.get(slug),
    refresh: async (version) => {
      if (version === seen) return;
      const rows = await readOrigins(db);
      byOrigin = groupByOrigin(rows);
      bySlug = new Map(rows.map((row) => [row.slug, row.app_id]));
      seen = version;
    },
  };
}

type Row = { slug: string; app_id: string; origin: string | null };

async function readOrigins(db: Database): Promise<Row[]> {
  return await db.query<Row>(
    `select distinct slug, apps.id as app_id, origin
    from rowhouse.apps left join rowhouse.targets on targets.app_id = apps.id
    where disabled_at is null`,
    [],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
}

function groupByOrigin(rows: readonly Row[]): Map<string, Set<string>> {
  const byOrigin = new Map<string, Set<string>>();
  for (const { origin, app_id } of rows) {
    if (origin !== null) byOrigin.set(origin, (byOrigin.get(origin) ?? new Set()).add(app_id));
  }
  return byOrigin;
}
