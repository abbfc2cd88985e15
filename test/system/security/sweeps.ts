/** Calls every function with a number that a serving login can execute, and finds what it deletes before its time. @module */
import { expect } from "bun:test";
import { quoteLiteral } from "../../../src/db/mod.ts";
import { LOGIN, toLogin, withDatabase } from "../../support/cluster.ts";
import { SERVING, type World } from "./world.ts";

/** A row that is not due, in each table from which a serving login's functions delete what is due. */
const FRESH: Readonly<Record<string, string>> = {
  row_changes:
    "(app_id, table_name, row_id, changed_by, before, bytes) select id, 'todos', gen_random_uuid(), 'key 00', '{}', 300 from rowhouse.apps",
  idempotency_keys:
    "(app_id, key, request, is_whole) select id, sha256('k'), sha256('r'), false from rowhouse.apps",
  changes: "(app_id, table_name) select id, 'todos' from rowhouse.apps",
  nonces: "(nonce) values (gen_random_uuid())",
  throttle: "values ('fresh', 1, now() + interval '1 hour')",
  statistics: "values (gen_random_uuid(), 'minute', now(), 0, 0, 0, array_fill(0, array[12]))",
  processes: "(id, role, started_at, minute) values (gen_random_uuid(), 'data', now(), now())",
};

/** Extremes of each number, and of each pair of numbers. */
const NUMBERS = ["0", "-1", "2147483647"];
const IS_NUMBER = "typcategory in ('N', 'T')";

export async function sweepsOnlyWhatIsDue({ service }: World): Promise<void> {
  const logins = SERVING.map((login) => (login === "all" ? LOGIN : toLogin(login)));
  const text = `begin;
    update rowhouse.apps set switches = switches || '{history,live}';
    do $$ declare app uuid; begin
      for app in select id from rowhouse.apps loop perform rowhouse.enter_app(app); end loop;
    end $$;
    ${Object.entries(FRESH)
      .map(([table, row]) => `insert into rowhouse.${table} ${row};`)
      .join("\n")}
    create temp table found (call text, tables text[]) on commit drop;
    do $$
    declare
      login text; function record; one text; other text; stated text; before jsonb; after jsonb; lost text[];
    begin
      -- Each call is undone.
      before := pg_temp.sizes();
      foreach login in array ${quoteLiteral(`{${logins}}`)}::text[] loop
        for function in
          select pg_proc.oid, proname, pronargs, array(select case when ${IS_NUMBER} then typcategory::text else 'null' end
              || '::' || format_type(type.oid, null)
            from unnest(proargtypes) with ordinality as listed (id, place) join pg_type as type on type.oid = id
            order by place) as arguments
          from pg_proc where pronamespace = 'rowhouse'::regnamespace and provolatile = 'v' and prokind = 'f'
            and has_function_privilege(login, pg_proc.oid, 'execute')
            and exists (select from unnest(proargtypes) as id join pg_type as type on type.oid = id where ${IS_NUMBER})
        loop
          foreach one in array ${quoteLiteral(`{${NUMBERS}}`)}::text[] loop
            foreach other in array ${quoteLiteral(`{${NUMBERS}}`)}::text[] loop
              continue when one <> other and function.pronargs = 1;
              stated := (select string_agg(case when argument like 'N::%'
                  then quote_literal(case when place % 2 = 1 then one else other end) || substr(argument, 2)
                  when argument like 'T::%' then quote_literal(one || ' seconds') || substr(argument, 2) else argument end, ', ' order by place)
                from unnest(function.arguments) with ordinality as listed (argument, place));
              lost := null;
              begin
                execute format('set local role %I', login);
                begin
                  execute format('select rowhouse.%I(%s)', function.proname, stated);
                exception when others then null;
                end;
                reset role;
                after := pg_temp.sizes();
                lost := array(select key from jsonb_each_text(before) where value::int8 > (after ->> key)::int8);
                raise exception 'undone';
              exception when raise_exception then null;
              end;
              if cardinality(lost) > 0 then
                insert into found values (format('%s as %s: %s', function.proname, login, stated), lost);
              end if;
            end loop;
          end loop;
        end loop;
      end loop;
    end $$;
    select call, tables::text from found;
    rollback`;
  await withDatabase(service.database.superuserUrl, async (root) => {
    // One statement, whose plan stays: the sizes are read before and after hundreds of calls.
    await root.message(`do $$ begin
      execute (select format('create function pg_temp.sizes() returns jsonb language plpgsql as %L',
        format('begin return (select jsonb_object_agg(name, size) from (%s) as counted); end',
          string_agg(format('select %L as name, count(*) as size from rowhouse.%I', relname, relname), ' union all ')))
      from pg_class where relnamespace = 'rowhouse'::regnamespace and relkind = 'r');
    end $$; select 1`);
    expect([...(await root.message(text))]).toEqual([]);
  });
}
