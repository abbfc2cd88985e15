/** A lookup by unique values: one request, which never returns an empty page with a next. */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const LABELS = ["a", "b", "c"];
const schema = defineSchema({
  places: { name: t.string() },
  things: t
    .model({
      text: t.string().unique(),
      url: t.string().unique(),
      whole: t.integer().unique(),
      uid: t.uuid().unique(),
      place: t.ref("places").unique(),
      at: t.timestamp().unique(),
      day: t.date().unique(),
      flag: t.boolean().unique(),
      label: t.enum(["a", "b", "c"]).unique(),
      order: t.integer().unique(),
      price: t.number().unique(),
      amount: t.decimal().unique(),
      team: t.string().required(),
      place_no: t.integer().required(),
    })
    .unique("team", "place_no"),
});
const THINGS = "/v1/data/db/things";
const ROWS = 60;
const START = "x".repeat(70);
const uid = (n: number) => `01900000-0000-7000-8000-${String(n).padStart(12, "0")}`;
const day = (n: number) => new Date(Date.UTC(2026, 0, n + 1)).toISOString();
let places: string[] = [];
/** Only the last rows have the values of which there are few. */
const row = (n: number) => ({
  ...{ text: `t${n}`, url: START + n, whole: n, uid: uid(n), place: places[n] ?? uid(n) },
  ...{ at: day(n), day: day(n).slice(0, 10), price: n + 0.5, amount: `${n}.25`, team: "one" },
  ...{ flag: n === ROWS - 1 ? true : null, label: LABELS[n - ROWS + 2] ?? null, place_no: n },
  order: n,
});

const service = await share(openTestService({ service: { previews: ["filters"] } }));
const app = await service.makeApp(schema);
const create = async (path: string, json: object) => {
  const { status, json: created } = await service.call(app, path, { method: "POST", json });
  expect(status).toBe(201);
  return (created as { rows: { id: string }[] }).rows.map(({ id }) => id);
};
const names = Array.from({ length: ROWS }, (_, n) => ({ name: `${n}` }));
places = await create("/v1/data/db/places", names);
for (let start = 0; start < ROWS; start += 20)
  await create(
    THINGS,
    Array.from({ length: 20 }, (_, n) => row(start + n)),
  );

const CASES: { columns: string[] }[] = [
  { columns: ["text"] },
  { columns: ["url"] },
  { columns: ["whole"] },
  { columns: ["uid"] },
  { columns: ["place"] },
  { columns: ["at"] },
  { columns: ["day"] },
  { columns: ["flag"] },
  { columns: ["label"] },
  { columns: ["price"] },
  { columns: ["amount"] },
  { columns: ["team", "place_no"] },
];

test.each(CASES)("by $columns finds the row, or none", async ({ columns }) => {
  const find = async (values: object) => {
    const query = columns.map((name) => [name, `eq.${Reflect.get(values, name)}`]);
    const { status, json } = await service.call(app, `${THINGS}?${new URLSearchParams(query)}`);
    const { rows = [], next } = json as { rows?: { place_no: number }[]; next?: string | null };
    return { status, rows: rows.map(({ place_no }) => place_no), next };
  };
  expect(await find(row(ROWS - 1))).toEqual({ status: 200, rows: [ROWS - 1], next: null });
  const other = { ...row(ROWS + 7), flag: false, label: "c" };
  expect(await find(other)).toEqual({ status: 200, rows: [], next: null });
});

test.each([
  { name: "for a column with a parameter's name", query: "and=(order.eq.59)" },
  { name: "with two conditions", query: "and=(team.eq.one,place_no.eq.59)" },
  { name: "in another group", query: "and=(and(whole.eq.59),place_no.eq.59)" },
  { name: "with one condition", query: "or=(whole.eq.59)" },
  { name: "of what none is", query: "not.or=(whole.not.eq.59,text.is.null)" },
])("a group $name is served by an index", async ({ query }) => {
  const { json } = await service.call(app, `${THINGS}?${query}`);
  expect(json).toMatchObject({ rows: [{ place_no: 59 }], next: null });
});
