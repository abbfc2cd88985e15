/** Random pushes to three environments, joined again, with kills in the middle. The slow tier runs more of them. */
import { expect, test } from "bun:test";
import { drawRuns } from "../support/tier.ts";
import { checkHistories } from "./resolve_model.ts";

test("diverged histories are joined without a change to their records", async () => {
  const { diverged } = await checkHistories(drawRuns(20));
  expect(diverged).toBeGreaterThanOrEqual(2);
}, 600_000);
