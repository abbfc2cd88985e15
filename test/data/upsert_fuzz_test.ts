/** Random upserts of people and of the app's server, one row or a list, with the model: several unique sets, nulls and repeats. */
import { expect, test } from "bun:test";
import { openModelService, run } from "../support/oracle/run.ts";
import { share } from "../support/share.ts";
import { countRuns } from "../support/tier.ts";

const service = await share(openModelService());

// Without rules, only the app's server sends requests.
test.each([0, 2])(
  "stores what the model stores, row by row, with %d sets of rules",
  async (rules) => {
    const sizes = { seed: 51 + rules, schemas: countRuns(20), rules, requests: 60 };
    const { rejected, requests } = await run(service, { ...sizes, only: ["upsert"] });
    expect(rejected).toEqual([]);
    expect(requests).toBe(sizes.schemas * 60 * Math.max(rules, 1));
  },
  600_000,
);
