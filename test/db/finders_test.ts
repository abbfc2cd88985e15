/** Functions of the schema find: `migrate` gives them to rowhouse_reader, which never has a member. */
import { describe, expect, test } from "bun:test";
import { readCode } from "../../src/db/code/statements.ts";
import { BECOME_OWNER, renderStart } from "../../src/db/migrations/message.ts";
import { renderFinders } from "../../src/db/migrations/renew_code.ts";
import { ROLE_NAMES } from "../../src/db/migrations/roles.ts";
import { type Database, migrate, readRows, readValue } from "../../src/db/mod.ts";
import { makeDatabase, makeEmptyDatabase, withDatabase } from "../support/cluster.ts";
import { share } from "../support/share.ts";

const define = (name: string, body: string, returns = "integer") =>
  `create function find.${name}(wanted text) returns ${returns} language plpgsql stable security definer
    set search_path = pg_catalog, pg_temp as $$ begin ${body} end $$;
  alter function find.${name} owner to rowhouse_reader;
  grant execute on function find.${name} to rowhouse_tenant;`;
const FIRST = define("first", "return 1;");
const SECOND = define("second", "return 2;");

/** Runs what a migration does with these functions. Returns what changed. */
async function renew(admin: Database, code: string, mode: "try" | "renew" = "renew") {
  const [row] = await admin.message<{ renewed: { functions: Record<string, string> } }>(
    `${renderStart("code", "false")}
    ${BECOME_OWNER}
    select set_config('rowhouse.renewed', '{"functions": {}}', true);
    ${renderFinders(readCode(code).finders, mode)}
    select current_setting('rowhouse.renewed')::json as renewed`,
  );
  return row?.renewed.functions;
}

const readFunctions = (db: Database) =>
  readRows(
    db,
    `select proname::text as name, prosrc as body, proowner::regrole::text as owner,
      to_json(array(select case grantee when 0 then 'public' else grantee::regrole::text end
        from aclexplode(proacl) where grantee <> proowner order by 1)) as callers
    from pg_proc where pronamespace = 'find'::regnamespace order by 1`,
  );
const OURS = { owner: "rowhouse_reader", callers: ["rowhouse_tenant"] };
const AFTER_FIRST = [{ name: "first", body: " begin return 1; end ", ...OURS }];

/** Members that inherit or may set the role. */
const readMembers = (db: Database) =>
  readRows(
    db,
    `select member::regrole::text as member from pg_auth_members as members where roleid = 'rowhouse_reader'::regrole
      and coalesce((to_jsonb(members) ->> 'inherit_option')::bool or (to_jsonb(members) ->> 'set_option')::bool, true)`,
  );

/** An administrator who is no superuser, and the database that it owns. */
async function openManaged() {
  const empty = await makeEmptyDatabase();
  const name = `reader_admin_${crypto.randomUUID().slice(0, 8)}`;
  const url = new URL(empty.url);
  const database = url.pathname.slice(1);
  await withDatabase(empty.url, async (root) => {
    await root.message(`create role ${name} login createrole password 'pw'; select 1`);
    const major = await readValue<number>(
      root,
      "select current_setting('server_version_num')::int / 10000 as v",
    );
    // The roles of this server are of another administrator.
    const options = major >= 16 ? " with admin true, inherit false, set false" : "";
    const roles = ROLE_NAMES.filter((role) => major >= 16 || role !== "rowhouse_reader");
    await root.message(
      `${roles.map((role) => `grant ${role} to ${name}${options}`).join("; ")}; select 1`,
    );
    await root.message(`alter database ${database} owner to ${name}; select 1`);
    await root.message(`do $$ begin execute (select coalesce(string_agg(format('grant execute on function %s to ${name}', oid::regprocedure), '; '), 'select 1')
      from pg_proc where pronamespace = 'pg_catalog'::regnamespace and proname ~ 'advisory'); end $$; select 1`);
  });
  Object.assign(url, { username: name, password: "pw" });
  const close = async () => {
    await empty.drop();
    await withDatabase(new URL("/postgres", empty.url).href, (root) =>
      root.message(`drop role ${name}; select 1`),
    );
  };
  return { url: url.href, rootUrl: empty.url, close, [Symbol.asyncDispose]: close };
}

// The first database of a server creates its roles.
const plain = await share(makeDatabase());
const managed = await share(openManaged());
await withDatabase(managed.url, (admin) => migrate(admin));
const CASES = [
  { who: "a superuser", url: plain.adminUrl },
  { who: "an administrator who is no superuser", url: managed.url },
];

describe.each(CASES)("migrate by $who", ({ url }) => {
  const run = (use: (admin: Database) => Promise<void>) => withDatabase(url, use);

  test("creates, changes and drops functions of rowhouse_reader, and leaves it without a member", async () => {
    await run(async (admin) => {
      // Those of this release.
      await renew(admin, "");
      expect(await renew(admin, FIRST, "try")).toEqual({ "find.first": "new" });
      expect(await readFunctions(admin)).toEqual([]);
      expect(await renew(admin, FIRST)).toEqual({ "find.first": "new" });
      expect(await readFunctions(admin)).toEqual(AFTER_FIRST);
      expect(await renew(admin, FIRST)).toEqual({});
      expect(await renew(admin, FIRST + SECOND)).toEqual({ "find.second": "new" });
      const other = FIRST.replace("return 1", "return 3").replace("wanted text", "wanted uuid");
      expect(await renew(admin, other)).toEqual({
        "find.first": "changed",
        "find.second": "dropped",
      });
      expect(await readFunctions(admin)).toEqual([
        { ...AFTER_FIRST[0], body: " begin return 3; end " },
      ]);
      expect(await renew(admin, define("first", "return 1;", "text"))).toEqual({
        "find.first": "changed",
      });
      expect(await renew(admin, FIRST)).toEqual({ "find.first": "changed" });
      expect(await readFunctions(admin)).toEqual(AFTER_FIRST);
      expect(await readMembers(admin)).toEqual([]);
    });
  });

  test.each([
    "create or replace function find.first(wanted text) returns integer language plpgsql stable security definer as $$ begin return 9; end $$",
    "alter function find.first security invoker",
    "alter function find.first owner to rowhouse_owner",
    "grant execute on function find.first to public",
    "grant execute on function find.first to rowhouse_tables",
    "revoke execute on function find.first from rowhouse_tenant",
    "create function find.first() returns integer language sql as 'select 9'",
    "create function find.foreign() returns integer language sql as 'select 9'",
    "drop function find.first",
  ])("repairs: %s", async (attack) => {
    await run(async (admin) => {
      await renew(admin, FIRST);
      // The administrator of the server.
      await withDatabase(url === plain.adminUrl ? url : managed.rootUrl, (root) =>
        root.message(`${attack}; select 1`),
      );
      expect(Object.keys((await renew(admin, FIRST)) ?? {})).toHaveLength(1);
      expect(await readFunctions(admin)).toEqual(AFTER_FIRST);
      expect(await renew(admin, FIRST)).toEqual({});
      expect(await readMembers(admin)).toEqual([]);
    });
  });
});

describe("the code", () => {
  test.each([
    { code: FIRST + FIRST, says: "defines find.first() twice" },
    {
      code: "grant execute on function find.none to rowhouse_tenant;",
      says: "rights of find.none()",
    },
    {
      code: FIRST.replace("to rowhouse_reader", "to rowhouse_owner"),
      says: "The code cannot contain",
    },
    { code: "comment on function find.first is 'x';", says: "The code cannot contain" },
  ])("of the schema find is rejected: $says", ({ code, says }) => {
    expect(() => readCode(code)).toThrow(says);
  });
});
