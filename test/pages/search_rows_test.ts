/** The requests that the Console's search sends to the list endpoint, and their results. */
import { beforeEach, describe, expect, test } from "bun:test";
import { listSortedColumns } from "../../src/data/mod.ts";
import { findRows, type Search, type SearchReport } from "../../src/pages/scripts/search/rows.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { definitionOf, openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({
  rows: t
    .model({
      title: t.string().required(),
      position: t.number(),
      made_at: t.timestamp().required(),
      due_at: t.timestamp(),
    })
    .index("made_at", "id")
    .index("due_at", "id")
    .index("title", "id"),
  texts: { indexed: t.string().index(), plain: t.string(), amount: t.decimal() },
});
const ROWS = Array.from({ length: 45 }, (_, index) => ({
  title: `Row ${index % 7}`,
  position: index % 5 === 0 ? null : (index * 17) % 45,
  made_at: `2026-01-01T00:${String((index * 13) % 45).padStart(2, "0")}:00Z`,
  due_at: null,
}));

/** Texts of 63 bytes and around, many with the same first 63 bytes, also where a character does not fit. */
const LONG_TEXTS = ["a", "é", "字", "😀"].flatMap((last) =>
  [59, 60, 61, 62, 63].flatMap((length) => [
    `${"s".repeat(length)}${last}`,
    `${"s".repeat(length)}${last}${last}-end`,
  ]),
);
const TEXTS = LONG_TEXTS.slice(0, 38).map((text, index) => ({
  indexed: text,
  plain: text,
  amount: `0.${"0".repeat(190 + (index % 20))}1`,
}));

/** The query and the status of each request. */
const sent: { query: string; status: number }[] = [];
const service = await share(openTestService({ service: { previews: ["filters"] } }));
const app = await service.makeApp(schema);
await service.call(app, "/v1/data/db/rows", { method: "POST", json: ROWS });
const texts = [...TEXTS, { indexed: "" }, {}];
await service.call(app, "/v1/data/db/texts", { method: "POST", json: texts });
const proxy = await share(
  Bun.serve({
    port: 0,
    // As the Console does, adds the credential, and sends the conditions as the query.
    fetch: async ({ url, headers }) => {
      const { pathname, search } = new URL(url);
      const query = headers.get("rows-query") ?? search.slice(1);
      const { status, text } = await service.call(app, `/v1/data/db${pathname}?${query}`);
      sent.push({ query, status });
      return new Response(text, { status, headers: { "content-type": "application/json" } });
    },
  }),
);
beforeEach(() => {
  sent.length = 0;
});

const NONE = { name: "", columns: [], indexes: [], uniques: [] };
const definitionFor = (table: string) =>
  definitionOf(schema).tables.find(({ name }) => name === table) ?? NONE;
const sorted = listSortedColumns(definitionFor("rows"));

test("an index sorts by ids and by columns that PostgreSQL can search", () => {
  expect(sorted).toEqual(["id", "title", "made_at", "due_at"]);
});

async function find(search: Partial<Search>, table = "rows") {
  const { columns } = definitionFor(table);
  const indexed = listSortedColumns(definitionFor(table));
  const reports: SearchReport[] = [];
  await findRows(
    {
      url: `http://127.0.0.1:${proxy.port}/${table}`,
      columns: columns.map((column) => ({ ...column, isSorted: indexed.includes(column.name) })),
      state: { text: "", conditions: [], order: undefined },
      hasFilters: true,
      ...search,
    },
    (report) => reports.push(report),
  );
  return reports.at(-1);
}

describe.each([
  { text: "", column: "position", isDescending: true },
  { text: "", column: "position", isDescending: false },
  { text: "Row 3", column: "title", isDescending: false },
  { text: "", column: "made_at", isDescending: true },
  { text: "", column: "due_at", isDescending: false },
])("a search for '$text' by $column, descending: $isDescending,", ({ text, ...order }) => {
  const state = { text, conditions: [], order };

  test("sends no request that the endpoint rejects, and finds the same rows as a script", async () => {
    const found = await find({ state });
    expect(sent.filter(({ status }) => status !== 200)).toEqual([]);
    const read = await find({ state, hasFilters: false });
    expect(found).toMatchObject({ kind: "found", isCut: false });
    expect(found).toHaveProperty("ids", read?.kind === "found" ? read.ids : undefined);
  });

  test("reads only the sorted column of a large table, and whole rows for a text", async () => {
    await find({ state });
    expect(sent.length).toBeGreaterThan(0);
    const isSorted = sorted.includes(order.column);
    for (const { query } of sent) {
      if (text !== "") {
        expect(query).toMatch(/^limit=1000&offset=\d+$/);
        continue;
      }
      expect(query.includes("order=")).toBe(isSorted);
      expect(query).toContain(isSorted ? "select=id&" : `select=id%2C${order.column}&`);
    }
  });
});

test("the endpoint sorts a small table", async () => {
  const state = { text: "", conditions: [], order: { column: "position", isDescending: false } };
  await find({ state, isSmall: true });
  expect(sent[0]?.query).toStartWith("order=position.asc&select=id&");
});

describe.each(["indexed", "plain", "amount"])("an order by long values of %s", (column) => {
  test.each([false, true])("is that of the endpoint, descending: %p", async (isDescending) => {
    const state = { text: "", conditions: [], order: { column, isDescending } };
    const byEndpoint = await find({ state, isSmall: true }, "texts");
    expect(sent.every(({ query }) => query.startsWith(`order=${column}.`))).toBe(true);
    expect(byEndpoint).toMatchObject({ kind: "found", isCut: false });
    const ids = idsOf(byEndpoint);
    expect(ids).toHaveLength(TEXTS.length + 2);
    for (const search of [{ hasFilters: false }, { isSmall: false }])
      expect(await find({ state, ...search }, "texts")).toHaveProperty("ids", ids);
  });

  if (column !== "amount")
    test("finds each text, and those that begin with it, like the endpoint", async () => {
      for (const value of LONG_TEXTS.slice(0, 12))
        for (const operator of ["eq", "neq", "starts", "gte", "lt"] as const) {
          const state = { text: "", conditions: [{ column, operator, value }], order: undefined };
          const byEndpoint = await find({ state }, "texts");
          expect(byEndpoint).toMatchObject({ kind: "found", isCut: false });
          const here = await find({ state, hasFilters: false }, "texts");
          expect(idsOf(here).toSorted()).toEqual(idsOf(byEndpoint).toSorted());
        }
    });
});

function idsOf(report: SearchReport | undefined): readonly string[] {
  return report?.kind === "found" ? report.ids : [];
}
