/** `PREVIEW`: migrate records it, pushes follow the record, and a process with another value does not serve. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readRows } from "../../src/db/mod.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeProject, runHere } from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { testUnlessCitus } from "../support/skip.ts";

const testOne = testUnlessCitus("the preview does not cover it");
const first = defineSchema({ notes: { title: t.string() } });
const second = defineSchema({ notes: { title: t.string() }, later: { title: t.string() } });

let service: TestService;
let project: ReturnType<typeof makeProject>;
let app: TestApp;
beforeAll(async () => {
  project = makeProject();
  service = await openTestService({ service: { previews: [] } });
  app = await service.makeApp(first);
});
afterAll(async () => {
  project.remove();
  await service.close();
});

function run(command: string, preview: string, ...words: string[]) {
  const { adminUrl, servingUrl, prepare } = service.database;
  const env = {
    ADMIN_DATABASE_URL: adminUrl,
    DATABASE_URL: servingUrl,
    DATABASE_PREPARE: prepare ? "on" : "off",
    IDENTITY_SECRET: TEST_IDENTITY_SECRET,
    PORT: "0",
    PREVIEW: preview,
  };
  return runHere([command, ...words], { ...project, env });
}

/** The tables that have a function of this endpoint. */
async function listFunctions(endpoint: "query" | "changes"): Promise<string[]> {
  const rows = await readRows<{ name: string }>(
    service.service.admin,
    `select left(proname, strpos(proname, '__') - 1) as name from pg_catalog.pg_proc
    where pronamespace = 'api'::regnamespace and proname like '%\\_${endpoint}' order by name`,
  );
  return rows.map(({ name }) => name);
}

/** How many functions of tables use the table of changes. */
async function countRecorders(): Promise<number> {
  const [row] = await readRows<{ count: number }>(
    service.service.admin,
    `select count(*)::integer as count from pg_catalog.pg_proc
    where pronamespace = 'api'::regnamespace and prosrc like '%"changes"%'`,
  );
  return row?.count ?? 0;
}

test("an unknown preview name is an invalid setting", async () => {
  const { code, err } = await run("migrate", "filters,nothing");
  expect([code, err]).toEqual([1, expect.stringContaining("PREVIEW must be one of filters")]);
});

testOne(
  "migrate turns a preview on and off, and serve starts only with the recorded value",
  async () => {
    const rejected = await run("serve", "filters");
    expect([rejected.code, rejected.err]).toEqual([
      1,
      expect.stringContaining("PREVIEW is filters, but was empty"),
    ]);

    expect((await run("migrate", "filters", "--json")).code).toBe(0);
    expect(await listFunctions("query")).toEqual(["notes"]);
    expect((await run("serve", "")).err).toContain("PREVIEW is empty, but was filters when");
    const { out } = await run("doctor", "filters");
    expect(out).toContain("ok   previews: on: filters\n");
    expect((await run("doctor", "")).out).toContain("FAIL previews: ");

    // A push follows the record, whatever the process that pushes was started with.
    await service.pushSchema(app, second);
    expect(await listFunctions("query")).toEqual(["later", "notes"]);

    const off = await run("migrate", "", "--json");
    expect(JSON.parse(off.out)).toMatchObject({ refreshed: ["later", "notes"] });
    expect(await listFunctions("query")).toEqual([]);
    expect(JSON.parse((await run("migrate", "", "--json")).out)).toMatchObject({ refreshed: [] });
  },
);

testOne("processes of other roles leave the record unchanged", async () => {
  await run("migrate", "filters");
  const { adminUrl, roleUrls } = service.database;
  const env = {
    ADMIN_DATABASE_URL: adminUrl,
    DATABASE_URL: roleUrls.identity,
    ROLE: "identity",
  };
  expect((await runHere(["migrate"], { ...project, env })).code).toBe(0);
  expect(await listFunctions("query")).toEqual(["later", "notes"]);
});

testOne("functions record and read changes only with live", async () => {
  const { slug } = app;
  const goLive = () => setAppSwitch(service.service, slug, ["live", true]);
  expect((await run("migrate", "live")).code).toBe(0);
  expect(await listFunctions("changes")).toEqual(["later", "notes"]);
  expect(await countRecorders()).toBeGreaterThan(2);
  expect((await run("migrate", "")).code).toBe(0);
  expect(await listFunctions("changes")).toEqual([]);
  expect(await countRecorders()).toBe(0);
  await expect(goLive()).rejects.toMatchObject({ code: expect.any(String) });
});
