/** `PREVIEW`: migrate turns previews on and ends them only by name, pushes follow the record, and no process serves a preview that is off. */
import { expect, test } from "bun:test";
import { call, readRows } from "../../src/db/mod.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeProject, runHere } from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";
import { testUnlessCitus } from "../support/skip.ts";

const testOne = testUnlessCitus("the preview does not cover it");
const first = defineSchema({ notes: { title: t.string() } });
const second = defineSchema({ notes: { title: t.string() }, later: { title: t.string() } });

const project = await share(makeProject());
const service = await share(openTestService({ service: { previews: [] } }));
const app = await service.makeApp(first);

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

testOne("migrate turns a preview on, and serve starts only with previews that are on", async () => {
  const rejected = await run("serve", "filters");
  expect([rejected.code, rejected.err]).toEqual([
    1,
    expect.stringContaining("PREVIEW names filters, which this database does not have"),
  ]);

  const dry = await run("migrate", "filters", "--dry-run");
  expect(dry.out).toContain("turns the preview filters on\n");
  expect(await listFunctions("query")).toEqual([]);
  expect(JSON.parse((await run("migrate", "filters", "--json")).out)).toMatchObject({
    previews: { on: ["filters"], turnsOn: ["filters"], ends: [] },
  });
  expect(await listFunctions("query")).toEqual(["notes"]);
  expect((await run("serve", "filters,live")).err).toContain("PREVIEW names live, which");
  const { out } = await run("doctor", "filters");
  expect(out).toContain("ok   previews: on: filters\n");
  expect((await run("doctor", "filters,live")).out).toContain("FAIL previews: ");
  expect((await run("doctor", "")).out).toContain("warn previews: PREVIEW does not name filters");

  // A push follows the record, whatever the process that pushes was started with.
  await service.pushSchema(app, second);
  expect(await listFunctions("query")).toEqual(["later", "notes"]);
});

testOne("without PREVIEW, migrate and sweeps keep previews and what they stored", async () => {
  await run("migrate", "filters,history");
  await setAppSwitch(service.service, app.slug, ["history", true]);
  const { admin } = service.service;
  const NOTES = "/v1/data/db/notes";
  const made = await service.call(app, NOTES, { method: "POST", json: { title: "kept" } });
  const row = made.headers.get("location") ?? "";
  expect((await service.call(app, row, { method: "DELETE" })).status).toBe(204);
  for (const words of [["--dry-run"], []]) {
    const { code, out, err } = await run("migrate", "", ...words);
    expect([code, out, err]).toEqual([0, expect.stringMatching(/^Nothing to do\n/), ""]);
  }
  expect(await listFunctions("query")).toEqual(["later", "notes"]);
  expect((await run("migrate", "filters", "--dry-run")).err).toContain(
    "rowhouse migrate --end-preview history ends it",
  );
  expect((await run("migrate", "filters", "--end-preview", "history", "--yes")).code).toBe(0);
  const values = { max_rows: 100, max_bytes: 1_000_000 };
  await call(service.service.db, "sweep_history", values);
  const found = await readRows(
    admin,
    `select from rowhouse.enter_app('${app.id}'), rowhouse.row_changes where app_id = '${app.id}'`,
  );
  expect(found).toHaveLength(1);
});

testOne("migrate ends a preview by its name, after a confirmation", async () => {
  await run("migrate", "filters");
  const named = await run("migrate", "filters", "--end-preview", "filters", "--yes");
  expect([named.code, named.err]).toEqual([2, expect.stringContaining("PREVIEW names it")]);
  const unknown = await run("migrate", "", "--end-preview", "nothing", "--yes");
  expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining("must be one of")]);
  const unconfirmed = await run("migrate", "", "--end-preview", "filters");
  expect([unconfirmed.code, unconfirmed.err]).toEqual([1, expect.stringContaining("add --yes")]);
  const dry = await run("migrate", "", "--end-preview", "filters", "--dry-run");
  expect(dry.out).toContain("Ends the preview filters and drops its functions");
  expect(await listFunctions("query")).toEqual(["later", "notes"]);

  const end = () => run("migrate", "", "--end-preview", "filters", "--yes", "--json");
  expect(JSON.parse((await end()).out)).toMatchObject({
    previews: { on: [], ends: ["filters"] },
    refreshed: ["later", "notes"],
  });
  expect(await listFunctions("query")).toEqual([]);
  expect(JSON.parse((await end()).out)).toMatchObject({ previews: { ends: [] }, refreshed: [] });
});

testOne("processes of other roles leave the record unchanged", async () => {
  await run("migrate", "filters");
  const { adminUrl, roleUrls } = service.database;
  const env = { ADMIN_DATABASE_URL: adminUrl, DATABASE_URL: roleUrls.identity, ROLE: "identity" };
  expect((await runHere(["migrate"], { ...project, env })).code).toBe(0);
  expect(await listFunctions("query")).toEqual(["later", "notes"]);
});

testOne("functions record and read changes only with live", async () => {
  const { slug } = app;
  const goLive = () => setAppSwitch(service.service, slug, ["live", true]);
  expect((await run("migrate", "live")).code).toBe(0);
  expect(await listFunctions("changes")).toEqual(["later", "notes"]);
  expect(await countRecorders()).toBeGreaterThan(2);
  expect((await run("migrate", "", "--end-preview", "live", "--yes")).code).toBe(0);
  expect(await listFunctions("changes")).toEqual([]);
  expect(await countRecorders()).toBe(0);
  await expect(goLive()).rejects.toMatchObject({ code: expect.any(String) });
});
