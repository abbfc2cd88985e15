/** `PREVIEW` needs only a restart, and changes nothing in the database. */
import { expect, test } from "bun:test";
import { PREVIEWS } from "../../src/preview.ts";
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

test("an unknown preview name is an invalid setting", async () => {
  expectFailure(await run("migrate", "filters,nothing"), "PREVIEW must be one of filters");
});

testOne("no preview changes the database, and each setting can be on without it", async () => {
  for (const preview of ["", PREVIEWS.join()])
    for (const words of [["--dry-run"], []]) {
      const { code, out, err } = await run("migrate", preview, ...words);
      expect([code, out, err]).toEqual([0, expect.stringMatching(/^Nothing to do\n/), ""]);
    }
  expect((await run("doctor", "live,filters")).out).toContain("ok   previews: on: filters, live\n");
  expect((await run("doctor", "")).out).toContain("ok   previews: on: none\n");
  for (const name of ["live", "browser", "history"] as const)
    expect(await setAppSwitch(service.service, app.slug, [name, true])).toBe(true);
  expect(await readDrift(service.service.admin)).toEqual([]);
});

testOne("a process serves what its own PREVIEW names, at the same time as others", async () => {
  const table = "/v1/data/db/notes";
  const other = await serveAnother(service.database, { previews: ["filters", "live"] });
  try {
    const ask = async (url: string, path: string, accept = "application/json") => {
      const stopping = new AbortController();
      const headers = { authorization: `Bearer ${app.key}`, accept };
      const response = await fetch(url + path, { headers, signal: stopping.signal });
      if (accept === "application/json") return response;
      stopping.abort();
      return response;
    };
    for (const title of ["b", "a"])
      await service.call(app, table, { method: "POST", json: { title } });
    for (const [path, accept] of [
      [`${table}/changes`, "text/event-stream"],
      [`${table}?title=eq.a`],
      [`${table}/groups?by=title`],
    ] as const) {
      const answers = [service.url, other.url].map((url) => ask(url, path, accept));
      const statuses = (await Promise.all(answers)).map(({ status }) => status);
      expect([path, ...statuses]).toEqual([path, expect.any(Number), 200]);
      expect([400, 404, 501]).toContain(statuses[0] ?? 0);
    }
    const pages = [service.url, other.url].map(async (url) => {
      const response = await ask(url, `${table}?limit=1`);
      const { rows, ...rest } = (await response.json()) as { rows: object[] };
      return { tag: response.headers.get("etag"), rows, rest };
    });
    const [plain, more] = await Promise.all(pages);
    const rest = { limit: 1, offset: 0, hasMore: true };
    expect(plain?.rest).toEqual(rest);
    expect(more?.rest).toEqual({ ...rest, next: expect.any(String) } as typeof rest);
    expect(more?.rows).toEqual(plain?.rows ?? []);
    // A client must not take one for the other after a restart.
    expect(more?.tag).not.toBe(plain?.tag ?? null);
  } finally {
    await other.close();
  }
});
