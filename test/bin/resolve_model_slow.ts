/** The full count of the random histories in resolve_model_test.ts. */
import { expect, test } from "bun:test";
import { checkHistories } from "./resolve_model.ts";

const RUNS = 40;

test(`${RUNS} random histories are joined without a change to their records`, async () => {
  const counts = await checkHistories(RUNS);
  console.log(`${RUNS} histories: ${JSON.stringify(counts)}`);
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(RUNS / 8);
}, 3_600_000);
