/** What is recorded of one app: its tables, its migrations with their texts, its deferred steps. Of no other app. @module */
import type { Database } from "../db/mod.ts";
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
    { effect: "read" },
  );
  return row === undefined ? undefined : (JSON.parse(row.status) as Status);
}
