/** Each error of `bun run planted` can still be planted. The run itself takes minutes. */
import { expect, test } from "bun:test";
import { ERRORS } from "./errors.ts";
import { findTexts } from "./texts.ts";

test("the text of each planted error occurs once in its file", () => {
  expect(ERRORS.length).toBeGreaterThan(25);
  expect(new Set(ERRORS.map(({ name }) => name)).size).toBe(ERRORS.length);
  expect(findTexts(ERRORS)).toEqual([]);
});

test("a text that is gone, and one that occurs twice, are reported", () => {
  const planted = {
    name: "a",
    file: "package.json",
    error: "",
    test: "test/planted/texts_test.ts",
  };
  expect(findTexts([{ ...planted, text: "no such text" }])).toHaveLength(1);
  expect(findTexts([{ ...planted, text: "rowhouse" }])).toHaveLength(1);
  expect(findTexts([{ ...planted, test: "test/none_test.ts" }])).toHaveLength(1);
});
