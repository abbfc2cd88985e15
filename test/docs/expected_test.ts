import { describe, expect, test } from "bun:test";
import { readBlocks, replaceAllOf } from "./blocks.ts";
import { findDifference } from "./expected.ts";

const ID = "01a1fcb7-79f1-7334-aac2-0153dae4732a";
const OTHER_ID = "01a1ff1b-42a9-75a5-a149-d24f837a4e2d";

describe("findDifference()", () => {
  test.each([
    { name: "the same lines", page: "a\nb", output: "a\nb\n" },
    { name: "empty lines", page: "a\n\nb", output: "a\nb\n" },
    { name: "another id", page: `user ${ID}`, output: `user ${OTHER_ID}` },
    { name: "another time", page: "2026-01-02T03:04:05Z", output: "2027-11-12T13:14:15.123456Z" },
    { name: "a shortened key", page: "rh_m0ngxy4ek576z200.Fn…", output: "rh_abcdefgh01234567.Xyz" },
    { name: "a different end of a line", page: "Wrote …", output: "Wrote schema/mod.ts" },
    { name: "omitted lines", page: "a\n…\nd", output: "a\nb\nc\nd" },
    { name: "a mark for omitted lines that omits none", page: "…\na", output: "a" },
    { name: "JSON with other white space", page: '{ "a": [1] }', output: '{"a":[1]}' },
    { name: "log lines in between", page: "a\nb", output: 'a\n{"time":"now"}\nb' },
  ])("allows $name", ({ page, output }) => {
    expect(findDifference(page, output)).toBeUndefined();
  });

  test.each([
    { name: "a changed word", page: "a\nb", output: "a\nc" },
    { name: "an additional line", page: "a", output: "a\nb" },
    { name: "a missing line", page: "a\nb", output: "a" },
    { name: "lines in another order", page: "a\nb", output: "b\na" },
    { name: "a missing id", page: `user ${ID}`, output: "user 7" },
    { name: "a text that is special in a pattern", page: "a.b", output: "axb" },
    { name: "another value in JSON", page: '{"a":1}', output: '{"a":2}' },
    { name: "a different last line after omitted lines", page: "a\n…\nd", output: "a\nb\nc" },
  ])("finds $name", ({ page, output }) => {
    expect(findDifference(page, output)).toContain("but the output is");
  });
});

describe("readBlocks()", () => {
  test("returns line, language, code and mark", () => {
    const page = "text\n\n<!-- exits with: 1 -->\n```sh\nfalse\n```\n\n```json\n{}\n```\n";
    expect(readBlocks(page)).toEqual([
      { line: 4, language: "sh", code: "false\n", mark: { kind: "exits with", text: "1" } },
      { line: 8, language: "json", code: "{}\n", mark: undefined },
    ]);
  });

  test("uses the mark below a heading until the next heading of its level, except for blocks with their own", () => {
    const block = "```sh\n# 1\n```\n";
    const mark = "## A\n<!-- also: a -->\n<!-- each block not run: x -->\n\n";
    const page = `${block}${mark}${block}\n<!-- exits with: 1 -->\n${block}\n### B\n${block}\n## C\n${block}`;
    expect(readBlocks(page).map((found) => found.mark?.kind)).toEqual([
      undefined,
      "not run",
      "exits with",
      "not run",
      undefined,
    ]);
  });

  test("rejects an unknown mark", () => {
    expect(() => readBlocks("<!-- skipped -->\n```sh\nfalse\n```\n")).toThrow("skipped");
  });
});

test("replaceAllOf() leaves placeholders unchanged", () => {
  const code = "PORT=3000 curl localhost:8787";
  const replaced = new Map([
    ["8787", "23000"],
    ["3000", "24000"],
  ]);
  expect(replaceAllOf(code, replaced)).toBe("PORT=24000 curl localhost:23000");
  expect(replaceAllOf(code, new Map())).toBe(code);
});
