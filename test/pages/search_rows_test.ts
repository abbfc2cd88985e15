/** The requests that the Console's search sends to the list endpoint, and their results. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { listSortedColumns } from "../../src/data/mod.ts";
import { findRows, type Search, type SearchReport } from "../../src/pages/scripts/search/rows.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { definitionOf, openTestService, type TestService } from "../support/service.ts";

const VISITS = 40;
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
});
const ROWS = Array.from({ length: VISITS + 5 }, (_, index) => ({
  title: `Row ${index % 7}`,
  position: index % 5 === 0 ? null : (index * 17) % 45,
  made_at: `2026-01-01T00:${String((index * 13) % 45).padStart(2, "0")}:00Z`,
  due_at: null,
}));

let service: TestService;
let proxy: ReturnType<typeof Bun.serve>;
/** The query and the status of each request. */
const sent: { query: string; status: number }[] = [];
beforeAll(async () => {
  service = await openTestService({ service: { previews: ["filters"], maxVisits: VISITS } });
  const app = await service.makeApp(schema);
  await service.call(app, "/v1/data/db/rows", { method: "POST", json: ROWS });
  proxy = Bun.serve({
    port: 0,
    // As the Console does, adds the credential, and sends the conditions as the query.
    fetch: async ({ url, headers }) => {
      const query = headers.get("rows-query") ?? new URL(url).search.slice(1);
      const { status, text } = await service.call(app, `/v1/data/db/rows?${query}`);
      sent.push({ query, status });
      return new Response(text, { status, headers: { "content-type": "application/json" } });
    },
  });
});
afterAll(async () => {
  await proxy.stop(true);
  await service.close();
});
beforeEach(() => {
  sent.length = 0;
});

const [definition] = definitionOf(schema).tables;
const sorted = listSortedColumns(definition ?? { name: "", columns: [], indexes: [], uniques: [] });

test("an index sorts by ids and by columns that PostgreSQL can search", () => {
  expect(sorted).toEqual(["id", "title", "made_at", "due_at"]);
});

async function find(search: Partial<Search>) {
  const columns = definition?.columns ?? [];
  const reports: SearchReport[] = [];
  await findRows(
    {
      url: `http://127.0.0.1:${proxy.port}/`,
      columns: columns.map((column) => ({ ...column, isSorted: sorted.includes(column.name) })),
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
