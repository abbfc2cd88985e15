import { expect, test } from "bun:test";
import { LIST_BYTES } from "../../src/data/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { MAX_ROWS } from "../../src/std/limits.ts";
import { makeProject, startCommand } from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { residentMb } from "../support/memory.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { previewsOfRun } from "../support/shape.ts";
import { share } from "../support/share.ts";
import { isFull } from "../support/tier.ts";

type Page = {
  rows: { id: string; text: string }[];
  limit: number;
  offset: number;
  hasMore: boolean;
};

const MAX_ROW = 102_400;

const service = await share(openTestService({ connections: 4 }));

const schema = defineSchema({
  notes: { text: t.string(), more: t.json() },
  counters: { value: t.number().required() },
});

/** Creates rows directly in the database, because the tests are about reads. */
async function makeRows(app: TestApp, count: number, text: string): Promise<void> {
  await service.service.admin.message(`
    insert into data.notes (app_id, id, text)
    select '${app.id}', ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, ${text}
    from generate_series(1, ${count}) as n;
    select 1`);
}

async function list(app: TestApp, query: string): Promise<{ page: Page; bytes: number }> {
  const response = await service.call(app, `/v1/data/db/notes${query}`);
  expect(response.status).toBe(200);
  return { page: response.json as Page, bytes: Buffer.byteLength(response.text) };
}

test.each([
  {
    name: "incompressible rows",
    count: 200,
    text: "n || (select string_agg(md5(i::text), '') from generate_series(1, 2800) i)",
  },
  { name: "rows that compress to 1%", count: 200, text: "repeat('a', 90000)" },
  { name: "rows whose JSON is six times as long", count: 200, text: "repeat(chr(1), 15000)" },
])("a list of $name is cut at the limit, and its pages contain every row once", async (given) => {
  const app = await service.makeApp(schema);
  await makeRows(app, given.count, given.text);
  const ids: string[] = [];
  for (let offset = 0, more = true; more; offset = ids.length) {
    const { page, bytes } = await list(app, `?limit=${MAX_ROWS}&offset=${offset}`);
    expect(bytes).toBeLessThan(LIST_BYTES + MAX_ROW);
    expect([page.limit, page.offset]).toEqual([MAX_ROWS, offset]);
    expect(page.rows.length).toBeGreaterThan(0);
    ids.push(...page.rows.map((row) => row.id));
    more = page.hasMore;
  }
  expect(ids.length).toBe(given.count);
  expect(ids).toEqual([...new Set(ids)].sort());
});

test.each([
  { name: "no rows of a large table", query: "?limit=0", rows: 0, hasMore: true },
  { name: "one large row", query: "?limit=1", rows: 1, hasMore: true },
  { name: "the last large row", query: "?limit=1&offset=9", rows: 1, hasMore: false },
  { name: "the rows past the end", query: "?offset=10", rows: 0, hasMore: false },
  { name: "all rows of a page within the limit", query: "?limit=10", rows: 10, hasMore: false },
])("a list of $name has the expected rows and hasMore", async ({ query, rows, hasMore }) => {
  const app = await service.makeApp(schema);
  await makeRows(app, 10, "repeat('b', 90000)");
  const { page } = await list(app, query);
  expect([page.rows.length, page.hasMore]).toEqual([rows, hasMore]);
});

test("a table without variable-length columns is listed completely", async () => {
  const app = await service.makeApp(schema);
  for (const value of [1, 2, 3])
    await service.call(app, "/v1/data/db/counters", { method: "POST", json: { value } });
  const { json } = await service.call(app, "/v1/data/db/counters");
  expect((json as { rows: { value: number }[] }).rows.map(({ value }) => value)).toEqual([1, 2, 3]);
});

test("the limit is a setting, and a list within the limit is complete", async () => {
  const maxBytes = 65_536;
  await using bounded = await openTestService({ service: { maxResponseBytes: maxBytes } });
  const app = await bounded.makeApp(schema);
  const rows = 40;
  for (let n = 0; n < rows; n++) {
    const json = { text: String(n).padEnd(4000, "x") };
    await bounded.call(app, "/v1/data/db/notes", { method: "POST", json });
  }
  const read = async (query: string) => {
    const { json, text } = await bounded.call(app, `/v1/data/db/notes${query}`);
    return { page: json as Page, bytes: Buffer.byteLength(text) };
  };
  const [cut, uncut] = [await read(""), await read("?limit=10")];
  expect(cut.bytes).toBeGreaterThan(maxBytes);
  expect(cut.bytes).toBeLessThan(maxBytes + 5000);
  expect([cut.page.hasMore, cut.page.rows.length < rows]).toEqual([true, true]);
  expect([uncut.page.rows.length, uncut.page.hasMore]).toEqual([10, true]);
  const rest = await read(`?offset=${cut.page.rows.length}&limit=10`);
  expect(rest.page.rows[0]?.text).toStartWith(`${cut.page.rows.length}x`);
});

const CALLERS = 4;
/** The memory of a process that holds all rows of its responses, in one copy. */
const UNBOUNDED_MB = (CALLERS * 1000 * 90_000) / 2 ** 20;

test.skipIf(residentMb(process.pid) === undefined)(
  "parallel lists of a thousand rows of 90 KB do not fill the memory",
  async () => {
    const app = await service.makeApp(schema);
    await makeRows(app, MAX_ROWS, "repeat('a', 90000)");
    const { servingUrl, adminUrl, prepare } = service.database;
    using project = makeProject({});
    // A new process: earlier tests do not count in its memory.
    const serving = startCommand(["serve"], {
      ...project,
      env: {
        DATABASE_URL: servingUrl,
        ADMIN_DATABASE_URL: adminUrl,
        DATABASE_PREPARE: prepare ? "on" : "off",
        IDENTITY_SECRET: TEST_IDENTITY_SECRET,
        HOST: "127.0.0.1",
        PORT: "0",
        PREVIEW: previewsOfRun().join(),
      },
    });
    const [, port] = await serving.until(/"event":"listening".*"port":(\d+)/);
    const ask = async (query: string): Promise<void> => {
      const response = await fetch(`http://127.0.0.1:${port}/v1/data/db/notes${query}`, {
        headers: { authorization: `Bearer ${app.key}` },
      });
      expect([response.status, (await response.arrayBuffer()).byteLength > 0]).toEqual([200, true]);
    };
    await ask("?limit=1");
    const before = residentMb(serving.pid)?.peak ?? 0;
    for (let n = 0; n < (isFull() ? 5 : 2); n++)
      await Promise.all(Array.from({ length: CALLERS }, () => ask(`?limit=${MAX_ROWS}`)));
    const peak = residentMb(serving.pid)?.peak ?? Number.POSITIVE_INFINITY;
    await serving.kill("SIGTERM");
    expect(peak - before).toBeLessThan(UNBOUNDED_MB);
  },
  60_000,
);
