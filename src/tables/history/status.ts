/**
 * The record of one app: its tables, migrations and deferred steps; for operators, also the other users of the tables.
 *
 * @module
 */
import { call, type Database, SERVICE_QUEUE } from "../../db/mod.ts";
import type { TableDefinition } from "../../schema/mod.ts";
import type { DeferredStep } from "../sql/deferred.ts";
import type { Applied, MigrationText } from "./migration_text.ts";
import type { RecordedMigration } from "./project_history.ts";

export type Status = {
  app: string;
  /** `owned`: whether this app's pushes define the table. */
  tables: { name: string; owned: boolean }[];
  /** In the order of this service, without texts and SQL, which are read one by one. */
  migrations: RecordedMigration[];
  deferredSteps: DeferredStep[];
};

type Bytes = Uint8Array<ArrayBuffer>;

/** The app whose record is read, for an operator or for a proven key that can read its schema. */
type Reader = { appId: string; proof?: Uint8Array };

/** Selects one row with the app as `app`. Fails before it reveals anything if the key is not proven. */
function readerSql({ proof }: Reader, position: `$${number}`): string {
  const app = proof === undefined ? "$1::uuid" : `rowhouse.check_schema_key($1, ${position})`;
  return `(select ${app} as app) as reader`;
}

/**
 * The status of an app as JSON, or `undefined` if the app does not exist. A deferred step of a push has the time of its migration;
 * others are rebuilds by the service, which change nothing that an app declared.
 */
export async function readStatusJson(admin: Database, reader: Reader): Promise<Bytes | undefined> {
  const { appId, proof } = reader;
  const status = await admin.bytes(
    `select pg_catalog.json_build_object(
      'app', slug,
      'tables', (select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('name', table_name, 'owned', owner_app_id = $1)
          order by table_name), '[]')
        from rowhouse.registrations join rowhouse.tables on name = table_name where app_id = $1),
      'migrations', (select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('seq', seq, 'name', name, 'parent', parent,
          'checksum', checksum, 'joins', rowhouse.joined_records(joins)) order by seq), '[]')
        from rowhouse.migrations where app_id = $1),
      'deferredSteps', (select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('table', table_name, 'kind', kind, 'name', name,
          'columns', columns, 'state', state, 'fault', issue, 'attempts', attempts) order by id), '[]')
        from rowhouse.deferred_steps where app_id = $1
          and created_at in (select applied_at from rowhouse.migrations where app_id = $1)))::pg_catalog.text as status
    from ${readerSql(reader, "$2")} join rowhouse.apps on id = reader.app`,
    proof === undefined ? [appId] : [appId, proof],
    { retry: "safe", queue: appId },
  );
  return status ?? undefined;
}

export async function readStatus(admin: Database, appId: string): Promise<Status | undefined> {
  return parse<Status>(await readStatusJson(admin, { appId }));
}

/** A recorded migration; `joins`: the project's migrations that it joins. */
export type StoredMigration = Applied & { joins: MigrationText[] | null };

/** One migration of an app with its text and SQL, as JSON, or `undefined` if the number does not exist. */
export async function readMigrationJson(
  admin: Database,
  reader: Reader,
  seq: number,
): Promise<Bytes | undefined> {
  const { appId, proof } = reader;
  const migration = await admin.bytes(
    `select case when seq is not null then pg_catalog.json_build_object('seq', seq, 'name', name, 'parent', parent,
      'checksum', checksum, 'text', text, 'sql', sql, 'joins', joins)::pg_catalog.text end as migration
    from ${readerSql(reader, "$3")} left join rowhouse.migrations on app_id = reader.app and seq = $2`,
    proof === undefined ? [appId, seq] : [appId, seq, proof],
    { retry: "safe", queue: appId },
  );
  return migration ?? undefined;
}

export async function readMigration(
  admin: Database,
  appId: string,
  seq: number,
): Promise<StoredMigration | undefined> {
  return parse<StoredMigration>(await readMigrationJson(admin, { appId }, seq));
}

function parse<Value>(json: Bytes | undefined): Value | undefined {
  return json === undefined ? undefined : (JSON.parse(new TextDecoder().decode(json)) as Value);
}

/** A table of its owner: all current and former declarations, and the columns that other apps declare; `null` without other apps. */
export type OwnTable = { definition: TableDefinition; shared: string[] | null };

/** The tables that an app owns. For operators only. */
export async function readOwnTables(admin: Database, slug: string): Promise<OwnTable[]> {
  return await admin.query<OwnTable>(
    `select own.definition, (
        select pg_catalog.json_agg(declared ->> 'name') from rowhouse.registrations as other
          left join pg_catalog.jsonb_array_elements(other.definition -> 'columns') as declared on true
          where other.table_name = own.table_name and other.app_id <> own.app_id) as shared
      from rowhouse.apps join rowhouse.registrations as own on own.app_id = apps.id
      join rowhouse.tables on tables.name = own.table_name and owner_app_id = own.app_id
      where slug = $1 order by own.table_name`,
    [slug],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
}

/** The apps that use a table, by slug: its owner, and all other apps that pushed it. */
export type TableApps = { table: string; owner: string; users: string[] };

/** The owners and users of an app's tables. For operators only: an app never learns about other apps. */
export async function readTableApps(admin: Database, appId: string): Promise<TableApps[]> {
  return await call(admin, "list_table_apps", { app: appId });
}
