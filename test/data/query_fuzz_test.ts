/** Compares the rows and the order of random queries with an oracle, page by page. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { fuzzQueries } from "../support/query_fuzz.ts";
import { definitionOf, openTestService, type TestService } from "../support/service.ts";

/** An index of the values of an enum whose next column is optional. */
const [table] = definitionOf(
  defineSchema({
    fuzz_enum: t
      .model({
        status: t.enum(["low", "mid", "a'b", "High", "%"]),
        order: t.integer(),
        user: t.uuid(),
      })
      .index("status", "order", "id"),
  }),
).tables;

describe.each([
  // The same pages by indexes and without.
  { name: "with a limit of 10,000 visits", limits: {}, seed: 1, least: 35, isCompared: true },
  {
    name: "with a limit of 150 visits",
    limits: { maxVisits: 150 },
    seed: 2,
    least: 20,
    isCompared: false,
  },
  {
    name: "that compare little text",
    limits: { maxWork: 5000 },
    seed: 3,
    least: 20,
    isCompared: false,
  },
])("queries $name", ({ limits, seed, least, isCompared }) => {
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService({ service: { previews: ["filters"], ...limits } });
  });
  afterAll(() => service.close());

  test("return the same rows as a client's own filter", async () => {
    const options = { seed, schemas: 2, queries: 25, rows: 200, isCompared };
    const { queries, counted, compared, inserted } = await fuzzQueries(service, options);
    expect(queries).toBeGreaterThan(least);
    expect([counted > 0, inserted > 0, compared > 0]).toEqual([true, true, isCompared]);
  });

  test("of an enum return the same rows as a client's own filter", async () => {
    const options = { seed, schemas: 1, queries: 50, rows: 100, isCompared };
    const { queries } = await fuzzQueries(service, { ...options, ...(table && { table }) });
    expect(queries).toBeGreaterThan(least);
  });
});
