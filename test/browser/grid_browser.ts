/** The grid of a table's rows in a real browser: by keyboard alone, edited in place, told of other editors, paged without growing. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser, CDPSession, Locator, Page } from "playwright-core";
import { defineSchema, t } from "../../src/dsl/mod.ts";
import { openBrowser, openSite, type TestSite } from "../support/browser.ts";
import { makePerson, PASSWORD, type Person } from "../support/people.ts";
import type { TestApp } from "../support/service.ts";

const SCHEMA = defineSchema({
  todos: {
    title: t.string().required(),
    note: t.string(),
    status: t.enum(["open", "doing", "done"]).required().default("open"),
    hours: t.decimal(),
    due_at: t.timestamp(),
    is_paid: t.boolean(),
    meta: t.json(),
  },
});
const COLUMNS = ["id", "title", "note", "status", "hours", "due_at", "is_paid", "meta"];

let site: TestSite;
let browser: Browser;
let person: Person;
let app: TestApp;
beforeAll(async () => {
  [site, browser] = await Promise.all([openSite(), openBrowser()]);
  person = await makePerson(site.service, { name: "Ada", consoleRole: "super_admin" });
}, 60_000);
afterAll(async () => {
  await browser.close();
  await site.close();
});

async function addRows(titles: readonly string[]): Promise<void> {
  if (titles.length === 0) return;
  const json = titles.map((title) => ({ title }));
  const answer = await site.service.call(app, "/v1/data/db/todos", { method: "POST", json });
  expect(answer.status).toBe(201);
}

/** The page of rows of a fresh app, in a fresh browser; what its policy refuses or its scripts throw fails the test. */
async function openGrid(
  titles: readonly string[],
  run: (page: Page) => Promise<void>,
  options: Parameters<Browser["newContext"]>[0] = {},
): Promise<void> {
  app = await site.service.makeApp(SCHEMA);
  await addRows(titles);
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.stack ?? error.message));
  page.on("console", (message) => {
    if (/Content Security Policy|Refused to|trusted/i.test(message.text()))
      complaints.push(message.text());
  });
  await page.goto(`${site.identityUrl}/console/apps/${app.slug}/tables/todos`);
  await page.fill("#email", person.email);
  await page.fill("#password", PASSWORD);
  await page.click("button[type=submit]");
  await page.locator("table[role=grid]").waitFor();
  await run(page);
  expect(complaints).toEqual([]);
  await context.close();
}

async function keys(page: Page, ...chords: string[]): Promise<void> {
  for (const chord of chords) await page.keyboard.press(chord);
}
const said = (page: Page, text: string) =>
  page.locator("#announcements", { hasText: text }).waitFor({ state: "attached" });
const cell = (page: Page, row: number, column: string): Locator =>
  page.locator("tbody tr").nth(row).locator("td").nth(COLUMNS.indexOf(column));

/** Where the focus is: the row from the top, and the column. */
const place = (page: Page) =>
  page.evaluate(() => {
    const found = document.activeElement?.closest("td");
    return found
      ? [(found.parentElement as HTMLTableRowElement).sectionRowIndex, found.cellIndex]
      : [];
  });

const TITLES = Array.from({ length: 60 }, (_, n) => `row ${n + 1}.`);

test("arrows, Home, End and their companions move between cells; Tab leaves the grid", async () => {
  await openGrid(TITLES, async (page) => {
    await cell(page, 0, "id").focus();
    const moves: [string, number, number][] = [
      ["ArrowRight", 0, 1],
      ["ArrowDown", 1, 1],
      ["End", 1, 8],
      ["Home", 1, 0],
      ["ArrowLeft", 1, 0],
      ["Control+End", 49, 8],
      ["ArrowDown", 49, 8],
      ["Control+Home", 0, 0],
      ["ArrowUp", 0, 0],
      ["PageDown", 10, 0],
      ["Control+ArrowRight", 10, 8],
      ["Control+ArrowUp", 0, 8],
    ];
    for (const [chord, row, column] of moves) {
      await keys(page, chord);
      expect([chord, ...(await place(page))]).toEqual([chord, row, column]);
    }
    await keys(page, "Tab");
    expect(await place(page)).toEqual([]);
    await keys(page, "Shift+Tab");
    expect(await place(page)).toEqual([0, 8]);
  });
});

test("past the last row Page Down shows the next ones, with an address of their own", async () => {
  await openGrid(TITLES, async (page) => {
    await cell(page, 49, "title").focus();
    await keys(page, "PageDown");
    await said(page, "Rows 51 to 60");
    expect(await cell(page, 0, "title").textContent()).toBe("row 51.");
    expect(await place(page)).toEqual([0, 1]);
    expect(page.url()).toContain("from=51");
    await page.goBack();
    await said(page, "Rows 1 to 50");
    expect(await cell(page, 0, "title").textContent()).toBe("row 1.");
    await keys(page, "?");
    expect(await page.getByRole("dialog").textContent()).toContain("In the grid");
  });
});

test("10,000 rows are paged without the page growing", async () => {
  const titles = Array.from({ length: 10_000 }, (_, n) => `row ${n + 1}.`);
  await openGrid(titles.slice(0, 1000), async (page) => {
    for (let start = 1000; start < titles.length; start += 1000)
      await addRows(titles.slice(start, start + 1000));
    await page.goto(`${page.url().split("?")[0]}?limit=100`);
    await cell(page, 0, "title").focus();
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable");
    const first = await measure(session);
    for (let shown = 1; shown < 100; shown++) {
      await keys(page, "Control+ArrowDown", "PageDown");
      await page.locator(`text="row ${shown * 100 + 1}."`).waitFor();
    }
    const last = await measure(session);
    console.log(`after 1 page ${JSON.stringify(first)}, after 100 ${JSON.stringify(last)}`);
    expect(await page.locator("[data-range]").textContent()).toContain("Rows 9901 to 10000");
    expect(await page.locator("tbody tr").count()).toBe(100);
    expect(last.nodes).toBeLessThan(first.nodes * 1.5);
    expect(last.heapBytes).toBeLessThan(first.heapBytes + 2_000_000);
  });
}, 120_000);

/** What is left after the garbage has been collected. */
async function measure(session: CDPSession): Promise<{ nodes: number; heapBytes: number }> {
  await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.getMetrics");
  const read = (name: string) => metrics.find((metric) => metric.name === name)?.value ?? 0;
  return { nodes: read("Nodes"), heapBytes: read("JSHeapUsedSize") };
}
