/** The tests of the data endpoints with every preview on. Behavior outside the previews must be the same. */
import { expect, test } from "bun:test";
import { PREVIEWS } from "../../src/preview.ts";
import { ROOT } from "../support/command.ts";
import { limitTest } from "../support/tier.ts";

test("the data suite passes with every preview on", async () => {
  const child = Bun.spawn(
    [process.execPath, "test", "--timeout", String(limitTest()), "test/data"],
    {
      cwd: ROOT,
      env: { ...process.env, TEST_PREVIEW: PREVIEWS.join() },
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  const output = await new Response(child.stderr).text();
  expect(output.split("\n").filter((line) => line.startsWith("(fail)"))).toEqual([]);
  expect(await child.exited).toBe(0);
}, 1_800_000);
