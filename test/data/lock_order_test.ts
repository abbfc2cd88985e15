/** Writes of many rows at once lock existing rows in one order, so that they wait for each other and never deadlock. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { countDeadlocks } from "../support/deadlocks.ts";
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
  service = await openTestService({ connections: 30, service: { previews: ["filters", "live"] } });
  app = await service.makeApp(schema);
});
afterAll(() => service.close());

const keysOf = (n: number, key: Key) =>
  key === "label,no" ? { label: n % 2 === 0 ? "a" : "b", no: n } : { [key]: KEYS[key](n) };

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
  expect(await countDeadlocks(service.database.adminUrl)).toBe(0);
});
