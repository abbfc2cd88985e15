/** What is recorded of one app: its tables, its migrations, its deferred steps; apart from it, for operators, who else uses them. @module */
import { type Database, SERVICE_QUEUE } from "../db/mod.ts";
import type { TableDefinition } from "../dsl/mod.ts";
import type { DeferredStep } from "./deferred.ts";
import type { Migration } from "./migration.ts";

export type Status = {
  app: string;
  /** As this app declared them; `owned`: whether its pushes define the table. */
  tables: { name: string; owned: boolean; definition: TableDefinition }[];
  migrations: Migration[];
  deferredSteps: DeferredStep[];
};

/** The status of an app, or `undefined` where there is no such app; enough to restore its journal. */
export async function readStatus(admin: Database, appId: string): Promise<Status | undefined> {
  const [row] = await admin.query<{ status: string }>(
    `select json_build_object(
      'app', slug,
      'tables', (select coalesce(json_agg(json_build_object('name', table_name,
          'owned', owner_app_id = $1, 'definition', registrations.definition) order by table_name), '[]')
        from rowhouse.registrations join rowhouse.tables on name = table_name where app_id = $1),
      'migrations', (select coalesce(json_agg(json_build_object('seq', seq, 'name', name, 'parent', parent,
          'checksum', checksum, 'sql', sql) order by seq), '[]')
        from rowhouse.migrations where app_id = $1),
      'deferredSteps', (select coalesce(json_agg(json_build_object('table', table_name, 'kind', kind, 'name', name,
          'columns', columns, 'state', state, 'fault', fault, 'attempts', attempts) order by id), '[]')
        from rowhouse.deferred_steps where app_id = $1))::text as status
    from rowhouse.apps where id = $1`,
    [appId],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  return row === undefined ? undefined : (JSON.parse(row.status) as Status);
}

/** The apps of a table, by their slugs: its owner, and who else has pushed it. */
export type TableApps = { table: string; owner: string; users: string[] };

/** Who owns and who uses the tables of an app. For operators alone: an app never learns of another one. */
export async function readTableApps(admin: Database, appId: string): Promise<TableApps[]> {
  const rows = await admin.query<{ table: string; owner: string; users: string }>(
    `select name as "table", owner.slug as owner,
      (select coalesce(json_agg(apps.slug order by apps.slug), '[]')
        from rowhouse.registrations join rowhouse.apps on apps.id = app_id
        where table_name = name and app_id <> owner_app_id)::text as users
    from rowhouse.tables join rowhouse.apps as owner on owner.id = owner_app_id
    where name in (select table_name from rowhouse.registrations where app_id = $1)
    order by name`,
    [appId],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  return rows.map((row) => ({ ...row, users: JSON.parse(row.users) as string[] }));
}
