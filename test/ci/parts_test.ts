import { expect, test } from "bun:test";
import { EXTENTS, listFiles } from "../support/tier.ts";
import { PARTS } from "./parts.ts";

const LIMIT = 85;

test("the reduced parts fit into half of the time, and no part is longer than its full form", () => {
  const minutes = PARTS.map(({ forms }) => forms.reduced.minutes);
  expect(minutes.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(LIMIT / 2);
  for (const { name, forms } of PARTS)
    expect({ name, isShorter: forms.reduced.minutes <= forms.full.minutes }).toEqual({
      name,
      isShorter: true,
    });
});

test("each path of a form names tests", async () => {
  const paths = PARTS.flatMap(({ forms }) => EXTENTS.flatMap((extent) => forms[extent].command));
  const named = new Set(
    paths.filter((path) => /^(\.\/)?test\/.*_(test|slow|walk)\.ts$/.test(path)),
  );
  expect(named.size).toBeGreaterThan(20);
  for (const path of named) {
    const found = path.includes("walk") ? [path] : await listFiles("all", [path.replace("./", "")]);
    expect({ path, isFound: found.length > 0 }).toEqual({ path, isFound: true });
  }
});
