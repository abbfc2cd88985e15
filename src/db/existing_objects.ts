/** What people created in a database: `dev` writes only into a database without such objects. @module */
import { type Database, readRows } from "./pool/mod.ts";

/** Kinds of objects: the catalog, the column of its schema and a condition. */
const KINDS: readonly { catalog: string; schema?: string; only?: string; described?: string }[] = [
  { catalog: "pg_namespace", schema: "pg_namespace.oid", only: "nspname <> 'public'" },
  {
    catalog: "pg_class",
    schema: "relnamespace",
    only: "relkind in ('r', 'p', 'v', 'm', 'S', 'f')",
  },
  {
    catalog: "pg_type",
    schema: "typnamespace",
    only: `typcategory <> 'A' and typtype <> 'm' and (typtype <> 'c'
      or exists (select from pg_catalog.pg_class where pg_class.oid = typrelid and relkind = 'c'))`,
  },
  { catalog: "pg_proc", schema: "pronamespace" },
  { catalog: "pg_operator", schema: "oprnamespace" },
  { catalog: "pg_opfamily", schema: "opfnamespace" },
  { catalog: "pg_collation", schema: "collnamespace" },
  { catalog: "pg_conversion", schema: "connamespace" },
  { catalog: "pg_ts_config", schema: "cfgnamespace" },
  { catalog: "pg_ts_dict", schema: "dictnamespace" },
  { catalog: "pg_statistic_ext", schema: "stxnamespace" },
  { catalog: "pg_cast" },
  { catalog: "pg_event_trigger" },
  { catalog: "pg_publication" },
  { catalog: "pg_foreign_data_wrapper" },
  { catalog: "pg_foreign_server" },
  { catalog: "pg_language" },
  { catalog: "pg_largeobject_metadata", described: "pg_largeobject" },
];

/** Objects of the server itself have lower ids. */
const FIRST_ID = 16_384;

const OBJECTS = KINDS.map(
  ({ catalog, schema = "null::oid", only = "true", described = catalog }) =>
    `select 'pg_catalog.${described}'::pg_catalog.regclass as catalog, ${catalog}.oid as object, ${schema} as namespace
    from pg_catalog.${catalog} where ${catalog}.oid >= ${FIRST_ID} and ${only}`,
).join("\nunion all ");

/** Lists the schemas of the objects, without those of extensions. An object without a schema has null; a schema is in itself. */
export async function listSchemas(database: Database): Promise<(string | null)[]> {
  const found = await readRows<{ schema: string | null }>(
    database,
    `with objects as (${OBJECTS})
    select distinct nspname::pg_catalog.text as schema
    from objects left join pg_catalog.pg_namespace on pg_namespace.oid = namespace
    where (nspname is null or (nspname !~ '^pg_' and nspname <> 'information_schema'))
      and not exists (select from pg_catalog.pg_depend
        where classid = catalog and objid = object and pg_depend.deptype = 'e')`,
  );
  return found.map(({ schema }) => schema);
}
