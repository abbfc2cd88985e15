/** Random sequences on the patched driver against a server that responds by script. The slow tier runs more of them. */
import { expect, test } from "bun:test";
import { drawRuns } from "../support/tier.ts";
import { checkSequences } from "./driver_model.ts";

test("random sequences of statements get their own results", async () => {
  const runs = drawRuns(1000);
  const counts = await checkSequences(runs);
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(runs.numRuns / 2);
}, 600_000);
