/**
 * Several selected rows in a real browser: a column is set, rows are deleted and copied, with a preview and a result for
 * each row.
 */
import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { displays, expectSound } from "../support/browser.ts";
import { useTablePages } from "../support/table_pages.ts";

const SCHEMA = defineSchema({
  todos: {
    title: t.string().required().unique(),
    note: t.string(),
    status: t.enum(["open", "done"]).required().default("open"),
    hours: t.decimal(),
  },
});

const pages = useTablePages(SCHEMA);
beforeEach(async () => {
  await pages.makeApp();
});

async function addRows(count: number): Promise<void> {
  const json = Array.from({ length: count }, (_, place) => ({
    title: `Row ${place + 1}.`,
    note: place % 2 === 0 ? "even" : null,
  }));
  await pages.addRows(json);
}

const box = (page: Page, row: number) => page.locator("tbody input.select").nth(row);
const toolbar = (page: Page) => page.getByRole("form", { name: "Selected rows" });
const press = (page: Page, name: string) =>
  page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
const title = (page: Page, text: string) =>
  page.getByRole("dialog").getByRole("heading", { name: text }).waitFor();

async function openSet(page: Page, column: string): Promise<void> {
  await toolbar(page).getByLabel("Set").selectOption(column);
  await toolbar(page).getByRole("button", { name: "Set", exact: true }).click();
  await title(page, `Set ${column}`);
}

test("a column is set in three rows after a preview, and the change is undone", async () => {
  await addRows(5);
  await pages.open("todos", async (page) => {
    const start = performance.now();
    expect(await toolbar(page).isVisible()).toBe(false);
    for (const row of [0, 1, 3]) await box(page, row).check();
    await toolbar(page).getByText("3 rows selected").waitFor();
    await openSet(page, "note");
    await page.getByRole("dialog").locator('[id="value.note"]').fill("even");
    await press(page, "Preview");
    await title(page, "Set note in 2 rows");
    await page.getByText("1 row already set to this value.").waitFor();
    expect(await page.locator(".change-rows td").allTextContents()).toEqual([
      "null",
      "even",
      "null",
      "even",
    ]);
    expect((await pages.listRows()).map(({ note }) => note)).toEqual([
      "even",
      null,
      "even",
      null,
      "even",
    ]);
    await press(page, "Save 2 rows");
    await title(page, "Changed 2 of 2 rows");
    console.log(`three rows set after ${Math.round(performance.now() - start)} ms`);
    expect((await pages.listRows()).map(({ note }) => note)).toEqual([
      "even",
      "even",
      "even",
      "even",
      "even",
    ]);
    await press(page, "Undo");
    await title(page, "Restored 2 of 2 rows");
    await page.getByRole("dialog").getByRole("link", { name: "Close" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect((await pages.listRows()).map(({ note }) => note)).toEqual([
      "even",
      null,
      "even",
      null,
      "even",
    ]);
    await page.locator("tbody tr").nth(1).getByText("null").first().waitFor();
  });
});

test("a row that another user changes is not written, displays its new value, and can be edited again", async () => {
  await addRows(3);
  await pages.open("todos", async (page) => {
    await page.locator("[data-select-all]").check();
    await openSet(page, "status");
    await page.getByRole("dialog").locator('[id="value.status"]').selectOption("done");
    await press(page, "Preview");
    await title(page, "Set status in 3 rows");
    const [, second] = await pages.listRows();
    const path = `/v1/data/db/todos/${second?.id}`;
    await pages.call(path, { method: "PATCH", json: { note: "mine" } });
    await press(page, "Save 3 rows");
    await title(page, "Changed 2 of 3 rows");
    await page.getByText("Not saved: the row has changed since").waitFor();
    expect((await pages.listRows()).map(({ status }) => status)).toEqual(["done", "open", "done"]);
    await press(page, "Review 1 row");
    await title(page, "Set status in 1 row");
    await press(page, "Save 1 row");
    await title(page, "Changed 1 of 1 row");
    expect((await pages.listRows())[1]).toMatchObject({ status: "done", note: "mine" });
  });
});

test("an invalid value changes nothing, and a duplicate fails only its row", async () => {
  await addRows(3);
  await pages.open("todos", async (page) => {
    await page.locator("[data-select-all]").check();
    await openSet(page, "hours");
    await page.getByRole("dialog").locator('[id="value.hours"]').fill("1,5");
    await press(page, "Preview");
    await press(page, "Save 3 rows");
    await page.getByRole("dialog").getByText("Must be a decimal number").waitFor();
    expect(await page.getByRole("dialog").locator('[id="value.hours"]').inputValue()).toBe("1,5");
    await page.getByRole("dialog").locator('[id="value.hours"]').fill("1.50");
    await press(page, "Preview");
    await press(page, "Save 3 rows");
    await title(page, "Changed 3 of 3 rows");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await openSet(page, "title");
    await page.getByRole("dialog").locator('[id="value.title"]').fill("Only one");
    await press(page, "Preview");
    await press(page, "Save 3 rows");
    await title(page, "Changed 1 of 3 rows");
    expect(await page.locator(".is-failed", { hasText: "Not saved: " }).count()).toBe(2);
    expect((await pages.listRows()).map(({ hours }) => hours)).toEqual(["1.50", "1.50", "1.50"]);
    expect((await pages.listRows()).filter((row) => row["title"] === "Only one")).toHaveLength(1);
  });
});

test("40 rows of a search are deleted by keyboard, after their JSON is offered", async () => {
  await addRows(100);
  await pages.open("todos", async (page) => {
    const start = performance.now();
    await page.keyboard.press("f");
    await page.keyboard.type("even");
    await page.keyboard.press("Enter");
    await page.locator("[data-range]", { hasText: "of 50 found" }).waitFor();
    await page.locator("[data-select-all]").focus();
    await page.keyboard.press("Space");
    await toolbar(page).getByText("50 rows selected").waitFor();
    for (let row = 0; row < 10; row++) {
      await page.locator("tbody tr").nth(row).locator("td").nth(1).focus();
      await page.keyboard.press("Shift+Space");
    }
    await toolbar(page).getByText("40 rows selected").waitFor();
    await toolbar(page).getByRole("button", { name: "Delete" }).focus();
    await page.keyboard.press("Enter");
    await title(page, "Delete 40 rows");
    await page.getByText("Copy the rows as JSON first").click();
    const json = (await page.locator("#rows-json").textContent()) ?? "";
    expect((JSON.parse(json) as unknown[]).length).toBe(40);
    expect(await pages.listRows()).toHaveLength(100);
    await press(page, "Delete 40 rows");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.locator("[data-range]", { hasText: "of 10 found" }).waitFor();
    console.log(`40 of 100 rows deleted after ${Math.round(performance.now() - start)} ms`);
    expect(await pages.listRows()).toHaveLength(60);
    expect(await toolbar(page).isVisible()).toBe(false);
  });
});

test("rows of several pages are copied as JSON and as CSV", async () => {
  await addRows(120);
  await pages.open(
    "todos",
    { permissions: ["clipboard-read", "clipboard-write"] },
    async (page) => {
      await page
        .getByRole("searchbox", { name: "Search texts, JSON, numbers, times and ids" })
        .fill("Row");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Select all 120" }).click();
      const read = () => page.evaluate(() => navigator.clipboard.readText());
      await toolbar(page).getByRole("button", { name: "Copy as JSON" }).click();
      await page.locator("#save-state", { hasText: "Copied 120 rows" }).waitFor();
      expect(JSON.parse(await read())).toEqual(await pages.listRows());
      await page.locator("#save-state").waitFor({ state: "detached", timeout: 15_000 });
      await toolbar(page).getByRole("button", { name: "Copy as CSV" }).click();
      await page.locator("#save-state", { hasText: "Copied 120 rows" }).waitFor();
      const lines = (await read()).trimEnd().split(/\r?\n/);
      expect(lines).toHaveLength(121);
      expect(lines[0]).toBe("id,title,note,status,hours");
      expect(lines[120]).toContain(",Row 120.,,open,");
    },
  );
});

test.each(displays("dark", 1280))(
  "the selection, a preview and results have no accessibility issue: $colorScheme, $width px",
  async ({ colorScheme, width }) => {
    await addRows(3);
    await pages.open(
      "todos",
      { colorScheme, viewport: { width, height: 800 }, bypassCSP: true },
      async (page) => {
        await page.locator("[data-select-all]").check();
        await expectSound(page, "selection");
        await openSet(page, "note");
        await expectSound(page, "form");
        await page.getByRole("dialog").locator('[id="value.note"]').fill("x".repeat(300));
        await press(page, "Preview");
        await title(page, "Set note in 3 rows");
        await expectSound(page, "preview");
        await press(page, "Save 3 rows");
        await title(page, "Changed 3 of 3 rows");
        await expectSound(page, "results");
      },
    );
  },
);

test.each([384, 640, 768, 820, 900, 1024, 1100])(
  "every action is visible at %d px, such as at 200% zoom",
  async (width) => {
    await addRows(3);
    await pages.open("todos", { viewport: { width, height: 600 } }, async (page) => {
      const expectInside = async () => {
        const outside = await page.evaluate(() =>
          [
            ...document.querySelectorAll<HTMLElement>(
              ".head-actions *, .row-tools *, .selection *, .pager *",
            ),
          ]
            .filter((part) => part.checkVisibility())
            .filter((part) => part.getBoundingClientRect().right > innerWidth + 1)
            .map((part) => part.outerHTML),
        );
        expect(outside).toEqual([]);
      };
      await page.getByRole("button", { name: "Add a filter" }).click();
      await expectInside();
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "More" }).click();
      await page.locator("summary", { hasText: "Columns" }).click();
      await expectInside();
      await page.keyboard.press("Escape");
      await page.keyboard.press("Escape");
      await page.locator("[data-select-all]").check();
      await expectInside();
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(Math.max(wide, 0)).toBe(0);
    });
  },
);
