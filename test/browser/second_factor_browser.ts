/** A second factor in a real browser: added from the page, requested at sign-in, and replaced by a recovery code. */
import { expect, test } from "bun:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import {
  countEndedFiles,
  displays,
  enterPassword,
  findAxeViolations,
  openAppHost,
  openBrowser,
  openSite,
} from "../support/browser.ts";
import { makePerson, type Person } from "../support/people.ts";
import { makeAuthenticator } from "../support/second_factor.ts";
import { share } from "../support/share.ts";

const settings = { requireSecondFactor: "console" } as const;
const [site, browser] = await Promise.all([share(openSite(settings)), share(openBrowser())]);
const wiki = await share(openAppHost(site, "wiki"));

const open = (options: Parameters<Browser["newContext"]>[0] = {}): Promise<BrowserContext> =>
  browser.newContext({ bypassCSP: true, ...options });

async function typePassword(page: Page, { email }: Person): Promise<void> {
  await enterPassword(page, email);
}

/** The issues of a page in each theme and width: accessibility, and elements that are wider than the screen. */
async function findIssues(page: Page, shot: string): Promise<unknown[]> {
  const issues: unknown[] = [];
  for (const { colorScheme, width } of displays("dark", 360)) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    issues.push(...(await findAxeViolations(page)));
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) issues.push(`${shot} is ${wide} pixels too wide at ${width}`);
    const folder = process.env["SHOTS"];
    if (folder !== undefined)
      await page.screenshot({
        path: `${folder}/${shot}_${width}_${colorScheme}.png`,
        fullPage: true,
      });
  }
  return issues;
}

/** Adds an authenticator app with the page's key, and returns a function for its current code. */
async function addApp(page: Page) {
  const key = ((await page.locator("code.key").textContent()) ?? "").replaceAll(/\s/g, "");
  const app = makeAuthenticator(key);
  await page.fill("#code", app.code());
  await page.getByRole("button", { name: "Turn on" }).click();
  const codes = ((await page.locator("#codes").textContent()) ?? "").split("\n");
  await site.service.service.admin.message(
    "update rowhouse.totp_factors set last_step = 0; select 1",
  );
  for (const secret of [key, ...codes]) site.service.secrets.add(secret);
  return { app, codes };
}

/** The downloaded recovery codes; no request leaves the page for them. */
async function readDownload(page: Page): Promise<string[]> {
  const requests: string[] = [];
  const note = (request: { url: () => string }) => requests.push(request.url());
  page.on("request", note);
  const countEnded = await countEndedFiles(page);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download" }).click(),
  ]);
  page.off("request", note);
  expect(download.suggestedFilename()).toBe("recovery-codes.txt");
  expect(download.url()).toStartWith(`blob:${site.identityUrl}/`);
  expect(requests.filter((url) => !url.startsWith("blob:"))).toEqual([]);
  expect(await countEnded()).toBe(0);
  return (await Bun.file(await download.path()).text()).trimEnd().split("\n");
}

test.each([true, false])(
  "a required second factor is added and used, and a recovery code replaces the phone; scripts: %p",
  async (javaScriptEnabled) => {
    const person = await makePerson(site.service, { consoleRole: "super_admin" });
    const context = await open({ javaScriptEnabled });
    const page = await context.newPage();
    await page.goto(`${site.identityUrl}/console`);
    await typePassword(page, person);
    await page.getByRole("link", { name: "Add a second factor" }).click();
    await page.getByRole("link", { name: "Set up the authenticator app" }).click();
    const { app, codes } = await addApp(page);
    expect(codes).toHaveLength(10);
    await page.waitForLoadState();
    const download = page.getByRole("button", { name: "Download" });
    expect(await download.isVisible()).toBe(javaScriptEnabled);
    if (javaScriptEnabled) expect(await readDownload(page)).toEqual(codes);
    await page.getByRole("link", { name: "I have saved them" }).click();
    // Continues to the destination of the sign-in.
    expect(new URL(page.url()).pathname).toBe("/console");
    await context.clearCookies();
    await page.goto(
      `${site.identityUrl}/authorize?app=wiki&redirect_uri=${encodeURIComponent(wiki.url)}/`,
    );
    await typePassword(page, person);
    expect(await page.locator("h1").textContent()).toBe("Verify your identity");
    await page.fill("#code", "000000");
    await page.getByRole("button", { name: "Continue", exact: true }).click();
    expect(await page.locator("#code-issue").textContent()).toContain("is incorrect");
    await page.fill("#code", app.code());
    await page.getByRole("button", { name: "Continue", exact: true }).click();
    await page.waitForURL(`${wiki.url}/`);
    await context.clearCookies();
    await page.goto(`${site.identityUrl}/login`);
    await typePassword(page, person);
    await page.getByText("Use a recovery code").click();
    await page.fill("#recovery", codes[3] ?? "");
    await page.getByRole("button", { name: "Use this code" }).click();
    await page.goto(`${site.identityUrl}/account/security`);
    expect(await page.locator("main").textContent()).toContain("9 left");
    await context.close();
  },
  60_000,
);

test("the pages of the second factor are accessible in both themes, and fit a phone", async () => {
  const person = await makePerson(site.service, { consoleRole: "super_admin", name: "Ada" });
  const context = await open();
  const page = await context.newPage();
  const issues: unknown[] = [];
  const look = async (shot: string) => issues.push(...(await findIssues(page, shot)));
  await page.goto(`${site.identityUrl}/login`);
  await typePassword(page, person);
  await look("ask");
  await page.goto(`${site.identityUrl}/console`);
  await look("banner");
  await page.goto(`${site.identityUrl}/account/security`);
  await look("none");
  await page.goto(`${site.identityUrl}/account/security/app`);
  await look("scan");
  await addApp(page);
  await look("codes");
  await page.goto(`${site.identityUrl}/account/security`);
  await look("has");
  await page.goto(`${site.identityUrl}/console/people/${person.id}`);
  await look("person");
  await context.clearCookies();
  await page.goto(`${site.identityUrl}/login`);
  await typePassword(page, person);
  await look("code");
  await page.fill("#code", "000000");
  await page.getByRole("button", { name: "Continue", exact: true }).click();
  await page.getByText("Use a recovery code").click();
  await look("wrong");
  expect(issues).toEqual([]);
  await context.close();
}, 60_000);
