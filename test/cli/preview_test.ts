/** `PREVIEW`: migrate turns filters on and ends it only by name, pushes follow the record, and every other preview needs only a restart. */
import { expect, test } from "bun:test";
import { readRows } from "../../src/db/mod.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { readDrift } from "../../src/tables/mod.ts";
import { expectFailure, makeProject, runHere } from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { openTestService } from "../support/service.ts";
import { serveAnother } from "../support/shape.ts";
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
async function listFunctions(endpoint: "find" | "changes"): Promise<string[]> {
  const rows = await readRows<{ name: string }>(
    service.service.admin,
    `select left(proname, strpos(proname, '__') - 1) as name from pg_catalog.pg_proc
    where pronamespace = 'api'::regnamespace and proname like '%\\_${endpoint}' order by name`,
  );
  return rows.map(({ name }) => name);
}

test("an unknown preview name is an invalid setting", async () => {
  expectFailure(await run("migrate", "filters,nothing"), "PREVIEW must be one of filters");
});

testOne("migrate turns a preview on, and serve starts only with previews that are on", async () => {
  const rejected = await run("serve", "filters");
  expectFailure(rejected, "PREVIEW names filters, which this database does not have");

  const dry = await run("migrate", "filters", "--dry-run");
  expect(dry.out).toContain("Turns the preview filters on\n");
  expect(await listFunctions("find")).toEqual([]);
  expect(JSON.parse((await run("migrate", "filters", "--json")).out)).toMatchObject({
    previews: { on: ["filters"], turnsOn: ["filters"], ends: [] },
  });
  expect(await listFunctions("find")).toEqual(["notes"]);
  const { out } = await run("doctor", "live,filters");
  expect(out).toContain("ok   previews: on: filters, live\n");
  expect((await run("doctor", "")).out).toContain("warn previews: PREVIEW does not name filters");

  // A push follows the record, whatever the process that pushes was started with.
  await service.pushSchema(app, second);
  expect(await listFunctions("find")).toEqual(["later", "notes"]);
});

testOne("without PREVIEW, migrate keeps filters", async () => {
  for (const words of [["--dry-run"], []]) {
    const { code, out, err } = await run("migrate", "", ...words);
    expect([code, out, err]).toEqual([0, expect.stringMatching(/^Nothing to do\n/), ""]);
  }
  expect(await listFunctions("find")).toEqual(["later", "notes"]);
  expect((await run("migrate", "live", "--dry-run")).err).toContain(
    "rowhouse migrate --end-preview filters ends it",
  );
});

testOne("migrate ends a preview by its name, after a confirmation", async () => {
  await run("migrate", "filters");
  const named = await run("migrate", "filters", "--end-preview", "filters", "--yes");
  expectFailure(named, "PREVIEW names it", 2);
  const unknown = await run("migrate", "", "--end-preview", "nothing", "--yes");
  expectFailure(unknown, "must be one of", 2);
  const other = await run("migrate", "", "--end-preview", "history", "--yes");
  expectFailure(other, "remove it from PREVIEW and", 2);
  const unconfirmed = await run("migrate", "", "--end-preview", "filters");
  expectFailure(unconfirmed, "add --yes");
  const dry = await run("migrate", "", "--end-preview", "filters", "--dry-run");
  expect(dry.out).toContain("Ends the preview filters and drops its functions");
  expect(await listFunctions("find")).toEqual(["later", "notes"]);

  const end = () => run("migrate", "", "--end-preview", "filters", "--yes", "--json");
  expect(JSON.parse((await end()).out)).toMatchObject({
    previews: { on: [], ends: ["filters"] },
    refreshed: ["later", "notes"],
  });
  expect(await listFunctions("find")).toEqual([]);
  expect(JSON.parse((await end()).out)).toMatchObject({ previews: { ends: [] }, refreshed: [] });
});

testOne("processes of other roles leave the record unchanged", async () => {
  await run("migrate", "filters");
  const { adminUrl, roleUrls } = service.database;
  const env = { ADMIN_DATABASE_URL: adminUrl, DATABASE_URL: roleUrls.identity, ROLE: "identity" };
  expect((await runHere(["migrate"], { ...project, env })).code).toBe(0);
  expect(await listFunctions("find")).toEqual(["later", "notes"]);
});

testOne(
  "no other preview changes the database, and each setting can be on without it",
  async () => {
    const before = await listFunctions("changes");
    expect(before).toEqual(["later", "notes"]);
    const { out } = await run("migrate", "live,browser,history");
    expect(out).toMatch(/^Nothing to do\n/);
    expect(await listFunctions("changes")).toEqual(before);
    for (const name of ["live", "browser", "history"] as const)
      expect(await setAppSwitch(service.service, app.slug, [name, true])).toBe(true);
    expect(await readDrift(service.service.admin)).toEqual([]);
  },
);

testOne("a process serves what its own PREVIEW names", async () => {
  const path = "/v1/data/db/notes/changes";
  const other = await serveAnother(service.database, { previews: ["live"] });
  try {
    const ask = async (url: string) => {
      const stopping = new AbortController();
      const headers = { authorization: `Bearer ${app.key}`, accept: "text/event-stream" };
      const { status } = await fetch(url + path, { headers, signal: stopping.signal });
      stopping.abort();
      return status;
    };
    expect([await ask(service.url), await ask(other.url)]).toEqual([501, 200]);
  } finally {
    await other.close();
  }
});
