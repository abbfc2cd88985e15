/** Writes of many rows at once lock rows in one order, so that they wait for each other, and each is answered. */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { countDeadlocks } from "../support/deadlocks.ts";
import { makePerson, signInAs } from "../support/people.ts";
import { getPersonKey, openToBrowsers } from "../support/person_keys.ts";
import { makeRandom } from "../support/random.ts";
import { openTestService, type TestServiceOptions } from "../support/service.ts";
import { share } from "../support/share.ts";
import { isFull } from "../support/tier.ts";

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
    .unique("label", "no")
    .allow("member", "everything"),
});
const ORIGIN = "https://things.example.org";
const THINGS = "/v1/data/db/things";
const ROWS = 60;
const ROUNDS = isFull() ? 4 : 2;
type Key = keyof typeof KEYS | "label,no";
const NAMES = [...(Object.keys(KEYS) as (keyof typeof KEYS)[]), "label,no"] as const;
type Row = { id: string; no: number; label: string };

/** What happens to rows that exist, by the turn. */
const MODES = ["&existing=ignore", "&existing=only"] as const;

const OPTIONS: TestServiceOptions = {
  connections: 30,
  identity: () => ({ cookieDomain: "example.org" }),
  service: { previews: ["filters", "live", "browser"] },
};

const keysOf = (n: number, key: Key) =>
  key === "label,no" ? { label: n % 2 === 0 ? "a" : "b", no: n } : { [key]: KEYS[key](n) };

test("lists of upserts and updates, and writes with conditions, do not deadlock on the same rows", async () => {
  await using service = await openTestService(OPTIONS);
  const app = await service.makeApp(schema);
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
    service.call(app, `${THINGS}?onConflict=${key}${MODES[turn % 4] ?? ""}`, {
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
  for (let round = 0; round < ROUNDS; round++) {
    const sent = await Promise.all(
      NAMES.flatMap((key, turn) => [
        upsert(key, round + turn),
        updateAll(100 + turn),
        updateWhere(200 + turn),
      ]),
    );
    for (const { status, json } of sent) expect({ status, json }).toMatchObject({ status: 200 });
  }
  // Rows come and go: an upsert meets a row that is deleted before it is locked.
  const take = () => shuffled(Array.from({ length: 40 }, (_, n) => `tag ${1000 + n}`)).slice(20);
  const upsertAgain = (count: number) =>
    service.call(app, `${THINGS}?onConflict=tag`, {
      method: "POST",
      json: take().map((tag) => ({ tag, count })),
    });
  const remove = () =>
    service.call(app, `${THINGS}?tag=in.(${take().map((tag) => `"${tag}"`)})`, {
      method: "DELETE",
    });
  const repeated = await Promise.all(
    Array.from({ length: 24 }, async (_, caller) => {
      const statuses: number[] = [];
      for (let turn = 0; turn < 20; turn++)
        statuses.push((await (caller % 3 === 0 ? remove() : upsertAgain(turn))).status);
      return statuses;
    }),
  );
  expect(repeated.flat().filter((status) => status !== 200)).toEqual([]);
  expect(await countDeadlocks(service)).toBe(0);
});

const service = await share(openTestService(OPTIONS));
const app = await service.makeApp(schema, { origins: [ORIGIN] });
await openToBrowsers(service, app);
const CALLERS = 24;
const LISTS = isFull() ? 10 : 5;

test.each(["an API key", "people's keys"])(
  "lists that create, update, ignore and delete the same rows at once are all answered, with %s",
  async (by) => {
    const random = makeRandom(66);
    const keys = await Promise.all(
      Array.from({ length: by === "an API key" ? 0 : 4 }, async () => {
        const person = await makePerson(service, { app, role: "member" });
        const cookies = await signInAs(service, person);
        return (await getPersonKey(service, { cookies, app, origin: ORIGIN })).key;
      }),
    );
    const take = (count: number) => {
      const numbers = new Set<number>();
      while (numbers.size < count) numbers.add(1000 + random(ROWS));
      return [...numbers];
    };
    const send = async (caller: number, list: number) => {
      const call = keys.length === 0 ? {} : { key: keys[caller % keys.length] ?? null };
      if (caller % 6 === 0) {
        const tags = take(25).map((n) => `"${KEYS.tag(n)}"`);
        return await service.call(app, `${THINGS}?tag=in.(${tags})`, { method: "DELETE", ...call });
      }
      // Each row has the same values in several unique constraints, of which a caller names one.
      const key = (["tag", "url", "amount"] as const)[caller % 3] ?? "tag";
      const json = take(caller % 4 === 1 ? 1 : 25).map((n) => ({
        ...{ ...keysOf(n, "tag"), ...keysOf(n, "url"), ...keysOf(n, "amount") },
        count: list,
      }));
      const query = `onConflict=${key}${MODES[caller % 5] ?? ""}`;
      return await service.call(app, `${THINGS}?${query}`, { method: "POST", json, ...call });
    };
    const sent = await Promise.all(
      Array.from({ length: CALLERS }, async (_, caller) => {
        const answers = [];
        for (let list = 0; list < LISTS; list++) answers.push(await send(caller, list));
        return answers;
      }),
    );
    const rejected = sent.flat().filter(({ status }) => status !== 200);
    expect(rejected.map(({ status, text }) => ({ status, text }))).toEqual([]);
    const rows = (await service.call(app, `${THINGS}?limit=1000`)).json as {
      rows: { tag: string }[];
    };
    const tags = rows.rows.map(({ tag }) => tag);
    expect(new Set(tags).size).toBe(tags.length);
  },
);
