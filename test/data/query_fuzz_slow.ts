/** The same random queries as `query_fuzz_test.ts`, in numbers that find what is rare. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { fuzzQueries } from "../support/query_fuzz.ts";
import { openTestService, type TestService } from "../support/service.ts";

const SEED = Number(process.env["FUZZ_SEED"] ?? 1000);

describe.each([
  { name: "with a limit of 10,000 visits", maxVisits: undefined, seed: SEED, schemas: 110 },
  { name: "with a limit of 150 visits", maxVisits: 150, seed: SEED + 1, schemas: 190 },
])("queries $name", ({ maxVisits, seed, schemas }) => {
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService({ service: { previews: ["filters"], maxVisits } });
  });
  afterAll(() => service.close());

  test("return the same rows as a client's own filter", async () => {
    const outcome = await fuzzQueries(service, { seed, schemas, queries: 120, rows: 200 });
    expect(outcome.queries).toBeGreaterThan(10_000);
  }, 1_800_000);
});
