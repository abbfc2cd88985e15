/** Random sequences like driver_model_test.ts, in larger numbers. */
import { expect, test } from "bun:test";
import { drawRuns } from "../support/tier.ts";
import { checkSequences } from "./driver_model.ts";

test("many random sequences of statements get their own results", async () => {
  const runs = drawRuns(5000);
  const counts = await checkSequences(runs);
  console.log(
    `${runs.numRuns} sequences: ${counts.rows} results, ${counts.error} errors, ${counts.lost} lost`,
  );
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(runs.numRuns / 2);
}, 600_000);
