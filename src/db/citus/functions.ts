/** The service's functions that differ if tables are distributed. @module */
import { CODE } from "../code/mod.ts";
import { APP_SETTING } from "../isolation.ts";
import { ANCHOR } from "./anchor.ts";

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
    "app, one",
  )}
  ${defineInBlock(
    "delete_stored(app uuid)",
    "delete from rowhouse.proofs where app_id = %1$L; delete from rowhouse.idempotency_keys where app_id = %1$L;",
    "app",
  )}
  create or replace function rowhouse.is_listening(switches text[]) returns boolean language sql immutable
set search_path = pg_catalog, pg_temp as $$ select false $$;
  ${defineDropTables()}`;

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
  const own = findFunction("drop_tables");
  const dropped = own.replace("execute statement;", "perform rowhouse.drop_part(statement);");
  if (dropped === own) throw new Error("Cannot adapt rowhouse.drop_tables: its text has changed");
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
${dropped}`;
}

/** A function of the code, as a statement that replaces it. */
export function findFunction(name: string): string {
  const found = CODE.functions[name];
  if (found === undefined) throw new Error(`The code does not define rowhouse.${name}`);
  return `${found};`;
}
