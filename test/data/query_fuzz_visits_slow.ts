/**
 * Random queries with a limit of 150 visits: the server rejects many of them, and others reach the limit. A separate
 * file runs in parallel.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { FUZZ_SEED, fuzzQueries } from "../support/query_fuzz.ts";
import { openTestService, type TestService } from "../support/service.ts";
import { countRuns } from "../support/tier.ts";

let service: TestService;
beforeAll(async () => {
  service = await openTestService({ service: { previews: ["filters"], maxVisits: 150 } });
});
afterAll(() => service.close());

test("thousands of random queries with a limit of 150 visits return the same rows as a client's own filter", async () => {
  const options = { seed: FUZZ_SEED + 1, schemas: countRuns(130), queries: 120, rows: 200 };
  const outcome = await fuzzQueries(service, options);
  expect(outcome.queries).toBeGreaterThan(countRuns(7_000));
}, 1_800_000);
