/** A file that is imported a second time: after a reload, with other choices, or in another tab. */
import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { choose, importAll, loseResponse, press, withImport } from "../support/import_page.ts";
import { useTablePages } from "../support/table_pages.ts";

const SCHEMA = defineSchema({
  todos: { title: t.string().required().unique(), size: t.decimal(), parent: t.ref("todos") },
});
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
  await withImport(pages, async (page) => {
    let sent = 0;
    await page.route("**/data/todos*", async (route) => {
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
    await page.getByText(/^[1-9]\d+ of 150 rows of todos\.csv are stored\./).waitFor();
    await chooseFile(page);
    await page.getByLabel("What").waitFor();
    expect(await page.getByLabel("Encoding").inputValue()).toBe("windows-1252");
    expect(await page.getByLabel("What").inputValue()).toBe("title");
    await press(page, "Check the file");
    await press(page, /^Continue with \d+ rows$/);
    await page.getByText("150 rows stored.").waitFor();
    const rows = await pages.listRows();
    expect([rows.length, rows[0]?.["title"]]).toEqual([
      150,
      expect.stringMatching(/^T\u00fcr 0 x/),
    ]);
    await press(page, "Remove the rows stored");
    await press(page, "Remove 150 rows");
    await resultsOf(page).getByText("Removed 150 of 150 rows.").waitFor();
    expect(await pages.listRows()).toEqual([]);
    await page.reload();
    await page.getByLabel("File", { exact: true }).waitFor();
    expect(await page.getByText("Choose the file again").count()).toBe(0);
  });
});

test("after a lost response and a reload, the rows that no one has changed are removed", async () => {
  const [parent] = await pages.addRows([{ title: "parent" }]);
  // Each batch has a response that the service does not store. The line of "child" refers to a row that is not stored yet.
  const text = [
    "title,size,parent",
    ...Array.from({ length: ROWS }, (_, at) => `${at} ${"x".repeat(1000)},${at}.50,parent`),
    "last,,parent",
    "child,,last",
    "end,,parent",
  ].join("\n");
  const end = `${ROWS + 2} rows`;
  await withImport(pages, async (page) => {
    await loseResponse(pages, page, 2);
    await choose(page, text);
    await press(page, "Check the file");
    await page.getByText(`Line ${ROWS + 3}, parent: No row has "last" in title`).waitFor();
    await press(page, `Import only the ${end} without errors`);
    await page.getByText("Resume stores no row twice.").waitFor();
    await page.reload();
    await choose(page, text);
    await press(page, "Check the file");
    await press(page, /^Continue with \d+ rows$/);
    await page.getByText(`${end} stored.`).waitFor();
    const rows = await pages.listRows();
    expect(rows.map(({ title }) => title)).not.toContain("child");
    expect(rows).toHaveLength(ROWS + 3);
    const changed = rows.find(({ title }) => String(title).startsWith("120 "));
    const path = `/v1/data/db/todos/${changed?.id}`;
    await pages.call(path, { method: "PATCH", json: { size: "7" } });
    await press(page, "Remove the rows stored");
    await press(page, `Remove ${end}`);
    await resultsOf(page)
      .getByText(`Removed ${ROWS + 1} of ${end}.`)
      .waitFor();
    await page.getByText("1 row kept.").waitFor();
    await page.getByText(/^title=120 x+: has changed in the meantime$/).waitFor();
    expect((await pages.listRows()).map(({ id }) => id)).toEqual([
      parent?.id ?? "",
      changed?.id ?? "",
    ]);
  });
});

test("the same file is imported with other columns, after its rows were deleted", async () => {
  await withImport(pages, async (page) => {
    for (const [size, stored] of [
      ["size", "7"],
      ["", null],
    ] as const) {
      await choose(page, "title,size\na,7\n");
      await page.getByLabel("size", { exact: true }).selectOption(size);
      await importAll(page, "1 row");
      const [row, ...others] = await pages.listRows();
      expect([row?.["size"], others]).toEqual([stored, []]);
      await pages.call(`/v1/data/db/todos/${row?.id}`, { method: "DELETE" });
    }
  });
});

test("rows that another tab stored from the same file are not offered for removal", async () => {
  await withImport(pages, async (page) => {
    const store = async (tab: Page) => {
      await choose(tab, "title,size\na,7\n");
      await importAll(tab, "1 row");
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

test("a file that is read slowly does not replace one that was chosen later", async () => {
  await withImport(pages, async (page) => {
    await page.evaluate(() => {
      const read = File.prototype.arrayBuffer;
      const wait = new Promise<void>((resolve) => {
        Object.assign(window, { release: resolve });
      });
      File.prototype.arrayBuffer = async function (this: File) {
        if (this.size > 16) await wait;
        return await read.call(this);
      };
    });
    await choose(page, "title,size\nslow,1\nslower,2\n");
    await choose(page, "title,size\na,7\n");
    await page.getByRole("button", { name: "Check the file" }).waitFor();
    await page.evaluate(async () => {
      (window as unknown as { release: () => void }).release();
      await new Promise((resolve) => setTimeout(resolve, 300));
    });
    await importAll(page, "1 row");
    expect((await pages.listRows()).map(({ title }) => title)).toEqual(["a"]);
  });
});
