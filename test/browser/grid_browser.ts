/**
 * The grid of a table's rows in a real browser: keyboard use, editing in place, conflicts with other editors, paging without
 * growth.
 */
import { expect, test } from "bun:test";
import type { CDPSession, Locator, Page } from "playwright-core";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { inDigits } from "../../src/std/count.ts";
import {
  displays,
  expectSound,
  type OnPage,
  readOnPage,
  signInToConsole,
} from "../support/browser.ts";
import { useTablePages } from "../support/table_pages.ts";
import { isFull } from "../support/tier.ts";

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

const pages = useTablePages(SCHEMA);

/** The page of rows of a fresh app, in a fresh browser. */
async function openGrid(titles: readonly string[], ...given: OnPage): Promise<void> {
  const { options, run } = readOnPage(given);
  await pages.makeApp();
  await pages.addRows(titles.map((title) => ({ title })));
  const waitFirst = async (page: Page) => {
    await page
      .locator(options.javaScriptEnabled === false ? "table" : "table[role=grid]")
      .waitFor();
    await run(page);
  };
  await pages.open("todos", options, waitFirst);
}

async function keys(page: Page, ...chords: string[]): Promise<void> {
  for (const chord of chords) await page.keyboard.press(chord);
}
/** Waits for an announcement with exactly this text: "Not saved" is not "Saved". */
const said = (page: Page, text: string) =>
  page.locator("#announcements", { hasText: new RegExp(text) }).waitFor({ state: "attached" });
/** Waits until no edit waits for its response. */
const isSaved = (page: Page) => page.locator("td[data-saving]").waitFor({ state: "detached" });
const cell = (page: Page, row: number, column: string): Locator =>
  page.locator("tbody tr").nth(row).locator("td").nth(COLUMNS.indexOf(column));

/** The position of the focus: the row from the top, and the column. */
const place = (page: Page) =>
  page.evaluate(() => {
    const found = document.activeElement?.closest("td");
    return found
      ? [(found.parentElement as HTMLTableRowElement).sectionRowIndex, found.cellIndex]
      : [];
  });

const TITLES = Array.from({ length: 60 }, (_, n) => `row ${n + 1}.`);

test("arrows, Home, End and similar keys move between cells, and Tab leaves the grid", async () => {
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

test("a skip link leads to the first cell with two tab stops", async () => {
  await openGrid(["Milk"], async (page) => {
    await keys(page, "Tab", "Tab");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to the rows");
    await keys(page, "Enter", "ArrowRight");
    expect(await place(page)).toEqual([0, 1]);
  });
});

test("keys typed before the editor opens go into it and trigger no shortcuts", async () => {
  await openGrid(["Milk", "Bread"], async (page) => {
    const { promise: asked, resolve: response } = Promise.withResolvers<void>();
    await page.route("**/data/**", async (route) => {
      await asked;
      await route.continue();
    });
    await cell(page, 0, "title").focus();
    await keys(page, "F2", "n", "e", "w", "Enter", "g", "h");
    response();
    await said(page, "^Saved");
    expect(await page.locator(".grid-input").inputValue()).toBe("gh");
    await keys(page, "Enter");
    await cell(page, 1, "title").locator("bdi", { hasText: "gh" }).waitFor();
    await isSaved(page);
    expect((await pages.listRows()).map(({ title }) => title)).toEqual(["new", "gh"]);
  });
});

test("a character key starts editing the cell and triggers no shortcut", async () => {
  await openGrid(["Milk"], async (page) => {
    await cell(page, 0, "title").focus();
    await page.keyboard.type("new?/");
    await keys(page, "Enter");
    await said(page, "^Saved");
    expect((await pages.listRows())[0]?.["title"]).toBe("new?/");
    await cell(page, 0, "status").focus();
    await keys(page, "d");
    expect(await page.locator(".grid-input").inputValue()).toBe("d");
    await keys(page, "Escape");
    await cell(page, 0, "id").focus();
    await keys(page, "n");
    expect(page.url()).not.toContain("/new");
  });
});

test("the editor covers its cell without moving a column", async () => {
  await openGrid(["Milk"], async (page) => {
    const places = () =>
      page.evaluate(() =>
        [...document.querySelectorAll("th")].map((head) => head.getBoundingClientRect().left),
      );
    const before = await places();
    for (const column of ["title", "is_paid", "meta"]) {
      await edit(page, 0, column);
      expect(await places()).toEqual(before);
      await keys(page, "Escape");
    }
  });
});

test("a change is marked as saved, or as not saved while offline, and Retry sends it again", async () => {
  await openGrid(["Milk"], async (page) => {
    const shown = page.locator("#save-state");
    await edit(page, 0, "title");
    await page.context().setOffline(true);
    await page.keyboard.type("Oat milk");
    await keys(page, "Enter");
    await shown.getByText("Not saved: you are offline.").waitFor();
    expect(await control(page, "title").inputValue()).toBe("Oat milk");
    await page.context().setOffline(false);
    await shown.getByRole("button", { name: "Retry" }).click();
    await shown.getByText("Saved", { exact: true }).waitFor();
    expect((await pages.listRows())[0]?.["title"]).toBe("Oat milk");
    await page.route("**/data/**", (route) => route.abort());
    await cell(page, 0, "title").focus();
    await page.keyboard.type("Tea");
    await keys(page, "Enter");
    await shown.getByText("Not saved: the server did not respond.").waitFor();
    expect(await cell(page, 0, "title").textContent()).toBe("Tea");
    await page.unroute("**/data/**");
    await shown.getByRole("button", { name: "Retry" }).click();
    await shown.getByText("Saved", { exact: true }).waitFor();
    expect((await pages.listRows())[0]?.["title"]).toBe("Tea");
  });
});

/** Ends all sessions of the person on the server; the browser keeps its cookies. */
const endSessions = () =>
  pages.site.service.service.admin.message("delete from rowhouse.sessions; select 1");

/** Signs in again in a separate tab. */
async function signInElsewhere(page: Page): Promise<void> {
  const other = await page.context().newPage();
  await other.goto(`${pages.site.identityUrl}/console`);
  await signInToConsole(other, pages.person.email);
  await other.close();
}

test("text typed in a cell or a drawer survives the end of the session", async () => {
  await openGrid(["Milk"], async (page) => {
    const shown = page.locator("#save-state");
    await edit(page, 0, "title");
    await endSessions();
    await page.keyboard.type("Oat milk");
    await keys(page, "Enter");
    await shown.getByText("Not saved: your session has ended").waitFor();
    expect(await control(page, "title").inputValue()).toBe("Oat milk");
    await signInElsewhere(page);
    await shown.getByRole("button", { name: "Retry" }).click();
    await shown.getByText("Saved", { exact: true }).waitFor();
    expect((await pages.listRows())[0]?.["title"]).toBe("Oat milk");
    await keys(page, "Shift+Enter");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await control(page, "note").fill("typed in the drawer");
    await endSessions();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("Not saved: your session has ended").waitFor();
    await signInElsewhere(page);
    await dialog.getByRole("button", { name: "Retry" }).click();
    await dialog.waitFor({ state: "detached" });
    expect((await pages.listRows())[0]?.["note"]).toBe("typed in the drawer");
  });
});

test("text typed on a row's page survives the end of the session", async () => {
  await openGrid(["Milk"], async (page) => {
    const row = (await cell(page, 0, "id").getByRole("link").getAttribute("href")) ?? "";
    await page.goto(pages.site.identityUrl + row);
    await control(page, "title").fill("Oat milk");
    await endSessions();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.locator("#password").waitFor();
    await signInToConsole(page, pages.person.email);
    await page.locator(".notice", { hasText: "Your input is restored" }).waitFor();
    expect(await control(page, "title").inputValue()).toBe("Oat milk");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.locator("table[role=grid]").waitFor();
    expect((await pages.listRows())[0]?.["title"]).toBe("Oat milk");
  });
});

test("a row in the drawer has an address: next and previous change it, a reload opens it, Back closes it", async () => {
  await openGrid(TITLES, { viewport: { width: 1280, height: 600 } }, async (page) => {
    const scrolled = () => page.locator(".sheet-tight").evaluate((frame) => frame.scrollTop);
    const dialog = (name: string) => page.getByRole("dialog", { name, exact: true });
    const ids = (await pages.listRows()).map(({ id }) => id);
    await cell(page, 40, "title").focus();
    const top = await scrolled();
    await keys(page, "Shift+Enter");
    await dialog("row 41.").getByRole("button", { name: "Next row" }).click();
    await dialog("row 42.").getByRole("button", { name: "Previous row" }).click();
    await dialog("row 41.").getByRole("button", { name: "Previous row" }).click();
    await dialog("row 40.").waitFor();
    expect(page.url()).toEndWith(`#row=${ids[39]}`);
    await page.goBack();
    await dialog("row 40.").waitFor({ state: "detached" });
    expect([top > 0, await scrolled(), await place(page)]).toEqual([true, top, [39, 1]]);
    await page.goForward();
    page.once("dialog", (question) => void question.dismiss());
    await dialog("row 40.").locator('[id="value.note"]').fill("typed");
    await page.goBack();
    await page.waitForURL("**#row=*");
    expect(await control(page, "note").inputValue()).toBe("typed");
    page.once("dialog", (question) => void question.accept());
    await page.reload();
    await dialog("row 40.").waitFor();
    await keys(page, "Escape");
    await dialog("row 40.").waitFor({ state: "detached" });
    await page.waitForURL(({ hash }) => hash === "");
    const before = await page.evaluate(() => history.length);
    await cell(page, 39, "id").getByRole("link").dblclick();
    await dialog("row 40.").waitFor();
    await page.waitForLoadState("networkidle");
    const after = await page.evaluate(() => history.length);
    expect([await page.getByRole("dialog").count(), after - before]).toEqual([1, 0]);
    await keys(page, "Escape");
    await page.waitForURL(({ hash }) => hash === "");
    const box = async (row: number) => (await cell(page, row, "title").boundingBox())?.x;
    await cell(page, 1, "title").focus();
    expect(await box(1)).toBe(await box(0));
  });
});

test("the drawer has the caret after its first value and a visible Save, and a deletion has Cancel", async () => {
  await openGrid(["Milk"], { viewport: { width: 1280, height: 600 } }, async (page) => {
    await cell(page, 0, "title").focus();
    await keys(page, "Shift+Enter");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    const below = await dialog
      .getByRole("button", { name: "Save" })
      .evaluate((button) => button.getBoundingClientRect().bottom - innerHeight);
    expect(below).toBeLessThanOrEqual(0);
    await page.keyboard.type("!");
    expect(await control(page, "title").inputValue()).toBe("Milk!");
    await control(page, "title").fill("Milk");
    await keys(page, "Escape", "Delete");
    await dialog.waitFor();
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Cancel");
    await keys(page, "Enter");
    await dialog.waitFor({ state: "detached" });
    expect((await pages.listRows()).length).toBe(1);
  });
});

test("Undo restores the value before the last change, unless the row has changed since", async () => {
  await openGrid(["Milk"], async (page) => {
    const change = async (column: string, text: string) => {
      await edit(page, 0, column);
      await page.keyboard.type(text);
      await keys(page, "Enter");
      await said(page, "^Saved");
    };
    await change("note", "cold");
    await keys(page, "Control+z");
    await said(page, "^Undone");
    expect((await pages.listRows())[0]?.["note"]).toBeNull();
    await change("title", "Tea");
    await changeFirst({ hours: "1" });
    await page.locator("#save-state").getByRole("button", { name: "Undo" }).click();
    await said(page, "^Not saved: the row has changed since");
    expect((await pages.listRows())[0]?.["title"]).toBe("Tea");
  });
});

test("the last page, a row by its id, the total and the column heads are directly accessible", async () => {
  await openGrid(TITLES, async (page) => {
    await page.locator("[data-range]", { hasText: /^Rows 1 to 50 of 60$/ }).waitFor();
    await page.locator("tbody tr").last().scrollIntoViewIfNeeded();
    expect(await page.getByRole("columnheader", { name: /^title/ }).isVisible()).toBe(true);
    const head = await page.locator("th").nth(1).boundingBox();
    const frame = await page.locator(".sheet-tight").boundingBox();
    expect(Math.abs((head?.y ?? 0) - (frame?.y ?? 99))).toBeLessThan(3);
    const foot = await page.locator(".pager").boundingBox();
    expect(foot?.y).toBeGreaterThan((frame?.y ?? 0) + (frame?.height ?? 0) - 1);
    expect((foot?.y ?? 0) + (foot?.height ?? 0)).toBeLessThanOrEqual(
      page.viewportSize()?.height ?? 0,
    );
    await page.setViewportSize({ width: 900, height: 800 });
    // One line of controls of one height.
    expect((await page.locator(".pager").boundingBox())?.height).toBeLessThan(50);
    await page.getByRole("link", { name: "Last", exact: true }).click();
    await said(page, "Rows 51 to 60 of 60");
    expect(await place(page)).toEqual([0, 0]);
    expect((await page.locator(".pager").boundingBox())?.height).toBeLessThan(50);
    await page.locator(".pager select").selectOption("25");
    await page.locator("[data-range]", { hasText: "Rows 51 to 60 of 60" }).waitFor();
    await page.waitForURL("**limit=25");
    const [, second] = await pages.listRows();
    await page.locator(".pager [name=from]").fill(second?.id ?? "");
    await keys(page, "Enter");
    await page.waitForURL(`**/rows/${second?.id}`);
  });
});

test("a deletion first offers the row as JSON", async () => {
  await openGrid(["Milk"], async (page) => {
    await cell(page, 0, "title").focus();
    await keys(page, "Delete");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Copy the row as JSON first").click();
    expect(JSON.parse((await dialog.locator("#row-json").textContent()) ?? "")).toMatchObject({
      title: "Milk",
    });
    await dialog.getByRole("button", { name: "Copy the row as JSON" }).waitFor();
  });
});

test("Page Down past the last row opens the next page with its own address", async () => {
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
    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    expect(await page.getByRole("dialog").textContent()).toContain("In the grid");
  });
});

test("many rows are paged, and the page does not grow", async () => {
  const shownPages = isFull() ? 100 : 30;
  const titles = Array.from({ length: shownPages * 100 }, (_, n) => `row ${n + 1}.`);
  await openGrid(titles.slice(0, 1000), async (page) => {
    for (let start = 1000; start < titles.length; start += 1000)
      await pages.addRows(titles.slice(start, start + 1000).map((title) => ({ title })));
    await page.goto(`${page.url().split("?")[0]}?limit=100`);
    await cell(page, 0, "title").focus();
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable");
    const first = await measure(session);
    for (let shown = 1; shown < shownPages; shown++) {
      await keys(page, "Control+ArrowDown", "PageDown");
      await page.locator(`text="row ${shown * 100 + 1}."`).waitFor();
    }
    const last = await measure(session);
    console.log(
      `after 1 page ${JSON.stringify(first)}, after ${shownPages} ${JSON.stringify(last)}`,
    );
    const range = `Rows ${inDigits(titles.length - 99)} to ${inDigits(titles.length)}`;
    expect(await page.locator("[data-range]").textContent()).toContain(range);
    expect(await page.locator("tbody tr").count()).toBe(100);
    expect(last.nodes).toBeLessThan(first.nodes * 1.5);
    expect(last.heapBytes).toBeLessThan(first.heapBytes + 2_000_000);
  });
}, 120_000);

/** The heap after garbage collection. */
async function measure(session: CDPSession): Promise<{ nodes: number; heapBytes: number }> {
  await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.getMetrics");
  const read = (name: string) => metrics.find((metric) => metric.name === name)?.value ?? 0;
  return { nodes: read("Nodes"), heapBytes: read("JSHeapUsedSize") };
}

async function edit(page: Page, row: number, column: string): Promise<void> {
  await cell(page, row, column).focus();
  await keys(page, "F2");
  await page.locator(".cell-form").waitFor();
}

/** The input of a value, in a cell or in a dialog. */
const control = (page: Page, column: string) => page.locator(`[id="value.${column}"]`);

/** Another user changes a value of the first row. */
async function changeFirst(json: object): Promise<void> {
  const [first] = await pages.listRows();
  const path = `/v1/data/db/todos/${first?.id}`;
  expect((await pages.call(path, { method: "PATCH", json })).status).toBe(200);
}

test("a cell is edited in place by its kind, and Enter and Tab store and move on", async () => {
  await openGrid(["Milk", "Bread"], async (page) => {
    const typed: [string, string, string, unknown][] = [
      ["title", "Oat milk", "Enter", "Oat milk"],
      ["note", "", "Tab", null],
      ["hours", "1.50", "Enter", "1.50"],
      ["due_at", "2026-11-21 18:00 +01:00", "Tab", "2026-11-21T17:00:00+00:00"],
      ["meta", '{"a": [1]}', "Enter", { a: [1] }],
    ];
    for (const [column, text, chord] of typed) {
      await edit(page, 0, column);
      await page.keyboard.type(text);
      await keys(page, chord);
      await page.locator(".cell-form").waitFor({ state: "detached" });
      const step = chord === "Enter" ? [1, 0] : [0, 1];
      expect(await place(page)).toEqual([step[0] ?? 0, COLUMNS.indexOf(column) + (step[1] ?? 0)]);
    }
    for (const [column, label] of [
      ["status", "doing"],
      ["is_paid", "true"],
    ] as const) {
      await edit(page, 0, column);
      await control(page, column).selectOption({ label });
      await keys(page, "Enter");
      await isSaved(page);
      await page.locator(".cell-form").waitFor({ state: "detached" });
    }
    const [first] = await pages.listRows();
    for (const [column, , , value] of typed)
      expect([column, first?.[column]]).toEqual([column, value]);
    expect([first?.["status"], first?.["is_paid"]]).toEqual(["doing", true]);
    expect(await cell(page, 0, "title").textContent()).toBe("Oat milk");
  });
});

test("null and an empty text are distinguished, and Escape restores the value", async () => {
  await openGrid(["Milk"], async (page) => {
    await edit(page, 0, "note");
    await page.keyboard.type("one");
    await keys(page, "Shift+Enter");
    await page.keyboard.type("two");
    await keys(page, "Enter");
    await said(page, "^Saved");
    expect((await pages.listRows())[0]?.["note"]).toBe("one\ntwo");
    await edit(page, 0, "note");
    await keys(page, "Delete", "Enter");
    await isSaved(page);
    expect((await pages.listRows())[0]?.["note"]).toBe("");
    await cell(page, 0, "note").focus();
    await keys(page, "Control+Backspace");
    await cell(page, 0, "note").locator(".nothing", { hasText: "null" }).waitFor();
    expect((await pages.listRows())[0]?.["note"]).toBeNull();
    expect(await place(page)).toEqual([0, 2]);
    await edit(page, 0, "title");
    await page.keyboard.type("Wine");
    await keys(page, "Escape");
    expect(await cell(page, 0, "title").textContent()).toBe("Milk");
    await keys(page, "Control+Backspace");
    await said(page, "cannot be null");
    expect((await pages.listRows())[0]?.["title"]).toBe("Milk");
  });
});

test("an error is displayed in the cell and announced, and the input remains", async () => {
  await openGrid(["Milk"], async (page) => {
    await edit(page, 0, "hours");
    await page.keyboard.type("1,50");
    await keys(page, "Enter");
    await said(page, "^Not saved");
    await page.locator(".cell-form .issues").first().waitFor();
    expect(await control(page, "hours").inputValue()).toBe("1,50");
    await control(page, "hours").fill("1.50");
    await keys(page, "Enter");
    await said(page, "^Saved");
    expect((await pages.listRows())[0]?.["hours"]).toBe("1.50");
  });
});

test("NULL replaces only the value of a cell", async () => {
  await openGrid(["Milk"], async (page) => {
    await changeFirst({ note: "stored meanwhile" });
    await cell(page, 0, "note").focus();
    await keys(page, "Control+Backspace");
    await said(page, "The row has changed");
    expect(await control(page, "note").inputValue()).toBe("stored meanwhile");
    expect((await pages.listRows())[0]?.["note"]).toBe("stored meanwhile");
    await keys(page, "Control+Backspace");
    await said(page, "^Saved");
    expect((await pages.listRows())[0]?.["note"]).toBeNull();
  });
});

test("the second of two editors gets a conflict with the stored value, and loses no input", async () => {
  await openGrid(["Milk"], async (page) => {
    await edit(page, 0, "title");
    await changeFirst({ title: "Tea" });
    await page.keyboard.type("Coffee");
    await keys(page, "Enter");
    await said(page, "Another user changed this row");
    expect((await pages.listRows())[0]?.["title"]).toBe("Tea");
    expect(await page.locator(".cell-form").textContent()).toContain("Stored value: Tea");
    await keys(page, "Escape");
    await cell(page, 0, "title").getByText("Tea").waitFor();
    expect(await place(page)).toEqual([0, 1]);
  });
});

test("a row opens over the grid, is stored and deleted there, and the focus returns", async () => {
  await openGrid(["Milk", "Bread"], async (page) => {
    const dialog = page.getByRole("dialog");
    await cell(page, 0, "title").focus();
    await keys(page, "Shift+Enter");
    await dialog.waitFor();
    await keys(page, "Escape");
    await dialog.waitFor({ state: "detached" });
    expect(await place(page)).toEqual([0, 1]);
    await keys(page, "Shift+Enter");
    await control(page, "hours").fill("1,5");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.locator(".issues").first().waitFor();
    await control(page, "hours").fill("1.5");
    await dialog.getByRole("button", { name: "Save" }).click();
    await said(page, "^Saved");
    await cell(page, 0, "hours").getByText("1.5").waitFor();
    expect(await place(page)).toEqual([0, 1]);
    await keys(page, "Delete");
    await dialog.getByRole("button", { name: "Delete the row" }).click();
    await said(page, "^Deleted");
    await page.locator("tbody tr").nth(1).waitFor({ state: "detached" });
    await page.waitForFunction(() => document.activeElement?.closest("td") !== null);
    expect(await place(page)).toEqual([0, 1]);
    expect((await pages.listRows()).map(({ title }) => title)).toEqual(["Bread"]);
  });
});

test("a row's page warns before unsaved input is lost, and focuses its issue", async () => {
  await openGrid(["Milk"], async (page) => {
    let asked = 0;
    page.on("dialog", (dialog) => {
      asked += 1;
      void dialog.accept();
    });
    const row = (await cell(page, 0, "id").getByRole("link").getAttribute("href")) ?? "";
    await page.goto(pages.site.identityUrl + row);
    await page.getByRole("link", { name: "Cancel" }).click();
    await page.locator("table[role=grid]").waitFor();
    expect(asked).toBe(0);
    await page.goto(pages.site.identityUrl + row);
    await control(page, "meta").fill("{");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    const message = await control(page, "meta").evaluate(
      (field) => (field as HTMLTextAreaElement).validationMessage,
    );
    expect(message).toContain("Invalid JSON");
    await page.getByRole("link", { name: "Cancel" }).click();
    await page.locator("table[role=grid]").waitFor();
    expect(asked).toBe(1);
    await page.goto(pages.site.identityUrl + row);
    await control(page, "hours").fill("1,5");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.waitForFunction(() => document.activeElement?.id === "value.hours");
    expect(await control(page, "hours").getAttribute("aria-invalid")).toBe("true");
    await control(page, "hours").fill("1.5");
    await control(page, "meta").fill("{}");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.locator("table[role=grid]").waitFor();
    expect(asked).toBe(1);
    expect((await pages.listRows())[0]?.["meta"]).toEqual({});
  });
});

test.each(displays("dark", 360))(
  "the grid, its editor and its dialog have no accessibility issue: $colorScheme, $width px",
  async ({ colorScheme, width }) => {
    await openGrid(
      ["Milk"],
      { colorScheme, viewport: { width, height: 800 }, bypassCSP: true },
      async (page) => {
        await expectSound(page);
        await edit(page, 0, "hours");
        await page.keyboard.type("1,5");
        await keys(page, "Enter");
        await said(page, "^Not saved");
        await expectSound(page);
        await keys(page, "Escape");
        await page.locator(".cell-form").waitFor({ state: "detached" });
        await keys(page, "Shift+Enter");
        await page.getByRole("dialog").waitFor();
        await expectSound(page);
      },
    );
  },
);

test("links and forms open, store and delete a row without JavaScript", async () => {
  await openGrid(["Milk"], { javaScriptEnabled: false }, async (page) => {
    await cell(page, 0, "id").getByRole("link").click();
    await control(page, "title").fill("Tea");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("cell", { name: "Tea" }).waitFor();
    expect((await pages.listRows())[0]?.["title"]).toBe("Tea");
    await page.getByRole("link", { name: /^Delete row/ }).click();
    await page.getByRole("button", { name: "Delete the row" }).click();
    await page.getByText("No rows yet").waitFor();
    expect(await pages.listRows()).toEqual([]);
  });
});
