/** Importing a file in a real browser: columns are chosen, all rows are checked, and an interrupted import continues. */
import { beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { displays, expectSound, signInToConsole, weighPage, withPage } from "../support/browser.ts";
import {
  choose,
  importAll,
  loseResponse,
  openImport,
  press,
  withImport,
} from "../support/import_page.ts";
import { useTablePages } from "../support/table_pages.ts";

const SCHEMA = defineSchema({
  projects: { name: t.string().required().unique(), code: t.integer().unique() },
  todos: {
    title: t.string().required().unique(),
    size: t.number(),
    due: t.timestamp(),
    project: t.ref("projects"),
    limit: t.string().unique(),
  },
});

const pages = useTablePages(SCHEMA, { consoleRole: "admin" });
beforeEach(async () => {
  await pages.makeApp();
});

async function chooseBytes(page: Page, buffer: Buffer): Promise<void> {
  const file = { name: "todos.csv", mimeType: "text/csv", buffer };
  await page.getByLabel("File", { exact: true }).setInputFiles(file);
}

async function countRows(): Promise<number> {
  const responses = [0, 1000, 2000].map((offset) =>
    pages.call(`/v1/data/db/todos?offset=${offset}`),
  );
  const lists = (await Promise.all(responses)).map(
    ({ json }) => (json as { rows: unknown[] }).rows,
  );
  return lists.flat().length;
}

const makeCsv = (count: number, toSize: (index: number) => string) =>
  [
    "What,size,Comments",
    ...Array.from({ length: count }, (_, at) => `t${at},${toSize(at)},x`),
  ].join("\n");

test("a file of German Excel is stored: its encoding is chosen, and a column without a name is left out", async () => {
  await withImport(pages, async (page) => {
    const text = ";title;size;;\r\n0;Größe;1,5;;\r\n1;'x;2;;\r\n;;;;\r\n";
    await chooseBytes(page, Buffer.from(text, "latin1"));
    await press(page, "Check the file");
    await page.getByText("choose its encoding, perhaps windows-1252").waitFor();
    await page.getByLabel("Encoding").selectOption("windows-1252");
    await page.getByLabel("Column 1 (no name)").waitFor();
    expect(await page.getByLabel("Column 1 (no name)").inputValue()).toBe("");
    expect(await page.getByText("(no name)").count()).toBe(1);
    await importAll(page, "2 rows");
  });
  expect(await pages.listRows()).toMatchObject([
    { title: "Größe", size: 1.5 },
    { title: "'x", size: 2 },
  ]);
});

test("references are found by a unique column of their table, also in a later page of it", async () => {
  const names = Array.from({ length: 1001 }, (_, code) => ({ name: `Project ${code}`, code }));
  const stored = [
    ...(await pages.addRows(names.slice(0, 1000), "projects")),
    ...(await pages.addRows(names.slice(1000), "projects")),
  ];
  const idOf = (code: number) => stored[code]?.id ?? "";
  await withImport(pages, async (page) => {
    await choose(page, "title,What\na,Project 3\nb,Nowhere\nc,\nd,Project 1000\n");
    await page.getByLabel("What").selectOption("project, by its name");
    await press(page, "Check the file");
    await page.getByText('Line 3, project: No row has "Nowhere" in name').waitFor();
    await press(page, "Import only the 3 rows without errors");
    await page.getByText("3 rows stored.").waitFor();
    await choose(page, `title,project\ne,7\n`);
    await press(page, "Check the file");
    await page.getByText("Line 2, project").waitFor();
    await page.getByLabel("project", { exact: true }).selectOption("project, by its code");
    await importAll(page, "1 row");
  });
  expect(await pages.listRows()).toMatchObject([
    { title: "a", project: idOf(3) },
    { title: "c", project: null },
    { title: "d", project: idOf(1000) },
    { title: "e", project: idOf(7) },
  ]);
});

test("two repeated names are left out, and an export for spreadsheets is recognized", async () => {
  const id = "0190163d-8694-739b-aea5-966c26f8ad91";
  const text = `\uFEFFid,title,Comments,Comments\r\n"${id}",'+49 30,x,\r\n`;
  await withImport(pages, async (page) => {
    await choose(page, text);
    expect(await page.locator("#spreadsheet").isChecked()).toBe(true);
    await importAll(page, "1 row");
  });
  expect(await pages.listRows()).toMatchObject([{ title: "+49 30" }]);
});

test("an import of 2,000 rows with 30 invalid rows groups equal errors, then stores the other rows", async () => {
  await withImport(pages, async (page) => {
    await choose(
      page,
      makeCsv(2000, (at) => (at % 67 === 0 ? "many" : String(at))),
    );
    await page.getByLabel("What").selectOption("title");
    expect(await page.getByLabel("size").inputValue()).toBe("size");
    expect(await page.getByLabel("Comments").inputValue()).toBe("");
    await press(page, "Check the file");
    await page.getByText("30 errors in 30 lines. Nothing was stored.").waitFor();
    await page
      .getByText(/^size: Must be a number \(30 lines: 2, 69, .*, 1275 and 10 more\)$/)
      .waitFor();
    expect(await countRows()).toBe(0);
    await press(page, "Import only the 1,970 rows without errors");
    await page.getByText("1,970 rows stored.").waitFor();
    expect(await countRows()).toBe(1970);
    await page.getByRole("link", { name: "Open the table" }).click();
    await page.getByText("t1", { exact: true }).waitFor();
  });
});

test("a row that is larger than a batch is stored with the rows around it", async () => {
  const titles = ["a", "b".repeat(150_000), "c"];
  await withImport(pages, async (page) => {
    await choose(page, ["title", ...titles].join("\n"));
    await importAll(page, "3 rows");
  });
  expect(await pages.listRows()).toMatchObject(titles.map((title) => ({ title })));
});

test("a file whose header lacks a required column is an error before any request", async () => {
  await withImport(pages, async (page) => {
    await choose(page, "size\n1\n");
    await press(page, "Check the file");
    await page.getByText("Line 1: title is missing").waitFor();
    expect(await page.getByRole("button", { name: /^Import/ }).count()).toBe(0);
  });
});

test("an import without a response continues with Resume, and stores each row once", async () => {
  await withImport(pages, async (page) => {
    await loseResponse(pages, page, 2);
    await choose(page, makeCsv(2500, String));
    await page.getByLabel("What").selectOption("title");
    await press(page, "Check the file");
    await press(page, "Import 2,500 rows");
    await page.getByText("The service did not respond. 1000 rows are stored").waitFor();
    await press(page, "Resume");
    await page.getByText("2,500 rows stored.").waitFor();
    expect(await countRows()).toBe(2500);
  });
});

test("a file that was imported before is reported, and is stored again only on request", async () => {
  await withImport(pages, async (page) => {
    for (const message of [
      "1 row stored.",
      "An earlier import of this file had already stored 1 row.",
    ]) {
      await choose(page, "title\na\n");
      await press(page, "Check the file");
      await press(page, "Import 1 row");
      await page.getByText(message).waitFor();
      expect(await countRows()).toBe(1);
    }
    await pages.site.service.service.admin.message(
      `set session rowhouse.app_id = '${pages.app.id}'; delete from data.todos where app_id = '${pages.app.id}'; select 1`,
    );
    await press(page, "Store again");
    await page.getByText("1 row stored. Open the table", { exact: true }).waitFor();
    expect(await countRows()).toBe(1);
  });
});

test("a session that ends during an import can be renewed, and Resume continues", async () => {
  await withImport(pages, async (page) => {
    await choose(page, "title\na\n");
    await press(page, "Check the file");
    await page.getByRole("button", { name: "Import 1 row" }).waitFor();
    await page.context().clearCookies();
    await press(page, "Import 1 row");
    await page.getByText("Your session has ended").waitFor();
    const other = await page.context().newPage();
    await other.goto(pages.toUrl("todos"));
    await signInToConsole(other, pages.person.email);
    await press(page, "Resume");
    await page.getByText("1 row stored.").waitFor();
    expect(await countRows()).toBe(1);
  });
});

test("a row that another client stores after the check is reported with its line, after the rows before it are stored", async () => {
  await withPage(pages.browser, async (page) => {
    const json = { title: "a" };
    await openImport(pages, page);
    await choose(page, '{"title":"c"}\n{"title":"b"}\n\n{"title":"a"}\n', "todos.ndjson");
    await press(page, "Check the file");
    await page.locator("[data-results]").getByText("3 rows checked, no errors.").waitFor();
    await pages.call("/v1/data/db/todos", { method: "POST", json });
    await press(page, "Import 3 rows");
    await page.getByText(/^Line 4, title: /).waitFor();
    await page.getByText("0 rows are stored; rows from line 1 on are not").waitFor();
    expect(await countRows()).toBe(1);
  });
});

test("the rows stored are removed after a failed import, except those that changed, and the file can be imported again", async () => {
  const text = makeCsv(1500, String);
  await pages.addRows([{ title: "before" }]);
  await withImport(pages, async (page) => {
    await choose(page, text);
    await page.getByLabel("What").selectOption("title");
    await press(page, "Check the file");
    await page.locator("[data-results]").getByText("1,500 rows checked").waitFor();
    await pages.addRows([{ title: "t1200" }]);
    await press(page, "Import 1,500 rows");
    await page.getByText("1000 rows are stored; rows from line 1002 on are not").waitFor();
    const changed = (await pages.listRows()).find(({ title }) => title === "t5");
    await pages.call(`/v1/data/db/todos/${changed?.id}`, { method: "PATCH", json: { size: 7 } });
    await press(page, "Remove the rows stored");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(
      "Remove 1,000 rows",
    );
    await press(page, "Remove 1,000 rows");
    await page.locator("[data-results]").getByText("Removed 999 of 1,000 rows.").waitFor();
    await page.getByText("1 row kept.").waitFor();
    await page.getByText("title=t5: has changed in the meantime").waitFor();
    expect((await pages.listRows()).map(({ title }) => title)).toEqual(["before", "t1200", "t5"]);
    await page.reload();
    await choose(page, text);
    await press(page, "Check the file");
    await page.getByText("2 errors in 2 lines.").waitFor();
    await press(page, "Import only the 1,498 rows without errors");
    await page.getByText("1,498 rows stored. Open the table", { exact: true }).waitFor();
    expect(await countRows()).toBe(1501);
  });
});

test("each name shows its first values, and zoneless times are read in the chosen zone", async () => {
  const context = await pages.browser.newContext({ timezoneId: "Europe/Berlin" });
  const page = await context.newPage();
  await openImport(pages, page);
  await choose(
    page,
    "title,due,Comments\na,2026-11-27,\nb,2026-07-27 14:30,\nc,2026-11-27T14:30:00Z,\nd,,x\n",
  );
  const hint = page.getByLabel("due", { exact: true }).locator("xpath=preceding-sibling::p");
  expect(await hint.textContent()).toBe("2026-11-27 · 2026-07-27 14:30 · 2026-11-27T14:30:00Z");
  await press(page, "Check the file");
  await page.getByText("2 times without a time zone: read in UTC.").waitFor();
  await page.getByLabel("Times without a time zone are in").selectOption({ index: 1 });
  expect(await page.getByRole("button", { name: /^Import/ }).count()).toBe(0);
  await press(page, "Check the file");
  await page.getByText("2 times without a time zone: read in this browser's time zone.").waitFor();
  await press(page, "Import 4 rows");
  await page.getByText("4 rows stored.").waitFor();
  await context.close();
  expect((await pages.listRows()).map(({ due }) => due)).toEqual([
    "2026-11-26T23:00:00+00:00",
    "2026-07-27T12:30:00+00:00",
    "2026-11-27T14:30:00+00:00",
    null,
  ]);
});

test("days are read in the order that the file shows, and otherwise nothing is stored", async () => {
  await withImport(pages, async (page) => {
    await choose(page, "title,due\na,02.04.2026\n");
    await press(page, "Check the file");
    await page.getByText("--dates dmy").waitFor();
    expect(await page.getByRole("button", { name: /^Import/ }).count()).toBe(0);
    await choose(page, "title,due\na,02.04.2026\nb,29.09.2025 14:30\n");
    await press(page, "Check the file");
    await page.getByText("Dates are read as day.month.year").waitFor();
    await press(page, "Import 2 rows");
    await page.getByText("2 rows stored.").waitFor();
  });
  expect((await pages.listRows()).map(({ due }) => due)).toEqual([
    "2026-04-02T00:00:00+00:00",
    "2025-09-29T14:30:00+00:00",
  ]);
});

test("a file that was corrected after the check can be chosen again", async () => {
  const path = join(mkdtempSync(join(tmpdir(), "rowhouse-")), "todos.csv");
  await withImport(pages, async (page) => {
    const input = page.getByLabel("File", { exact: true });
    const names = () =>
      input.evaluate((field: HTMLInputElement) => [...(field.files ?? [])].map(({ name }) => name));
    const browser = await page.context().newCDPSession(page);
    const open = () => Promise.all([page.waitForEvent("filechooser"), input.click()]);
    // Playwright would send a copy, and report a change for the same file too.
    const choosePath = async () => {
      const { root } = await browser.send("DOM.getDocument");
      const found = { nodeId: root.nodeId, selector: "#file" };
      const { nodeId } = await browser.send("DOM.querySelector", found);
      await browser.send("DOM.setFileInputFiles", { nodeId, files: [path] });
    };
    writeFileSync(path, "title,size\na,x\n");
    await open();
    await choosePath();
    await press(page, "Check the file");
    await page.getByText("Line 2, size: Must be a number").waitFor();
    writeFileSync(path, "title,size\na,1.5\n");
    await press(page, "Check the file");
    await page.getByText("it has changed since you chose it. Choose it again.").waitFor();
    expect(await page.getByText("Checking…").count()).toBe(0);
    await open();
    await input.dispatchEvent("cancel");
    expect(await names()).toEqual(["todos.csv"]);
    await open();
    await choosePath();
    await page.getByText("it has changed since you chose it").waitFor({ state: "hidden" });
    await importAll(page, "1 row");
  });
  expect(await pages.listRows()).toMatchObject([{ title: "a", size: 1.5 }]);
});

test("a reference is found by the text of its row without a choice, and by its id", async () => {
  const [house] = await pages.addRows([{ name: "House" }], "projects");
  await withImport(pages, async (page) => {
    await choose(page, `title,project\na,House\nb,${house?.id}\n`);
    expect(await page.getByLabel("project", { exact: true }).inputValue()).toBe("project.name");
    await importAll(page, "2 rows");
  });
  expect((await pages.listRows()).map(({ project }) => project)).toEqual([house?.id, house?.id]);
});

const MISSING = "0190163d-8694-739b-aea5-966c26f8ad91";

describe("stored rows are compared before anything is stored", () => {
  const site = useTablePages(SCHEMA, { consoleRole: "admin", previews: [] });
  beforeEach(async () => {
    await site.makeApp();
  });

  test("one duplicate in the last of 1,500 lines, and a reference without a row", async () => {
    const [house] = await site.addRows([{ name: "House" }], "projects");
    await site.addRows(Array.from({ length: 1000 }, (_, at) => ({ title: `s${at}` })));
    await site.addRows([{ title: 'last, "quoted"' }]);
    const lines = Array.from({ length: 1498 }, (_, at) => `t${at},${house?.id}`);
    lines.push(`u,${MISSING}`, `"last, ""quoted""",`);
    await withImport(site, async (page) => {
      await choose(page, `title,project\n${lines.join("\n")}\n`);
      await press(page, "Check the file");
      await page.getByText("2 errors in 2 lines. Nothing was stored.").waitFor();
      await page.getByText("Line 1500, project: No row of projects has this id").waitFor();
      await page.getByText("Line 1501, title: A stored row has this value").waitFor();
      expect(await site.listRows()).toHaveLength(1000);
      await press(page, "Import only the 1,498 rows without errors");
      await page.getByText("1,498 rows stored.").waitFor();
    });
    const { json } = await site.call("/v1/data/db/todos?offset=2000&limit=1000");
    expect((json as { rows: unknown[] }).rows).toHaveLength(499);
  });

  test("a duplicate in a column with the name of a parameter", async () => {
    await site.addRows(
      Array.from({ length: 101 }, (_, at) => ({ title: `s${at}`, limit: `${at}` })),
    );
    await withImport(site, async (page) => {
      await choose(page, "title,limit\nt,100\n");
      await press(page, "Check the file");
      await page.getByText("Line 2, limit: A stored row has this value").waitFor();
    });
  });
});

describe("the layout", () => {
  test.each(displays("light", 1280))(
    "has no axe violation and fits the page, $colorScheme at $width px",
    async ({ colorScheme, width }) => {
      const options = { colorScheme, viewport: { width, height: 800 }, bypassCSP: true };
      const context = await pages.browser.newContext(options);
      const page = await context.newPage();
      await openImport(pages, page);
      await expectSound(page, "at first");
      await choose(page, `title,size,${"x".repeat(200)}\na,b,c\n`);
      await expectSound(page, "mapping");
      await press(page, "Check the file");
      await page.getByText("1 error in 1 line").waitFor();
      await expectSound(page, "errors");
      await choose(page, "title,size\na,1\n");
      await importAll(page, "1 row");
      await expectSound(page, "stored");
      await context.close();
    },
  );

  test("needs at most 60 KB on a first visit", async () => {
    await withPage(pages.browser, async (page) => {
      await page.goto(pages.toUrl("todos"));
      await signInToConsole(page, pages.person.email);
      const bytes = await weighPage(page, `${pages.toUrl("todos")}/import`);
      console.log(`import page: ${bytes} bytes on a first visit`);
      expect(bytes).toBeGreaterThan(10_000);
      expect(bytes).toBeLessThan(60 * 1024);
    });
  });
});

test("no field can be changed while rows are stored, so that the progress stays", async () => {
  await withImport(pages, async (page) => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    await page.route("**/data/todos*", async (route) => {
      if (route.request().method() === "POST") await held;
      await route.continue();
    });
    await chooseBytes(page, Buffer.from("title,size\na,1\nb,2\n"));
    await press(page, "Check the file");
    await press(page, "Import 2 rows");
    const progress = page.locator("[data-import] progress");
    await progress.waitFor();
    const open = page.locator("[data-import] :is(input, select, textarea, button):enabled");
    expect(await open.count()).toBe(0);
    release();
    await page.getByText("2 rows stored.").waitFor();
    expect(await open.count()).toBeGreaterThan(5);
  });
  expect(await countRows()).toBe(2);
});
