/** Random sequences like driver_model_test.ts, in full numbers. */
import { expect, test } from "bun:test";
import { checkSequences } from "./driver_model.ts";

const SEQUENCES = 5000;

test(`${SEQUENCES} random sequences of statements get their own results`, async () => {
  const counts = await checkSequences(SEQUENCES);
  console.log(
    `${SEQUENCES} sequences: ${counts.rows} results, ${counts.error} errors, ${counts.lost} lost`,
  );
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(SEQUENCES / 2);
}, 600_000);
