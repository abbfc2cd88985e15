/**
 * Distributes a database with rows over the nodes of a Citus cluster, in one message, which is one transaction: locks,
 * the check that nothing has changed since the plan, counts, tables, functions, counts again, the record. Pure.
 *
 * @module
 */
import { quoteBody, quoteLiteral, quoteName } from "../../std/quote.ts";
import { MIGRATE_LOCK } from "../migrations/roles.ts";
import { type Database, readRows, readValue } from "../pool/mod.ts";
import { SIGNALS } from "../signals.ts";
import { LOCK_BUDGET_MS } from "../sql_constants.ts";
import { ANCHOR, BY_APP, IS_DISTRIBUTED_SQL } from "./anchor.ts";
import { ADAPTED, findFunction, ON_SHARDS_NAMES } from "./functions.ts";
import { EVERYWHERE, renderBodies } from "./set_up.ts";

/** The prefix of every progress line. */
export const PROGRESS = "rowhouse: ";

/** A reference within a circle of tables, which is dropped before the distribution and restored afterwards. */
export type Reference = { name: string; child: string; parent: string; definition: string };

export type Conversion = {
  shards: number;
  /** Apps' tables, parents before children. */
  tables: readonly string[];
  circular: readonly Reference[];
  /** Statements that create the functions of apps' tables on every node, and their signatures. */
  functions: readonly string[];
  signatures: readonly string[];
  /** A query that returns one text, and the digest of that text at planning; the conversion fails if the text has changed. */
  checked: { settings: string; query: string; digest: string };
  actor: string;
};

/** The message; its last statement returns the rows of each table and the number of their apps. */
export function renderConversion(conversion: Conversion): string {
  const { shards, tables, circular, functions, signatures } = conversion;
  const counted = [
    ...BY_APP.map((name) => ({ name, relation: name })),
    ...tables.map((name) => ({ name, relation: toName(name) })),
  ];
  const [distribute = "", define = "", ...calls] = renderBodies(shards);
  return [
    ...renderStart(conversion),
    ...counted.map((table) => renderCount(table, "before")),
    toBlock(distribute),
    notice("distributed the keys' proofs and the responses of writes"),
    ...circular.map(({ child, name }) =>
      toBlock(`alter table ${toName(child)} drop constraint ${quoteName(name)};`),
    ),
    ...tables.map((table, index) =>
      toBlock(`perform find.make(pg_catalog.json_build_object('table', ${quoteLiteral(table)}, 'walks', null)::pg_catalog.jsonb);
  -- Its only triggers are listeners.
  execute coalesce((select pg_catalog.string_agg(pg_catalog.format('drop trigger %I on %s', tgname, tgrelid::pg_catalog.regclass), '; ')
    from pg_catalog.pg_trigger where tgrelid = ${quoteLiteral(toName(table))}::pg_catalog.regclass and not tgisinternal), 'select');
  perform pg_catalog.create_distributed_table(${quoteLiteral(toName(table))}, 'app_id', colocate_with := '${ANCHOR}');
  ${respondBody(`distributed table ${table} (${index + 1} of ${tables.length})`)}`),
    ),
    ...circular.map(({ child, name, definition }) =>
      toBlock(`alter table ${toName(child)} add constraint ${quoteName(name)} ${definition};`),
    ),
    toBlock(define),
    "set local citus.enable_ddl_propagation = 'on'",
    ...calls.map(toBlock),
    ...functions,
    // A function created on a node can be executed by everyone.
    ...signatures.map((signature) => toBlock(`revoke all on function ${signature} from public;`)),
    notice("distributed the functions"),
    ...tables.map((table) =>
      toBlock(
        `perform pg_catalog.truncate_local_data_after_distributing_table(${quoteLiteral(toName(table))});`,
      ),
    ),
    ...counted.map((table) => renderCount(table, "after")),
    toBlock(COMPARE),
    notice("counted all rows again: each app has as many of each table as before"),
    toBlock(renderRecord(conversion)),
    RESULT,
  ].join(";\n");
}

/** Locks out pushes, other migrations, and readers and writers of rows, so that the checked state cannot change. */
function renderStart({ tables, checked }: Conversion): string[] {
  const names = tables.map(quoteLiteral).join(", ");
  return [
    toBlock(`perform ${MIGRATE_LOCK};`),
    "set local statement_timeout = 0",
    `set local lock_timeout = '${LOCK_BUDGET_MS}ms'`,
    "set local client_min_messages = 'notice'",
    "set local citus.multi_shard_modify_mode = 'sequential'",
    toBlock(`lock table rowhouse.migrations, ${[...BY_APP, EVERYWHERE].join(", ")} in access exclusive mode;
  perform rowhouse.lock_tables(array[${names}]::pg_catalog.text[], '{}', ${LOCK_BUDGET_MS});`),
    checked.settings.trim().replace(/;$/, ""),
    "set local lock_timeout = 0",
    toBlock(`if pg_catalog.to_regclass('${ANCHOR}') is not null
    or pg_catalog.md5((${checked.query})) <> ${quoteLiteral(checked.digest)}
  then
    raise exception 'not what was checked' using errcode = '${SIGNALS.catalogMoved}';
  end if;`),
    "create temporary table rows_counted (moment text, name text, app_id uuid, row_count bigint) on commit drop",
    notice("locked all tables"),
  ];
}

type Counted = { name: string; relation: string };

function renderCount({ name, relation }: Counted, moment: "before" | "after"): string {
  return toBlock(`insert into pg_temp.rows_counted
  select '${moment}', ${quoteLiteral(name)}, app_id, pg_catalog.count(*) from ${relation} group by app_id;`);
}

const COMPARE = `if exists (
    select from (select * from pg_temp.rows_counted where moment = 'before') as before
    full join (select * from pg_temp.rows_counted where moment = 'after') as after using (name, app_id)
    where before.row_count is distinct from after.row_count)
  then
    raise exception 'the nodes have other rows' using errcode = '${SIGNALS.rowsDiffer}';
  end if;`;

/** Raises the versions by which processes and pushes detect the change. */
function renderRecord({ shards, tables, actor }: Conversion): string {
  return `update rowhouse.versions set version = version + 1 where name = 'catalog';
  update rowhouse.tables set version = (select version from rowhouse.versions where versions.name = 'catalog');
  perform rowhouse.log(${quoteLiteral(actor)}, 'convert_to_citus', details => pg_catalog.jsonb_build_object('shards', ${shards}, 'tables', ${tables.length},
    'rows', (select coalesce(pg_catalog.sum(row_count), 0) from pg_temp.rows_counted where moment = 'after')));`;
}

const RESULT = `select name, pg_catalog.sum(row_count)::pg_catalog.int8::pg_catalog.text as rows, pg_catalog.count(*)::pg_catalog.int4 as apps
from pg_temp.rows_counted where moment = 'after' group by name order by name`;

function toName(table: string): string {
  return `data.${quoteName(table)}`;
}

function notice(line: string): string {
  return toBlock(respondBody(line));
}

function respondBody(line: string): string {
  return `raise notice '%', ${quoteLiteral(PROGRESS + line)};`;
}

/** One block: Citus would forward the whole message once per statement, and a node accepts only single statements. */
function toBlock(statements: string): string {
  return `do ${quoteBody(`begin\n  ${statements}\nend`)}`;
}

// A dump of a distributed database that was restored on one PostgreSQL: all rows are in ordinary tables, but the service's
// own functions are still the variants for nodes.

/** Returns whether the database is recorded as distributed, but is not. */
export async function isRestored(admin: Database): Promise<boolean> {
  const [row] = await readRows<{ has_anchor: boolean; has_citus: boolean }>(
    admin,
    `select ${IS_DISTRIBUTED_SQL} as has_anchor,
      pg_catalog.to_regclass('pg_catalog.pg_dist_partition') is not null as has_citus`,
  );
  if (row?.has_anchor !== true) return false;
  if (!row.has_citus) return true;
  const isDistributed = await readValue<boolean>(
    admin,
    `select exists (select from pg_catalog.pg_dist_partition
      where logicalrelid = $1::pg_catalog.text::pg_catalog.regclass) as is_distributed`,
    [ANCHOR],
  );
  return !isDistributed;
}

/** The lines of `rowhouse migrate` about clusters. */
export const SET_UP_LINES = {
  restored:
    "The database was restored from a dump of a distributed database: run rowhouse migrate without --citus first, then rowhouse admin convert-to-citus",
  undone: "The database was restored from a distributed one and is now a plain PostgreSQL database",
  ready: "All nodes of the Citus cluster are set up",
} as const;

/** Converts the restored database for one PostgreSQL. The caller then renews apps' functions. */
export async function undoDistribution(admin: Database): Promise<void> {
  await admin.message(`set local citus.enable_ddl_propagation = 'off';
do $$ begin perform ${MIGRATE_LOCK}; end $$;
drop function if exists rowhouse.hold_new_nodes();
set local role rowhouse_owner;
${OWN.map(findFunction).join("\n")}
drop function if exists rowhouse.drop_part(text), rowhouse.find_node_issues();
drop function if exists ${ON_SHARDS_NAMES.map((name) => `rowhouse.${name}`).join(", ")};
drop table if exists ${ANCHOR};
drop function if exists rowhouse.may_have_shard(bigint, integer);
drop table if exists rowhouse.nodes;
update rowhouse.versions set version = version + 1 where name = 'catalog';
update rowhouse.tables set version = (select version from rowhouse.versions where versions.name = 'catalog');
select 1`);
}

/** The functions that the set-up replaces. */
const OWN = [
  ...["enter_app", "delete_proof", "delete_stored", "is_listening", "had_filters", "drop_tables"],
  ...Object.keys(ADAPTED),
];
