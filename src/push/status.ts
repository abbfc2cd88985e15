/** What is recorded of one app: its tables and its migrations, for `status` and for restoring a journal. @module */
import type { Database } from "../db/mod.ts";
import type { TableDefinition } from "../dsl/mod.ts";
import type { Migration } from "./migration.ts";

export type Status = { app: string; tables: TableDefinition[]; migrations: Migration[] };

/** Read in one statement, as the app's last push left it. */
export async function readStatus(admin: Database, appId: string): Promise<Status> {
  const [row] = await admin.query<{ status: string }>(
    `select json_build_object(
      'app', (select slug from rowhouse.apps where id = $1),
      'tables', (select coalesce(json_agg(registrations.definition order by table_name), '[]')
        from rowhouse.registrations where app_id = $1),
      'migrations', (select coalesce(json_agg(json_build_object(
          'seq', seq, 'name', name, 'parent', parent, 'checksum', checksum, 'sql', sql) order by seq), '[]')
        from rowhouse.migrations where app_id = $1))::text as status`,
    [appId],
    { effect: "read" },
  );
  if (row === undefined) throw new Error("The query of an app's status gave no row");
  return JSON.parse(row.status) as Status;
}
