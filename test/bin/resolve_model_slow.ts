/** The random histories of resolve_model_test.ts, in larger numbers. */
import { expect, test } from "bun:test";
import { drawRuns } from "../support/tier.ts";
import { checkHistories } from "./resolve_model.ts";

test("many random histories are joined without a change to their records", async () => {
  const runs = drawRuns(40);
  const counts = await checkHistories(runs);
  console.log(`${runs.numRuns} histories: ${JSON.stringify(counts)}`);
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(runs.numRuns / 8);
}, 3_600_000);
