import { describe, expect, test } from "bun:test";
import { findExamples, findSources, runExample } from "./examples.ts";

/** Those of clients need a service: `test/sdk/examples_test.ts`. */
const examples = (await findExamples("src")).filter(({ file }) => !file.startsWith("src/sdk/"));

/** Only constants: an example would repeat their values. */
const CONSTANTS = "src/std/limits.ts";

describe("examples run:", () => {
  test.each(examples.map((example) => ({ ...example, at: `${example.file}:${example.line}` })))(
    "$at",
    async (example) => runExample(example),
  );
});

test("every file of functions in src/std has an example", async () => {
  const documented = new Set(examples.map(({ file }) => file));
  const files = (await findSources("src/std")).filter((file) => file !== CONSTANTS);
  expect(files.length).toBeGreaterThan(20);
  expect(files.filter((file) => !documented.has(file))).toEqual([]);
});

test("runExample() rejects an example with a wrong result", async () => {
  const code = 'expect(showCount(1, "row")).toBe("2 rows");\n';
  await expect(runExample({ file: "src/std/count.ts", line: 1, code })).rejects.toThrow("1 row");
});

test("runExample() rejects an import that the package does not export", async () => {
  const code = 'import "rowhouse/none";\nimport { x } from "rowhouse/none";\n';
  await expect(runExample({ file: "src/std/count.ts", line: 1, code })).rejects.toThrow(
    "no such export",
  );
});
