/** Ranges of cells in a real browser: selected by keyboard and mouse, copied, pasted and filled down through the preview. */
import { beforeEach, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { expectSound } from "../support/browser.ts";
import { loseResponse } from "../support/import_page.ts";
import { useTablePages } from "../support/table_pages.ts";

const SCHEMA = defineSchema({
  projects: { name: t.string().required().unique() },
  ranks: { limit: t.string().required().unique() },
  cards: {
    grade: t.enum(["a", "A", "null", "in progress"]),
    flag: t.boolean(),
    size: t.number(),
    price: t.decimal(),
    rank: t.ref("ranks"),
  },
  todos: {
    title: t.string().required(),
    note: t.string(),
    status: t.enum(["open", "done"]).required().default("open"),
    hours: t.decimal(),
    project: t.ref("projects"),
  },
});
const COLUMNS = ["id", "title", "note", "status", "hours", "project"];
const CLIPBOARD = { permissions: ["clipboard-read", "clipboard-write"] };

describe("a range of cells", () => {
  const pages = useTablePages(SCHEMA, { previews: [] });
  beforeEach(async () => {
    await pages.makeApp();
  });

  const cell = (page: Page, row: number, column: string) =>
    page.locator("tbody tr").nth(row).locator("td").nth(COLUMNS.indexOf(column));
  const keys = async (page: Page, ...chords: string[]) => {
    for (const chord of chords) await page.keyboard.press(chord);
  };
  const copied = (page: Page) => page.evaluate(() => navigator.clipboard.readText());
  const paste = async (page: Page, text: string) => {
    await page.evaluate((given) => navigator.clipboard.writeText(given), text);
    await keys(page, "Control+v");
  };
  const dialog = (page: Page) => page.getByRole("dialog");
  const press = (page: Page, name: string) =>
    dialog(page).getByRole("button", { name, exact: true }).click();
  const heading = (page: Page, text: string) =>
    dialog(page).getByRole("heading", { name: text }).waitFor();
  const selected = (page: Page) => page.locator("td[aria-selected=true]").count();
  const open = (run: (page: Page) => Promise<void>) =>
    pages.open("todos", CLIPBOARD, async (page) => {
      await page.locator("table[role=grid]").waitFor();
      await run(page);
    });

  test("40 × 5 cells of a spreadsheet are pasted after a preview, and undone", async () => {
    const [house] = await pages.addRows([{ name: "House" }, { name: "Garden" }], "projects");
    await pages.addRows(Array.from({ length: 45 }, (_, at) => ({ title: `Row ${at}` })));
    await open(async (page) => {
      const start = performance.now();
      await cell(page, 2, "title").focus();
      const lines = Array.from({ length: 40 }, (_, at) =>
        [`New ${at}`, at % 2 === 0 ? "" : `"two\nlines"`, "done", `${at}.5`, "House"].join("\t"),
      );
      await paste(page, `${lines.join("\r\n")}\r\n`);
      await heading(page, "Paste into 40 rows");
      expect((await pages.listRows())[2]?.["title"]).toBe("Row 2");
      await press(page, "Save 40 rows");
      await heading(page, "Changed 40 of 40 rows");
      console.log(`40 × 5 cells pasted after ${Math.round(performance.now() - start)} ms`);
      const rows = await pages.listRows();
      expect(rows[3]).toMatchObject({
        ...{ title: "New 1", note: "two\nlines", status: "done", hours: "1.5", project: house?.id },
      });
      expect(rows[2]).toMatchObject({ note: null });
      expect([rows[1], rows[42]].map((row) => row?.["title"])).toEqual(["Row 1", "Row 42"]);
      await press(page, "Undo");
      await heading(page, "Restored 40 of 40 rows");
      expect((await pages.listRows())[3]).toMatchObject({
        title: "Row 3",
        note: null,
        hours: null,
      });
      await dialog(page).getByRole("link", { name: "Close" }).click();
      await cell(page, 3, "title").getByText("Row 3").waitFor();
    });
  });

  test("a range is selected by Shift and arrows, copied with labels, and pasted elsewhere", async () => {
    const [house] = await pages.addRows([{ name: "House" }], "projects");
    await pages.addRows([
      { title: "a", note: "x\ty", hours: "1.50", project: house?.id },
      { title: "b", note: "" },
      { title: "c" },
      { title: "d" },
    ]);
    await open(async (page) => {
      // The range needs the values, which the page reads after its start.
      await page.waitForLoadState("networkidle");
      await cell(page, 0, "title").focus();
      await keys(page, "Shift+ArrowRight", "Shift+ArrowDown", "Shift+End");
      await page
        .locator("#announcements", { hasText: "2 rows, 6 columns selected" })
        .waitFor({ state: "attached" });
      expect(await selected(page)).toBe(12);
      await keys(page, "Control+c");
      await page.locator("#save-state", { hasText: "Copied 2 × 5 cells" }).waitFor();
      expect(await copied(page)).toBe('a\t"x\ty"\topen\t1.50\tHouse\nb\t\topen\t\t');
      await keys(page, "ArrowDown", "ArrowDown");
      expect(await selected(page)).toBe(0);
      await keys(page, "Control+v");
      await heading(page, "Paste into 2 rows");
      await expectSound(page);
      await press(page, "Save 2 rows");
      await heading(page, "Changed 2 of 2 rows");
      // The copy distinguishes an empty text and null, which a spreadsheet does not.
      expect((await pages.listRows()).slice(2)).toMatchObject([
        { title: "a", note: "x\ty", hours: "1.50", project: house?.id },
        { title: "b", note: "", hours: null, project: null },
      ]);
    });
  });

  test("a range is selected by dragging and by Shift and a click, and filled down", async () => {
    await pages.addRows(["a", "b", "c", "d"].map((title, at) => ({ title, note: `n${at}` })));
    await open(async (page) => {
      const [from, to] = [cell(page, 0, "note"), cell(page, 2, "status")];
      await from.hover();
      await page.mouse.down();
      await to.hover();
      await page.mouse.up();
      expect(await selected(page)).toBe(6);
      await cell(page, 3, "note").click({ modifiers: ["Shift"] });
      expect(await selected(page)).toBe(4);
      await keys(page, "Control+d");
      await heading(page, "Fill down into 3 rows");
      await press(page, "Save 3 rows");
      await heading(page, "Changed 3 of 3 rows");
      expect((await pages.listRows()).map(({ note }) => note)).toEqual(["n0", "n0", "n0", "n0"]);
      await dialog(page).getByRole("link", { name: "Close" }).click();
      await cell(page, 1, "title").click();
      expect(await selected(page)).toBe(0);
    });
  });

  test("values that cannot be stored are named in the preview, and a text stays in one cell", async () => {
    await pages.addRows([{ title: "a" }, { title: "b" }]);
    await open(async (page) => {
      await cell(page, 0, "status").focus();
      await paste(page, "done\t2\tNowhere\nclosed\t3\t\nopen\t4\t");
      await heading(page, "Paste into 2 rows");
      const text = (await dialog(page).textContent()) ?? "";
      expect(text).toContain('Row 1, project: No row of projects is shown as "Nowhere"');
      expect(text).toContain('Row 2, status: No choice is "closed"');
      expect(text).toContain("1 row of the clipboard left out: a new row needs title.");
      await press(page, "Save 2 rows");
      await heading(page, "Changed 2 of 2 rows");
      expect(await pages.listRows()).toMatchObject([
        { status: "done", hours: "2", project: null },
        { status: "open", hours: "3", project: null },
      ]);
      await keys(page, "Escape");
      await cell(page, 0, "title").focus();
      await paste(page, "one\ntwo");
      await keys(page, "Enter");
      await page.locator("#save-state", { hasText: "Saved" }).waitFor();
      expect((await pages.listRows())[0]?.["title"]).toBe("one\ntwo");
    });
  });

  const texts = (page: Page) => dialog(page).getByRole("row").allTextContents();

  test("a table is pasted over the page's end, also of a search, and then into new rows", async () => {
    const [house] = await pages.addRows([{ name: "House" }], "projects");
    const rows = await pages.addRows(
      Array.from({ length: 30 }, (_, at) => ({ title: `Row ${at}`, note: at < 28 ? "a" : "b" })),
    );
    await pages.open("todos?limit=25", CLIPBOARD, async (page) => {
      await page.locator("table[role=grid]").waitFor();
      expect(await page.getByRole("link", { name: "+ New row" }).count()).toBe(0);
      await cell(page, 23, "title").focus();
      const lines = Array.from({ length: 10 }, (_, at) => `New ${at}\tn\tdone\t${at}\tHouse`);
      const others = ["\t\t\t\t", "\tx\tdone\t1\t", "Bad\tx\tclosed\t1\t", "New 9\tx\t\t\t"];
      await paste(page, [...lines, ...others].join("\n"));
      await heading(page, "Paste into 7 rows and 4 new rows");
      const text = (await dialog(page).textContent()) ?? "";
      expect(text).toContain("Row 12, title: Must not be null");
      expect(text).toContain('Row 13, status: No choice is "closed"');
      expect(await pages.listRows()).toEqual(rows);
      await expectSound(page);
      await press(page, "Save 7 rows and 4 new rows");
      await heading(page, "Changed 7 of 7 rows, added 4 of 4 rows");
      expect(await texts(page)).toContain("New 9Added");
      const stored = await pages.listRows();
      expect(stored).toHaveLength(34);
      expect(stored[29]).toMatchObject({ id: rows[29]?.id, title: "New 6", note: "n" });
      expect(stored[30]).toMatchObject({
        title: "New 7",
        status: "done",
        hours: "7",
        project: house?.id,
      });
      expect(stored[33]).toMatchObject({ title: "New 9", status: "open", hours: null });
      await press(page, "Undo");
      await heading(page, "Restored 7 of 7 rows, removed 4 of 4 rows");
      expect((await pages.listRows()).map(({ title }) => title)).toEqual(
        rows.map(({ title }) => title),
      );
      await keys(page, "Escape");
      await page.getByText("Rows 1 to 25 of 30").waitFor();
      await page.goto(`${pages.toUrl("todos?limit=25")}#where=note.eq.a&order=title.desc`);
      await page.getByText("Rows 1 to 25 of 28 found").waitFor();
      await cell(page, 24, "title").focus();
      await paste(page, "Found 1\tc\nFound 2\tc");
      await heading(page, "Paste into 2 rows");
      expect((await texts(page)).join()).toContain("Row 11");
      await page.goto(pages.toUrl("todos?limit=25"));
      await page.getByText("Rows 1 to 25 of 30").waitFor();
      await pages.call(`/v1/data/db/todos/${rows[3]?.id}`, { method: "DELETE" });
      await cell(page, 24, "title").focus();
      await paste(page, "Found 1\tc\nFound 2\tc");
      await heading(page, "Paste into 2 rows");
      expect((await texts(page)).join()).toContain("Row 25");
    });
  });

  test("a new row that is rejected is named, and a lost response creates no row twice", async () => {
    await pages.addRows([{ name: "House" }], "projects");
    await pages.open("projects", CLIPBOARD, async (page) => {
      await page.locator("tfoot td").nth(1).focus();
      await loseResponse(pages, page, 1);
      await paste(page, "Garden\t\nGarage\t");
      await heading(page, "Paste into 2 new rows");
      await press(page, "Save 2 new rows");
      await heading(page, "Added 0 of 2 rows");
      expect(await texts(page)).toContain("New: GardenNot saved: the server did not respond.");
      await press(page, "Review 2 rows");
      await press(page, "Save 2 new rows");
      await heading(page, "Added 2 of 2 rows");
      // The rows come while the focus is on the row with “+”, which is then below them.
      await page.route(/\/data\/projects\?/, async (route) => {
        await Bun.sleep(300);
        await route.continue();
      });
      await dialog(page).getByRole("link", { name: "Close" }).click();
      await page.locator("tfoot td").nth(1).focus();
      await page.locator("tbody tr").nth(2).waitFor();
      await paste(page, "Cellar\t\nHouse\t\nAttic\t");
      await press(page, "Save 3 new rows");
      await heading(page, "Added 2 of 3 rows");
      expect((await texts(page)).join()).toContain("New: HouseNot saved: Must be unique");
      const { json } = await pages.call("/v1/data/db/projects");
      expect((json as { rows: { name: string }[] }).rows.map(({ name }) => name)).toEqual([
        ...["House", "Garden", "Garage", "Cellar", "Attic"],
      ]);
    });
  });

  test("the row with “+” is reached by keyboard, and adds the text that is typed in a column", async () => {
    await pages.addRows(Array.from({ length: 24 }, (_, at) => ({ title: `Row ${at}` })));
    await pages.open("todos?limit=25", async (page) => {
      await cell(page, 23, "title").focus();
      await keys(page, "ArrowDown");
      const input = page.getByRole("textbox", { name: "title: New row" });
      expect(await input.evaluate((field) => field === document.activeElement)).toBe(true);
      expect(await page.locator("tfoot tr").getAttribute("aria-rowindex")).toBe("26");
      await page.locator("table[aria-rowcount='26']").waitFor();
      await page.keyboard.type("Bread");
      const field = dialog(page).locator("[name='value.title']");
      await field.waitFor();
      await page.keyboard.type("s");
      expect(await field.inputValue()).toBe("Breads");
      await press(page, "Add the row");
      await page.getByText("Rows 1 to 25 of 25").waitFor();
      // The next one is on another page.
      await page.waitForFunction(() => document.activeElement?.closest("tfoot") !== null);
      await keys(page, "Enter");
      await field.fill("Butter");
      await press(page, "Add the row");
      await page.getByText("Rows 26 to 26 of 26").waitFor();
      await keys(page, "ArrowUp");
      await cell(page, 0, "title").locator(".grid-input:focus").waitFor();
      expect((await pages.listRows()).slice(24)).toMatchObject([
        { title: "Breads" },
        { title: "Butter" },
      ]);
    });
  });

  test("pasted values are read as those of a file, and a choice is never guessed", async () => {
    const [, second] = await pages.addRows([{ limit: "one" }, { limit: "two" }], "ranks");
    await pages.addRows([{ flag: true }, { flag: true }, { grade: "a" }], "cards");
    await pages.open("cards", CLIPBOARD, async (page) => {
      await page.locator("tbody tr td").nth(1).focus();
      await paste(page, "A\tN\t1,5\t1.234,50\ttwo\nnull\tWAHR\t2\t12\t\nin\tn/a\tx\t1,234\t");
      await heading(page, "Paste into 2 rows");
      const text = (await dialog(page).textContent()) ?? "";
      expect(text).toContain('Row 3, grade: No choice is "in".');
      expect(text).toContain("Row 3, flag: Must be true or false");
      expect(text).toContain("Row 3, size: Must be a number");
      expect(text).toContain("Row 3, price: Can mean two numbers");
      await press(page, "Save 2 rows");
      await heading(page, "Changed 2 of 2 rows");
      const { json } = await pages.call("/v1/data/db/cards");
      expect((json as { rows: object[] }).rows).toMatchObject([
        { grade: "A", flag: false, size: 1.5, price: "1234.50", rank: second?.id },
        { grade: "null", flag: true, size: 2, price: "12", rank: null },
        { grade: "a", flag: null, size: null, price: null },
      ]);
    });
  });

  test("nothing is pasted if the script that reads it cannot be loaded", async () => {
    await pages.addRows([{ grade: "a" }], "cards");
    await pages.open("cards", CLIPBOARD, async (page) => {
      await page.route("**/assets/paste.*", (route) => route.abort());
      await page.locator("tbody tr td").nth(1).focus();
      await paste(page, "A\ttrue");
      await page.locator("#save-state", { hasText: "Cannot show the new values" }).waitFor();
      expect(await dialog(page).count()).toBe(0);
    });
  });

  test("a reference accepts the text of its row, typed into its cell", async () => {
    const [house, garden] = await pages.addRows(
      [{ name: "House" }, { name: "Garden" }],
      "projects",
    );
    await pages.addRows([{ title: "a", project: house?.id }]);
    await open(async (page) => {
      await cell(page, 0, "project").focus();
      await page.keyboard.press("F2");
      await page.locator("[id='value.project']").fill("Garden");
      await keys(page, "Enter");
      await cell(page, 0, "project").getByText("Garden").waitFor();
      await page.locator("#save-state", { hasText: "Saved" }).waitFor();
      expect((await pages.listRows())[0]?.["project"]).toBe(garden?.id);
      await page.keyboard.press("F2");
      await page.locator("[id='value.project']").fill("Nobody");
      await keys(page, "Enter");
      await page.locator(".cell-form").getByText("No row of projects is shown as").waitFor();
      expect((await pages.listRows())[0]?.["project"]).toBe(garden?.id);
    });
  });
});
