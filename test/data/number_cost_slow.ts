/** The buffers that queries by numbers and decimals read, next to apps with the same values, on PostgreSQL 18 and 15. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { analyze, freezeStatistics, MEASURED_SERVERS, measureList } from "../support/buffers.ts";
import { openOnVersion } from "../support/postgres_versions.ts";
import type { TestApp, TestService } from "../support/service.ts";

const schema = defineSchema({
  items: t
    .model({
      name: t.string().required(),
      price: t.number().index(),
      amount: t.decimal().index(),
      code: t.number().unique(),
      total: t.decimal().unique(),
    })
    .index("name", "price")
    .index("name", "amount"),
});
const ROWS = 40_000;
const PART = 10_000;
const DEEP = ROWS / 2;
/** Max buffers of a search that finds up to a few rows. */
const LEAN = 120;
/** Max buffers of a page from an index: a few for each row, the key and the tag. */
const SERVED = 500;

const id = (n: number) => `01900000-0000-7000-8000-${String(n).padStart(12, "0")}`;
const cursor = (order: string, value: string | null) =>
  Buffer.from(JSON.stringify([order, value, id(DEEP)])).toString("base64url");

const CASES = [
  { query: `code=eq.${DEEP}`, maxBuffers: LEAN },
  { query: "code=eq.0.5", maxBuffers: LEAN },
  { query: `total=eq.${DEEP}.50`, maxBuffers: LEAN },
  { query: "total=eq.0.5000000000000000000001", maxBuffers: LEAN },
  { query: `total=eq.1${"0".repeat(390)}`, maxBuffers: LEAN },
  { query: `code=in.(0.5,5,${DEEP})`, maxBuffers: LEAN },
  { query: `total=in.(0.7,5.5,${DEEP}.5)`, maxBuffers: LEAN },
  ...[
    { column: "price", value: `${DEEP}`, last: `${DEEP}` },
    { column: "amount", value: `${DEEP}.50`, last: `${DEEP}.5` },
  ].flatMap(({ column, value, last }) => [
    { query: `${column}=eq.${value}`, maxBuffers: LEAN },
    { query: `${column}=gte.${DEEP}&${column}=lt.${DEEP + 5}&order=${column}`, maxBuffers: LEAN },
    ...["asc", "desc"].flatMap((way) => [
      { query: `order=${column}.${way}&limit=20`, maxBuffers: SERVED },
      { query: `${column}=gt.${value}&order=${column}.${way}&limit=20`, maxBuffers: SERVED },
      { query: `${column}=lte.${value}&order=${column}.${way}&limit=20`, maxBuffers: SERVED },
      { query: `${column}=is.null&order=id.${way}&limit=20`, maxBuffers: SERVED },
      {
        query: `name=eq.n5&${column}=not.is.null&order=${column}.${way}&limit=20`,
        maxBuffers: SERVED,
      },
      ...[last, null].map((from) => ({
        query: `order=${column}.${way}&limit=20&after=${cursor(`${column}.${way},id.${way}`, from)}`,
        maxBuffers: SERVED,
      })),
    ]),
  ]),
];

describe.each(MEASURED_SERVERS)("on $name with $statistics statistics", ({ isDebian, isStale }) => {
  let service: TestService;
  let app: TestApp;
  beforeAll(async () => {
    service = await openOnVersion(isDebian, { service: { previews: ["filters"] } });
    app = await service.makeApp(schema);
    if (isStale) {
      await fill(service, app.id, 3, 1_000_000);
      await freezeStatistics(service, "items");
    }
    for (const other of [await service.makeApp(schema), await service.makeApp(schema)])
      await fill(service, other.id, ROWS / 4);
    await fill(service, app.id, ROWS);
    if (!isStale) await analyze(service, "items");
  }, 600_000);
  afterAll(() => service.close());

  test.each(CASES)("$query reads max $maxBuffers buffers", async ({ query, maxBuffers }) => {
    const asked = { schema, table: "items", query };
    expect(await measureList(service, app, asked)).toBeLessThan(maxBuffers);
  });
});

/** Inserts rows of an app. Every fifth row has no price and no amount. */
async function fill(service: TestService, appId: string, rows: number, from = 0): Promise<void> {
  // In parts, because a statement has a time limit.
  for (let start = from; start < from + rows; start += PART)
    await service.query(
      `insert into data.items (app_id, id, name, price, amount, code, total)
      select $1::uuid, ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'n' || n % 50,
        case when n % 5 > 0 or n = ${DEEP} then n end, case when n % 5 > 0 or n = ${DEEP} then n + 0.50 end, n, n + 0.50
      from generate_series($3::int4 + 1, $3::int4 + $2::int4) n`,
      [appId, Math.min(PART, from + rows - start), start],
    );
}
