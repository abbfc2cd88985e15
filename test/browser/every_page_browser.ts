/**
 * Every page that the route tables have, with hostile and long data, in both themes, on a phone and a desktop: the sign-in, the
 * account, the Console, the docs and the API reference. None has an accessibility issue or scrolls sideways.
 */
import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { ALL_APPS } from "../../src/db/mod.ts";
import { issueKey } from "../../src/records/apps/mod.ts";
import { docs, pages } from "../../src/service/routes.ts";
import { DOMAIN, displays, expectSound, openBrowser, withPage } from "../support/browser.ts";
import { testDeps } from "../support/deps.ts";
import { makePerson, PASSWORD } from "../support/people.ts";
import { CONSOLE_PAGES, makeSubjects } from "../support/samples/console.ts";
import { fillPath } from "../support/samples/routes.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";
import { countRequests } from "../support/statistics.ts";

/** Longer than any column, and with characters that turn or end text. */
const HOSTILE = `<script>alert(1)</script>\u202e${"x".repeat(10_000)}`;
const REQUEST = "0190163d-8694-7abc-8def-0123456789ab";

const [service, browser] = await Promise.all([
  share(
    // One host serves everything.
    openTestService({
      service: { previews: ["live", "browser", "history"] },
      identity: () => ({ cookieDomain: DOMAIN }),
    }),
  ),
  share(openBrowser()),
]);
const url = service.url.replace("127.0.0.1", `all.${DOMAIN}`);
const chief = await makePerson(service, { name: "Ada Lovelace", consoleRole: "super_admin" });
const subjects = await makeSubjects(service, "A title");
await countRequests(service);
const { slug } = subjects.app;
const { keyId } = await issueKey(testDeps(service.service), {
  ...{ slug, name: HOSTILE, scopes: ["data:read"], expiresAt: new Date(Date.now() + 86_400_000) },
});
await service.service.admin.message(`
  insert into rowhouse.statistics select app, span, date_bin('1 minute', now(), 'epoch') - n * interval '7 minutes', 900 * n, n % 2, n, array_fill(n, array[12])
    from (select id from rowhouse.apps union all select '${ALL_APPS}') as apps (app), unnest(array['minute', 'hour']) as span, generate_series(1, 8) as n on conflict do nothing;
  insert into rowhouse.stored_requests (id, app_id, at, method, route, status, code, ms) select gen_random_uuid(), id, now(), 'PATCH', '/v1/data/db/:table/:id', 504, 'timeout', 30000 from rowhouse.apps;
  insert into rowhouse.stored_requests (id, app_id, at, method, route, status, code, ms, key_id, table_name, paths, requests)
    values ('${REQUEST}', '${subjects.app.id}', now(), 'POST', '/v1/data/db/:table', 422, 'validation_failed', 3,
      '${keyId}', 'secrets', array['/3/title', '/' || repeat('x', 63)], 12);
  insert into rowhouse.rejections select id, 'minute', date_bin('1 minute', now(), 'epoch'), 'secrets', 'validation_failed', 12
    from rowhouse.apps on conflict do nothing;
  insert into rowhouse.processes (id, role, started_at, minute, isolation_issues)
    values (gen_random_uuid(), 'data', now(), now(), array['table ' || repeat('x', 260)]);
  insert into rowhouse.audit (actor, action, user_id, app, details, client) values ('${HOSTILE}', 'set_targets', gen_random_uuid(),
    '${slug}', jsonb_build_object('text', '${HOSTILE}'), '2001:db8:1234:5678:9abc:def0:1234:5678'); select 1`);
/** Pages of the route tables with a query, and of other subjects. */
const MORE = [
  ...["?span=week", "/apps?q=nothing", "/activity?from=x&to=y", "/people?q=nobody", "/sign-in"],
  ...["/invitations?q=nobody", "/find?q=nothing", "/requests?id=0190163d8694"],
  ...[`/requests/${REQUEST}`, `/apps/${slug}?span=week`],
  ...["roll", "revoke"].map((action) => `/apps/${slug}/keys/${keyId}/${action}`),
  ...["", "/state"].map((page) => `/people/${chief.id}${page}`),
].map((path) => `/console${path}`);

/** Files, streams and parts of pages. */
const FILE = /\.(?:csv|json|md|txt|js|css|svg|png|woff2)$|\/(?:data|export|assets|v1)\/|\/changes$/;
/** Redirects, and what needs a running sign-in. */
const REDIRECT = /^\/(?:oidc|console\/docs|session-key)|^\/$/;

const toPaths = (routes: readonly { method: string; path: string }[]) =>
  routes
    .filter(({ method, path }) => method === "GET" && !FILE.test(path) && !REDIRECT.test(path))
    .map(({ path }) => path);
const isConsole = (path: string) => path.startsWith("/console");

/** Checks pages on each display; in a reduced run on one, in turn. */
async function checkPages(page: Page, paths: readonly string[]): Promise<void> {
  for (const [place, path] of paths.entries()) {
    const response = await page.goto(url + path);
    const type = response?.headers()["content-type"];
    expect([path, type]).toEqual([path, "text/html; charset=utf-8"]);
    const looks = place % 2 === 0 ? displays("light", 1280) : displays("dark", 360);
    for (const { colorScheme, width } of looks) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      await expectSound(page, `${path}, ${colorScheme}, ${width} px`);
    }
  }
}

async function signIn(page: Page): Promise<void> {
  await page.goto(`${url}/login`);
  await page.fill("#email", chief.email);
  await page.fill("#password", PASSWORD);
  await page.click("button[type=submit]");
  // It offers a second factor.
  await page.getByRole("heading").first().waitFor();
}

test("the docs and the API reference have no accessibility issue, and do not scroll sideways", async () => {
  const paths = toPaths(docs).map((path) => fillPath(path, { table: "secrets" }));
  paths.push("/docs/search?q=key", "/docs/search?q=zzzz");
  expect(paths.length).toBeGreaterThan(20);
  await withPage(browser, (page) => checkPages(page, paths), { bypassCSP: true });
}, 300_000);

test("the sign-in and the account have no accessibility issue, and do not scroll sideways", async () => {
  const paths = toPaths(pages).filter((path) => !isConsole(path));
  expect(paths.length).toBeGreaterThan(10);
  const run = async (page: Page) => {
    await checkPages(page, paths);
    await signIn(page);
    await checkPages(page, paths);
  };
  await withPage(browser, run, { bypassCSP: true });
}, 300_000);

test("the Console has no accessibility issue, and does not scroll sideways", async () => {
  const paths = CONSOLE_PAGES.filter((path) => !FILE.test(path)).map((path) =>
    subjects.toPath(path),
  );
  expect(paths.length).toBeGreaterThan(50);
  const run = async (page: Page) => {
    await signIn(page);
    await checkPages(page, [...paths, ...MORE]);
  };
  await withPage(browser, run, { bypassCSP: true });
}, 300_000);
