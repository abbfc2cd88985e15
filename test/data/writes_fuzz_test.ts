/** Random upserts and writes by conditions, of people and of the app's server, with the model: several unique sets, nulls, cascades. */
import { expect, test } from "bun:test";
import { openModelService, run } from "../support/oracle/run.ts";
import { share } from "../support/share.ts";
import { countRuns } from "../support/tier.ts";

const service = await share(openModelService());
const only = ["upsert", "updateWhere", "deleteWhere"];

// Without rules, only the app's server sends requests.
test.each([0, 2])(
  "store what the model stores, row by row, with %d sets of rules",
  async (rules) => {
    const sizes = { seed: 51 + rules, schemas: countRuns(20), rules, requests: 60 };
    const { rejected, requests } = await run(service, { ...sizes, only });
    expect(rejected).toEqual([]);
    expect(requests).toBe(sizes.schemas * 60 * Math.max(rules, 1));
  },
  600_000,
);
