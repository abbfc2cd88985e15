/** Random sequences on the patched driver against a server that responds by script. The slow tier runs the full number. */
import { expect, test } from "bun:test";
import { checkSequences } from "./driver_model.ts";

const SEQUENCES = 100;

test(`${SEQUENCES} random sequences of statements get their own results`, async () => {
  const counts = await checkSequences(SEQUENCES);
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(SEQUENCES / 2);
}, 60_000);
