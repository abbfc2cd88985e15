/** The history of rows in a real browser: accessible on a phone and a desktop, and a deleted row is back after a few clicks. */
import { beforeAll, expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { displays, findAxeViolations, signInToConsole, withPage } from "../support/browser.ts";
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
          const { clientWidth, scrollWidth } = await page.evaluate(() => {
            const { clientWidth, scrollWidth } = document.documentElement;
            return { clientWidth, scrollWidth };
          });
          expect({ url, issues: await findAxeViolations(page), scrollWidth }).toEqual({
            ...{ url, issues: [], scrollWidth: clientWidth },
          });
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
