/** Random pushes to three environments, joined again, with kills in the middle. */
import { expect, test } from "bun:test";
import { drawRuns } from "../support/tier.ts";
import { checkHistories } from "./resolve_model.ts";

test("diverged histories are joined without a change to their records", async () => {
  const runs = drawRuns(40);
  const counts = await checkHistories(runs);
  console.log(`${runs.numRuns} histories: ${JSON.stringify(counts)}`);
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(runs.numRuns / 8);
}, 3_600_000);
