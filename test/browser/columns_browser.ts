/** The column menu of a table in a real browser: visibility, order and widths are stored for each table. */
import { beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { displays, expectSound } from "../support/browser.ts";
import { useTablePages } from "../support/table_pages.ts";

const TABLE = { title: t.string().required(), note: t.string(), hours: t.decimal() };

const pages = useTablePages(defineSchema({ todos: TABLE, plans: TABLE }));
beforeAll(async () => {
  await pages.makeApp();
  for (const table of ["todos", "plans"]) {
    const json = [
      { title: "Milk", note: "cold", hours: "1.5" },
      { title: "Tea", note: "hot", hours: "2.5" },
    ];
    await pages.addRows(json, table);
  }
}, 60_000);

const heads = (page: Page) =>
  page
    .locator("th[data-column]")
    .evaluateAll((cells) => cells.map((cell) => (cell as HTMLElement).dataset["column"]));
const firstRow = (page: Page) =>
  page
    .locator("tbody tr")
    .first()
    .locator("td")
    .evaluateAll((cells) => cells.slice(1, -1).map(({ textContent }) => textContent));
const menu = (page: Page) => page.getByText("Columns", { exact: false }).first().click();
const shows = (page: Page, ...columns: string[]) =>
  page.waitForFunction(
    (names) =>
      [...document.querySelectorAll<HTMLElement>("th[data-column]")]
        .map(({ dataset }) => dataset["column"])
        .join() === names,
    columns.join(),
  );

test("columns are hidden, moved and sized, and the layout applies only to this table", async () => {
  await pages.open("todos", async (page) => {
    expect(await heads(page)).toEqual(["title", "note", "hours"]);
    await menu(page);
    expect(await page.getByRole("checkbox", { name: "note" }).isChecked()).toBe(true);
    await page.getByRole("checkbox", { name: "note" }).uncheck();
    await shows(page, "title", "hours");
    await page.getByRole("button", { name: "Move hours up" }).click();
    await page.getByRole("button", { name: "Move hours up" }).click();
    await shows(page, "hours", "title");
    await page.getByLabel("Width of hours in pixels").fill("200");
    await page.keyboard.press("Tab");
    await page.waitForFunction(
      () => document.querySelector("th[data-column=hours]")?.getBoundingClientRect().width === 200,
    );
    await page.reload();
    await shows(page, "hours", "title");
    expect(await firstRow(page)).toEqual(["1.5", "Milk"]);
    await page.getByText("Columns (1 hidden)").waitFor();
    const path = pages.toUrl("plans");
    await page.goto(path);
    expect(await heads(page)).toEqual(["title", "note", "hours"]);
  });
});

test("edits and searches follow the chosen column order", async () => {
  await pages.open("todos", async (page) => {
    await menu(page);
    await page.getByRole("checkbox", { name: "note" }).uncheck();
    await shows(page, "title", "hours");
    await page.getByRole("button", { name: "Move title down" }).click();
    await page.getByRole("button", { name: "Move title down" }).click();
    await shows(page, "hours", "title");
    await menu(page);
    await page.locator("tbody td").first().focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.type("9.5");
    expect(await page.getByRole("textbox", { name: /^hours/ }).inputValue()).toBe("9.5");
    await page.keyboard.press("Enter");
    await page.locator("#save-state", { hasText: "Saved" }).waitFor();
    expect(await firstRow(page)).toEqual(["9.5", "Milk"]);
    await page
      .getByRole("searchbox", { name: "Search texts, JSON, numbers, times and ids" })
      .fill("hot");
    await page.keyboard.press("Enter");
    await page.locator("[data-range]", { hasText: "of 1 found" }).waitFor();
    expect(await firstRow(page)).toEqual(["2.5", "Tea"]);
    await page.getByRole("button", { name: "Clear" }).click();
    await page.locator("[data-range]", { hasText: "of 2" }).waitFor();
    await menu(page);
    await page.getByRole("button", { name: "Show all" }).click();
    await shows(page, "title", "note", "hours");
  });
});

test("a column is resized by dragging the edge of its head", async () => {
  await pages.open("todos", async (page) => {
    const head = page.locator("th[data-column=title]");
    const before = (await head.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    await page.mouse.move(before.x + before.width - 3, before.y + before.height / 2);
    await page.mouse.down();
    await page.mouse.move(before.x + before.width + 97, before.y + before.height / 2, { steps: 4 });
    await page.mouse.up();
    const after = Math.round((await head.boundingBox())?.width ?? 0);
    expect(Math.abs(after - before.width - 100)).toBeLessThan(3);
    await page.reload();
    await page.locator("table[role=grid]").waitFor();
    expect(Math.round((await head.boundingBox())?.width ?? 0)).toBe(after);
  });
});

test.each(displays("dark", 360))(
  "the menu has no accessibility issue: $colorScheme, $width px",
  async ({ colorScheme, width }) => {
    await pages.open(
      "todos",
      { colorScheme, viewport: { width, height: 800 }, bypassCSP: true },
      async (page) => {
        await page.getByRole("button", { name: "More" }).click();
        await menu(page);
        await expectSound(page);
      },
    );
  },
);
