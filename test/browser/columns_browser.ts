/** The column menu of a table in a real browser: visibility, order and widths are stored for each table. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { defineSchema, t } from "../../src/dsl/mod.ts";
import {
  displays,
  findAxeViolations,
  openBrowser,
  openSite,
  type TestSite,
  withConsole,
} from "../support/browser.ts";
import { makePerson, type Person } from "../support/people.ts";
import type { TestApp } from "../support/service.ts";

const TABLE = { title: t.string().required(), note: t.string(), hours: t.decimal() };

let site: TestSite;
let browser: Browser;
let person: Person;
let app: TestApp;
beforeAll(async () => {
  [site, browser] = await Promise.all([openSite(), openBrowser()]);
  person = await makePerson(site.service, { name: "Ada", consoleRole: "super_admin" });
  app = await site.service.makeApp(defineSchema({ todos: TABLE, plans: TABLE }));
  for (const table of ["todos", "plans"]) {
    const json = [
      { title: "Milk", note: "cold", hours: "1.5" },
      { title: "Tea", note: "hot", hours: "2.5" },
    ];
    await site.service.call(app, `/v1/data/db/${table}`, { method: "POST", json });
  }
}, 60_000);
afterAll(async () => {
  await browser.close();
  await site.close();
});

async function openTodos(
  run: (page: Page) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const visitor = {
    url: `${site.identityUrl}/console/apps/${app.slug}/tables/todos`,
    email: person.email,
  };
  await withConsole(browser, visitor, run, options);
}

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
  await openTodos(async (page) => {
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
    const path = `${site.identityUrl}/console/apps/${app.slug}/tables/plans`;
    await page.goto(path);
    expect(await heads(page)).toEqual(["title", "note", "hours"]);
  });
});

test("edits and searches follow the chosen column order", async () => {
  await openTodos(async (page) => {
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
    await page.getByRole("searchbox", { name: "Search all columns" }).fill("hot");
    await page.keyboard.press("Enter");
    await page.locator("[data-range]", { hasText: "of 1 found" }).waitFor();
    expect(await firstRow(page)).toEqual(["2.5", "Tea"]);
    await page.getByRole("button", { name: "Clear" }).click();
    await page.locator("[data-range]", { hasText: "of 2" }).waitFor();
    await menu(page);
    await page.getByRole("link", { name: "Show all" }).click();
    await shows(page, "title", "note", "hours");
  });
});

test("a column is resized by dragging the edge of its head", async () => {
  await openTodos(async (page) => {
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
    await openTodos(
      async (page) => {
        await menu(page);
        expect(await findAxeViolations(page)).toEqual([]);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect(Math.max(wide, 0)).toBe(0);
      },
      { colorScheme, viewport: { width, height: 800 }, bypassCSP: true },
    );
  },
);
