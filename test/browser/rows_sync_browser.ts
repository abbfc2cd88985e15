/** Importing a file that updates rows in a real browser: the counts before, the confirmations, and what stays. */
import { beforeEach, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { displays, expectSound } from "../support/browser.ts";
import { choose, openImport, press, withImport } from "../support/import_page.ts";
import { useTablePages } from "../support/table_pages.ts";

const SCHEMA = defineSchema({
  todos: {
    tag: t.string().unique(),
    title: t.string().required(),
    code: t.string().unique(),
    size: t.decimal(),
    due: t.timestamp(),
    note: t.string(),
    after: t.ref("todos"),
    long: t.string(),
  },
  steps: { todo: t.ref("todos").required() },
});

const BY_TAG = "Update rows by tag";
const DELETE = "Delete the rows that the file does not have";
const HEADER = "tag,title,size,due\n";
/** Six rows as they are stored. */
const KEPT = `a,A,4.0,2020-10-31T00:00:00Z\n${["b", "c", "d", "e", "f"].map((tag) => `${tag},${tag},,\n`).join("")}`;
const STORED = [
  { tag: "a", title: "A", size: "4.00", due: "2020-10-31T01:00:00+01:00", note: "kept" },
  ...["b", "c", "d", "e", "f"].map((tag) => ({ tag, title: tag, note: "kept" })),
  { tag: "g", title: "G", size: "1.5", note: "kept" },
  { tag: "old", title: "Old", note: "kept" },
];

describe("an update from a file,", () => {
  const pages = useTablePages(SCHEMA, {
    consoleRole: "admin",
    previews: [],
    maxResponseBytes: 262_144,
  });
  beforeEach(async () => {
    await pages.makeApp();
  });

  async function check(page: Page, text: string, { deletes = true } = {}): Promise<void> {
    await choose(page, text);
    await page.getByLabel("Rows", { exact: true }).selectOption(BY_TAG);
    if (deletes) await page.getByLabel(DELETE).check();
    await press(page, "Check the file");
  }

  /** Counts the forms that the page sends. */
  function countPosts(page: Page): { posts: number } {
    const sent = { posts: 0 };
    page.on("request", (request) => {
      if (request.method() === "POST") sent.posts++;
    });
    return sent;
  }

  test("rows are created, changed, left and deleted, and the second time nothing is written", async () => {
    const stored = await pages.addRows(STORED);
    const text = `${HEADER}${KEPT}g,Gé,2,\nnew,New,,\n`;
    await withImport(pages, async (page) => {
      await choose(page, text);
      await page.getByLabel("Rows", { exact: true }).waitFor();
      expect(await page.getByLabel(DELETE).isVisible()).toBe(false);
      await check(page, text);
      await page.getByText("Will create 1, change 1, leave 6 and delete 1 rows.").last().waitFor();
      await page.getByText("1 row to delete").click();
      await page.getByText("tag=old").waitFor();
      expect(await pages.listRows()).toEqual(stored);
      await press(page, "Create 1, change 1 and delete 1 row");
      await page.getByText("Created 1, changed 1, left 6 and deleted 1 rows.").waitFor();
      const rows = await pages.listRows();
      expect(rows).toEqual([
        ...stored.slice(0, 6),
        { ...stored[6], id: String(stored[6]?.id), title: "Gé", size: "2" },
        expect.objectContaining({ tag: "new", title: "New", note: null }),
      ]);
      await page.reload();
      const sent = countPosts(page);
      await check(page, text);
      await page.getByText("leave 8 and delete 0 rows. The table already has").waitFor();
      expect(await page.getByRole("button", { name: /^(Create|Change|Delete)/ }).count()).toBe(0);
      expect(sent.posts).toBe(0);
      expect(await pages.listRows()).toEqual(rows);
    });
  });

  test("rows that the file does not have stay, unless their deletion is chosen", async () => {
    const stored = await pages.addRows(STORED);
    await withImport(pages, async (page) => {
      await check(page, `${HEADER}new,New,,\n`, { deletes: false });
      await page.getByText("Will create 1, change 0, leave 0 and delete 0 rows.").last().waitFor();
      await press(page, "Create 1 row");
      await page.getByText("Created 1, changed 0, left 0 and deleted 0 rows.").waitFor();
    });
    expect((await pages.listRows()).slice(0, -1)).toEqual(stored);
  });

  test.each([
    { text: `${HEADER}${KEPT}`, accept: "Delete 2 of 8 rows: this is more than a fifth", left: 6 },
    { text: HEADER, accept: "Delete 8 of 8 rows: the file has no rows", left: 0 },
  ])("many deletes need a checkbox: $accept", async ({ text, accept, left }) => {
    await pages.addRows(STORED);
    await withImport(pages, async (page) => {
      await check(page, text);
      const sent = countPosts(page);
      await press(page, /^Delete \d rows$/);
      const box = page.getByLabel(accept);
      expect(await box.evaluate((input: HTMLInputElement) => input.validity.valueMissing)).toBe(
        true,
      );
      expect(sent.posts).toBe(0);
      expect(await pages.listRows()).toHaveLength(8);
      await box.check();
      await press(page, /^Delete \d rows$/);
      await page.getByText(`left ${left} and deleted ${8 - left} rows.`).waitFor();
    });
    expect(await pages.listRows()).toHaveLength(left);
  });

  test("a file with errors writes and deletes nothing", async () => {
    const stored = await pages.addRows(STORED);
    await withImport(pages, async (page) => {
      await check(page, `${HEADER}${KEPT},no key,,\nh,size,many,\na,again,,\n`);
      await page.getByText("3 errors in 3 lines. Nothing was stored.").waitFor();
      await page.getByText("Line 8, tag: Must have a value: a row is updated by").waitFor();
      await page.getByText("Line 9, size: ").waitFor();
      await page.getByText("Line 10, tag: Duplicates line 2").waitFor();
      expect(
        await page.getByRole("button", { name: /^(Create|Change|Delete|Import)/ }).count(),
      ).toBe(0);
    });
    expect(await pages.listRows()).toEqual(stored);
  });

  test("a unique value that a stored row keeps, and a reference without a row, are errors before any write", async () => {
    const stored = await pages.addRows([
      { tag: "a", title: "A", code: "1" },
      { tag: "b", title: "B", code: "2" },
      { tag: "kept", title: "Kept", code: "3" },
    ]);
    const gone = Bun.randomUUIDv7();
    const lines = ["b,B,4,", "a,A,2,", "new,New,3,", `d,D,,${gone}`, `a2,A,,${stored[0]?.id}`];
    await withImport(pages, async (page) => {
      await check(page, ["tag,title,code,after", ...lines].join("\n"), { deletes: false });
      await page.getByText("2 errors in 2 lines. Nothing was stored.").waitFor();
      await page.getByText("Line 4, code: A stored row has this value").waitFor();
      await page.getByText("Line 5, after: No row of todos has this id").waitFor();
    });
    expect(await pages.listRows()).toEqual(stored);
  });

  test("a row that changed since the check stays and is named; so does a row with references", async () => {
    const stored = await pages.addRows(STORED);
    const [a, b] = stored;
    await pages.addRows([{ todo: b?.id }], "steps");
    await withImport(pages, async (page) => {
      await check(page, `${HEADER}new,New,,\n`);
      await page.getByLabel("Delete 8 of 8 rows").check();
      await pages.call(`/v1/data/db/todos/${a?.id}`, { method: "PATCH", json: { note: "other" } });
      await press(page, "Create 1 and delete 8 rows");
      await page.getByText("2 rows not deleted.").waitFor();
      await page.getByText("tag=a: has changed in the meantime").waitFor();
      await page.getByText("tag=b: ").waitFor();
      await page.getByText("Created 1, changed 0, left 0 and deleted 6 rows.").waitFor();
    });
    expect((await pages.listRows()).map(({ tag }) => tag)).toEqual(["a", "b", "new"]);
  });

  test("rows that refer to each other are deleted, and rows with large values are sent in parts", async () => {
    const [first] = await pages.addRows([{ tag: "1", title: "first" }]);
    const [second] = await pages.addRows([{ tag: "2", title: "second", after: first?.id }]);
    await pages.addRows([{ tag: "3", title: "third", after: second?.id }]);
    const tags = Array.from({ length: 24 }, (_, number) => `t${number}`);
    const large = tags.map((tag) => ({ tag, title: tag, long: "x".repeat(50_000) }));
    for (const row of large) await pages.addRows([row]);
    await withImport(pages, async (page) => {
      await check(page, `tag,title\n${tags.map((tag) => `${tag},new\n`).join("")}`);
      await press(page, "Change 24 and delete 3 rows");
      await page.getByText("Created 0, changed 24, left 0 and deleted 3 rows.").waitFor();
      expect(await page.getByText("not deleted").count()).toBe(0);
    });
    const { json } = await pages.call("/v1/data/db/todos?limit=1&offset=23");
    expect(json).toMatchObject({ rows: [{ title: "new" }], hasMore: false });
  });

  test("writes whose response is lost are continued with Resume", async () => {
    await pages.addRows(STORED);
    const lines = Array.from({ length: 1500 }, (_, at) => `t${at},title ${at},${at}.5,\n`);
    await withImport(pages, async (page) => {
      let sent = 0;
      await page.route("**/data/todos*", async (route) => {
        if (route.request().method() === "POST" && ++sent === 2) return await route.abort();
        return await route.continue();
      });
      await check(page, HEADER + lines.join(""));
      await page.getByLabel("Delete 8 of 8 rows").check();
      await press(page, "Create 1,500 and delete 8 rows");
      await page
        .getByText(/did not respond\. Created [\d,]+, changed 0, left 0 and deleted 0/)
        .waitFor();
      expect((await pages.listRows()).length).toBeGreaterThan(100);
      await press(page, "Resume");
      await page.getByLabel(/^Delete 8 of [\d,]+ rows/).waitFor({ state: "hidden" });
      await press(page, /^Create [\d,]+ and delete 8 rows$/);
      await page.getByText(/changed 0, left [\d,]+ and deleted 8 rows/).waitFor();
    });
    const { json } = await pages.call("/v1/data/db/todos?limit=1&offset=1499");
    expect(json).toMatchObject({ rows: [{}], hasMore: false });
  });

  test.each(displays("light", 1280))(
    "has no axe violation and fits the page, $colorScheme at $width px",
    async ({ colorScheme, width }) => {
      await pages.addRows(STORED);
      const options = { colorScheme, viewport: { width, height: 800 }, bypassCSP: true };
      const context = await pages.browser.newContext(options);
      const page = await context.newPage();
      await openImport(pages, page);
      await check(page, `${HEADER}${KEPT}`);
      await page.getByText("2 rows to delete").click();
      await expectSound(page, "counts");
      await page.getByLabel("Delete 2 of 8 rows").check();
      const [, , , , , , g] = await pages.listRows();
      await pages.call(`/v1/data/db/todos/${g?.id}`, { method: "PATCH", json: { note: "other" } });
      await press(page, "Delete 2 rows");
      await page.getByText("1 row not deleted.").waitFor();
      await expectSound(page, "written");
      await context.close();
    },
  );
});
