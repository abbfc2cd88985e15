/** Writes of many rows at once lock existing rows in one order, so that they wait for each other and never deadlock. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { withDatabase } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { makeRandom } from "../support/query_fuzz.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

const KEYS = {
  tag: (n: number) => `tag ${n}`,
  url: (n: number) => `${"x".repeat(100)} ${n}`,
  price: (n: number) => n / 4,
  amount: (n: number) => `${n}.50`,
  uid: (n: number) => `01900000-0000-4000-8000-${String(n).padStart(12, "0")}`,
  at: (n: number) => new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString(),
} as const;
const schema = defineSchema({
  things: t
    .model({
      tag: t.string().unique(),
      url: t.string().unique(),
      price: t.number().unique(),
      amount: t.decimal().unique(),
      uid: t.uuid().unique(),
      at: t.timestamp().unique(),
      label: t.enum(["a", "b"]),
      no: t.integer().index(),
      count: t.integer(),
    })
    .unique("label", "no"),
});
const THINGS = "/v1/data/db/things";
const ROWS = 60;
type Key = keyof typeof KEYS | "label,no";
const NAMES = [...(Object.keys(KEYS) as (keyof typeof KEYS)[]), "label,no"] as const;
type Row = { id: string; no: number; label: string };

let service: TestService;
let app: TestApp;
beforeAll(async () => {
  service = await openTestService({ service: { previews: ["filters", "live"] } });
  app = await service.makeApp(schema);
});
afterAll(() => service.close());

const keysOf = (n: number, key: Key) =>
  key === "label,no" ? { label: n % 2 === 0 ? "a" : "b", no: n } : { [key]: KEYS[key](n) };

/** Deadlocks in the database since its creation. A session reports its own at the latest when it ends. */
async function countDeadlocks(): Promise<number> {
  const { adminUrl } = service.database;
  return await withDatabase(adminUrl, async (admin) => {
    const ask = <Row>(text: string) =>
      admin.query<Row>(text, [], { retry: "safe", queue: SERVICE_QUEUE });
    const others = `from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
      and backend_type = 'client backend'`;
    const ended = await ask<{ pid: number }>(`select pid, pg_terminate_backend(pid) ${others}`);
    const pids = ended.map(({ pid }) => pid);
    await eventually(async () => {
      const [row] = await ask<{ left: number }>(
        `select count(*)::int4 as left ${others} and pid = any ('{${pids}}')`,
      );
      return row?.left === 0;
    });
    const [row] = await ask<{ deadlocks: number }>(
      "select deadlocks::int4 as deadlocks from pg_stat_database where datname = current_database()",
    );
    return row?.deadlocks ?? -1;
  });
}

test("lists of upserts and updates, and updates with conditions, do not deadlock on the same rows", async () => {
  const random = makeRandom(51);
  const shuffled = <Value>(values: readonly Value[]) =>
    values
      .map((value) => ({ value, place: random(1_000_000) }))
      .toSorted((a, b) => a.place - b.place)
      .map(({ value }) => value);
  const whole = (n: number) => Object.assign({}, ...NAMES.map((key) => keysOf(n, key)));
  // Created in random order, so that the order of the ids differs from that of each key.
  const made = await service.call(app, THINGS, {
    method: "POST",
    json: shuffled(Array.from({ length: ROWS }, (_, n) => whole(n))),
  });
  const rows = (made.json as { rows: Row[] }).rows;
  const upsert = (key: Key, turn: number) =>
    service.call(app, `${THINGS}?onConflict=${key}${turn % 4 === 0 ? "&existing=ignore" : ""}`, {
      method: "POST",
      json: shuffled(rows).map(({ no }) => ({ ...keysOf(no, key), count: turn })),
    });
  const updateAll = (turn: number) =>
    service.call(app, THINGS, {
      method: "PATCH",
      json: shuffled(rows).map(({ id }) => ({ id, count: turn })),
    });
  const updateWhere = (turn: number) =>
    service.call(app, `${THINGS}?no=gte.0`, { method: "PATCH", json: { count: turn } });
  for (let round = 0; round < 4; round++) {
    const sent = await Promise.all(
      NAMES.flatMap((key, turn) => [
        upsert(key, round + turn),
        updateAll(100 + turn),
        updateWhere(200 + turn),
      ]),
    );
    for (const { status, json } of sent) expect({ status, json }).toMatchObject({ status: 200 });
  }
  expect(await countDeadlocks()).toBe(0);
});
