/** The README's figures: equal to the newest saved result, and written only between their markers. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { END, README, renderFigures, replaceFigures, START } from "./readme.ts";
import { readNewest } from "./results.ts";

describe("replaceFigures()", () => {
  test("replaces what stands between the markers and nothing else", () => {
    expect(replaceFigures(`before ${START} old ${END} after`, "new")).toBe(
      `before ${START}\nnew\n${END} after`,
    );
  });

  test.each([
    { name: "no markers", text: "before after" },
    { name: "no end", text: `before ${START} old` },
    { name: "the end first", text: `${END} ${START}` },
    { name: "two starts", text: `${START} ${START} ${END}` },
  ])("refuses a text with $name", ({ text }) => {
    expect(() => replaceFigures(text, "new")).toThrow("Cannot write the figures");
  });
});

test("the newest saved result has figures for every scenario of its run", () => {
  const saved = readNewest();
  if (saved === undefined) throw new Error("Nothing is saved");
  const figures = renderFigures(saved);
  for (const { title } of saved.requests?.scenarios ?? [])
    expect(figures).toContain(`| ${title} |`);
  expect(figures).not.toContain("NaN");
  expect(figures).not.toContain("undefined");
});

test.skipIf(!existsSync(README))(
  "the README's figures are those of the newest saved result",
  () => {
    const saved = readNewest();
    if (saved === undefined) throw new Error("Nothing is saved");
    const text = readFileSync(README, "utf8");
    expect(text).toBe(replaceFigures(text, renderFigures(saved)));
  },
);
