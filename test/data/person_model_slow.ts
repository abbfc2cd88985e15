/** The comparison of people's requests with the naive evaluator, at length: 20,000 requests in a full run. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openModelService, run } from "../support/person_model/run.ts";
import { FUZZ_SEED } from "../support/query_fuzz.ts";
import type { TestService } from "../support/service.ts";
import { countRuns } from "../support/tier.ts";

const REQUESTS = 20_000;
const PER_SCHEMA = 5 * 100;

let service: TestService;
beforeAll(async () => {
  service = await openModelService();
});
afterAll(() => service.close());

test("people get exactly what the rules give them", async () => {
  const schemas = countRuns(REQUESTS / PER_SCHEMA);
  const outcome = await run(service, { seed: FUZZ_SEED, schemas, rules: 5, requests: 100 });
  expect(outcome.rejected).toEqual([]);
  expect(outcome.requests).toBe(schemas * PER_SCHEMA);
  expect(outcome.unplayed).toEqual([]);
}, 3_600_000);
