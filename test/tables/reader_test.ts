/** The policy by which functions find rows: on new tables, and on those of earlier releases after `rowhouse migrate`. */
import { describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { findUnread, fitReaders, readDrift } from "../../src/tables/mod.ts";
import { withDatabase } from "../support/cluster.ts";
import { makeProject, runHere } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { countLockWaits, whileDone } from "../support/held_lock.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService());
const project = await share(makeProject());
const { admin } = service.service;
const app = await service.makeApp(
  defineSchema({ lists: { name: t.string() }, items: { list: t.ref("lists") } }),
);
await service.call(app, "/v1/data/db/lists", { method: "POST", json: { name: "first" } });

/** As an earlier release left its tables. */
const forget = (...tables: string[]) =>
  admin.message(
    `${tables.map((table) => `drop policy if exists reader on data.${table}; revoke all on data.${table} from rowhouse_reader; alter table data.${table} alter column app_id reset (n_distinct)`).join("; ")}; select 1`,
  );
const findIssues = () => service.query("select rowhouse.find_issues() as issues");
const list = () => service.call(app, "/v1/data/db/lists");

test("only rowhouse_reader reads rows without naming the app, and it cannot write", async () => {
  const read = (role: string, statement = "select name from data.lists") =>
    withDatabase(service.database.adminUrl, (db) =>
      db.message(`set local role ${role}; ${statement}`).catch(({ code }) => code),
    );
  expect(await read("rowhouse_reader")).toEqual([{ name: "first" }]);
  expect(await read("rowhouse_tenant")).toEqual([]);
  expect(await read("rowhouse_tables")).toEqual([]);
  expect(await read("rowhouse_reader", "delete from data.lists returning id")).toBe("42501");
});

describe("a table of an earlier release", () => {
  test("is served, gets the policy once, and then equals a new table", async () => {
    await forget("lists", "items");
    expect(await findIssues()).toEqual([{ issues: [] }]);
    expect(await list()).toMatchObject({
      status: 200,
      text: expect.stringContaining('"name":"first"'),
    });
    expect((await readDrift(admin)).map(({ thing }) => thing)).toEqual([
      "table items / grants to rowhouse_reader",
      "table items / options of app_id",
      "table items / policy reader",
      "table lists / grants to rowhouse_reader",
      "table lists / options of app_id",
      "table lists / policy reader",
    ]);
    const env = { ADMIN_DATABASE_URL: service.database.adminUrl };
    const dry = await runHere(["migrate", "--dry-run"], { ...project, env });
    const line = (name: string) =>
      `policy of rowhouse_reader on table ${name}: locks it, which blocks reads and writes, for milliseconds\n`;
    expect(dry).toMatchObject({
      code: 0,
      out: expect.stringContaining(line("items") + line("lists")),
    });
    const { code, out } = await runHere(["migrate"], { ...project, env });
    expect([code, out]).toEqual([
      0,
      expect.stringContaining("Added the policy of rowhouse_reader to table lists (2 of 2)\n"),
    ]);
    expect([await readDrift(admin), await findIssues()]).toEqual([[], [{ issues: [] }]]);
    expect((await runHere(["migrate"], { ...project, env })).out).toBe("Nothing to do\n");
  });

  test("gets it from one of several that migrate at once", async () => {
    await forget("lists", "items");
    await Promise.all([1, 2, 3].map(() => withDatabase(service.database.adminUrl, fitReaders)));
    expect(await readDrift(admin)).toEqual([]);
  });

  test("gets it when no transaction uses the table any more; what is done before stays", async () => {
    await forget("lists", "items");
    const { running } = await whileDone(
      service.database.superuserUrl,
      { text: "lock table data.lists in row exclusive mode" },
      async () => {
        const fitted = fitReaders(admin);
        await eventually(async () => (await countLockWaits(admin)) > 0);
        expect(await findUnread(admin)).toEqual(["lists"]);
        return { running: fitted };
      },
    );
    expect(await running).toEqual(["items", "lists"]);
    expect(await readDrift(admin)).toEqual([]);
  });
});
