/**
 * An attacker with the pushing login plants code in apps' tables. The code runs in each session that uses a table, and
 * here it records the session's login. It must never run in a session of an administrator, the Console or the identity
 * service.
 */
import { afterAll, describe, expect, test } from "bun:test";
import postgres from "postgres";
import {
  deleteApp,
  endRegistration,
  findAppContents,
  findEndedUse,
} from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import {
  APART_LOGIN,
  LOGIN,
  PUSH_LOGIN,
  ROWS_LOGIN,
  toLogin,
  withDatabase,
} from "../support/cluster.ts";
import { makeProject, runHere, schemaText } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { makePerson, signInAs, submitForm, visit } from "../support/people.ts";
import { swapReadsPeople } from "../support/planted.ts";
import { openTestService, type TestApp, UNGUARDED } from "../support/service.ts";

const schema = defineSchema({ todos: { title: t.string().required() } });

/** Logins that can only push, serve rows or delete rows. */
const ALLOWED = [LOGIN, APART_LOGIN, toLogin("data"), PUSH_LOGIN, ROWS_LOGIN];

const service = await openTestService({ service: UNGUARDED });
const owner = await service.makeApp(schema);
const thief = postgres(service.database.pushUrl, { max: 1, onnotice: () => undefined });
await thief.unsafe(`
    create table data.noted (session name);
    create function data.note() returns void language sql volatile security definer as
      'insert into data.noted values (session_user)';
    create function data.evil(value text) returns text language plpgsql immutable as
      'begin perform data.note(); perform pg_catalog.set_config(''search_path'', ''data, pg_catalog'', false); return value; end';
    create function data.note_row() returns trigger language plpgsql security definer as
      'begin perform data.note(); return null; end';
    create index planted on data.todos ((data.evil('x')));
    create constraint trigger planted after delete on data.todos deferrable initially deferred
      for each row execute function data.note_row();
    create function data.string_to_array(value text, mark text) returns text[] language plpgsql as
      'begin grant rowhouse_owner to ${PUSH_LOGIN}; return pg_catalog.string_to_array(value, mark); end';
    truncate data.noted`);
afterAll(async () => {
  await thief.end();
  await service.close();
});

/** Returns the logins in whose sessions the planted code ran. */
async function sessions(): Promise<string[]> {
  const rows = await thief.unsafe("select distinct session::text from data.noted order by 1");
  return rows.map(({ session }) => String(session));
}

async function isOwner(): Promise<boolean> {
  const [row] = await thief.unsafe("select pg_has_role('rowhouse_owner', 'member') as is_owner");
  return row?.["is_owner"] === true;
}

async function makeUser(): Promise<TestApp> {
  const app = await service.makeApp();
  // The planted code does not block a push of the same columns.
  await service.pushSchema(app, schema);
  for (const title of ["one", "two"])
    await service.call(app, "/v1/data/db/todos", { method: "POST", json: { title } });
  return app;
}

async function expectContained(): Promise<void> {
  expect((await sessions()).filter((name) => !ALLOWED.includes(name))).toEqual([]);
  expect(await isOwner()).toBe(false);
}

describe("planted code runs in no session with other rights", () => {
  test("when a command ends an app's use of a table", async () => {
    const { slug } = await makeUser();
    await withDatabase(service.database.rowsUrl, async (rows) => {
      const deps = { admin: service.service.admin, rows };
      expect(await findEndedUse(deps, { slug, table: "todos" })).toEqual([
        { name: "todos", rows: 2 },
      ]);
      expect(await endRegistration(deps, { slug, table: "todos", expected: ["todos"] })).toEqual([
        { name: "todos", rows: 2 },
      ]);
      // This statement follows the statement that runs the planted code.
      await findAppContents(deps, slug);
    });
    expect(await sessions()).toContain(ROWS_LOGIN);
    await expectContained();
  });

  test("when a command deletes an app", async () => {
    const { slug } = await makeUser();
    await withDatabase(service.database.rowsUrl, async (rows) => {
      const deps = { admin: service.service.admin, rows };
      await findAppContents(deps, slug);
      await deleteApp(deps, slug).catch(() => undefined); // rejected while there are issues
    });
    await expectContained();
  });

  test("when the Console displays and ends an app's use of a table, and deletes an app", async () => {
    const jar = await signInAs(service, await makePerson(service, { consoleRole: "super_admin" }));
    const app = await makeUser();
    const path = `/console/apps/${app.slug}/tables/todos/end`;
    expect((await visit(service, jar, path)).status).toBe(200);
    await submitForm(service, jar, { path, typed: { typed_name: "todos" } });
    await eventually(async () => (await service.call(app, "/v1/data/db/todos")).status === 404);
    for (const page of ["/console/tables/todos", "/console/tables/todos/drop"])
      await visit(service, jar, page);
    const deletion = `/console/apps/${app.slug}/delete`;
    await submitForm(service, jar, { path: deletion, typed: { typed_name: app.slug } });
    await expectContained();
  });
});

test.each([
  { shape: "one", reads: true },
  { shape: "logins", reads: false },
  { shape: "split", reads: false },
] as const)(
  "a function replaced by an attacker reads people in the shape $shape: $reads",
  async ({ shape, reads }) => expect(await swapReadsPeople(shape)).toBe(reads),
);

test("commands that use apps' rows stop while issues exist, and list them", async () => {
  using project = makeProject({ "schema/mod.ts": schemaText("{ notes: { title: t.string() } }") });
  const env = {
    ADMIN_DATABASE_URL: service.database.adminUrl,
    DATABASE_PREPARE: service.database.prepare ? "on" : "off",
  };
  for (const args of [
    ["admin", "end-registration", owner.slug, "todos", "--yes"],
    ["admin", "delete-app", owner.slug, "--yes"],
    ["admin", "drop-table", "todos", "--yes"],
    ["admin", "convert-to-citus", "--yes"],
    ["admin", "move-app", owner.slug, "--to", "10.0.0.3:5432"],
    ["db", "push", "--app", owner.slug],
  ]) {
    const { code, err } = await runHere(args, { ...project, env });
    expect([
      code,
      err.includes("Index data.planted must contain only expressions that a push indexes"),
    ]).toEqual([1, true]);
  }
  await expectContained();
});
