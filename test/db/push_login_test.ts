/**
 * The limits of the pushing login, tested on a separate connection, and the rejections of `rowhouse.record_push`.
 *
 * @module
 */
import { afterAll, describe, expect, test } from "bun:test";
import postgres from "postgres";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { checksumOf, writeMigrationText } from "../../src/tables/history/migration_text.ts";
import { refreshFunctions } from "../../src/tables/mod.ts";
import { casesBy } from "../support/cases.ts";
import { withDatabase } from "../support/cluster.ts";
import { dumpDatabase } from "../support/push.ts";
import { openTestService } from "../support/service.ts";
import { sqlstateOf } from "../support/sqlstate.ts";

const schema = defineSchema({ todos: { title: t.string().required() } });

const service = await openTestService();
const owner = await service.makeApp(schema);
const login = postgres(service.database.pushUrl, { max: 1, onnotice: () => undefined });
afterAll(async () => {
  await login.end();
  await service.close();
});

describe("the pushing login cannot", () => {
  test.each([
    "select * from rowhouse.api_keys",
    "select digest from rowhouse.api_keys",
    "select email from rowhouse.users",
    "select password_hash from rowhouse.users",
    "select * from rowhouse.sessions",
    "select * from rowhouse.grants",
    "select * from rowhouse.password_links",
    "select * from rowhouse.throttle",
    "select * from rowhouse.audit",
    "select * from rowhouse.targets",
    "select created_at from rowhouse.apps",
    "select * from rowhouse.versions",
    "insert into rowhouse.apps (id, slug) values (gen_random_uuid(), 'mine')",
    "insert into rowhouse.audit (actor, action) values ('operator', 'nothing')",
    "insert into rowhouse.tables (name, owner_app_id, definition, version) values ('mine', gen_random_uuid(), '{}', 1)",
    "update rowhouse.tables set owner_app_id = gen_random_uuid()",
    "delete from rowhouse.tables",
    "update rowhouse.registrations set definition = '{}'",
    "update rowhouse.column_sets set definition = '{}'",
    "delete from rowhouse.column_sets",
    "delete from rowhouse.registrations",
    "update rowhouse.migrations set sql = ''",
    "delete from rowhouse.migrations",
    "insert into rowhouse.deferred_steps (app_id, table_name, kind, name, columns) values (gen_random_uuid(), 'todos', 'index', 'x', '[]')",
    "update rowhouse.deferred_steps set name = 'x'",
    "insert into rowhouse.kept_bodies values ('mine()', 'query', '')",
    "update rowhouse.kept_bodies set digest = ''",
    "delete from rowhouse.deferred_steps",
    "update rowhouse.versions set version = 0",
    "update rowhouse.users set console_role = 'super_admin'",
    "select rowhouse.transfer_table('todos', 'x', 'me')",
    "select rowhouse.use_password_link('x', '', 'y', '', 'z')",
    "select rowhouse.raise_version()",
    "alter table rowhouse.users owner to rowhouse_tables",
    "create trigger spy after insert on rowhouse.users execute function rowhouse.raise_version('keys')",
    "create or replace function rowhouse.raise_version() returns trigger language plpgsql as 'begin return null; end'",
    "create function rowhouse.mine() returns int language sql as 'select 1'",
    "create table rowhouse.mine (id int)",
    "create table public.mine (id int)",
    "create temporary table mine (id int)",
    "create schema mine",
    "drop schema data cascade",
    "alter schema data owner to rowhouse_tables",
    "drop schema rowhouse cascade",
    "set role rowhouse_owner",
    "set role rowhouse_service",
    "set role postgres",
    "grant rowhouse_owner to current_user",
    "alter role rowhouse_tenant bypassrls",
    "alter role current_user superuser",
    "create role mine login",
    "create extension pg_trgm",
    "select pg_read_file('/etc/passwd')",
    "copy (select 1) to program 'true'",
    "select * from pg_catalog.pg_authid",
  ])("%s", async (text) => {
    const code = await sqlstateOf(login, text);
    await login.unsafe("reset role");
    // 42P01, 42883 and 3F000 would mean that the attack has no valid target.
    expect(code).toBe("42501");
  });
});

test("the pushing login is only a member of the owner of apps' tables", async () => {
  const rows = await login.unsafe(
    "select rolname from pg_roles where pg_has_role(current_user, oid, 'member') and rolname <> current_user order by 1",
  );
  expect(rows.map(({ rolname }) => rolname)).toEqual(["rowhouse_tables", "rowhouse_tenant"]);
});

function makeMigration() {
  const head = { seq: 1, name: "nothing", parent: "", sql: "" };
  const definition = { version: 1, tables: [] } as const;
  return { ...head, ...writeMigrationText({ ...head, steps: [], definition }) };
}

describe("rowhouse.record_push rejects", () => {
  type Push = {
    app: string;
    migration: object;
    definitions: object[];
    uses: object[];
    builds: object[];
  };
  const makePush = async (): Promise<Push> => ({
    app: (await service.makeApp()).id,
    migration: makeMigration(),
    definitions: [],
    uses: [],
    builds: [],
  });
  const record = ({ app, migration, definitions, uses, builds }: Push) =>
    login`select rowhouse.record_push(${app}, ${login.json({ ...migration })},
      ${login.json(definitions as postgres.JSONValue)}, ${login.json(uses as postgres.JSONValue)},
      ${login.json(builds as postgres.JSONValue)}) as version`;
  const table = { name: "todos", columns: [], indexes: [], uniques: [] };
  const use = { definition: table, hash: "0".repeat(16), columns: { name: "todos", columns: [] } };
  const build = { table: "todos", kind: "index", name: "todos__title__idx", columns: ["title"] };

  test.each(
    casesBy<(push: Push) => Partial<Push>>({
      "23503": {
        "an unknown app": () => ({ app: crypto.randomUUID() }),
        "a use of an unrecorded table": () => ({
          uses: [{ ...use, definition: { ...table, name: "elsewhere" } }],
        }),
        "a build on an unrecorded table": () => ({ builds: [{ ...build, table: "elsewhere" }] }),
      },
      RH002: {
        "a number out of sequence": ({ migration }) => ({ migration: { ...migration, seq: 2 } }),
        "a parent that is not the last migration": ({ migration }) => ({
          migration: { ...migration, parent: checksumOf("", "") },
        }),
        "another app's next migration": () => ({ app: owner.id }),
        "a missing migration": () => ({ migration: {} }),
      },
      RH007: {
        "a text that does not match its checksum": ({ migration }) => ({
          migration: { ...migration, text: "-- something\n" },
        }),
        "a text without its checksum at the end": () => ({
          migration: { ...makeMigration(), text: "-- nothing\n", checksum: checksumOf("", "") },
        }),
        "an impossible file name": ({ migration }) => ({
          migration: { ...migration, name: "../x" },
        }),
        "a definition of another app's table": () => ({ definitions: [table] }),
        "a definition of an unknown table": () => ({
          definitions: [{ ...table, name: "elsewhere" }],
        }),
        "a definition without a name": () => ({ definitions: [{}] }),
      },
      "23514": {
        "a column set with an invalid hash": () => ({ uses: [{ ...use, hash: "x" }] }),
        "a build of an unknown kind": () => ({ builds: [{ ...build, kind: "trigger" }] }),
      },
    }),
  )("$name, and changes nothing", async ({ value: change, expected: code }) => {
    const push = await makePush();
    const before = await dumpDatabase(service.service.admin);
    const found = await record({ ...push, ...change(push) }).catch((error) => error.code);
    expect(found).toBe(code);
    expect(await dumpDatabase(service.service.admin)).toBe(before);
  });

  test("an existing table with a name that could end a quoted name", async () => {
    const push = await makePush();
    const name = "x$rowhouse$";
    await login.unsafe(`set role rowhouse_tables; create table data."${name}" (); reset role`);
    const found = await record({ ...push, definitions: [{ ...table, name }] }).catch((e) => e.code);
    await login.unsafe(`drop table data."${name}"`);
    expect(found).toBe("23514");
  });

  test("no record of a real push", async () => {
    const push = await makePush();
    const rows = await record({ ...push, uses: [use], builds: [build] });
    expect(rows.map((row) => Object.keys(row))).toEqual([["version"]]);
  });
});

describe("a migrate by an administrator runs no recorded text of the pushing login, such as", () => {
  const grant = "reset role; alter role rowhouse_test_push createdb; select ";
  const column = { name: "title", kind: "string", required: false, unique: false, index: false };
  const positions: { position: string; toSet: (text: string) => object }[] = [
    { position: "a table's name", toSet: (text) => ({ name: text, columns: [column] }) },
    {
      position: "a column's name",
      toSet: (text) => ({ name: "todos", columns: [{ ...column, name: text }] }),
    },
    {
      position: "a column's kind",
      toSet: (text) => ({ name: "todos", columns: [{ ...column, kind: text }] }),
    },
    {
      position: "a default",
      toSet: (text) => ({ name: "todos", columns: [{ ...column, default: text }] }),
    },
    {
      position: "a label",
      toSet: (text) => ({
        name: "todos",
        columns: [{ ...column, kind: "enum", values: [text], default: text }],
      }),
    },
  ];
  const endings = [
    { ending: "a literal", mark: "'" },
    { ending: "a name", mark: '"' },
    { ending: "a body", mark: "$rowhouse$" },
    { ending: "a statement", mark: "" },
  ];
  const cases = positions.flatMap((row) => endings.map((end) => ({ ...row, ...end })));

  test.each(cases)("$position that ends $ending", async ({ toSet, mark }) => {
    const app = await service.makeApp();
    const migration = makeMigration();
    const definition = { name: "todos", columns: [], indexes: [], uniques: [] };
    const uses = [{ definition, hash: "1".repeat(16), columns: toSet(`${mark}; ${grant}${mark}`) }];
    await login`select rowhouse.record_push(${app.id}, ${login.json(migration)}, '[]',
      ${login.json(uses as unknown as postgres.JSONValue)}, '[]')`;
    const { admin } = service.service;
    // Disable the check of function bodies: an attacker has time to find valid SQL around the attack, this test does not.
    await admin.message(
      `do $$ begin execute format('alter database %I set check_function_bodies = off', current_database()); end $$; select 1`,
    );
    await withDatabase(service.database.adminUrl, async (administrator) => {
      await refreshFunctions(administrator).catch(() => undefined); // it can report that it cannot create them
    });
    await admin.message(
      "delete from rowhouse.column_sets where hash = repeat('1', 16) returning 1",
    );
    const [role] = await login.unsafe(
      "select rolcreatedb from pg_roles where rolname = current_user",
    );
    expect(role?.["rolcreatedb"]).toBe(false);
  });
});
