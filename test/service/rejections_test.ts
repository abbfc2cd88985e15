/** Counts and samples of rejected requests are exact, contain no values, and have a limit. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { readRows } from "../../src/db/mod.ts";
import type { ResponseRecord } from "../../src/observe.ts";
import { revokeKey } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { addRejection, makeRejections, toStored } from "../../src/service/rejections.ts";
import { MAX_REJECTED_A_MINUTE } from "../../src/std/limits.ts";
import { testDeps } from "../support/deps.ts";
import { eventually, untilRead } from "../support/eventually.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { countRuns } from "../support/tier.ts";

const LIST = "/v1/data/db/orders";
const SCHEMA = defineSchema({
  orders: { title: t.string().required(), currency: t.enum(["EUR", "USD"]), amount: t.number() },
});

let service: TestService;
let app: TestApp;
let ahead: number;
beforeEach(async () => {
  ahead = 0;
  service = await openTestService({ service: { now: () => Date.now() + ahead } });
  app = await service.makeApp(SCHEMA);
});
afterEach(() => service.close());

const post = (json: unknown) => service.call(app, LIST, { method: "POST", json });

/** Returns the counts by span, table and code. */
const readCounts = () =>
  service.query<{ span: string; table: string; code: string; requests: number }>(
    `select span, table_name as "table", code, sum(requests)::int4 as requests
    from rowhouse.rejections where app_id = '${app.id}' group by 1, 2, 3 order by 1, 2, 3`,
  );

const readSamples = () =>
  service.query<{ id: string; code: string; paths: string[]; requests: number }>(
    `select id, key_id as key, table_name as "table", code, to_json(paths) as paths, requests
    from rowhouse.stored_requests where app_id = '${app.id}' and status between 400 and 499
    order by at, id`,
  );

async function untilCounted(requests: number): Promise<void> {
  ahead += 60_000;
  const countHours = (counts: Awaited<ReturnType<typeof readCounts>>) =>
    counts.reduce((sum, { span, requests }) => (span === "hour" ? sum + requests : sum), 0);
  await untilRead(readCounts, (counts) => countHours(counts) >= requests);
}

test("rejected requests are counted by table and code, and stored with key and fields but without values", async () => {
  const wrong = { title: "secret-title", currency: "secret-currency" };
  const first = await post(wrong);
  await post(wrong);
  await post([{ title: "fine" }, { currency: "secret-currency", secret_column: 1 }]);
  await service.call(app, "/v1/data/db/secret_table");
  await service.call(app, `${LIST}/not-an-id-secret`);
  await untilCounted(5);
  const counts = [
    { table: "", code: "unknown_table", requests: 1 },
    { table: "orders", code: "invalid_id", requests: 1 },
    { table: "orders", code: "validation_failed", requests: 3 },
  ];
  expect(await readCounts()).toEqual(
    ["hour", "minute"].flatMap((span) => counts.map((count) => ({ span, ...count }))),
  );
  const samples = await readSamples();
  const key = app.key.slice(3, 19);
  expect(samples.map(({ id: _, ...sample }) => sample)).toEqual([
    { key, table: "orders", code: "validation_failed", paths: ["/currency"], requests: 1 },
    { key, table: "orders", code: "validation_failed", paths: ["/currency"], requests: 1 },
    {
      ...{ key, table: "orders", code: "validation_failed" },
      paths: ["/1/currency", "/1/title"],
      requests: 1,
    },
    { key, table: null, code: "unknown_table", paths: [], requests: 1 },
    { key, table: "orders", code: "invalid_id", paths: [], requests: 1 },
  ] as never);
  expect(samples[0]?.id).toBe(first.headers.get("x-request-id") ?? "");
  const [stored] = await service.query<{ text: string }>(
    `select string_agg(stored::text, ' ') as text from rowhouse.stored_requests as stored`,
  );
  expect(stored?.text).not.toContain("secret");
});

test("a request with a revoked key counts for the key's app, and a request with an unknown key for no app", async () => {
  await service.call(app, LIST);
  await revokeKey(testDeps(service.service), app.key.slice(3, 19));
  await eventually(async () => (await service.call(app, LIST)).status === 401);
  const unknownKey = `${app.key.slice(0, 3)}${"x".repeat(16)}${app.key.slice(19)}`;
  await service.call(undefined, LIST, { headers: { authorization: `Bearer ${unknownKey}` } });
  await untilCounted(1);
  expect((await readCounts())[0]).toMatchObject({ span: "hour", code: "unauthenticated" });
  expect((await readSamples())[0]).toMatchObject({ key: app.key.slice(3, 19), paths: [] });
  const readUnknown = () =>
    service.query("select key_id from rowhouse.stored_requests where app_id is null");
  // A minute can end between the two requests.
  await eventually(async () => (await readUnknown()).length > 0);
  expect(await readUnknown()).toEqual([{ key_id: null }]);
});

type SentCount = { app: string; table?: string; code: string; requests: number };

const add = (rejected: readonly SentCount[], samples: readonly unknown[] = []) =>
  readRows(
    service.service.db,
    `select rowhouse.add_minute(gen_random_uuid(), 'all', now(), now(), false, null, '[]', '[]',
      $1::text::jsonb, $2::text::jsonb, null)`,
    [JSON.stringify(rejected), JSON.stringify(samples)],
  );

test("an app has max 200 counted tables and codes across all processes, and the sum stays exact", async () => {
  const makeCounts = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => ({
      ...{ app: app.id, code: "validation_failed", requests: 1 },
      table: `t${from + index}`,
    }));
  await Promise.all([add(makeCounts(0, 150)), add(makeCounts(100, 260))]);
  await add(makeCounts(255, 300));
  const [found] = await service.query<Record<string, number>>(
    `select count(distinct (table_name, code)) filter (where code <> 'other')::int4 as kinds,
      sum(requests)::int4 as requests from rowhouse.rejections where span = 'hour'`,
  );
  expect(found).toEqual({ kinds: 200, requests: 150 + 160 + 45 });
  // A deleted app gets no counts.
  await add([{ app: crypto.randomUUID(), code: "not_found", requests: 1 }]);
  expect(await service.query("select distinct app_id from rowhouse.rejections")).toHaveLength(1);
});

test("an app stores max 1,000 rejected requests, and a key with many errors does not evict errors of another code", async () => {
  const makeSamples = (code: string, count: number) =>
    Array.from({ length: count }, () => ({
      ...{ id: crypto.randomUUID(), app: app.id, at_ms: Date.now(), method: "POST" },
      ...{ route: "/", status: 422, code, ms: 1, key: app.key.slice(3, 19), requests: 1 },
    }));
  await add([], makeSamples("forbidden", 10));
  for (let minute = 0; minute < 3; minute++) await add([], makeSamples("validation_failed", 1000));
  const counts = await service.query(
    "select code, count(*)::int4 as rows from rowhouse.stored_requests group by 1 order by 1",
  );
  expect(counts).toEqual([
    { code: "forbidden", rows: 10 },
    { code: "validation_failed", rows: 990 },
  ]);
});

test("many different errors in a minute need little memory and are all counted", () => {
  const errors = countRuns(100_000);
  const rejections = makeRejections();
  const columns = Array.from({ length: 100 }, (_, index) => ({ name: `c${index}` }));
  const findTable = () => ({ definition: { columns } as never });
  for (let index = 0; index < errors; index++) {
    const response = {
      ...{
        requestId: crypto.randomUUID(),
        method: "x".repeat(9999),
        route: "/",
        status: 422,
        ms: 1,
      },
      ...{ code: `code_${index % 700}`, appId: `app ${index % 60}`, keyId: `key ${index % 77}` },
    } as ResponseRecord;
    const path = `/${index % 1000}/c${index % 100}`;
    const details = Array.from({ length: 1000 }, () => ({ path, message: "" }));
    const rejection = {
      table: `t${index % 900}`,
      presentedKey: undefined,
      details,
      found: [],
      parameters: undefined,
    };
    addRejection(rejections, toStored(response, rejection, { findTable, now: 0 }));
  }
  const counts = [...rejections.counts.values()];
  expect(counts.reduce((sum, { requests }) => sum + requests, 0)).toBe(errors);
  // The 60 apps over the limit have one total each.
  expect(counts.length).toBeLessThanOrEqual(5000 + 60);
  expect(rejections.samples.length).toBe(MAX_REJECTED_A_MINUTE);
  expect(JSON.stringify([counts, rejections.samples]).length).toBeLessThan(2_000_000);
  expect(rejections.kinds.size).toBeLessThanOrEqual(1000);
});

test("rejected requests are stored for a week, their counts by minute for a day and by hour for 15 days", async () => {
  const ages = (...hours: number[]) => `unnest(array[${hours}]) as hours`;
  await service.service.admin.message(`
    insert into rowhouse.stored_requests (id, at, method, route, status, ms)
      select gen_random_uuid(), now() - make_interval(hours => hours), 'GET', '/', 422, 1 from ${ages(167, 169)};
    insert into rowhouse.rejections select '${app.id}', span, now() - make_interval(hours => hours), '', 'not_found', hours
      from unnest(array['minute', 'hour']) as span, ${ages(23, 25, 359, 361)};
    insert into rowhouse.rejection_kinds select '${app.id}', '', hours::text, now() - make_interval(hours => hours)
      from ${ages(359, 361)}; select 1`);
  for (let steps = 0; steps < 4; steps++)
    await readRows(service.service.db, "select rowhouse.sweep_statistics(1)");
  expect(await readCounts()).toEqual([
    { span: "hour", table: "", code: "not_found", requests: 23 + 25 + 359 },
    { span: "minute", table: "", code: "not_found", requests: 23 },
  ]);
  expect(
    await service.query("select from rowhouse.stored_requests where status = 422"),
  ).toHaveLength(1);
  expect(await service.query("select code from rowhouse.rejection_kinds")).toEqual([
    { code: "359" },
  ]);
});
