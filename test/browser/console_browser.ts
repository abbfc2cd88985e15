/** The Console in a real browser: from an empty database to a first row, accessible in both themes, without a script. */
import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { defineSchema, t } from "../../src/schema/mod.ts";
import {
  DOMAIN,
  displays,
  expectSound,
  openBrowser,
  openMenu,
  openSite,
  signInToConsole,
  withPage,
} from "../support/browser.ts";
import { listApps } from "../support/lists.ts";
import { makePerson } from "../support/people.ts";
import { share } from "../support/share.ts";

const [site, browser] = await Promise.all([
  share(openSite({}, { service: { previews: ["browser"] } })),
  share(openBrowser()),
]);
const person = await makePerson(site.service, { name: "Ada Lovelace", consoleRole: "super_admin" });

async function go(page: Page, path: string): Promise<void> {
  await page.goto(site.identityUrl + path);
}

async function signIn(page: Page, path = "/console"): Promise<void> {
  await go(page, path);
  await signInToConsole(page, person.email);
}

const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
const follow = (page: Page, name: string) => page.getByRole("link", { name, exact: true }).click();

test("an administrator gets from an empty database to a first row with a key, without JavaScript", async () => {
  const run = async (page: Page) => {
    await signIn(page);
    await follow(page, "Create an app");
    await page.fill("#slug", "wiki");
    await page.fill("#origins", `http://wiki.${DOMAIN}`);
    await press(page, "Create the app");
    await follow(page, "Issue a key");
    await page.fill("#name", "web server");
    await page.check("input[name='scope schema:push']");
    await press(page, "Issue the key");
    const key = (await page.textContent("#key")) ?? "";
    site.service.secrets.add(key);
    // Programs cannot resolve names below localhost.
    expect(await page.textContent("#snippet-0")).toContain("ROWHOUSE_URL=http://localhost:");
    await follow(page, "I have stored it");
    await page.getByRole("cell", { name: "web server", exact: true }).waitFor();
    const [{ id = "" } = {}] = await listApps(site.service.service);
    const app = { id, slug: "wiki", key };
    const notes = { title: t.string().required() };
    const papers = t.model(notes).allow("reader", { read: { title: "x" } });
    await site.service.pushSchema(app, defineSchema({ notes, papers }));
    const json = { title: "Milk" };
    const row = await site.service.call(app, "/v1/data/db/notes", { method: "POST", json });
    expect(row.status).toBe(201);
    await follow(page, "Home");
    expect(await page.getByRole("row", { name: "wiki" }).textContent()).toContain("just now");
    expect(await page.getByText("Three steps").count()).toBe(0);
  };
  await withPage(browser, run, { javaScriptEnabled: false });
});

test("an administrator skips the navigation, opens an app and revokes a key by keyboard", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await signIn(page);
  await page.keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to content");
  await page.keyboard.press("Enter");
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("main");
  await page.getByRole("region", { name: "Apps" }).getByRole("link", { name: "wiki" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "Keys", exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "More for key web server" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "Revoke key web server" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Revoke a key" }).waitFor();
  await page.getByRole("button", { name: "Revoke the key" }).focus();
  const outline = await page.evaluate(
    () => getComputedStyle(document.activeElement ?? document.body).outlineStyle,
  );
  expect(outline).toBe("solid");
  await page.keyboard.press("Enter");
  await page.locator("main").getByText("Key revoked").waitFor();
  await context.close();
});

test("a table is transferred to an app that uses it, without JavaScript", async () => {
  const crm = await site.service.makeApp(undefined, { slug: "crm", cookieDomain: DOMAIN });
  const notes = defineSchema({ notes: { title: t.string().required() } });
  await site.service.pushSchema(crm, notes);
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await signIn(page);
  await follow(page, "Tables");
  await page.getByRole("row", { name: /^notes wiki/ }).waitFor();
  await follow(page, "notes");
  await follow(page, "Transfer ownership");
  await page.selectOption("#app", "crm");
  await page.fill("#typed_name", "notes");
  await press(page, "Transfer ownership");
  await page.getByRole("heading", { name: "notes", exact: true }).waitFor();
  expect(await page.locator(".figures").textContent()).toContain("crm");
  await go(page, "/console/apps/wiki");
  await follow(page, "Pushes");
  await follow(page, "0001");
  expect(await page.textContent("#sql")).toContain("create table data.");
  await go(page, "/console/apps/wiki/tables");
  await openMenu(page, "More for notes");
  await follow(page, "Stop using notes");
  await page.getByText("all rows of wiki in notes").waitFor();
  await page.fill("#typed_name", "nothing");
  await press(page, "Stop using and delete rows");
  await page.getByRole("alert").waitFor();
  await context.close();
});

test.each(displays("dark", 1280))(
  "a rejected form and a displayed key have no accessibility issue: $colorScheme, $width px",
  async ({ colorScheme, width }) => {
    const run = async (page: Page) => {
      await signIn(page, "/console/new-app");
      await page.fill("#slug", "No such name");
      await page.fill("#origins", "not a URL");
      await press(page, "Create the app");
      await page.getByRole("alert").waitFor();
      await expectSound(page);
      await go(page, "/console/apps/wiki/new-key");
      await page.fill("#name", "shown");
      await press(page, "Issue the key");
      site.service.secrets.add((await page.textContent("#key")) ?? "");
      await expectSound(page);
    };
    await withPage(browser, run, {
      colorScheme,
      viewport: { width, height: 800 },
      bypassCSP: true,
    });
  },
);

test("dragging over the axis selects a span, and a click selects one step", async () => {
  await withPage(browser, async (page) => {
    await signIn(page);
    const findAxis = async () => {
      await go(page, "/console");
      const axis = page.locator("svg[data-axis]");
      // Notices can be above it.
      await axis.scrollIntoViewIfNeeded();
      const box = await axis.boundingBox();
      if (box === null) throw new Error("No axis");
      return box;
    };
    const box = await findAxis();
    const toX = (share: number) => box.x + box.width * share;
    const y = box.y + box.height / 2;
    await page.mouse.move(toX(0.3), y);
    await page.mouse.down();
    await page.mouse.move(toX(0.5), y);
    expect(await page.locator("svg[data-axis] a[data-selected]").count()).toBeGreaterThan(1);
    await page.mouse.move(toX(0.61), y);
    await page.mouse.up();
    await page.waitForURL(/\/console\/changes\?/);
    const { searchParams: asked } = new URL(page.url());
    const toMs = (name: string) => new Date(asked.get(name) ?? "").getTime();
    // The steps of five minutes from 15 minutes to 40 minutes after the axis begins.
    expect((toMs("to") - toMs("from")) / 60_000).toBe(25);
    await findAxis();
    await page.mouse.click(toX(0.5), y);
    await page.waitForURL(/\/console\/changes\?/);
  });
});
