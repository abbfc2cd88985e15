/** The random queries of `query_fuzz_test.ts`, in numbers that find rare errors. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { FUZZ_SEED, fuzzQueries } from "../support/query_fuzz.ts";
import { openTestService, type TestService } from "../support/service.ts";
import { countRuns } from "../support/tier.ts";

let service: TestService;
beforeAll(async () => {
  service = await openTestService({ service: { previews: ["filters"] } });
});
afterAll(() => service.close());

test("thousands of random queries return the same rows as a client's own filter", async () => {
  const options = { seed: FUZZ_SEED, schemas: countRuns(110), queries: 120, rows: 100 };
  const outcome = await fuzzQueries(service, options);
  expect(outcome.queries).toBeGreaterThan(countRuns(10_000));
}, 1_800_000);
