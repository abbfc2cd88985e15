/** The history of rows in a real browser: accessible on a phone and a desktop, and a deleted row is back after a few clicks. */
import { beforeAll, expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { displays, expectSound, signInToConsole, withPage } from "../support/browser.ts";
import { useTablePages } from "../support/table_pages.ts";

const pages = useTablePages(
  defineSchema({ todos: { title: t.string().required(), meta: t.json(), rank: t.integer() } }),
  { consoleRole: "admin", previews: ["filters", "history"] },
);
let id = "";
beforeAll(async () => {
  await pages.makeApp();
  const { app } = pages;
  await setAppSwitch(pages.site.service.service, app.slug, ["history", true]);
  const [row] = await pages.addRows([{ title: "x".repeat(200), meta: { a: "b".repeat(300) } }]);
  id = row?.id ?? "";
  const path = `/v1/data/db/todos/${id}`;
  const { service } = pages.site;
  await service.call(app, path, { method: "PATCH", json: { title: "short", rank: 7 } });
  await service.call(app, path, { method: "DELETE" });
});

test("each page is accessible and as wide as the window, and restores a deleted row", async () => {
  for (const { colorScheme, width } of displays("light", 360))
    await withPage(
      pages.browser,
      async (page) => {
        const table = pages.toUrl("todos");
        await page.goto(`${table}/history`);
        await signInToConsole(page, pages.person.email);
        const check = async (url: string) => {
          await page.goto(url);
          await expectSound(page, url);
        };
        await check(`${table}/history`);
        await check(`${table}/rows/${id}/history`);
        await check(`${table}/history?deleted=yes`);
        await page.getByRole("link", { name: "Restore", exact: true }).first().click();
        await page.getByRole("button", { name: "Restore 1 row" }).waitFor();
        await check(page.url());
        await page.getByRole("button", { name: "Restore 1 row" }).click();
        await page.waitForURL(`**/rows/${id}`);
        await pages.site.service.call(pages.app, `/v1/data/db/todos/${id}`, { method: "DELETE" });
      },
      { colorScheme, viewport: { width, height: 800 }, bypassCSP: true },
    );
});

test("the dialog that deletes selected rows says what the history restores", async () => {
  await pages.addRows([{ title: "one" }]);
  await pages.open("todos", async (page) => {
    await page.locator("[data-select-all]").focus();
    await page.keyboard.press("Space");
    const selected = page.getByRole("form", { name: "Selected rows" });
    await selected.getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("The history can restore the rows").waitFor();
    expect(await dialog.getByText("cannot be undone").count()).toBe(0);
  });
});

test("Ctrl+Z after a reload previews the last change of the visitor, names conflicts, and undoes it", async () => {
  const [one, other] = await pages.addRows([{ title: "Milk" }, { title: "Tea" }]);
  if (one === undefined || other === undefined) throw new Error("No rows");
  const { service } = pages.site;
  const toPath = (row: { id: string }) => `/v1/data/db/todos/${row.id}`;
  const change = (row: { id: string }, json: object) =>
    service.call(pages.app, toPath(row), { method: "PATCH", json });
  const titleOf = async (row: { id: string }) =>
    ((await service.call(pages.app, toPath(row))).json as { title?: string }).title;
  await pages.open("todos", async (page) => {
    const cell = (title: string) => page.locator("tbody td", { hasText: title });
    const save = async (from: string, to: string) => {
      await cell(from).focus();
      await page.keyboard.press("Enter");
      await page.keyboard.press("ControlOrMeta+a");
      await page.keyboard.type(to);
      await page.keyboard.press("Enter");
      await page.locator("#save-state", { hasText: "Saved" }).waitFor();
    };
    const undoAfterReload = async (title?: string) => {
      await page.goto(pages.toUrl("todos"));
      await page.locator("table[role=grid]").waitFor();
      if (title !== undefined) await cell(title).focus();
      await page.keyboard.press("Control+z");
      await page.waitForURL("**/restore?change=*");
    };
    await save("Milk", "Bread");
    // A later change of a key is not the visitor's.
    await change(other, { rank: 5 });
    await undoAfterReload();
    await page.getByRole("button", { name: "Restore 1 row" }).click();
    await page.locator("table[role=grid]").waitFor();
    expect(new URL(page.url()).pathname).toBe(new URL(pages.toUrl("todos")).pathname);
    expect(await titleOf(one)).toBe("Milk");
    await save("Tea", "Coffee");
    await change(other, { title: "Cocoa" });
    await undoAfterReload("Cocoa");
    await page.getByText("Changed since: title").waitFor();
    await page.getByRole("button", { name: "Nothing to restore" }).waitFor();
    expect(await titleOf(other)).toBe("Cocoa");
    // Rows deleted together come back together.
    await page.goto(pages.toUrl("todos"));
    await page.locator("table[role=grid]").waitFor();
    for (const row of [one, other])
      await page.locator(`tbody tr:has(a[href*="${row.id}"]) input[type=checkbox]`).check();
    const selected = page.getByRole("form", { name: "Selected rows" });
    await selected.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete 2 rows" }).click();
    await page.locator("#save-state", { hasText: "Deleted" }).waitFor();
    expect(await titleOf(one)).toBeUndefined();
    const [left] = await pages.addRows([{ title: "Left" }]);
    await undoAfterReload("Left");
    await page.getByRole("button", { name: "Restore 2 rows" }).click();
    await page.locator("table[role=grid]").waitFor();
    expect(await Promise.all([one, other, left ?? one].map(titleOf))).toEqual([
      ...["Milk", "Cocoa", "Left"],
    ]);
  });
});

test("two pastes after each other are two entries, and the first is undone alone", async () => {
  const rows = await pages.addRows([{ title: "a" }, { title: "b" }]);
  await pages.open("todos", async (page) => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.locator("table[role=grid]").waitFor();
    const line = page.locator(`tbody tr:has(a[href*="${rows[0]?.id}"])`);
    const heads = await page
      .locator("th[data-column]")
      .evaluateAll((all) => all.map((head) => head.getAttribute("data-column")));
    const paste = async (column: string, values: readonly [unknown, unknown]) => {
      await line
        .locator("td")
        .nth(heads.indexOf(column) + 1)
        .focus();
      // The text of a range, not of one cell.
      await page.keyboard.press("Shift+ArrowDown");
      await page.evaluate((text) => navigator.clipboard.writeText(text), values.join("\n"));
      await page.keyboard.press("Control+v");
      await page.getByRole("button", { name: "Save 2 rows" }).click();
      await page.getByText("Changed 2 of 2 rows").waitFor();
      await page.keyboard.press("Escape");
    };
    await paste("rank", [71, 72]);
    await paste("title", ["first", "second"]);
    await page.goto(`${pages.toUrl("todos")}/history`);
    const entries = page.locator("tbody tr");
    expect(
      (await entries.allTextContents())
        .slice(0, 2)
        .map((text) => text.match(/Changed \w+ of 2 rows/)?.[0]),
    ).toEqual(["Changed title of 2 rows", "Changed rank of 2 rows"]);
    await entries.nth(1).getByRole("link", { name: "Undo" }).click();
    await page.getByRole("button", { name: "Restore 2 rows" }).click();
    await page.waitForURL("**/history");
    const stored = (await pages.listRows()).filter(({ id }) => rows.some((row) => row.id === id));
    expect(stored.map(({ title, rank }) => [title, rank])).toEqual([
      ["first", rows[0]?.["rank"]],
      ["second", rows[1]?.["rank"]],
    ]);
  });
});
