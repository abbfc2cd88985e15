/** Compares the rows and the order of random queries with an oracle, page by page. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { fuzzQueries } from "../support/query_fuzz.ts";
import { openTestService, type TestService } from "../support/service.ts";

describe.each([
  { name: "with a limit of 10,000 visits", limits: {}, seed: 1, least: 35 },
  { name: "with a limit of 150 visits", limits: { maxVisits: 150 }, seed: 2, least: 20 },
  { name: "that compare little text", limits: { maxWork: 5000 }, seed: 3, least: 20 },
])("queries $name", ({ limits, seed, least }) => {
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService({ service: { previews: ["filters"], ...limits } });
  });
  afterAll(() => service.close());

  test("return the same rows as a client's own filter", async () => {
    const { queries } = await fuzzQueries(service, { seed, schemas: 2, queries: 25, rows: 200 });
    expect(queries).toBeGreaterThan(least);
  });
});
