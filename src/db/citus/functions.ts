/** The service's functions that differ if tables are distributed. @module */
import { CODE, SHARED } from "../code/mod.ts";
import { APP_SETTING, renderFindNodeIssues } from "../isolation.ts";
import { ANCHOR } from "./anchor.ts";
import { MOVED } from "./node_error.ts";

function defineInBlock(signature: string, statements: string, values: string): string {
  return `create or replace function rowhouse.${signature} returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  perform set_config('${APP_SETTING}', app::text, true);
  perform set_config('citus.propagate_set_commands', 'local', true);
  execute format('do $block$ begin set local ${APP_SETTING} = %1$L; ${statements} end $block$', ${values});
  perform set_config('citus.propagate_set_commands', 'none', true);
end
$$;`;
}

/**
 * Drops tables as the role that has just counted and deleted their rows: in one transaction, Citus allows only this role
 * to change these tables again.
 */
function defineDropTables(): string {
  return `create or replace function rowhouse.drop_part(statement text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  execute statement;
end
$$;
grant create on schema rowhouse to rowhouse_rows;
alter function rowhouse.drop_part(text) owner to rowhouse_rows;
revoke create on schema rowhouse from rowhouse_rows;
grant execute on function rowhouse.drop_part(text) to rowhouse_owner;
revoke execute on function rowhouse.drop_part(text) from public;
${adapt("drop_tables", ["execute statement;", "perform rowhouse.drop_part(statement);"])}`;
}

/** Names the shards of the app's tables in the SQL of terms, which is in texts of JSON. A literal there can look like a table. */
export const LOCATE_TERMS = `create or replace function rowhouse.locate_terms(app uuid, terms jsonb) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  own constant bigint := rowhouse.shard_of(app, terms ->> 'table');
  located constant text := (terms || jsonb_build_object('shard', own,
    'table', rowhouse.name_shard(terms ->> 'table', own)))::text;
  -- Literals, and what is between them.
  parts text[];
  name text;
begin
  if strpos(located, 'data.\\"') = 0 then
    return located::jsonb;
  end if;
  parts := array(select part[1]
    from regexp_matches(located, '(''(?:[^''"\\\\]|\\\\.|'''')*''|[^'']+|'')', 'g') with ordinality as found (part, n)
    order by n);
  for name in select distinct named[1] from unnest(parts) as part,
      regexp_matches(part, '\\mdata\\.\\\\"([^"\\\\]+)\\\\" as \\\\"\\$', 'g') as named
    where part not like '''_%' loop
    parts := array(select case when part like '''_%' then part
      else replace(part, format('data.\\"%s\\" as', name), format('data.\\"%s\\" as',
        rowhouse.name_shard(name, rowhouse.shard_of(app, name)))) end
      from unnest(parts) with ordinality as found (part, n) order by n);
  end loop;
  return array_to_string(parts, '')::jsonb;
end
$$;`;

/**
 * The functions of all tables run on the node with the app's rows, and read and write its shards there: PostgreSQL plans their
 * statements as on one server, and Citus none. The terms of a set get the names of the shards of the app, and their number.
 *
 * A write first writes to the anchor, which makes it wait for a move of the app, and a move for it.
 */
export const ON_SHARDS_NAMES = [
  ...[
    "shard_of",
    "name_shard",
    "locate_terms",
    "locate_indexes",
    "locate_proofs",
    "name_violation",
  ],
] as const;
const ON_SHARDS = `create or replace function rowhouse.shard_of(app uuid, name text) returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
  shard constant bigint :=
    get_shard_id_for_distribution_column(format('data.%I', name)::regclass, app);
begin
  if not exists (select from pg_dist_placement join pg_dist_local_group using (groupid)
    where shardid = shard) then
    raise exception '${MOVED}' using errcode = '08006';
  end if;
  return shard;
end
$$;
create or replace function rowhouse.name_shard(name text, shard bigint) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return (parse_ident(shard_name(to_regclass(format('data.%I', name)), shard)))[2];
end
$$;
${LOCATE_TERMS}
create or replace function rowhouse.locate_proofs(app uuid) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  name constant text :=
    'proofs_' || get_shard_id_for_distribution_column('rowhouse.proofs'::regclass, app);
begin
  if to_regclass('rowhouse.' || name) is null then
    raise exception '${MOVED}' using errcode = '08006';
  end if;
  return name;
end
$$;
create or replace function rowhouse.locate_indexes(terms jsonb, indexes text[]) returns text[]
language sql stable set search_path = pg_catalog, pg_temp as $$
  select array(select rowhouse.name_shard(name, (terms ->> 'shard')::bigint)
    from unnest(indexes) with ordinality as listed (name, n) order by n)
$$;
create or replace function rowhouse.name_violation(state text, broken text, source text, field text)
returns text language sql immutable set search_path = pg_catalog, pg_temp as $$
  select case state when '23502' then format('"%s" "%s"', field, source)
    when '23503' then format('"%s" "%s"', coalesce(nullif(source, ''), 'row'), broken)
    when '23R01' then format(': "%s"', field) else format('"%s"', broken) end
$$;
${[...ON_SHARDS_NAMES, "find_node_issues"].map((name) => `alter function rowhouse.${name} owner to rowhouse_owner;`).join("\n")}
grant execute on function ${ON_SHARDS_NAMES.map((name) => `rowhouse.${name}`).join(", ")} to rowhouse_tenant;`;

type Change = readonly [found: string, replacement: string];

const NAMED: Change = [
  "raise exception 'a row of a batch breaks a rule' using errcode = state,",
  "raise exception '%', rowhouse.name_violation(state, broken, source, field) using errcode = state,",
];
const INDEXED: Change = [
  "terms := write.terms;",
  "terms := write.terms; indexes := rowhouse.locate_indexes(terms, indexes);",
];

const PLANNED: Change = ["'force_generic_plan'", "'force_custom_plan'"];
const HEARD = "pg_catalog.set_config('rowhouse.listens',";
/** A proof is read in its shard, because Citus plans each statement three times. */
const provedBy = (perform: string, select: string): Change[] => [
  ["\nbegin\n", '\ndeclare\n  "$proved" pg_catalog.text;\nbegin\n'],
  [perform, `execute pg_catalog.format($sql$${select}`],
  ['from rowhouse.proofs as "$p"', 'from rowhouse.%I as "$p"'],
  [
    'all ("$p"."ended"));\n  return found;',
    'all ("$p"."ended"))$sql$, rowhouse.locate_proofs($1))\n    into "$proved" using $1, $2, $3;\n  return "$proved" is not null;',
  ],
];

/** What the functions of all tables do otherwise. An error has its names only in its message: Citus forwards no other field. */
export const ADAPTED: Readonly<Record<string, readonly Change[]>> = {
  // Citus finds the shard of a statement at plan time. Except for the simplest statements, this requires the app's value.
  prove_read: [PLANNED, ...provedBy("perform from", "select 'read' from")],
  prove_person_read: [PLANNED],
  prove_person_write: [PLANNED],
  prove_write: [PLANNED, ...provedBy(`perform ${HEARD}`, `select ${HEARD}`)],
  enter_set: [
    PLANNED,
    [
      "\nend\n$$",
      "\n  if bits is not null then\n    terms := rowhouse.locate_terms(app, terms);\n  end if;\nend\n$$",
    ],
  ],
  begin_write: [["\nbegin\n", `\nbegin\n  delete from ${ANCHOR} where app_id = app;\n`]],
  change_each: [NAMED],
  change_row: [NAMED],
  upsert_rows: [INDEXED, NAMED],
  update_keyed_rows: [INDEXED],
  build_list: [["build_page(app, terms,", "build_page(app, rowhouse.locate_terms(app, terms),"]],
};

/**
 * Replacements of the functions with the same names. Every node that a transaction reaches must know the app of the
 * transaction. Citus forwards a `set local` only in a transaction with several statements, such as a block, and only after
 * a transaction on the node began. A write begins that transaction, a read does not. So each block first writes to the
 * anchor, which has no rows; the following statements use the same connection.
 */
export const FUNCTIONS = `${defineInBlock(
  "enter_app(app uuid)",
  `delete from ${ANCHOR} where app_id = %1$L;`,
  "app",
)}
  ${defineInBlock(
    "delete_proof(app uuid, proof_digest bytea)",
    "delete from rowhouse.proofs where app_id = %1$L and digest = %2$L;",
    "app, proof_digest",
  )}
  ${defineInBlock(
    "delete_stored(app uuid)",
    "delete from rowhouse.proofs where app_id = %1$L; delete from rowhouse.idempotency_keys where app_id = %1$L;",
    "app",
  )}
  create or replace function rowhouse.is_listening(switches text[]) returns boolean language sql immutable
set search_path = pg_catalog, pg_temp as $$ select false $$;
  create or replace function rowhouse.had_filters() returns boolean language sql stable security definer
set search_path = pg_catalog, pg_temp as $$ select false $$;
  ${defineDropTables()}
  ${renderFindNodeIssues({ finders: CODE.finders, shared: SHARED })}
  ${ON_SHARDS}
  ${Object.entries(ADAPTED)
    .map(([name, changes]) => adapt(name, ...changes))
    .join("\n")}`;

/** @throws {Error} the function has not each text once */
function adapt(name: string, ...changes: readonly Change[]): string {
  return changes.reduce((text, [found, replacement]) => {
    if (text.split(found).length !== 2)
      throw new Error(`Cannot adapt rowhouse.${name}: its text has changed at ${found}`);
    return text.replace(found, () => replacement);
  }, findFunction(name));
}

/** A function of the code, as a statement that replaces it. */
export function findFunction(name: string): string {
  const found = CODE.functions[name];
  if (found === undefined) throw new Error(`The code does not define rowhouse.${name}`);
  return `${found};`;
}
