/** Debian's Chromium under playwright-core, and the hosts that a browser visits: gateway, pages, two apps. @module */
import { expect } from "bun:test";
import axe from "axe-core";
import {
  type Browser,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
} from "playwright-core";
import type { IdentitySettings } from "../../src/identity/mod.ts";
import { PASSWORD } from "./people.ts";
import {
  openTestService,
  type TestApp,
  type TestService,
  type TestServiceOptions,
} from "./service.ts";
import { isFull } from "./tier.ts";

/** Resolves to loopback in Chromium, which accepts its Secure cookies over plain HTTP. */
export const DOMAIN = "rowhouse.localhost";

const FLAGS = [
  ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
  ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
];

/** @throws {Error} Chromium is not installed */
export async function openBrowser(): Promise<Browser> {
  // The shell has no windows of its own: a page costs a third of the CPU.
  const names = ["chromium-headless-shell", "chromium", "google-chrome"];
  const executablePath = names.map((name) => Bun.which(name)).find((path) => path !== null);
  if (executablePath === undefined)
    throw new Error(
      "Cannot find Chromium: install it, on Debian with apt-get install chromium-headless-shell",
    );
  return await chromium.launch({ executablePath, args: FLAGS });
}

/** The console messages of browsers about content that a page's policy rejects. */
const POLICY_MESSAGE = /Content Security Policy|permissions policy|Refused to|trusted/i;

/** Characters of a page in the report of a failed test. */
const MAX_SHOWN = 2000;

/**
 * Runs on a page of a fresh browser. Fails if the page's policy rejects content, a script throws, or `run` adds to the
 * issues.
 */
export async function withPage(
  browser: Browser,
  run: (page: Page, issues: string[]) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const issues: string[] = [];
  page.on("pageerror", (error) => issues.push(error.stack ?? error.message));
  page.on("console", (message) => {
    if (POLICY_MESSAGE.test(message.text())) issues.push(message.text());
  });
  try {
    await run(page, issues);
  } catch (error) {
    const shown = await page.locator("body").ariaSnapshot().catch(String);
    console.error(`The page ${page.url()} displayed:\n${shown.slice(0, MAX_SHOWN)}`);
    throw error;
  }
  expect(issues).toEqual([]);
  await context.close();
}

type Display = { colorScheme: "light" | "dark"; width: 360 | 1280 };

/** Each theme on a phone and on a desktop. */
const DISPLAYS: readonly Display[] = [
  { colorScheme: "light", width: 1280 },
  { colorScheme: "dark", width: 360 },
  { colorScheme: "light", width: 360 },
  { colorScheme: "dark", width: 1280 },
];

/**
 * Returns the themes and widths in which a test shows its pages: all in a full run, else only the given one. It differs between tests, so
 * that a style which is wrong in one theme or width fails in a reduced run, too.
 */
export function displays(
  colorScheme: Display["colorScheme"],
  width: Display["width"],
): readonly Display[] {
  return isFull() ? DISPLAYS : [{ colorScheme, width }];
}

/** Rules that axe has off by default. */
const EXTRA_RULES = { "target-size": { enabled: true }, "link-in-text-block": { enabled: true } };

/** Returns the accessibility issues of a page in its current state. The context needs `bypassCSP`. */
export async function findAxeViolations(page: Page): Promise<{ id: string; nodes: string[] }[]> {
  // axe finds no issues in missing elements, and wrong contrast in elements that are fading.
  await page.waitForLoadState();
  await page.evaluate(() =>
    Promise.all(document.getAnimations().map((animation) => animation.finished)),
  );
  await page.evaluate(axe.source);
  return await page.evaluate(async (rules) => {
    const { axe: runner } = globalThis as unknown as { axe: typeof axe };
    const result = await runner.run(document, { resultTypes: ["violations"], rules });
    return result.violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => html) }));
  }, EXTRA_RULES);
}

/** The page has no accessibility issue in its current state, and is no wider than its window. */
export async function expectSound(page: Page, what = new URL(page.url()).pathname): Promise<void> {
  const issues = await findAxeViolations(page);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect({ what, issues, overflow: Math.max(overflow, 0) }).toEqual({
    what,
    issues: [],
    overflow: 0,
  });
}

/** Submits the sign-in form, by default with the password of people in tests. */
export async function enterPassword(page: Page, email: string, password = PASSWORD): Promise<void> {
  await page.fill("#email", email);
  await page.fill("#password", password);
  await page.click("button[type=submit]");
}

/** Submits the sign-in form to which the Console redirected, and waits for the Console page and its script. */
export async function signInToConsole(page: Page, email: string): Promise<void> {
  await enterPassword(page, email);
  await page.getByRole("navigation", { name: "Console" }).waitFor();
  await page.waitForLoadState();
}

/** Opens a page of the Console on a page of {@linkcode withPage}, and signs in. */
export async function withConsole(
  browser: Browser,
  { url, email }: { url: string; email: string },
  run: (page: Page, issues: string[]) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const signInFirst = async (page: Page, issues: string[]) => {
    await page.goto(url);
    await signInToConsole(page, email);
    await run(page, issues);
  };
  await withPage(browser, signInFirst, options);
}

/** Opens the menu of what ends something, in a row of a list or next to other actions. */
export async function openMenu(
  of: Page | Locator,
  what: string | RegExp = /^More for/,
): Promise<void> {
  await of.getByRole("button", { name: what }).click();
}

type Run = (page: Page) => Promise<void>;

/** What a test does on a page, after the options of its browser if it has any. */
export type OnPage<Does = Run> = [run: Does] | [options: BrowserContextOptions, run: Does];

export function readOnPage<Does>(given: OnPage<Does>): {
  options: BrowserContextOptions;
  run: Does;
} {
  return given.length === 1 ? { options: {}, run: given[0] } : { options: given[0], run: given[1] };
}

/** Returns the bytes of all responses that a first visit to a page needs. */
export async function weighPage(page: Page, url: string): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.clearBrowserCache");
  let bytes = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await page.goto(url, { waitUntil: "networkidle" });
  await session.detach();
  return bytes;
}

export type TestSite = {
  service: TestService;
  apiUrl: string;
  identityUrl: string;
  close: () => Promise<void>;
};

/** Opens a service with a host for the gateway and a host for the pages. */
export async function openSite(
  settings: Partial<IdentitySettings> = {},
  options: Pick<TestServiceOptions, "service"> = {},
): Promise<TestSite> {
  const toUrls = (port: number) => ({
    publicUrl: `http://api.${DOMAIN}:${port}`,
    identityUrl: `http://id.${DOMAIN}:${port}`,
  });
  const service = await openTestService({
    ...options,
    identity: (port) => ({ ...toUrls(port), cookieDomain: DOMAIN, ...settings }),
  });
  const { publicUrl, identityUrl } = toUrls(Number(new URL(service.url).port));
  return { service, apiUrl: publicUrl, identityUrl, close: service.close };
}

export type AppHost = TestApp & { url: string; stop: () => Promise<void> };

/** Serves an app on its own host: an empty page with the built identity client as `identity`. */
export async function openAppHost(
  { service, apiUrl, identityUrl }: TestSite,
  slug: string,
): Promise<AppHost> {
  const bundle = await bundleClient();
  const page = `<!doctype html><html lang="en"><title>${slug}</title><h1>${slug}</h1><p id="state"></p>
<script type="module">${bundle}
window.identity = createIdentityClient(${JSON.stringify({ url: apiUrl, identityUrl, app: slug })});
window.IdentityError = IdentityError;
</script></html>`;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response(page, { headers: { "content-type": "text/html; charset=utf-8" } }),
  });
  const url = `http://${slug}.${DOMAIN}:${server.port}`;
  const app = await service.makeApp(undefined, { slug, origins: [url], cookieDomain: DOMAIN });
  await service.service.warm();
  return { ...app, url, stop: () => server.stop(true) };
}

/** Returns the bundled client, with its exports as variables of the script. */
export async function bundleClient(): Promise<string> {
  const built = await Bun.build({
    entrypoints: [`${import.meta.dir}/../../src/sdk/identity.ts`],
    target: "browser",
  });
  const text = (await built.outputs[0]?.text()) ?? "";
  return text.replace(/export\s*\{[^}]*\};?/, "");
}

/** Counts the addresses of saved files that a page ends: Safari reads a file some time after the click. */
export async function countEndedFiles(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(() => {
    const ended: string[] = [];
    Reflect.set(window, "ended", ended);
    URL.revokeObjectURL = (url) => ended.push(url);
  });
  return () => page.evaluate(() => (Reflect.get(window, "ended") as string[]).length);
}
