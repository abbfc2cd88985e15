/** The limits of the serving login, tested on a separate connection, and the properties of the roles and tables. @module */
import { afterAll, describe, expect, test } from "bun:test";
import postgres from "postgres";
import { SIGNALS } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { CONSOLE_LOGIN, LOGIN, PUSH_LOGIN, toLogin } from "../support/cluster.ts";
import { functionOf, signatureOf } from "../support/functions.ts";
import { proofOf } from "../support/proof.ts";
import { openTestService, type TestApp, UNGUARDED } from "../support/service.ts";
import { sqlstateOf } from "../support/sqlstate.ts";

const schema = defineSchema({
  projects: { name: t.string().required().unique() },
  todos: {
    title: t.string().required(),
    kind: t.enum(["a", "b"]),
    project: t.ref("projects", { onDelete: "cascade" }),
  },
});

const LIST = functionOf(schema, "todos", "list");
const CREATE = functionOf(schema, "todos", "create");
const GET = signatureOf(schema, "todos", "get");

const service = await openTestService({ service: UNGUARDED });
const mine = await service.makeApp(schema);
const other = await service.makeApp(schema);
for (const [app, title] of [
  [mine, "mine"],
  [other, "theirs"],
] as const)
  await service.call(app, "/v1/data/db/todos", { method: "POST", json: { title } });
const login = postgres(service.database.servingUrl, {
  max: 1,
  prepare: false,
  onnotice: () => undefined,
});
afterAll(async () => {
  await login.end();
  await service.close();
});

const DENIED = "42501";

describe("the serving login cannot", () => {
  test.each([
    "select * from data.todos",
    "select count(*) from data.todos",
    "select title from data.projects limit 0",
    "insert into data.todos (app_id, id, title) values (gen_random_uuid(), gen_random_uuid(), 'x')",
    "update data.todos set title = 'x'",
    "delete from data.todos",
    "truncate data.todos",
    "copy data.todos to stdout",
    "alter table data.todos disable row level security",
    "alter table data.todos no force row level security",
    "drop policy tenant on data.todos",
    "create policy open on data.todos using (true)",
    "create index on data.todos (title)",
    "create trigger spy after insert on data.todos execute function rowhouse.raise_version('keys')",
    "set role rowhouse_owner",
    "set role rowhouse_tables",
    "set role rowhouse_tenant",
    "set role postgres",
    "set session authorization rowhouse_tenant",
    "set row_security = off; select * from data.todos",
    "set rowhouse.app_id = '00000000-0000-0000-0000-000000000000'; select * from data.todos",
    "create table data.mine (id int)",
    "create table public.mine (id int)",
    "create temporary table mine (id int)",
    "create temporary view mine as select 1",
    "create domain pg_temp.uuid as text",
    "create schema mine",
    "create function api.mine() returns int language sql as 'select 1'",
    "create function public.mine() returns int language sql as 'select 1'",
    `create or replace function api.${GET} returns text language sql as 'select 1'`,
    `alter function api.${GET} security invoker`,
    `drop function api.${GET}`,
    "create operator public.= (leftarg = uuid, rightarg = uuid, function = uuid_ne)",
    "create type api.mine as enum ('x')",
    "create extension pg_trgm",
    "alter type data.todos__kind__enum add value 'c'",
    "select * from rowhouse.api_keys",
    "select digest from rowhouse.api_keys",
    "select * from rowhouse.proofs",
    "insert into rowhouse.proofs (app_id, digest, scopes) values (gen_random_uuid(), sha256('x'), 7)",
    "select rowhouse.issue_key('x', 'k', 'n', 'x', array['data:read'], null, 'me')",
    "select rowhouse.roll_key('x', 'k', 'x', 0, 'me')",
    "select rowhouse.revoke_key('x', 'me')",
    "select rowhouse.reject_key()",
    "select key_id from rowhouse.api_keys",
    "update rowhouse.api_keys set revoked_at = null",
    "insert into rowhouse.apps (id, slug) values (gen_random_uuid(), 'mine')",
    "update rowhouse.tables set definition = '{}'",
    "update rowhouse.versions set version = 0",
    "delete from rowhouse.registrations",
    "update rowhouse.migrations set sql = ''",
    "select rowhouse.lock_push(array['x'], '{}', gen_random_uuid(), 1)",
    "select rowhouse.lock_tables(array['todos'], '{}', 1)",
    "select rowhouse.record_push(gen_random_uuid(), '{}', '[]', '[]', '[]')",
    "select rowhouse.transfer_table('todos', 'x', 'me')",
    "select rowhouse.raise_version()",
    "grant rowhouse_tenant to current_user",
    "grant select on data.todos to current_user",
    "alter role rowhouse_tenant bypassrls",
    "select pg_read_file('/etc/passwd')",
    "copy (select 1) to program 'true'",
    "do $$ begin execute 'select * from data.todos'; end $$",
    "alter default privileges for role rowhouse_owner grant execute on functions to public",
    "alter database template1 set rowhouse.app_id = 'x'",
    "comment on table data.todos is 'mine'",
    "select * from pg_catalog.pg_authid",
    "select lo_import('/etc/passwd')",
    "select * from pg_catalog.pg_statistic",
  ])("%s", async (text) => {
    const code = await sqlstateOf(login, text);
    await login.unsafe("reset all; reset role");
    // 42P01, 42883 and 3F000 would mean that the attack has no valid target.
    expect(code).toBe(DENIED);
  });
});

describe("hostile session state:", () => {
  const listOf = async (app: TestApp) => {
    const [row] = await login.unsafe(
      `select api.${LIST}('${app.id}', ${proofOf(app.key)}, 1000, 0, 8388608, null, null) as body`,
    );
    const text: string = row?.["body"];
    // The tag and the owner of the page precede the JSON.
    const body = JSON.parse(text.slice(text.indexOf("{"))) as { rows: { title: string }[] };
    return body.rows.map(({ title }) => title);
  };

  test.each([
    "set search_path = public, data, rowhouse, pg_temp",
    `set search_path = ''`,
    "set search_path = pg_temp, api, pg_catalog",
    "set rowhouse.app_id = 'THEIRS'",
    "set plan_cache_mode = force_custom_plan",
    "set timezone = 'Asia/Kathmandu'",
    "set datestyle = 'German, DMY'",
    "set intervalstyle = 'sql_standard'",
    "set extra_float_digits = -15",
    "set standard_conforming_strings = off",
    "set backslash_quote = on",
    "set transform_null_equals = on",
    "set bytea_output = escape",
    "set xmlbinary = hex",
    "set array_nulls = off",
    "set default_transaction_isolation = 'serializable'",
    "set session_replication_role = replica",
    "set lc_messages = 'C'",
    "set enable_indexscan = off; set enable_bitmapscan = off; set enable_indexonlyscan = off",
  ])("%s does not change what a function returns", async (text) => {
    await login.unsafe(text.replace("THEIRS", other.id)).catch(() => undefined);
    const [mineNow, theirs] = [await listOf(mine), await listOf(other)];
    const inserted = await login
      .unsafe(
        `select api.${CREATE}('${mine.id}', ${proofOf(mine.key)}, gen_random_uuid(), '{"title":"made","kind":"b"}', 8388608, null) as body`,
      )
      .catch((error: { code: string }) => error.code);
    await login.unsafe("reset all");
    expect([mineNow, theirs]).toEqual([["mine"], ["theirs"]]);
    expect(JSON.stringify(inserted)).toContain("made");
    await service.service.admin.message("delete from data.todos where title = 'made' returning id");
  });

  test("the functions fail with row security off, and return no rows", async () => {
    await login.unsafe("set row_security = off");
    const codes = [
      await sqlstateOf(
        login,
        `select api.${LIST}('${mine.id}', ${proofOf(mine.key)}, 1000, 0, 8388608, null, null)`,
      ),
      await sqlstateOf(
        login,
        `select api.${CREATE}('${mine.id}', ${proofOf(mine.key)}, gen_random_uuid(), '{"title":"x"}', 8388608, null)`,
      ),
    ];
    await login.unsafe("reset all");
    expect(codes).toEqual(["42501", "42501"]);
  });

  test("a tenant that is set for one call ends with the call", async () => {
    await listOf(other);
    const [row] = await login.unsafe("select current_setting('rowhouse.app_id', true) as app");
    expect(row?.["app"] ?? "").toBe("");
  });

  test("no row is readable without a tenant, and a malformed tenant is rejected", async () => {
    expect(
      await sqlstateOf(
        login,
        `select api.${LIST}(null, ${proofOf(mine.key)}, 1000, 0, 8388608, null, null)`,
      ),
    ).toBe(SIGNALS.keyRejected);
    expect(
      await sqlstateOf(
        login,
        `select api.${LIST}('%', ${proofOf(mine.key)}, 1000, 0, 8388608, null, null)`,
      ),
    ).toBe("22P02");
    expect(
      await sqlstateOf(
        login,
        `select api.${CREATE}(null, ${proofOf(mine.key)}, gen_random_uuid(), '{"title":"x"}', 8388608, null)`,
      ),
    ).toBe(SIGNALS.keyRejected);
  });
});

describe("the database", () => {
  const read = async <Row>(text: string): Promise<Row[]> => await service.query<Row>(text);

  test("has no role that can bypass row security", async () => {
    expect(
      await read(
        "select rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolcanlogin from pg_roles where rolname in ('rowhouse_owner', 'rowhouse_tables', 'rowhouse_tenant', 'rowhouse_service') order by 1",
      ),
    ).toEqual(
      ["rowhouse_owner", "rowhouse_service", "rowhouse_tables", "rowhouse_tenant"].map(
        (rolname) => ({
          rolname,
          rolsuper: false,
          rolbypassrls: false,
          rolcreaterole: false,
          rolcreatedb: false,
          rolcanlogin: false,
        }),
      ),
    );
  });

  test("has functions whose owner owns no table and is not a member of any role", async () => {
    expect(
      await read("select relname from pg_class where relowner = 'rowhouse_tenant'::regrole"),
    ).toEqual([]);
    expect(
      await read("select roleid from pg_auth_members where member = 'rowhouse_tenant'::regrole"),
    ).toEqual([]);
    expect(
      await read(
        "select distinct proowner::regrole::text as owner, prosecdef from pg_proc where pronamespace = 'api'::regnamespace",
      ),
    ).toEqual([{ owner: "rowhouse_tenant", prosecdef: true }]);
  });

  test("has every app's table under enabled and forced row security with only the policies of the tenant and of the finders", async () => {
    const tables = await read<{ relname: string; policies: string[] }>(
      `select relname, relrowsecurity, relforcerowsecurity,
        (select json_agg(polname::text || ' ' || polcmd::text || ' ' || polpermissive::text || ' ' || (polroles = '{0}')::text order by polname desc) from pg_policy where polrelid = c.oid)::text as policies
      from pg_class c where relnamespace = 'data'::regnamespace and relkind in ('r', 'p') order by 1`,
    );
    expect(tables as unknown).toEqual(
      ["projects", "todos"].map((relname) => ({
        relname,
        relrowsecurity: true,
        relforcerowsecurity: true,
        policies: '["tenant * true true", "reader r true false"]',
      })),
    );
  });

  test("has the app as the first column of every key, index and reference", async () => {
    expect(
      await read(
        `select indexrelid::regclass::text as name from pg_index i join pg_class c on c.oid = i.indrelid
        join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
        where c.relnamespace = 'data'::regnamespace and a.attname <> 'app_id'`,
      ),
    ).toEqual([]);
    expect(
      await read(
        `select conname from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
        where connamespace = 'data'::regnamespace and contype in ('f', 'u', 'p') and a.attname <> 'app_id'`,
      ),
    ).toEqual([]);
  });

  test("lets PUBLIC run no function and use no object of the service", async () => {
    expect(
      await read(
        `select proname from pg_proc where pronamespace in ('api'::regnamespace, 'rowhouse'::regnamespace, 'data'::regnamespace, 'find'::regnamespace)
        and (proacl is null or exists (select from aclexplode(proacl) where grantee = 0))`,
      ),
    ).toEqual([]);
    expect(
      await read(
        `select nspname from pg_namespace where nspname in ('api', 'data', 'rowhouse', 'find')
        and exists (select from aclexplode(nspacl) where grantee = 0)`,
      ),
    ).toEqual([]);
    expect(
      await read(
        `select datname from pg_database where datname = current_database()
        and exists (select from aclexplode(coalesce(datacl, acldefault('d', datdba))) where grantee = 0 and privilege_type = 'TEMPORARY')`,
      ),
    ).toEqual([]);
    expect(
      await read(
        "select relname from pg_class where relnamespace = 'data'::regnamespace and exists (select from aclexplode(relacl) where grantee not in ('rowhouse_tables'::regrole, 'rowhouse_tenant'::regrole, 'rowhouse_reader'::regrole))",
      ),
    ).toEqual([]);
  });

  test("does not log the failing statements of any login", async () => {
    const logins = await read<{ login: string; settings: string }>(
      `select rolname as login, pg_catalog.array_to_string(setconfig, ' ') as settings
      from pg_roles left join pg_db_role_setting on setrole = pg_roles.oid
        and setdatabase = (select oid from pg_database where datname = current_database())
      where rolname in ('${LOGIN}', '${PUSH_LOGIN}', '${CONSOLE_LOGIN}', '${toLogin("identity")}')`,
    );
    expect(logins).toHaveLength(4);
    for (const { settings } of logins) expect(settings).toContain("log_min_error_statement=panic");
  });

  test("resists an attack by a temporary type, even from a login that can create temporary types", async () => {
    await service.service.admin.message(
      `do $$ begin execute format('grant temporary on database %I to rowhouse_test_login', current_database()); end $$; select 1`,
    );
    const victim = postgres(service.database.servingUrl, {
      max: 1,
      prepare: false,
      onnotice: () => undefined,
    });
    const text = `
create function pg_temp.spy(v text) returns boolean language plpgsql as $$ begin
  perform set_config('spy.rows', (select count(*)::text from data.todos), false); return true; end $$;
create domain pg_temp.uuid as text check (pg_temp.spy(value));
create domain pg_temp.text as pg_catalog.text check (pg_temp.spy(value));
create domain pg_temp.numeric as pg_catalog.numeric check (pg_temp.spy(value::pg_catalog.text));
create domain pg_temp.jsonb as pg_catalog.text check (pg_temp.spy(value));
select set_config('rowhouse.app_id', '${other.id}', false);`;
    await victim.unsafe(text);
    for (const call of [
      `api.${LIST}('${mine.id}'::pg_catalog.uuid, ${proofOf(mine.key)}::pg_catalog.bytea, 10, 0, 8388608, null, null)`,
      `api.${CREATE}('${mine.id}'::pg_catalog.uuid, ${proofOf(mine.key)}::pg_catalog.bytea, gen_random_uuid(), '{"title":"spied"}'::pg_catalog.text, 8388608, null)`,
    ]) {
      await victim.unsafe(`select ${call}`);
      const [row] = await victim.unsafe("select current_setting('spy.rows', true) as rows");
      expect(row?.["rows"] ?? null).toBeNull();
    }
    await victim.end();
  });
});
