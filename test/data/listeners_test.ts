/** Which tables have listeners, and since when: with a switch of an app, a push and `rowhouse migrate`, also while tables are in use. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import postgres from "postgres";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { setAppSwitch, settleAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { refreshFunctions } from "../../src/tables/mod.ts";
import { type Admin, openAdmin } from "../support/admin.ts";
import { eventually } from "../support/eventually.ts";
import { countLockWaits, whileDone } from "../support/held_lock.ts";
import type { TestApp, TestService } from "../support/service.ts";

const lists = { name: t.string().required() };
const schema = defineSchema({ lists, items: { list: t.ref("lists", { onDelete: "cascade" }) } });
const ALL = ["items", "lists"];
const LISTS = "/v1/data/db/lists";

let service: TestService;
let app: TestApp;
let admin: Admin;
beforeAll(async () => {
  admin = await openAdmin({}, { service: { previews: ["live", "history"] } });
  service = admin.service;
  app = await service.makeApp(schema);
});
afterEach(async () => {
  await turn("live", false);
  await turn("history", false);
  await refreshFunctions(service.service.admin);
  expect(await listHeard()).toEqual([]);
});
afterAll(() => admin.close());

const turn = (setting: "live" | "history", isOn: boolean, as = app) =>
  setAppSwitch(service.service, as.slug, [setting, isOn]);

const ask = <Row>(text: string, values: string[] = []) =>
  service.service.admin.query<Row>(text, values, { retry: "safe", queue: SERVICE_QUEUE });

/** The tables with all listeners; with a number, those with some. */
async function listHeard(): Promise<string[]> {
  const found = await ask<{ name: string; count: number }>(
    `select relname as name, count(*)::int4 as count from pg_trigger join pg_class on pg_class.oid = tgrelid
    where relnamespace = 'data'::regnamespace and not tgisinternal group by 1 order by 1`,
  );
  return found.map(({ name, count }) => (count === 3 ? name : `${name}: ${count}`));
}

const listResets = async () =>
  (
    await ask(
      `with entered as materialized (select set_config('rowhouse.app_id', $1::text, true))
      select from entered, rowhouse.changes where app_id = $1::uuid and table_name = ''`,
      [app.id],
    )
  ).length;

/** Runs `use` while a transaction has written the table. */
const whileWritten = <Result>(table: string, use: () => Promise<Result>) =>
  whileDone(
    service.database.superuserUrl,
    { text: `lock table data.${table} in row exclusive mode` },
    use,
  );

describe("the tables of an app have listeners", () => {
  test("while one of its switches is on", async () => {
    await turn("live", true);
    await turn("history", true);
    expect(await listHeard()).toEqual(ALL);
    await turn("live", false);
    expect(await listHeard()).toEqual(ALL);
    await turn("history", false);
    expect(await listHeard()).toEqual([]);
  });

  test("while another app that uses them listens", async () => {
    const other = await service.makeApp(defineSchema({ lists }));
    await turn("history", true);
    await turn("live", true, other);
    await turn("history", false);
    expect(await listHeard()).toEqual(["lists"]);
    await turn("live", false, other);
    expect(await listHeard()).toEqual([]);
  });

  test("after a push with tables that existed, and with new ones", async () => {
    const other = await service.makeApp(defineSchema({ own: lists }));
    await turn("live", true, other);
    expect(await listHeard()).toEqual(["own"]);
    await service.pushSchema(other, defineSchema({ own: lists, lists, newer: lists }));
    expect(await listHeard()).toEqual(["lists", "newer", "own"]);
    await turn("live", false, other);
  });
});

describe("while a table is in use", () => {
  test("turning on fails, changes nothing, and can be repeated", async () => {
    const command = await whileWritten("lists", () => admin.run("set-app", app.slug, "live", "on"));
    expect(command).toMatchObject({ code: 1, out: "" });
    expect(command.err).toContain("Nothing was changed: a table of the app is in use");
    expect(await listHeard()).toEqual([]);
    expect(await turn("live", false)).toBe(false);
    expect(await admin.run("set-app", app.slug, "live", "on")).toMatchObject({ code: 0 });
  });

  test("turning off succeeds, and migrate removes what is left", async () => {
    await turn("history", true);
    expect(await whileWritten("lists", () => turn("history", false))).toBe(true);
    expect(await listHeard()).toEqual(["lists"]);
    await whileWritten("lists", () => refreshFunctions(service.service.admin));
    expect(await listHeard()).toEqual(["lists"]);
    await refreshFunctions(service.service.admin);
    expect(await listHeard()).toEqual([]);
  });

  test("migrate waits to give it listeners that it lacks", async () => {
    await turn("history", true);
    await service.service.admin.message("drop trigger listen_to_update on data.lists; select 1");
    const done = await whileWritten("lists", async () => {
      const running = refreshFunctions(service.service.admin);
      await eventually(async () => (await countLockWaits(service.service.admin)) > 0);
      return { running };
    });
    await done.running;
    expect(await listHeard()).toEqual(ALL);
  });

  test("a push waits for its lock once, before it changes another table", async () => {
    const other = await service.makeApp(defineSchema({ alone: lists }));
    await turn("live", true, other);
    const wider = defineSchema({ alone: { ...lists, more: t.string() }, lists });
    await whileWritten("lists", async () => {
      const pushing = service.pushSchema(other, wider);
      await eventually(async () => (await countLockWaits(service.service.admin)) > 0);
      // Names are locked in their order: this one is held. Nothing has been recorded.
      const [waiting] = await ask<{ query: string }>(
        `select query from pg_stat_activity where wait_event_type = 'Lock' and query like '%lock_tables%'
          and not exists (select from pg_locks where pg_locks.pid = pg_stat_activity.pid
            and relation = 'rowhouse.versions'::regclass and mode = 'RowExclusiveLock')`,
      );
      expect(waiting).toBeDefined();
      await pushing.catch(() => undefined);
    });
    await service.pushSchema(other, wider);
    expect(await listHeard()).toEqual(["alone", "lists"]);
    await turn("live", false, other);
  });
});

describe("turning on returns", () => {
  test("when the writes that began before have ended, and live updates begin then", async () => {
    const serving = postgres(service.database.servingUrl, { max: 1 });
    let isEnded = false;
    const command = Promise.withResolvers<Awaited<ReturnType<Admin["run"]>>>();
    await serving.begin(async (transaction) => {
      await transaction`select 1`;
      const run = admin.run("set-app", app.slug, "live", "on").finally(() => {
        isEnded = true;
      });
      command.resolve(run);
      await eventually(async () => (await listHeard()).length === 2);
      await eventually(async () => (await listResets()) === 1);
      // The command has seen this transaction.
      const seen = `select from pg_stat_activity where datname = current_database()
        and query like '%rowhouse.list_writers%' and state = 'idle' and pid <> pg_backend_pid()`;
      await eventually(async () => (await ask(seen, [])).length > 0);
      expect(isEnded).toBe(false);
    });
    await serving.end();
    const { code, err } = await command.promise;
    expect({ code, err }).toMatchObject({ code: 0 });
    expect(err).toMatch(/^Waiting for transactions that began before: process \d+ of login /);
    expect(await listResets()).toBe(2);
  });

  test("with those that do not end, and repeats it", async () => {
    const serving = postgres(service.database.servingUrl, { max: 1 });
    await serving.begin(async (transaction) => {
      const [{ pid } = {}] = await transaction`select pg_backend_pid() as pid`;
      await turn("history", true);
      const settled = await settleAppSwitch(service.service, app.slug, {
        setting: "history",
        limitMs: 0,
      });
      expect(settled).toContainEqual(expect.objectContaining({ pid }));
    });
    await serving.end();
    expect(await admin.run("set-app", app.slug, "history", "on")).toMatchObject({ code: 0 });
  });
});

test("a call that does not listen records nothing after one that does in the same session", async () => {
  await turn("history", true);
  const other = await service.makeApp(defineSchema({ lists }));
  const changes = async (of: TestApp) =>
    (
      await ask(
        `with entered as materialized (select set_config('rowhouse.app_id', $1::text, true))
        select from entered, rowhouse.row_changes where app_id = $1::uuid`,
        [of.id],
      )
    ).length;
  for (const as of [app, other, app, other]) {
    const made = await service.call(as, LISTS, { method: "POST", json: { name: "a" } });
    const path = `${LISTS}/${(made.json as { id: string }).id}`;
    await service.call(as, path, { method: "PATCH", json: { name: "b" } });
  }
  expect([await changes(app), await changes(other)]).toEqual([2, 0]);
});
