/**
 * The tests of the data endpoints with every preview on. Behavior outside the previews must be the same. A reduced run has only the files
 * that expect something else with previews; `test/replay` compares all routes with and without previews.
 */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { PREVIEWS } from "../../src/preview.ts";
import { ROOT } from "../support/command.ts";
import { isFull, limitTest, listFiles } from "../support/tier.ts";

const DEPENDS = /\b(previewsOfRun|nextOf)\b/;

async function listDependent(): Promise<string[]> {
  const files = await listFiles("check", ["test/data/"]);
  const texts = await Promise.all(files.map((file) => Bun.file(join(ROOT, file)).text()));
  return files.filter((_, index) => {
    const text = texts[index] ?? "";
    return isFull() || DEPENDS.test(text);
  });
}

test("the data suite passes with every preview on", async () => {
  const files = await listDependent();
  expect(files.length).toBeGreaterThan(isFull() ? 15 : 3);
  const child = Bun.spawn([process.execPath, "test", "--timeout", String(limitTest()), ...files], {
    cwd: ROOT,
    env: { ...process.env, TEST_PREVIEW: PREVIEWS.join() },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const output = await new Response(child.stderr).text();
  expect(output.split("\n").filter((line) => line.startsWith("(fail)"))).toEqual([]);
  expect(await child.exited).toBe(0);
}, 1_800_000);
