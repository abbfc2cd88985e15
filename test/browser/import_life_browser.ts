/** What remains of an import: its line, its rows, its undo from another page, and the recognition of its file. */
import { beforeEach, expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { displays, expectSound, signInToConsole } from "../support/browser.ts";
import { choose, importAll, press, withImport } from "../support/import_page.ts";
import { useTablePages } from "../support/table_pages.ts";

const SCHEMA = defineSchema({
  todos: { title: t.string().required(), tag: t.string().unique(), size: t.number() },
});
const pages = useTablePages(SCHEMA, { consoleRole: "admin", previews: ["filters", "history"] });
beforeEach(async () => {
  await pages.makeApp();
  await setAppSwitch(pages.site.service.service, pages.app.slug, ["history", true]);
});

const makeCsv = (count: number) =>
  ["title,tag", ...Array.from({ length: count }, (_, at) => `t${at},${at}`)].join("\n");

test("an import is undone from its line in another tab, and its file is recognized until then", async () => {
  const text = makeCsv(1200);
  await withImport(pages, async (page) => {
    await choose(page, text, "customers.csv");
    expect(await page.getByText("imported before").count()).toBe(0);
    await importAll(page, "1,200 rows");
    await page.getByRole("link", { name: "Rows and undo" }).waitFor();
  });
  const [first] = await pages.listRows();
  await pages.call(`/v1/data/db/todos/${first?.id}`, { method: "PATCH", json: { size: 1 } });
  await withImport(pages, async (page) => {
    await choose(page, text, "renamed.csv");
    await page.getByText(/This file was imported before: 1,200 rows by Ada, /).waitFor();
    await page.getByRole("row", { name: /Ada.*Imported 1,200 rows from customers\.csv/ }).waitFor();
    await page.getByRole("link", { name: "1,200 rows" }).click();
    await page.getByRole("heading", { name: "Import of customers.csv" }).waitFor();
    expect(await page.getByRole("row", { name: /^Created / }).count()).toBe(50);
    await page.getByRole("link", { name: "More rows" }).click();
    await page.getByRole("row", { name: "Created 1149", exact: true }).waitFor();
    await press(page, "Undo the import");
    await press(page, "Stop");
    await page.getByText(/^Undone in part: [\d,]+ deleted\.$/).waitFor();
    await press(page, "Continue");
    await page.getByText("Undone: 1,199 deleted.").waitFor();
    await page.getByText("0: changed since it was created").waitFor();
    expect(await pages.listRows()).toMatchObject([{ id: first?.id, size: 1 }]);
    await page.goto(pages.toUrl("todos/import"));
    await page.getByRole("row", { name: /Undid the import of customers\.csv/ }).waitFor();
    // The service still knows the batches of the first import.
    await choose(page, makeCsv(1200).replace("\nt0,0", ""), "customers.csv");
    await importAll(page, "1,199 rows");
    await choose(page, text);
    expect(await page.getByText("imported before").count()).toBe(0);
  });
  const { json } = await pages.call("/v1/data/db/todos?limit=1&offset=1199");
  expect(json).toMatchObject({ rows: [{}], hasMore: false });
});

test("the same file is stored again after its import was undone, also in the tab that imported it", async () => {
  await withImport(pages, async (page) => {
    await choose(page, "title\nwithout a unique value\n");
    await press(page, "Check the file");
    await page.getByText("all its rows are new").waitFor();
    // The second time, all its batches are replayed.
    for (const _ of [1, 2]) {
      await choose(page, makeCsv(3));
      await importAll(page, "3 rows");
    }
    await page.getByRole("link", { name: "Rows and undo" }).click();
    await page.getByText("Imported 3 rows from todos.csv").waitFor();
    await press(page, "Undo the import");
    await page.getByText("Undone: 3 deleted.").waitFor();
    await page.goto(pages.toUrl("todos/import"));
    await choose(page, makeCsv(3));
    await importAll(page, "3 rows");
    expect(await page.getByText("had already stored").count()).toBe(0);
  });
  expect(await pages.listRows()).toHaveLength(3);
});

test("an import that creates, changes and deletes is undone as a whole", async () => {
  const stored = await pages.addRows(["a", "b", "c"].map((tag) => ({ title: tag, tag })));
  await withImport(pages, async (page) => {
    await choose(page, "title,tag\nA,a\nb,b\nnew,d\n");
    await page.getByLabel("Rows", { exact: true }).selectOption("tag");
    await page.getByLabel("Delete the rows that the file does not have").check();
    await press(page, "Check the file");
    await page.getByLabel(/^Delete 1 of 3 rows/).check();
    await press(page, "Create 1, change 1 and delete 1 row");
    await page.getByText("Created 1, changed 1, left 1 and deleted 1 rows.").waitFor();
    await page.getByRole("link", { name: "Rows and undo" }).click();
    await page
      .getByText("Imported 3 rows from todos.csv: 1 created, 1 changed, 1 deleted")
      .waitFor();
    await press(page, "Undo the import");
    await page.getByText("Undone: 1 created, 1 changed, 1 deleted.").waitFor();
  });
  expect(await pages.listRows()).toEqual(stored);
});

test.each(displays("light", 360))(
  "the page of an import has no axe violation and fits, $colorScheme at $width px",
  async ({ colorScheme, width }) => {
    const options = { colorScheme, viewport: { width, height: 800 }, bypassCSP: true };
    const context = await pages.browser.newContext(options);
    const page = await context.newPage();
    await page.goto(pages.toUrl("todos/import"));
    await signInToConsole(page, pages.person.email);
    await choose(page, makeCsv(3));
    await importAll(page, "3 rows");
    const [row] = await pages.listRows();
    await pages.call(`/v1/data/db/todos/${row?.id}`, { method: "PATCH", json: { size: 1 } });
    await page.goto(pages.toUrl("todos/import"));
    await expectSound(page, "imports");
    await page.getByRole("link", { name: "Rows, undo" }).click();
    await press(page, "Undo the import");
    await page.getByText("1 row stays as it is").waitFor();
    await expectSound(page, "undone");
    await page.goto(pages.toUrl("todos/history"));
    await expectSound(page, "history");
    await context.close();
  },
);
