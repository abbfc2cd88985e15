/** The comparison of people's requests with the naive evaluator, at length: 20,000 requests in a full run. */
import { expect, test } from "bun:test";
import type { Difference } from "../support/oracle/play.ts";
import { openModelService, run } from "../support/oracle/run.ts";
import { FUZZ_SEED } from "../support/random.ts";
import { share } from "../support/share.ts";
import { countRuns } from "../support/tier.ts";

const REQUESTS = 20_000;
const PER_SCHEMA = 5 * 100;
const MAX_DIFFERENCES = 20;

const service = await share(openModelService());

test("people get exactly what the rules give them", async () => {
  const schemas = countRuns(REQUESTS / PER_SCHEMA);
  // A run goes on after a difference, so that it reports all of them.
  const differences: string[] = [];
  const onDifference = (difference: Difference) => {
    differences.push(difference.message);
    if (differences.length === MAX_DIFFERENCES) throw difference;
  };
  const sizes = { schemas, rules: 5, requests: 100 };
  const outcome = await run(service, { seed: FUZZ_SEED, ...sizes, onDifference });
  expect(differences).toEqual([]);
  expect(outcome.rejected).toEqual([]);
  expect(outcome.requests).toBe(schemas * PER_SCHEMA);
  expect(outcome.unplayed).toEqual([]);
}, 3_600_000);
