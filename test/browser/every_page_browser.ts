/**
 * Accessibility of every page that the route tables have, with data, in both themes: the sign-in, the account, the Console, the
 * docs and the API reference.
 */
import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { docs, pages } from "../../src/service/routes.ts";
import { DOMAIN, findAxeViolations, openBrowser, withPage } from "../support/browser.ts";
import { makePerson, PASSWORD } from "../support/people.ts";
import { CONSOLE_PAGES, makeSubjects } from "../support/samples/console.ts";
import { fillPath } from "../support/samples/routes.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";
import { countRequests } from "../support/statistics.ts";
import { isFull } from "../support/tier.ts";

const DISPLAYS = [
  { colorScheme: "light", width: 1280 },
  { colorScheme: "dark", width: 390 },
] as const;

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
    for (const { colorScheme, width } of isFull()
      ? DISPLAYS
      : DISPLAYS.slice(place % 2, (place % 2) + 1)) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      const issues = await findAxeViolations(page);
      expect({ path, colorScheme, issues }).toEqual({ path, colorScheme, issues: [] });
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

test("the docs and the API reference have no accessibility issue", async () => {
  const paths = toPaths(docs).map((path) => fillPath(path, { table: "secrets" }));
  expect(paths.length).toBeGreaterThan(20);
  await withPage(browser, (page) => checkPages(page, paths), { bypassCSP: true });
}, 300_000);

test("the sign-in and the account have no accessibility issue", async () => {
  const paths = toPaths(pages).filter((path) => !isConsole(path));
  expect(paths.length).toBeGreaterThan(10);
  const run = async (page: Page) => {
    await checkPages(page, paths);
    await signIn(page);
    await checkPages(page, paths);
  };
  await withPage(browser, run, { bypassCSP: true });
}, 300_000);

test("the Console has no accessibility issue", async () => {
  const paths = CONSOLE_PAGES.filter((path) => !FILE.test(path)).map((path) =>
    subjects.toPath(path),
  );
  expect(paths.length).toBeGreaterThan(50);
  const run = async (page: Page) => {
    await signIn(page);
    await checkPages(page, paths);
  };
  await withPage(browser, run, { bypassCSP: true });
}, 300_000);
