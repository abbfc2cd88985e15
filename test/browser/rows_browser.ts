/** Rows of an app in a real browser: added, changed and deleted without a script. No value breaks the layout. */
import { beforeEach, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { displays, expectSound, signInToConsole } from "../support/browser.ts";
import { useTablePages } from "../support/table_pages.ts";

const SCHEMA = defineSchema({
  projects: { name: t.string().required() },
  todos: {
    title: t.string().required(),
    note: t.string(),
    status: t.enum(["open", "done"]).required().default("open"),
    hours: t.decimal(),
    is_urgent: t.boolean(),
    due_at: t.timestamp(),
    project: t.ref("projects"),
    meta: t.json(),
    greeting: t.string().default("hello"),
  },
});
const HOSTILE = `<script>document.title = "hurt"</script>\u202e${"x".repeat(10_000)}`;

const pages = useTablePages(SCHEMA, { consoleRole: "admin" });
beforeEach(async () => {
  await pages.makeApp();
});

async function addRow(json: object): Promise<string> {
  const [row] = await pages.addRows([json]);
  return row?.id ?? "";
}

async function signIn(page: Page): Promise<void> {
  await page.goto(pages.toUrl("todos"));
  await signInToConsole(page, pages.person.email);
}

const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
const follow = (page: Page, name: string) =>
  page.getByRole("link", { name, exact: true }).first().click();
const field = (page: Page, name: string) => page.locator(`[name="value.${name}"]`);
const shown = (page: Page, name: string) => page.getByRole("cell", { name, exact: true });

test.each([
  { name: "a phone", width: 360 },
  { name: "a desktop", width: 1280 },
])(
  "a row is added, changed, edited in a conflict and deleted without JavaScript on $name",
  async ({ width }) => {
    const context = await pages.browser.newContext({
      javaScriptEnabled: false,
      viewport: { width, height: 800 },
    });
    const [page, other] = [await context.newPage(), await context.newPage()];
    await signIn(page);
    await follow(page, "New row");
    await field(page, "hours").fill("2,5");
    await press(page, "Add the row");
    await page.getByText("Must be a decimal number").waitFor();
    await field(page, "title").fill("Milk");
    await field(page, "hours").fill("2.50");
    await press(page, "Add the row");
    await page.getByText("was added").waitFor();
    await shown(page, "Milk").waitFor();
    await shown(page, "2.50").waitFor();

    const edit = page.locator("a[data-edit]").first();
    await other.goto((await edit.evaluate((link: HTMLAnchorElement) => link.href)) ?? "");
    await edit.click();
    await field(page, "title").fill("Oat milk");
    await press(page, "Save");
    await shown(page, "Oat milk").waitFor();

    await field(other, "title").fill("Soy milk");
    await press(other, "Save");
    await other.getByText("Another user changed this row while you had it open").waitFor();
    await other.getByText("Stored value: Oat milk").waitFor();
    expect(await field(other, "title").inputValue()).toBe("Soy milk");
    await press(other, "Overwrite");
    await shown(other, "Soy milk").waitFor();

    await page.reload();
    await page.locator("a[data-edit]").first().click();
    await follow(page, "Delete");
    await press(page, "Delete the row");
    await page.getByRole("main").getByText("The row was deleted.").waitFor();
    await page.getByText("No rows yet.").waitFor();
    await context.close();
  },
);

test("an untouched new row is not added, and an empty text is stored only on request", async () => {
  const context = await pages.browser.newContext();
  const page = await context.newPage();
  await signIn(page);
  await follow(page, "New row");
  await press(page, "Add the row");
  await page.getByText("Enter a text, or check “empty”").waitFor();
  await page.getByLabel("title: empty").check();
  await press(page, "Add the row");
  await page.getByText("was added").waitFor();
  await page.locator("td .nothing", { hasText: "empty" }).waitFor();
  await context.close();
});

test("a row is duplicated from its drawer", async () => {
  await addRow({ title: "Milk", hours: "1.50" });
  const context = await pages.browser.newContext();
  const page = await context.newPage();
  await signIn(page);
  await page.locator("table[role=grid]").waitFor();
  await page.locator("a[data-edit]").click();
  await page.getByRole("dialog").getByRole("link", { name: "Duplicate" }).click();
  await press(page, "Add the row");
  await page.getByText("was added").waitFor();
  expect(await page.locator("tbody td", { hasText: "Milk" }).count()).toBe(2);
  expect(await page.locator("tbody td", { hasText: "1.50" }).count()).toBe(2);
  await context.close();
});

test("a click on a reference edits the cell, and the arrow next to it opens the row over the rows", async () => {
  const json = { name: "House" };
  const made = await pages.call("/v1/data/db/projects", { method: "POST", json });
  await addRow({ title: "Milk", project: (made.json as { id: string }).id });
  const context = await pages.browser.newContext();
  const page = await context.newPage();
  await signIn(page);
  const reference = page.locator("tbody td").nth(7);
  await page.locator("table[role=grid]").waitFor();
  await reference.getByText("House").dblclick();
  await field(page, "project").waitFor();
  expect(page.url()).toEndWith("/tables/todos");
  await page.keyboard.press("Escape");
  await reference.getByRole("link", { name: "Open row" }).click();
  await page.getByRole("dialog", { name: "House" }).waitFor();
  await field(page, "name").fill("Garden");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await reference.getByText("Garden").waitFor();
  expect(page.url()).toEndWith("/tables/todos");
  await context.close();
});

describe.each(displays("dark", 360))("$colorScheme, $width px wide:", ({ colorScheme, width }) => {
  test("no page of rows has an accessibility issue or horizontal scroll", async () => {
    const id = await addRow({ title: HOSTILE, note: "", meta: [HOSTILE], hours: "1.50" });
    const viewport = { width, height: 800 };
    const context = await pages.browser.newContext({ colorScheme, viewport, bypassCSP: true });
    const page = await context.newPage();
    await signIn(page);
    for (const path of [
      "",
      "/new",
      `/rows/${id}`,
      `/rows/${id}/delete`,
      "?from=100",
      "?deleted=x",
    ]) {
      await page.goto(pages.toUrl(`todos${path}`));
      await expectSound(page, path);
    }
    await page.goto(pages.toUrl("todos"));
    await page.getByRole("button", { name: "More" }).click();
    await page.getByText("Columns", { exact: true }).click();
    await expectSound(page, "columns");
    await expectRejectionSound(page, id);
    await context.close();
  });
});

/** Rejected values, and then a row that another user has changed. */
async function expectRejectionSound(page: Page, id: string): Promise<void> {
  await page.goto(`${pages.toUrl("todos")}/rows/${id}`);
  await page.locator("[name='value.hours']").fill("2,5");
  await page.locator("[name='value.due_at']").fill("tomorrow");
  await press(page, "Save");
  await page.getByText("Nothing was stored.").waitFor();
  await expectSound(page, "rejected");
  const json = { title: "Oat milk" };
  await pages.call(`/v1/data/db/todos/${id}`, { method: "PATCH", json });
  await press(page, "Save");
  await page.getByText("Another user changed this row").waitFor();
  await expectSound(page, "late");
}
