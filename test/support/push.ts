/** Helpers for tests of push: requests with definitions, and a dump of everything that a push can change. @module */
import type { Database } from "../../src/db/mod.ts";
import { readRows } from "../../src/db/mod.ts";
import type { Definition, TableDefinition } from "../../src/schema/mod.ts";
import type { Applied, MigrationRecord } from "../../src/tables/history/migration_text.ts";
import type { TestApp, TestResponse, TestService } from "./service.ts";
import { definitionOf } from "./service.ts";

/** Pushes a schema over HTTP. */
export function postSchema(
  service: TestService,
  app: TestApp,
  schema: unknown,
  more: object = {},
): Promise<TestResponse> {
  return postDefinition(service, app, definitionOf(schema), more);
}

export function postDefinition(
  service: TestService,
  app: TestApp,
  definition: Definition | unknown,
  more: object = {},
): Promise<TestResponse> {
  return postSteps(service, app, [{ kind: "define", definition }], more);
}

/** Sends an explicit change over HTTP. */
export function postChange(
  service: TestService,
  app: TestApp,
  change: unknown,
  more: object = {},
): Promise<TestResponse> {
  return postSteps(service, app, [{ kind: "change", change }], more);
}

export function postSteps(
  service: TestService,
  app: TestApp | undefined,
  steps: unknown,
  more: object = {},
): Promise<TestResponse> {
  return service.call(app, "/v1/data/schema", { method: "POST", json: { steps, ...more } });
}

/** Returns a name that no other test of this run uses. */
export function freshName(prefix = "t"): string {
  return `${prefix}_${crypto.randomUUID().replaceAll("-", "").slice(0, 12)}`;
}

/** Returns an app's migrations with their SQL, as a caller gets them. */
export async function readMigrations(service: TestService, app: TestApp): Promise<Applied[]> {
  const { json } = await service.call(app, "/v1/data/schema");
  const { migrations } = json as { migrations: MigrationRecord[] };
  return await Promise.all(
    migrations.map(async ({ seq }) => {
      const response = await service.call(app, `/v1/data/schema/migrations/${seq}`);
      return response.json as Applied;
    }),
  );
}

/** Returns an app's tables as last declared, ordered by name. */
export async function readDeclared(
  admin: Database,
  { id }: Pick<TestApp, "id">,
): Promise<TableDefinition[]> {
  const rows = await readRows<{ definition: string }>(
    admin,
    "select definition::text from rowhouse.registrations where app_id = $1 order by table_name",
    [id],
  );
  return rows.map(({ definition }) => JSON.parse(definition) as TableDefinition);
}

/**
 * Returns everything that a push writes, as a text: the registry, and the catalogs' rows about `data` and `api`. A row of a catalog
 * is its transaction id, which every change renews: comparing all columns and bodies needs a third of the CPU of a test.
 */
export async function dumpDatabase(admin: Database): Promise<string> {
  const [row] = await readRows<{ dump: string }>(
    admin,
    `select json_build_array(
      (select json_agg(t order by name) from rowhouse.tables t),
      json_build_array((select json_agg(t order by app_id, table_name) from rowhouse.registrations t),
        (select json_agg(t order by app_id, table_name, hash) from rowhouse.column_sets t),
        (select json_agg(t order by app_id, table_name, hash) from rowhouse.views t)),
      (select json_agg(t order by app_id, seq) from rowhouse.migrations t),
      (select json_agg(t order by id) from rowhouse.deferred_steps t),
      (select version from rowhouse.versions where name = 'catalog'),
      (select json_agg(row(oid, relname, relkind, relnatts, relrowsecurity, relforcerowsecurity, relacl::text) order by oid)
        from pg_class where relnamespace in ('data'::regnamespace, 'api'::regnamespace)),
      (select json_agg(row(attrelid, attnum, a.xmin)::text order by attrelid, attnum) from pg_attribute a join pg_class on pg_class.oid = attrelid
        where relnamespace = 'data'::regnamespace),
      (select json_agg(row(oid, xmin)::text order by oid) from pg_constraint c where connamespace = 'data'::regnamespace),
      (select json_agg(row(indexrelid, i.xmin)::text order by indexrelid) from pg_index i join pg_class on pg_class.oid = indexrelid
        where relnamespace = 'data'::regnamespace),
      (select json_agg(row(oid, xmin)::text order by oid) from pg_proc p where pronamespace = 'api'::regnamespace),
      (select json_agg(row(oid, xmin)::text order by oid) from pg_enum e),
      (select json_agg(row(oid, xmin)::text order by oid) from pg_policy p),
      (select json_agg(row(oid, xmin)::text order by oid) from pg_attrdef d))::text as dump`,
  );
  return row?.dump ?? "";
}
