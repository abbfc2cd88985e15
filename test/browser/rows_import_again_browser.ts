/** A file that is imported a second time: after a reload, with other choices, or in another tab. */
import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { withPage } from "../support/browser.ts";
import { choose, openImport, press } from "../support/import_page.ts";
import { useTablePages } from "../support/table_pages.ts";

const SCHEMA = defineSchema({ todos: { title: t.string().required().unique(), size: t.number() } });
const pages = useTablePages(SCHEMA, { consoleRole: "admin" });
beforeEach(async () => {
  await pages.makeApp();
});

/** In Windows-1252, and sent in two batches. */
const ROWS = 150;
const FILE = Buffer.from(
  [
    "What,size",
    ...Array.from({ length: ROWS }, (_, at) => `T\u00fcr ${at} ${"x".repeat(1000)},${at}`),
  ].join("\n"),
  "latin1",
);
const resultsOf = (page: Page) => page.locator("[data-results]");

test("an import that continues after a reload keeps its encoding, and all its rows can be removed", async () => {
  const chooseFile = (page: Page) =>
    page
      .getByLabel("File", { exact: true })
      .setInputFiles({ name: "todos.csv", mimeType: "text/csv", buffer: FILE });
  await withPage(pages.browser, async (page) => {
    await openImport(pages, page);
    let sent = 0;
    await page.route("**/data/**", async (route) => {
      // The second batch is never answered.
      if (route.request().method() !== "POST" || ++sent !== 2) await route.continue();
    });
    await chooseFile(page);
    await page.getByLabel("Encoding").selectOption("windows-1252");
    await page.getByLabel("What").selectOption("title");
    await press(page, "Check the file");
    await press(page, "Import 150 rows");
    await page.getByText(/^[1-9]\d+ of 150 rows stored/).waitFor();
    await page.reload();
    await chooseFile(page);
    await page.getByLabel("What").waitFor();
    expect(await page.getByLabel("Encoding").inputValue()).toBe("windows-1252");
    await press(page, "Check the file");
    await press(page, /^Continue with \d+ rows$/);
    await page.getByText("150 rows stored.").waitFor();
    expect((await pages.listRows())[0]?.["title"]).toStartWith("T\u00fcr 0 x");
    await press(page, "Remove the rows stored");
    await press(page, "Remove 150 rows");
    await resultsOf(page).getByText("Removed 150 of 150 rows.").waitFor();
    expect(await pages.listRows()).toEqual([]);
  });
});

test("the same file is imported with other columns, after its rows were deleted", async () => {
  await withPage(pages.browser, async (page) => {
    await openImport(pages, page);
    for (const [size, stored] of [
      ["size", 7],
      ["", null],
    ] as const) {
      await choose(page, "title,size\na,7\n");
      await page.getByLabel("size", { exact: true }).selectOption(size);
      await press(page, "Check the file");
      await press(page, "Import 1 row");
      await resultsOf(page).getByText("1 row stored.").waitFor();
      const [row, ...others] = await pages.listRows();
      expect([row?.["size"], others]).toEqual([stored, []]);
      await pages.call(`/v1/data/db/todos/${row?.id}`, { method: "DELETE" });
    }
  });
});

test("rows that another tab stored from the same file are not offered for removal", async () => {
  await withPage(pages.browser, async (page) => {
    await openImport(pages, page);
    const store = async (tab: Page) => {
      await choose(tab, "title,size\na,7\n");
      await press(tab, "Check the file");
      await press(tab, "Import 1 row");
      await resultsOf(tab).getByText("1 row stored.").waitFor();
    };
    const other = await page.context().newPage();
    await other.goto(page.url());
    // Both have checked the file before one of them stores it.
    await choose(other, "title,size\na,7\n");
    await press(other, "Check the file");
    await other.getByRole("button", { name: "Import 1 row" }).waitFor();
    await store(page);
    await press(other, "Import 1 row");
    await resultsOf(other)
      .getByText("An earlier import of this file had already stored 1 row.")
      .waitFor();
    const remove = (tab: Page) => tab.getByRole("button", { name: "Remove the rows stored" });
    expect([await remove(page).count(), await remove(other).count()]).toEqual([1, 0]);
    expect(await pages.listRows()).toHaveLength(1);
  });
});
