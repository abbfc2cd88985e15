/** Lists by numbers and decimals with indexes, in the order of their values. */
import { expect } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";
import { testUnlessCitus } from "../support/skip.ts";

const testOne = testUnlessCitus("a cluster has no query functions");
const ITEMS = "/v1/data/db/items";
const schema = defineSchema({
  items: t
    .model({
      place: t.integer().required(),
      price: t.number().index(),
      amount: t.decimal().index(),
      code: t.number().unique(),
      total: t.decimal().unique(),
      name: t.string().required(),
    })
    .index("name", "price")
    .index("price", "name")
    .unique("amount", "name"),
});

/** In the order of the decimals; some share a double, and some have none. */
const AMOUNTS = [
  `-1${"0".repeat(320)}`,
  `-1${"0".repeat(308)}`,
  "-0.1",
  `-0.${"0".repeat(310)}1`,
  "0",
  `0.${"0".repeat(310)}1`,
  `0.${"0".repeat(299)}1`,
  "0.09999999999999999999999999",
  "0.10",
  "0.10000000000000000000000001",
  "12.5",
  `9${"9".repeat(307)}`,
  `1${"0".repeat(308)}`,
  `1${"0".repeat(390)}`,
];
const PRICES = [
  -1e300, -2.5, -5e-324, 0, 5e-324, 1e-7, 0.1, 0.30000000000000004, 3, 1e21, 1e300,
  1.7976931348623157e308,
];

const service = await share(openTestService({ service: { previews: ["filters"] } }));
const app = await service.makeApp(schema);
const create = (json: object) => service.call(app, ITEMS, { method: "POST", json });
const rows = Array.from({ length: 18 }, (_, place) => ({
  place,
  price: PRICES[place] ?? null,
  amount: AMOUNTS[place] ?? null,
  code: PRICES[place] ?? null,
  total: AMOUNTS[place] ?? null,
  name: `n${place % 3}`,
}));
for (const row of rows) expect((await create(row)).status).toBe(201);

/** The places of all rows, page by page. */
async function find(query: string): Promise<unknown[]> {
  const places: unknown[] = [];
  for (let after = ""; ; ) {
    const { json, status, text } = await service.call(app, `${ITEMS}?${query}${after}`);
    if (status !== 200) return [text];
    const page = json as { rows: { place: number }[]; next: string | null };
    places.push(...page.rows.map(({ place }) => place));
    if (page.next === null) return places;
    after = `&after=${page.next}`;
  }
}

const range = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => from + index);

testOne("lists of numbers and decimals are searched and sorted by index", async () => {
  for (const [column, values] of [
    ["price", PRICES],
    ["amount", AMOUNTS],
  ] as const) {
    const { length } = values;
    const nulls = await find(`${column}=is.null&limit=2`);
    expect(nulls.toSorted()).toEqual(range(length, 18));
    const listed = await find(`order=${column}&limit=3`);
    expect([column, listed.slice(0, length)]).toEqual([column, range(0, length)]);
    expect(listed.slice(length).toSorted()).toEqual(range(length, 18));
    const down = await find(`order=${column}.desc&limit=2`);
    expect([column, down.slice(0, length)]).toEqual([column, range(0, length).reverse()]);
    for (const [place, value] of values.entries()) {
      const text = encodeURIComponent(String(value));
      expect([value, await find(`${column}=eq.${text}`)]).toEqual([value, [place]]);
      expect(await find(`${column}=gt.${text}&order=${column}&limit=3`)).toEqual(
        range(place + 1, length),
      );
      expect(await find(`${column}=lte.${text}&order=${column}.desc&limit=3`)).toEqual(
        range(0, place + 1).reverse(),
      );
    }
    const some = [values[1], values[3], values[8]].map(String).join(",");
    expect((await find(`${column}=in.(${encodeURIComponent(some)})`)).toSorted()).toEqual([
      1, 3, 8,
    ]);
  }
});

const PREFER = { headers: { prefer: "count=exact" } };
testOne("every page of a list by decimals counts all matching rows", async () => {
  for (const way of ["", ".desc"]) {
    const query = `${ITEMS}?amount=gt.1&amount=lte.1${"0".repeat(308)}&order=amount${way}&limit=2`;
    const first = await service.call(app, query, PREFER);
    expect(first.json).toMatchObject({ count: 3 });
    const { next } = first.json as { next: string };
    expect((await service.call(app, `${query}&after=${next}`, PREFER)).json).toMatchObject({
      count: 3,
    });
  }
});

testOne("a lookup by a unique number or decimal is one search", async () => {
  expect(await find("code=eq.3")).toEqual([8]);
  expect(await find("total=eq.0.1")).toEqual([8]);
  expect(await find("total=eq.7")).toEqual([]);
  expect((await create({ place: 99, code: 3, name: "n" })).json).toMatchObject({
    error: "unique_violation",
    details: [{ path: "/code" }],
  });
  expect((await create({ place: 99, total: "0.1000", name: "n" })).json).toMatchObject({
    error: "unique_violation",
    details: [{ path: "/total" }],
  });
});

testOne("indexes of several columns are searched", async () => {
  expect(await find("name=eq.n1&order=price&limit=2")).toEqual([
    1,
    4,
    7,
    10,
    ...(await find("name=eq.n1&price=is.null")),
  ]);
  expect(await find("name=eq.n1&price=gt.0&order=price.desc&limit=1")).toEqual([10, 7, 4]);
  expect(await find("price=eq.3&order=name")).toEqual([8]);
});

testOne("more decimals that share a double than visits are each listed once", async () => {
  const rows = Array.from({ length: 8 }, (_, place) => ({
    place: 100 + place,
    amount: `55.${"0".repeat(20)}${place}1`,
    name: "many",
  }));
  for (const row of rows) expect((await create(row)).status).toBe(201);
  expect(await find("amount=gte.55&amount=lt.56&order=amount&limit=3")).toEqual(
    rows.map(({ place }) => place),
  );
});
