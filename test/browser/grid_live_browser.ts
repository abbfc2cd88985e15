/** The grid of a live app in a real browser: rows that another user changes or deletes are marked before this user saves. */
import { expect, test } from "bun:test";
import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { MAX_ROWS } from "../../src/std/limits.ts";
import { displays, expectSound, openBrowser, openSite, withConsole } from "../support/browser.ts";
import { makePerson, type Person } from "../support/people.ts";
import type { TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const SCHEMA = defineSchema({
  projects: { name: t.string().required() },
  todos: {
    title: t.string().required(),
    text: t.string(),
    project: t.ref("projects", { onDelete: "cascade" }),
  },
});
const TODOS = "/v1/data/db/todos";

let app: TestApp;
const [site, browser] = await Promise.all([
  share(openSite({}, { service: { previews: ["live"] } })),
  share(openBrowser()),
]);
const ada = await makePerson(site.service, { name: "Ada", consoleRole: "admin" });
const bob = await makePerson(site.service, { name: "Bob", consoleRole: "admin" });

type StoredRow = { id: string; title: string };

async function send(method: string, path: string, json?: object): Promise<unknown> {
  const response = await site.service.call(app, path, {
    method,
    ...(json === undefined ? {} : { json }),
  });
  expect(response.status).toBeLessThan(300);
  return response.json;
}
const add = async (titles: readonly string[]) =>
  (
    (await send(
      "POST",
      TODOS,
      titles.map((title) => ({ title })),
    )) as { rows: StoredRow[] }
  ).rows;
const read = async ({ id }: StoredRow) => (await send("GET", `${TODOS}/${id}`)) as StoredRow;

type Opened = { page: Page; rows: readonly StoredRow[] };
type Options = BrowserContextOptions & { isLive?: boolean };

/** Ada's page with these rows. */
async function openGrid(
  titles: readonly string[],
  run: (opened: Opened) => Promise<void>,
  { isLive = true, ...options }: Options = {},
): Promise<void> {
  app = await site.service.makeApp(SCHEMA);
  if (isLive) await setAppSwitch(site.service.service, app.slug, ["live", true]);
  const rows = await add(titles);
  await openAs(ada, (page) => run({ page, rows }), options);
}

async function openAs(
  { email }: Person,
  run: (page: Page) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const url = `${site.identityUrl}/console/apps/${app.slug}/tables/todos`;
  const waitFirst = async (page: Page) => {
    // The page reads its rows once more for edits: a change before that is shown, not marked.
    const read = page.waitForResponse((response) => response.url().includes("/data/todos?"));
    await page.reload();
    await read;
    await page.locator("table[role=grid]").waitFor();
    await run(page);
  };
  await withConsole(browser, { url, email }, waitFirst, options);
}

const rowOf = (page: Page, { id }: StoredRow): Locator => page.locator(`tr[data-row-id="${id}"]`);
const titleOf = (page: Page, row: StoredRow): Locator => rowOf(page, row).locator("td").nth(1);
const notice = (page: Page): Locator => page.locator("#live-notice");
const said = (page: Page, text: string) =>
  page.locator("#announcements", { hasText: text }).waitFor({ state: "attached" });
const isStream = (request: { url: () => string }) => request.url().includes("/todos/changes?");
const isMarked = (page: Page, row: StoredRow, text: string) =>
  rowOf(page, row).getByText(text).waitFor();

async function edit(page: Page, row: StoredRow, text: string): Promise<void> {
  await titleOf(page, row).focus();
  await page.keyboard.press("F2");
  await page.locator(".cell-form").waitFor();
  await page.keyboard.type(text);
}

/** Collects the marks that the page adds from now on, also if it removes them again. */
async function collectMarks(page: Page): Promise<() => Promise<string[]>> {
  await page.evaluate(() => {
    const marked: string[] = [];
    Object.assign(globalThis, { marked });
    new MutationObserver((records) => {
      for (const { addedNodes, target } of records)
        for (const node of addedNodes)
          if (node instanceof Element && node.matches(".row-mark, #live-notice, .row-warning"))
            marked.push((target as Element).closest("tr")?.dataset["rowId"] ?? node.className);
    }).observe(document.body, { childList: true, subtree: true });
  });
  return () => page.evaluate(() => (globalThis as unknown as { marked: string[] }).marked);
}

test("another user's change marks the row before it is saved, and the save is rejected", async () => {
  await openGrid(["Milk", "Bread"], async ({ page, rows: [milk, bread] }) => {
    if (milk === undefined || bread === undefined) throw new Error("No rows");
    await edit(page, milk, "Coffee");
    await openAs(bob, async (theirs) => {
      await edit(theirs, milk, "Tea");
      await theirs.keyboard.press("Enter");
      await said(theirs, "Saved");
      expect(await theirs.locator(".row-mark").count()).toBe(0);
    });
    await isMarked(page, milk, "Changed by another user");
    await page.locator(".cell-form").getByText("Another user changed this row.").waitFor();
    expect(await notice(page).textContent()).toContain("1 row was changed by another user.");
    await said(page, "1 row was changed by another user.");
    expect(await rowOf(page, bread).locator(".row-mark").count()).toBe(0);
    await page.locator(".cell-form").waitFor();
    await page.keyboard.press("Enter");
    await said(page, "Another user changed this row while you had it open");
    expect((await read(milk)).title).toBe("Tea");
    expect(await page.locator(".cell-form").textContent()).toContain("Stored value: Tea");
    await page.keyboard.press("Escape");
    await titleOf(page, milk).getByText("Tea").waitFor();
    await notice(page).waitFor({ state: "detached" });
  });
});

test("Reload displays the stored values of marked rows", async () => {
  await openGrid(["Milk", "Bread"], async ({ page, rows: [milk, bread] }) => {
    if (milk === undefined || bread === undefined) throw new Error("No rows");
    await send("PATCH", `${TODOS}/${milk.id}`, { title: "Tea" });
    await send("PATCH", `${TODOS}/${bread.id}`, { title: "Rolls" });
    await isMarked(page, bread, "Changed by another user");
    await rowOf(page, milk).getByRole("button", { name: "Reload" }).click();
    await titleOf(page, milk).getByText("Tea").waitFor();
    await notice(page).getByText("1 row was changed by another user.").waitFor();
    expect(await titleOf(page, bread).textContent()).toBe("Bread");
    await notice(page).getByRole("button", { name: "Reload" }).press("Enter");
    await titleOf(page, bread).getByText("Rolls").waitFor();
    await notice(page).waitFor({ state: "detached" });
    expect(await page.locator(".row-mark").count()).toBe(0);
  });
});

test("a change on this page marks no row", async () => {
  await openGrid(["Milk", "Bread", "Eggs"], async ({ page, rows: [milk, bread, eggs] }) => {
    if (milk === undefined || bread === undefined || eggs === undefined) throw new Error("No rows");
    const marked = await collectMarks(page);
    for (const text of ["Coffee", "Wine", "Water"]) {
      await edit(page, milk, text);
      await page.keyboard.press("Enter");
      await titleOf(page, milk).getByText(text).waitFor();
    }
    // A cell displays its text before it is saved, and only a saved change can be undone.
    await page.locator("#save-state").getByRole("button", { name: "Undo" }).waitFor();
    await page.keyboard.press("Control+z");
    await titleOf(page, milk).getByText("Wine").waitFor();
    await titleOf(page, milk).focus();
    await page.keyboard.press("Shift+Enter");
    await page.locator("[id='value.text']").fill("for dinner");
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await rowOf(page, milk).getByText("for dinner").waitFor();
    await titleOf(page, eggs).focus();
    await page.keyboard.press("Delete");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await rowOf(page, eggs).waitFor({ state: "detached" });
    // Events are in the order of changes: the earlier events were read before this row is marked.
    await send("PATCH", `${TODOS}/${bread.id}`, { title: "Rolls" });
    await isMarked(page, bread, "Changed by another user");
    expect(await marked()).toEqual([bread.id, "notice notice-warn live-notice"]);
  });
});

test("a delayed event of an earlier change on this page marks no row", async () => {
  await openGrid(["Milk", "Bread"], async ({ page, rows: [milk, bread] }) => {
    if (milk === undefined || bread === undefined) throw new Error("No rows");
    const { promise: sent, resolve: send } = Promise.withResolvers<string>();
    await page.route("**/todos/changes?*", async (route) => {
      const body = `id: 1\nevent: changes\ndata: ${await sent}\n\n`;
      await route.fulfill({ contentType: "text/event-stream", body });
    });
    await page.reload();
    await page.locator("table[role=grid]").waitFor();
    const stored: StoredRow[] = [];
    for (const text of ["Coffee", "Wine"]) {
      await edit(page, milk, text);
      await page.keyboard.press("Enter");
      await titleOf(page, milk).getByText(text).waitFor();
      await page.locator("td[data-saving]").waitFor({ state: "detached" });
      stored.push(await read(milk));
    }
    const [coffee] = stored;
    send(JSON.stringify([{ put: coffee }, { put: { ...bread, title: "Rolls" } }]));
    await isMarked(page, bread, "Changed by another user");
    expect(await rowOf(page, milk).locator(".row-mark").count()).toBe(0);
  });
});

test("an event of a pending change on this page marks no row", async () => {
  await openGrid(["Milk"], async ({ page, rows: [milk] }) => {
    if (milk === undefined) throw new Error("No row");
    const path = `${TODOS}/${milk.id}`;
    await send("PATCH", path, { title: "Wine" });
    const wine = await read(milk);
    await send("PATCH", path, { title: "Milk" });
    const sending = Promise.withResolvers<void>();
    const seen = Promise.withResolvers<void>();
    await page.route("**/todos/changes?*", async (route) => {
      await sending.promise;
      const body = `id: 1\nevent: changes\ndata: ${JSON.stringify([{ put: wine }])}\n\n`;
      await route.fulfill({ contentType: "text/event-stream", body });
    });
    await page.route("**/data/**", async (route) => {
      if (route.request().method() === "PATCH") {
        sending.resolve();
        await seen.promise;
      }
      await route.fallback();
    });
    await page.reload();
    await page.locator("table[role=grid]").waitFor();
    const marked = await collectMarks(page);
    const ended = page.waitForEvent("requestfinished", isStream);
    await edit(page, milk, "Wine");
    await page.keyboard.press("Enter");
    await ended;
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve)));
    seen.resolve();
    await titleOf(page, milk).getByText("Wine").waitFor();
    expect(await marked()).toEqual([]);
  });
});

test("a row that another user deletes is marked, and Reload removes it", async () => {
  await openGrid(["Milk", "Bread"], async ({ page, rows: [milk, bread] }) => {
    if (milk === undefined || bread === undefined) throw new Error("No rows");
    await edit(page, bread, "Rolls");
    for (const row of [milk, bread]) await send("DELETE", `${TODOS}/${row.id}`);
    await isMarked(page, milk, "Deleted by another user");
    await page.locator(".cell-form").getByText("Another user deleted this row.").waitFor();
    await notice(page).getByText("2 rows were deleted by another user.").waitFor();
    await notice(page).getByRole("button", { name: "Reload" }).press("Enter");
    await rowOf(page, milk).waitFor({ state: "detached" });
  });
});

test("the form of a whole row warns before it is saved", async () => {
  await openGrid(["Milk"], async ({ page, rows: [milk] }) => {
    if (milk === undefined) throw new Error("No row");
    await titleOf(page, milk).focus();
    await page.keyboard.press("Shift+Enter");
    const dialog = page.getByRole("dialog");
    await page.locator("[id='value.text']").fill("mine");
    await send("PATCH", `${TODOS}/${milk.id}`, { text: "theirs" });
    await dialog.getByText("Another user changed this row.").waitFor();
    expect(await rowOf(page, milk).locator(".row-mark").count()).toBe(0);
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("Nothing was stored.").waitFor();
    expect(await dialog.locator(".row-warning").count()).toBe(0);
    await dialog.getByRole("button", { name: "Overwrite" }).click();
    await rowOf(page, milk).getByText("mine").waitFor();
    expect(await page.locator(".row-mark").count()).toBe(0);
  });
});

test("after a change of unknown rows the list offers to reload", async () => {
  await openGrid(["Milk"], async ({ page, rows: [milk] }) => {
    if (milk === undefined) throw new Error("No row");
    const project = (await send("POST", "/v1/data/db/projects", { name: "Food" })) as StoredRow;
    await send("PATCH", `${TODOS}/${milk.id}`, { project: project.id });
    await isMarked(page, milk, "Changed by another user");
    // The changes of more rows in one statement do not name them.
    const more = Array.from({ length: MAX_ROWS }, () => ({ title: "Bread", project: project.id }));
    await send("POST", TODOS, more);
    await send("DELETE", `/v1/data/db/projects/${project.id}`);
    await notice(page).getByText("This list may have changed.").waitFor();
    await notice(page).getByRole("button", { name: "Reload" }).click();
    await page.getByText("No rows yet.").waitFor();
    await notice(page).waitFor({ state: "detached" });
  });
});

test("a hidden page has no stream, and a page that becomes visible displays the missed changes", async () => {
  await openGrid(["Milk", "Bread"], async ({ page, rows: [milk, bread] }) => {
    if (milk === undefined || bread === undefined) throw new Error("No rows");
    await send("PATCH", `${TODOS}/${milk.id}`, { title: "Tea" });
    await isMarked(page, milk, "Changed by another user");
    const closed = page.waitForEvent("requestfailed", isStream);
    const setHidden = (isHidden: boolean) =>
      page.evaluate((hidden) => {
        Object.defineProperty(document, "hidden", { configurable: true, value: hidden });
        document.dispatchEvent(new Event("visibilitychange"));
      }, isHidden);
    await setHidden(true);
    await closed;
    await send("PATCH", `${TODOS}/${bread.id}`, { title: "Rolls" });
    const opened = page.waitForRequest(isStream);
    await setHidden(false);
    expect(new URL((await opened).url()).searchParams.get("since")).toMatch(/^[\w-]{100,}$/);
    await isMarked(page, bread, "Changed by another user");
  });
});

test("an active user's stream is opened again from its last event", async () => {
  await openGrid(["Milk", "Bread"], async ({ page, rows: [milk, bread] }) => {
    if (milk === undefined || bread === undefined) throw new Error("No rows");
    await send("PATCH", `${TODOS}/${milk.id}`, { title: "Tea" });
    await isMarked(page, milk, "Changed by another user");
    const requests: string[] = [];
    page.on("request", (request) => {
      if (isStream(request)) requests.push(request.url());
    });
    const ended = page.waitForEvent("requestfinished", isStream);
    await site.service.service.admin.message("delete from rowhouse.person_keys; select 1");
    await ended;
    await send("PATCH", `${TODOS}/${bread.id}`, { title: "Rolls" });
    expect(requests).toEqual([]);
    // Each movement counts as activity. The script waits a second between attempts.
    const shown = isMarked(page, bread, "Changed by another user").then(() => true);
    let [isVisible, x] = [false, 0];
    while (!isVisible) {
      await page.mouse.move(100 + (x++ % 50), 100);
      isVisible = await Promise.race([shown, Bun.sleep(50).then(() => false)]);
    }
    expect(requests).toBeArrayOfSize(1);
  });
});

test("the page of an app without live updates opens no stream", async () => {
  const isOff = async ({ page, rows: [milk] }: Opened) => {
    if (milk === undefined) throw new Error("No row");
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    await page.reload();
    await page.locator("table[role=grid]").waitFor();
    await edit(page, milk, "Tea");
    await page.keyboard.press("Enter");
    await titleOf(page, milk).getByText("Tea").waitFor();
    expect(requests.length).toBeGreaterThan(3);
    expect(requests.filter((url) => url.includes("/changes"))).toEqual([]);
  };
  await openGrid(["Milk"], isOff, { isLive: false });
});

test.each(displays("light", 1280))(
  "marks have no accessibility issue, $colorScheme at $width",
  async (look) => {
    const { colorScheme, width } = look;
    const check = async ({ page, rows: [milk, bread] }: Opened) => {
      if (milk === undefined || bread === undefined) throw new Error("No rows");
      await edit(page, milk, "Coffee");
      await send("PATCH", `${TODOS}/${milk.id}`, { title: "Tea" });
      await send("DELETE", `${TODOS}/${bread.id}`);
      await isMarked(page, milk, "Changed by another user");
      await isMarked(page, bread, "Deleted by another user");
      await page.locator(".cell-form").getByText("Another user changed this row.").waitFor();
      await expectSound(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(
        width,
      );
    };
    await openGrid(["Milk", "Bread"], check, {
      ...{ colorScheme, bypassCSP: true },
      viewport: { width, height: 800 },
    });
  },
);
