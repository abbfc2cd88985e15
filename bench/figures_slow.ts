/** The pages' figures are equal to the newest saved result. */
import { describe, expect, test } from "bun:test";
import { PAGES, readPage, renderFigures, replaceFigures } from "./figures.ts";
import { show } from "./print.ts";
import { type RequestsResult, ROWHOUSE } from "./requests.ts";
import { readNewest } from "./results.ts";

const [START, END] = ["<!-- figures -->", "<!-- /figures -->"];

describe("replaceFigures()", () => {
  test("replaces only the text between the markers", () => {
    expect(replaceFigures(`before ${START} old ${END} after`, "figures", "new")).toBe(
      `before ${START}\nnew\n${END} after`,
    );
  });

  test.each([
    { name: "no markers", text: "before after" },
    { name: "no end marker", text: `before ${START} old` },
    { name: "the end marker first", text: `${END} ${START}` },
    { name: "two start markers", text: `${START} ${START} ${END}` },
  ])("rejects a text with $name", ({ text }) => {
    expect(() => replaceFigures(text, "figures", "new")).toThrow("Cannot write the figures");
  });
});

test("the newest saved result has figures for every scenario of its run", () => {
  const saved = readNewest();
  const figures = renderFigures(saved);
  const { scenarios } = saved.requests as RequestsResult;
  for (const { title } of scenarios) expect(figures).toContain(`| ${title} by |`);
  expect(figures).not.toMatch(/NaN|undefined/);
});

test.each(PAGES)("$page has the newest saved result: $marker", ({ page, marker, render }) => {
  expect(readPage(page)).toBe(replaceFigures(readPage(page), marker, render(readNewest())));
});

test("docs/limits.md has the rates of the newest saved result", () => {
  const { scenarios } = readNewest().requests as RequestsResult;
  const rates = scenarios
    .filter(({ name }) => ["get", "list-100", "create"].includes(name))
    .map(({ sides }) => `${show(sides[ROWHOUSE]?.perSecond)} a second |`);
  expect(rates.length).toBe(3);
  expect(rates.filter((rate) => !readPage("docs/limits.md").includes(rate))).toEqual([]);
});
