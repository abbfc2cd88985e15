/** `.onUpdate("now")`: an update that changes another value of the row sets the timestamp, and nothing else does. */
import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { defineSchema, type Json, t } from "../../src/schema/mod.ts";
import { eventually } from "../support/eventually.ts";
import { countLockWaits, whileDone } from "../support/held_lock.ts";
import { postSchema } from "../support/push.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";
import { testUnlessCitus } from "../support/skip.ts";
import { drawRuns } from "../support/tier.ts";

/** Values of each kind; some differ only in their notation. */
const VALUES: Readonly<Record<string, readonly Json[]>> = {
  text: [null, "", "a", "A"],
  count: [null, 0, -0.5, 1e21],
  whole: [null, 0, 9007199254740991],
  price: [null, "1.5", "1.50", "-1.5"],
  done: [null, true, false],
  token: [null, "0190a0b0-0000-7000-8000-000000000000", "0190A0B0-0000-7000-8000-000000000000"],
  due: [null, "2026-01-02T03:04:05Z", "2026-01-02T04:04:05+01:00", "2026-01-02T03:04:05.000001Z"],
  day: [null, "2026-01-02", "2026-01-03"],
  more: [null, [], { a: 1, b: [null] }, { b: [null], a: 1 }, { a: 1 }, "a", 0, "x".repeat(9000)],
  kind: [null, "one", "two"],
};
const TIMES: readonly Json[] = [null, "2020-01-01T00:00:00Z", "2030-01-01T00:00:00.5Z"];
const schema = defineSchema({
  parents: { name: t.string() },
  things: {
    text: t.string(),
    count: t.number(),
    whole: t.integer(),
    price: t.decimal(),
    done: t.boolean(),
    token: t.uuid(),
    due: t.timestamp(),
    day: t.date(),
    more: t.json(),
    kind: t.enum(["one", "two"]),
    parent: t.ref("parents"),
    updated: t.timestamp().default("now").onUpdate("now"),
    seen: t.timestamp().default("now").onUpdate("now"),
  },
  stamps: { at: t.timestamp().required().default("now").onUpdate("now") },
});
const THINGS = "/v1/data/db/things";
type Row = Record<string, Json> & { id: string };

const service = await share(openTestService());
const app = await service.makeApp(schema);

async function send(path: string, method: string, json: object, as = app): Promise<Row> {
  const { status, json: row } = await service.call(as, path, { method, json });
  expect(status).toBe(method === "POST" ? 201 : 200);
  return row as Row;
}

const isAfter = (now: Json | undefined, before: Json | undefined) => String(now) > String(before);

const bodies = fc.record(
  Object.fromEntries([
    ...Object.entries(VALUES).map(([name, values]) => [name, fc.constantFrom(...values)]),
    ["parent", fc.constantFrom(0, 1, 2)],
    ...["updated", "seen"].map((name) => [name, fc.constantFrom(...TIMES)]),
  ]) as Record<string, fc.Arbitrary<Json>>,
  { requiredKeys: [] },
);
/** Few columns, so that many updates change nothing. */
const update = fc
  .tuple(
    bodies,
    fc.uniqueArray(fc.constantFrom(...Object.keys(schema.tables.things)), { maxLength: 3 }),
  )
  .map(([body, names]) =>
    Object.fromEntries(Object.entries(body).filter(([name]) => names.includes(name))),
  );

test("exactly the updates that change another value set it, and a given value is stored as given", async () => {
  const names = ["1", "2"];
  const parents = [null as string | null];
  for (const name of names) parents.push((await send("/v1/data/db/parents", "POST", { name })).id);
  const resolve = ({ parent, ...rest }: Record<string, Json | undefined>) =>
    parent === undefined ? rest : { ...rest, parent: parents[Number(parent)] ?? null };
  const counts = { set: 0, kept: 0, given: 0 };
  await fc.assert(
    fc.asyncProperty(
      bodies,
      fc.array(update, { minLength: 4, maxLength: 8 }),
      async (first, updates) => {
        let row = await send(THINGS, "POST", resolve(first));
        for (const column of ["updated", "seen"])
          expect(first[column] === undefined ? typeof row[column] : same(row[column])).toEqual(
            first[column] === undefined ? "string" : same(first[column]),
          );
        for (const sent of updates) {
          const body = resolve(sent);
          const next = await send(`${THINGS}/${row.id}`, "PATCH", body);
          for (const column of ["updated", "seen"]) {
            const other = column === "seen" ? "updated" : "seen";
            const isChanged = Object.keys(row).some(
              (name) =>
                // The other timestamp counts only if the update sets it.
                (name === other ? Object.hasOwn(body, other) : name !== column) &&
                JSON.stringify(next[name]) !== JSON.stringify(row[name]),
            );
            if (Object.hasOwn(body, column)) {
              expect(same(next[column])).toEqual(same(body[column]));
              counts.given++;
            } else if (isChanged) {
              expect([isNow(next[column]), next[column] !== row[column]]).toEqual([true, true]);
              counts.set++;
            } else {
              expect(next[column]).toEqual(row[column] as Json);
              counts.kept++;
            }
          }
          row = next;
        }
      },
    ),
    drawRuns(200),
  );
  expect(Math.min(...Object.values(counts))).toBeGreaterThan(10);
});

/** A time in one notation. */
const same = (time: Json | undefined) => (time == null ? null : Date.parse(String(time)));
/** The values that the test sends differ from the current time by years. */
const isNow = (time: Json | undefined) =>
  !TIMES.some((sent) => same(sent) === same(time)) && typeof time === "string";

test("an update without a change keeps the row and its tag", async () => {
  const row = await send(THINGS, "POST", { text: "a", price: "1.50", more: { b: 1, a: 2 } });
  const path = `${THINGS}/${row.id}`;
  const { headers } = await service.call(app, path);
  for (const json of [{}, { text: "a" }, { price: "1.50", more: { a: 2, b: 1 } }, { unknown: 1 }]) {
    const kept = await service.call(app, path, { method: "PATCH", json });
    expect([kept.json, kept.headers.get("etag")]).toEqual([row, headers.get("etag")]);
  }
  const changed = await send(path, "PATCH", { price: "1.5" });
  expect(isAfter(changed["updated"], row["updated"])).toBe(true);
  expect(changed).toEqual({
    ...row,
    price: "1.5",
    updated: changed["updated"] ?? null,
    seen: changed["updated"] ?? null,
  });
});

test.each([
  ["a lock", "select from data.things where app_id = $1 and id = $2 for update", "b", true],
  ["an update", "update data.things set text = 'c' where app_id = $1 and id = $2", "b", true],
  [
    "an update to the old value",
    "update data.things set text = 'c' where app_id = $1 and id = $2",
    "a",
    true,
  ],
  [
    "an update to the same value",
    "update data.things set text = 'b' where app_id = $1 and id = $2",
    "b",
    false,
  ],
])("an update that waits for %s has the time of its write", async (_, text, sent, isSet) => {
  const row = await send(THINGS, "POST", { text: "a" });
  const { adminUrl } = service.database;
  const { admin } = service.service;
  const { pending, at } = await whileDone(
    adminUrl,
    { text, values: [app.id, row.id] },
    async (session) => {
      const pending = send(`${THINGS}/${row.id}`, "PATCH", { text: sent });
      await eventually(async () => (await countLockWaits(admin)) > 0);
      const [clock] =
        await session`select to_json(clock_timestamp() at time zone 'UTC') #>> '{}' as at`;
      return { pending: { response: pending }, at: String(clock?.["at"]) };
    },
  );
  const { updated, seen } = await pending.response;
  expect(seen).toEqual(updated ?? null);
  if (isSet) expect(isAfter(updated, at)).toBe(true);
  else expect(updated).toEqual(row["updated"] ?? null);
});

test("a table with only such a column keeps the time until an update sets it", async () => {
  const row = await send("/v1/data/db/stamps", "POST", {});
  const path = `/v1/data/db/stamps/${row.id}`;
  expect(await send(path, "PATCH", {})).toEqual(row);
  const at = "2026-01-02T03:04:05+00:00";
  expect(await send(path, "PATCH", { at })).toEqual({ ...row, at });
  const removed = await service.call(app, path, { method: "PATCH", json: { at: null } });
  expect(removed.status).toBe(422);
});

test("rows created in one request, in a group or one by one have the time of the insert, or the given time", async () => {
  const updated = "2020-01-02T03:04:05+00:00";
  const { json } = await service.call(app, THINGS, { method: "POST", json: [{ updated }, {}] });
  const [given, own] = (json as { rows: Row[] }).rows;
  expect([given?.["updated"], own?.["updated"] === own?.["seen"]]).toEqual([updated, true]);
  const together = await Promise.all(
    [{ updated }, {}, { text: "b", updated }].map((body) => send(THINGS, "POST", body)),
  );
  expect(together.map((row) => row["updated"] === updated)).toEqual([true, false, true]);
});

test("an app that does not declare the column changes its rows without it, and can declare it later", async () => {
  const name = "shared_stamps";
  const own = {
    title: t.string(),
    parent: t.ref(name),
    updated: t.timestamp().default("now").onUpdate("now"),
  };
  const owner = await service.makeApp(defineSchema({ [name]: own }));
  const user = await service.makeApp(defineSchema({ [name]: { title: t.string() } }));
  const path = `/v1/data/db/${name}`;
  const theirs = await send(path, "POST", { title: "a" }, user);
  expect(await send(`${path}/${theirs.id}`, "PATCH", { title: "b" }, user)).toEqual({
    ...theirs,
    title: "b",
  });
  const first = await send(path, "POST", { title: "a" }, owner);
  const second = await send(`${path}/${first.id}`, "PATCH", { title: "b" }, owner);
  expect(isAfter(second["updated"], first["updated"])).toBe(true);
  // From the next push on, its updates set the column, which had a value already.
  await postSchema(
    service,
    user,
    defineSchema({ [name]: { title: own.title, updated: own.updated } }),
  );
  const before = (await service.call(user, `${path}/${theirs.id}`)).json as Row;
  const after = await send(`${path}/${theirs.id}`, "PATCH", { title: "c" }, user);
  expect(isAfter(after["updated"], before["updated"])).toBe(true);
});

testUnlessCitus("Citus has no such reference")(
  "a delete that sets a reference to null does not set the time",
  async () => {
    const updated = t.timestamp().default("now").onUpdate("now");
    const own = await service.makeApp(
      defineSchema({
        lists: { title: t.string() },
        cards: { list: t.ref("lists", { onDelete: "set null" }), updated },
      }),
    );
    const list = await send("/v1/data/db/lists", "POST", {}, own);
    const card = await send("/v1/data/db/cards", "POST", { list: list.id }, own);
    await service.call(own, `/v1/data/db/lists/${list.id}`, { method: "DELETE" });
    const { json } = await service.call(own, `/v1/data/db/cards/${card.id}`);
    expect(json).toEqual({ ...card, list: null });
  },
);
