/**
 * A deploy over a database with functions of another release: the reports before it, and the effect of `rowhouse
 * migrate`.
 */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { openDatabase, readRows } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import type { SetFunction } from "../../src/tables/catalog/mod.ts";
import { digestRelease, readDrift, recordRelease } from "../../src/tables/mod.ts";
import { withDatabase } from "../support/cluster.ts";
import { makeProject, type Outcome, runHere } from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { functionOf, signatureOf } from "../support/functions.ts";
import { postSchema } from "../support/push.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

const NOTES = { notes: { text: t.string() } };
const LIST_NAME = functionOf(defineSchema(NOTES), "notes", "list");
const signature = (name: SetFunction) => `api.${signatureOf(defineSchema(NOTES), "notes", name)}`;
/** A list function of a hypothetical other release, with fewer arguments. */
const OTHER_LIST = `api.${LIST_NAME}(uuid, integer, integer)`;
const OTHER_RELEASE = `
drop function ${signature("list")};
create function ${OTHER_LIST} returns text language plpgsql security definer as 'begin return ''{}''; end';
alter function ${OTHER_LIST} owner to rowhouse_tenant;
revoke all on function ${OTHER_LIST} from public;
grant execute on function ${OTHER_LIST} to rowhouse_service, rowhouse_data`;
const LIST = "/v1/data/db/notes";

let project: ReturnType<typeof makeProject>;
let service: TestService;
let app: TestApp;
beforeEach(async () => {
  project = makeProject();
  service = await openTestService({ shape: "one" });
  app = await service.makeApp(defineSchema({ ...NOTES, others: { text: t.string() } }));
  for (const text of ["a", "b", "c"])
    await service.call(app, LIST, { method: "POST", json: { text } });
});
afterEach(async () => {
  project.remove();
  await service.close();
});

const run = (args: string[]): Promise<Outcome> =>
  runHere(args, {
    ...project,
    env: {
      DATABASE_URL: service.database.servingUrl,
      ADMIN_DATABASE_URL: service.database.adminUrl,
      DATABASE_PREPARE: service.database.prepare ? "on" : "off",
      PORT: "0",
      IDENTITY_SECRET: TEST_IDENTITY_SECRET,
    },
  });
const change = (text: string) => service.service.admin.message(`${text}; select 1`);

async function textOf(query: string): Promise<string> {
  const [row] = await service.query<{ text: string }>(query);
  return row?.text ?? "";
}

/** Returns the rows with the transactions that wrote them, and the records. */
const readAll = () =>
  textOf(`select json_build_array(
    (select json_agg(json_build_array(xmin::text, ctid::text, n) order by id) from data.notes n),
    (select json_agg(json_build_array(xmin::text, r) order by name) from rowhouse.tables r),
    (select json_agg(m order by seq) from rowhouse.migrations m),
    (select json_agg(v order by name) from rowhouse.versions v))::text as text`);

/** Calls functions like a process of the other release until it is stopped, and collects the failed responses. */
function callAsOtherRelease(): { stop: () => Promise<{ calls: number; failures: unknown[] }> } {
  let isOver = false;
  const failures: unknown[] = [];
  let calls = 0;
  const { servingUrl: url, prepare } = service.database;
  const login = openDatabase({ url, connections: 1, prepare, name: "other release" });
  const run = async () => {
    while (!isOver) {
      const listed = readRows<{ body: string }>(
        login,
        `select api.${LIST_NAME}($1, $2, $3) as body`,
        [app.id, 1000, 0],
      );
      const [row] = await listed.catch((error: unknown) => {
        failures.push(error);
        return [];
      });
      if (row !== undefined) calls++;
    }
    await login.close();
  };
  const running = run();
  return {
    stop: async () => {
      await eventually(() => calls > 0);
      isOver = true;
      await running;
      return { calls, failures };
    },
  };
}

test("a list function of another release is reported by every check, and affects no other function", async () => {
  await change(OTHER_RELEASE);
  const [list, other, ready] = await Promise.all([
    service.call(app, LIST),
    service.call(app, "/v1/data/db/others"),
    service.call(undefined, "/ready"),
  ]);
  expect([list.status, other.status, ready.status]).toEqual([503, 200, 503]);
  for (const { text } of [list, ready]) expect(text).toContain("must run rowhouse migrate");
  expect(list.headers.get("retry-after")).toBe("5");
  expect(service.log.filter((line) => line.includes('"bug"'))).toEqual([]);

  const [serve, doctor] = await Promise.all([run(["serve"]), run(["doctor", "--operator"])]);
  expect([serve.code, serve.err]).toEqual([
    1,
    expect.stringContaining("of 1 table are from another release"),
  ]);
  expect(doctor.code).toBe(1);
  expect(doctor.out).toContain("FAIL functions: of 1 table ");
});

test("a push waits while the functions of all tables are from another release", async () => {
  const { admin } = service.service;
  const schema = defineSchema({ ...NOTES, others: { text: t.string() }, added: NOTES.notes });
  await recordRelease(admin, "another");
  const held = await postSchema(service, app, schema);
  expect(held).toMatchObject({ status: 409, json: { error: "push_busy" } });
  await recordRelease(admin, digestRelease());
  expect((await postSchema(service, app, schema)).status).toBe(200);
});

test("migrate creates this release's functions while old processes call old functions, without a lost row", async () => {
  const listed = (await service.call(app, LIST)).json;
  await change(OTHER_RELEASE);
  const before = await readAll();
  const others = callAsOtherRelease();
  const runs = await Promise.all([1, 2, 3].map(() => run(["migrate", "--json"])));
  const { calls, failures } = await others.stop();

  expect(runs.map(({ code, err }) => [code, err])).toEqual(runs.map(() => [0, ""]));
  const refreshed = runs.map(({ out }) => (JSON.parse(out) as { refreshed: string[] }).refreshed);
  expect(new Set(refreshed.flat())).toEqual(new Set(["notes"]));
  expect([calls > 0, failures]).toEqual([true, []]);
  expect(await readAll()).toBe(before);
  expect((await readDrift(service.service.admin)).map(({ thing }) => thing)).toEqual([
    `function ${LIST_NAME}(uuid, integer, integer)`,
  ]);
  const [list, ready] = [await service.call(app, LIST), await service.call(undefined, "/ready")];
  expect([list.json, ready.status]).toEqual([listed, 200]);
  expect((await run(["migrate"])).out).toStartWith("Nothing to do\n");
  expect((await run(["doctor", "--operator"])).code).toBe(0);
});

test.each([
  { name: "get", dropped: signature("get"), method: "GET" },
  { name: "delete", dropped: signature("delete"), method: "DELETE" },
])("a table that lacks its $name function cannot be served before a migrate", async (given) => {
  const row = `${LIST}/${crypto.randomUUID()}`;
  await change(`drop function ${given.dropped}`);
  expect((await service.call(undefined, "/ready")).status).toBe(503);
  expect((await service.call(app, row, { method: given.method })).status).toBe(503);
  expect(JSON.parse((await run(["migrate", "--json"])).out)).toMatchObject({
    refreshed: ["notes"],
  });
  expect((await service.call(app, row, { method: given.method })).status).toBe(404);
});

test("a changed body of any function causes a warning, and migrate renews it", async () => {
  await change(
    `create or replace function ${signature("delete")} returns text language plpgsql security definer
    as 'begin return null; end'`,
  );
  const { code, out } = await run(["doctor", "--operator"]);
  expect([code, out.includes("warn functions: of 1 table are from another release")]).toEqual([
    0,
    true,
  ]);
  expect(JSON.parse((await run(["migrate", "--json"])).out)).toMatchObject({
    refreshed: ["notes"],
  });
  expect(await readDrift(service.service.admin)).toEqual([]);
});

test("a foreign function does not cause a renewal", async () => {
  await change(`create function api.${LIST_NAME}(text) returns int language sql as 'select 1'`);
  expect((await run(["migrate"])).out).toStartWith("Nothing to do\n");
});

test("migrate waits for a push that has locked the table", async () => {
  await change(OTHER_RELEASE);
  await withDatabase(service.database.adminUrl, async (holder) => {
    const held = holder
      .message(
        `do $$ begin perform pg_advisory_xact_lock(hashtextextended('rowhouse push table notes', 0)); end $$;
        select pg_sleep(60)`,
        { timeoutMs: 60_000 },
      )
      .catch(() => undefined);
    const findHolder =
      "select coalesce(max(pid), 0)::text as text from pg_stat_activity where query like '%rowhouse push table notes%' and wait_event = 'PgSleep'";
    await eventually(async () => (await textOf(findHolder)) !== "0");
    const migrating = run(["migrate", "--json"]);
    // migrate polls for the lock. Its query is the only sign of the wait.
    await eventually(
      async () =>
        (await textOf(
          "select count(*)::text as text from pg_stat_activity where application_name = 'rowhouse command' and query like '%lock_push%'",
        )) !== "0",
    );
    expect((await service.call(app, LIST)).status).toBe(503);
    await textOf(`select pg_terminate_backend(${await textOf(findHolder)})::text as text`);
    expect(JSON.parse((await migrating).out)).toMatchObject({ refreshed: ["notes"] });
    await held;
  });
  expect((await service.call(app, LIST)).status).toBe(200);
});
