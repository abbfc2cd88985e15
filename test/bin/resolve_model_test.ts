/** Random pushes to three environments, joined again, with kills in the middle. The full count runs in the slow tier. */
import { expect, test } from "bun:test";
import { checkHistories } from "./resolve_model.ts";

test("diverged histories are joined without a change to their records", async () => {
  const { diverged } = await checkHistories(2);
  expect(diverged).toBeGreaterThanOrEqual(2);
}, 120_000);
