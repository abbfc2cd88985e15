/** The limits that comments of the SDK name: users read them in their editor, and the SDK cannot import them. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  DRY_IDS,
  MAX_BATCH,
  MAX_BODY_BYTES,
  MAX_COUNTED,
  MAX_PEOPLE,
  MAX_ROWS,
  MAX_VISITS,
} from "../../src/std/limits.ts";

const FOLDER = join(import.meta.dirname, "../../src/sdk");
const LIMITS: Readonly<Record<string, readonly number[]>> = {
  people: [MAX_PEOPLE],
  rows: [MAX_ROWS, MAX_BATCH, MAX_VISITS, MAX_COUNTED, DRY_IDS],
  KB: [MAX_BODY_BYTES / 1024],
  "which is the default": [MAX_ROWS],
};

test("comments of the SDK name the limits of the service", () => {
  const named = readdirSync(FOLDER)
    .filter((name) => name.endsWith(".ts") && !name.endsWith("_test.ts"))
    .flatMap((name) => [
      ...readFileSync(join(FOLDER, name), "utf8").matchAll(/^ *(?:\/\*\*|\*) .*$/gm),
    ])
    .flatMap(([comment]) => [
      ...comment.matchAll(/(\d[\d,]*),? (people|rows|KB|which is the default)\b/g),
    ]);
  expect(named.length).toBeGreaterThanOrEqual(6);
  for (const [text, number = "", what = ""] of named)
    expect(LIMITS[what], text).toContain(Number(number.replaceAll(",", "")));
});
