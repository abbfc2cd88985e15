/** The Console in a real browser: from an empty database to a first row, accessible in both themes, without a script. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { BrowserContext, Page } from "playwright-core";
import { ALL_APPS } from "../../src/db/mod.ts";
import { issueKey } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import {
  DOMAIN,
  displays,
  findAxeViolations,
  openBrowser,
  openSite,
  signInToConsole,
  withPage,
} from "../support/browser.ts";
import { testDeps } from "../support/deps.ts";
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
    expect(await page.getByRole("row", { name: "wiki" }).textContent()).toContain("2");
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
  await follow(page, "Stop using notes");
  await page.getByText("all rows of wiki in notes").waitFor();
  await page.fill("#typed_name", "nothing");
  await press(page, "Stop using and delete rows");
  await page.getByRole("alert").waitFor();
  await context.close();
});

describe.each(displays("dark", 1280))("$colorScheme, $width px wide:", ({ colorScheme, width }) => {
  let context: BrowserContext;
  let page: Page;
  let keyId: string;
  beforeAll(async () => {
    const issued = await issueKey(testDeps(site.service.service), {
      slug: "wiki",
      name: `<script>alert(1)</script>\u202e${"x".repeat(10_000)}`,
      scopes: ["data:read"],
      expiresAt: new Date(Date.now() + 86_400_000),
    });
    keyId = issued.keyId;
    await site.service.service.admin.message(`
      insert into rowhouse.statistics select app, span, date_bin('1 minute', now(), 'epoch') - n * interval '7 minutes', 900 * n, n % 2, n, array_fill(n, array[12])
        from (select id from rowhouse.apps union all select '${ALL_APPS}') as apps (app), unnest(array['minute', 'hour']) as span, generate_series(1, 8) as n on conflict do nothing;
      insert into rowhouse.stored_requests (id, app_id, at, method, route, status, code, ms) select gen_random_uuid(), id, now(), 'PATCH', '/v1/data/db/:table/:id', 504, 'timeout', 30000 from rowhouse.apps;
      insert into rowhouse.stored_requests (id, app_id, at, method, route, status, code, ms, key_id, table_name, paths, requests)
        select '${REQUEST}', id, now(), 'POST', '/v1/data/db/:table', 422, 'validation_failed', 3,
        '${keyId}', 'notes', array['/3/title', '/' || repeat('x', 63)], 12 from rowhouse.apps where slug = 'wiki' on conflict do nothing;
      insert into rowhouse.rejections select id, 'minute', date_bin('1 minute', now(), 'epoch'), 'notes', 'validation_failed', 12
        from rowhouse.apps on conflict do nothing;
      insert into rowhouse.processes (id, role, started_at, minute, isolation_issues)
        values (gen_random_uuid(), 'data', now(), now(), array['table ' || repeat('x', 260)]);
      insert into rowhouse.audit (actor, action, user_id, app, details, client) select text, 'set_targets', gen_random_uuid(), 'wiki',
        jsonb_build_object('text', text), '2001:db8:1234:5678:9abc:def0:1234:5678'
        from (select '<script>alert(1)</script>‮' || repeat('x', 10000) as text) as hostile; select 1`);
    const viewport = { width, height: 800 };
    context = await browser.newContext({ colorScheme, viewport, bypassCSP: true });
    page = await context.newPage();
    await signIn(page);
  });
  afterAll(() => context.close());

  const APP = "/console/apps/wiki";
  const REQUEST = "0190163d-8694-7abc-8def-0123456789ab";
  test.each([
    { name: "home", path: () => "/console" },
    { name: "a week", path: () => "/console?span=week" },
    { name: "apps", path: () => "/console/apps" },
    { name: "no such app", path: () => "/console/apps?q=nothing" },
    { name: "a new app", path: () => "/console/new-app" },
    { name: "keys", path: () => APP },
    { name: "a new key", path: () => `${APP}/new-key` },
    { name: "a key to roll", path: () => `${APP}/keys/${keyId}/roll` },
    { name: "a key to revoke", path: () => `${APP}/keys/${keyId}/revoke` },
    { name: "settings", path: () => `${APP}/settings` },
    { name: "to disable", path: () => `${APP}/set-disabled` },
    { name: "to delete", path: () => `${APP}/delete` },
    { name: "limits", path: () => `${APP}/limits` },
    { name: "tables", path: () => "/console/tables" },
    { name: "a table", path: () => "/console/tables/notes" },
    { name: "a table to transfer", path: () => "/console/tables/notes/transfer" },
    { name: "the rules of a table", path: () => "/console/tables/papers/rules" },
    { name: "an app's tables", path: () => `${APP}/tables` },
    { name: "an app's rules", path: () => `${APP}/rules` },
    { name: "a use to end", path: () => `${APP}/tables/notes/end` },
    { name: "pushes", path: () => `${APP}/pushes` },
    { name: "a push", path: () => `${APP}/pushes/1` },
    { name: "activity", path: () => "/console/activity" },
    { name: "a filter that cannot be read", path: () => "/console/activity?from=x&to=y" },
    { name: "an app's activity", path: () => `${APP}/activity` },
    { name: "failed requests", path: () => "/console/requests" },
    { name: "a request", path: () => `/console/requests/${REQUEST}` },
    { name: "an app in a week", path: () => `${APP}?span=week` },
    { name: "what changed", path: () => "/console/changes" },
    { name: "a request that was not stored", path: () => "/console/requests?id=0190163d8694" },
    { name: "the password again", path: () => "/console/sign-in" },
  ])("$name has no accessibility issue and no horizontal scroll", async ({ path }) => {
    await go(page, path());
    await expectSound(page);
  });

  test("a rejected form and a displayed key have no accessibility issue", async () => {
    await go(page, "/console/new-app");
    await page.fill("#slug", "No such name");
    await page.fill("#origins", "not a URL");
    await press(page, "Create the app");
    await page.getByRole("alert").waitFor();
    await expectSound(page);
    await go(page, `${APP}/new-key`);
    await page.fill("#name", "shown");
    await press(page, "Issue the key");
    site.service.secrets.add((await page.textContent("#key")) ?? "");
    await expectSound(page);
  });
});

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

async function expectSound(page: Page): Promise<void> {
  expect(await findAxeViolations(page)).toEqual([]);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(overflow).toBeLessThanOrEqual(0);
}
