/** What push planned against: the recorded tables and registrations that concern one app. Read in one statement. @module */
import type { Database } from "../db/mod.ts";
import type { TableDefinition } from "../dsl/mod.ts";

export type RecordedUse = { appId: string; slug: string; definition: TableDefinition };

/** A recorded table with every app's declaration of it. */
export type TableState = {
  name: string;
  ownerAppId: string;
  ownerSlug: string;
  definition: TableDefinition;
  uses: RecordedUse[];
};

export type AppliedMigration = { seq: number; name: string; checksum: string };

export type PushState = {
  /** The catalog's version: a plan is applied only where it still holds. */
  version: number;
  tables: TableState[];
  /** The app's migrations in order. */
  migrations: AppliedMigration[];
};

/** The state that concerns an app which declares `names`: those tables, and all that it has registered. */
export async function readState(
  admin: Database,
  appId: string,
  names: readonly string[],
): Promise<PushState> {
  const [row] = await admin.query<{ state: string }>(
    `with concerned as (
      select name, owner_app_id, definition from rowhouse.tables
      where name in (select jsonb_array_elements_text($2::text::jsonb))
        or name in (select table_name from rowhouse.registrations where app_id = $1)
    )
    select json_build_object(
      'version', (select version from rowhouse.versions where name = 'catalog'),
      'tables', (select coalesce(json_agg(json_build_object(
          'name', concerned.name, 'ownerAppId', owner_app_id, 'definition', concerned.definition,
          'ownerSlug', (select slug from rowhouse.apps where id = owner_app_id),
          'uses', (select coalesce(json_agg(json_build_object(
              'appId', app_id, 'slug', slug, 'definition', registrations.definition) order by slug), '[]')
            from rowhouse.registrations join rowhouse.apps on apps.id = app_id
            where table_name = concerned.name)) order by concerned.name), '[]') from concerned),
      'migrations', (select coalesce(json_agg(json_build_object('seq', seq, 'name', name, 'checksum', checksum)
          order by seq), '[]') from rowhouse.migrations where app_id = $1))::text as state`,
    [appId, JSON.stringify(names)],
    { effect: "read" },
  );
  if (row === undefined) throw new Error("The query of push's state gave no row");
  return JSON.parse(row.state) as PushState;
}
