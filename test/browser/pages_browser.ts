/** The pages in a real browser: accessibility in both themes and sizes, without JavaScript, under their own policy. */
import { describe, expect, test } from "bun:test";
import type { Page, Response } from "playwright-core";
import { setBrand } from "../../src/pages/mod.ts";
import { createUser } from "../../src/records/people/mod.ts";
import {
  displays,
  enterPassword,
  expectSound,
  openAppHost,
  openBrowser,
  openSite,
  signInToConsole,
  withPage,
} from "../support/browser.ts";
import { testDeps } from "../support/deps.ts";
import { makePerson, PASSWORD, type Person } from "../support/people.ts";
import { share } from "../support/share.ts";

/** One transparent pixel. */
const LOGO = Uint8Array.fromBase64(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
);

let person: Person;
const [site, browser] = await Promise.all([share(openSite()), share(openBrowser())]);
const wiki = await share(openAppHost(site, "wiki"));
person = await makePerson(site.service, { name: "Ada Lovelace", app: wiki, role: "editor" });
const { linkText } = await createUser(testDeps(site.service.service), {
  email: "new.person@example.org",
  displayName: undefined,
  consoleRole: undefined,
});
const link = `/set-password?token=${linkText}`;

const authorize = () =>
  `/authorize?${new URLSearchParams({ app: "wiki", redirect_uri: `${wiki.url}/` })}`;

/** States of pages that no address opens alone: the others are in `every_page_browser.ts`. */
const PAGES: Readonly<Record<string, readonly [heading: string, open: (page: Page) => unknown]>> = {
  "sign-in for an app": ["Sign in", (page) => go(page, authorize())],
  "a wrong password": ["Sign in", (page) => signIn(page, "wrong")],
  "the apps": ["Hello, Ada Lovelace", (page) => signIn(page)],
  "choose a password": ["Choose a password", (page) => go(page, link)],
  "a rejected password": [
    "Choose a password",
    async (page) => {
      await go(page, link);
      await page.fill("#password", "abcabcabcabcabcabc");
      await page.click("button[type=submit]");
    },
  ],
  "a spent link": ["This link cannot be used", (page) => go(page, "/set-password")],
  "a bad return address": [
    "This link does not work",
    (page) => go(page, "/authorize?app=wiki&redirect_uri=x"),
  ],
  "an unknown app": [
    "App not found",
    (page) => go(page, "/authorize?app=no-such-app&redirect_uri=x"),
  ],
  nothing: ["Page not found", (page) => go(page, "/nowhere")],
};

async function go(page: Page, path: string): Promise<void> {
  await page.goto(site.identityUrl + path);
}

async function signIn(page: Page, password = PASSWORD): Promise<void> {
  await go(page, "/login");
  await enterPassword(page, person.email, password);
}

describe.each(displays("light", 360))("$colorScheme, $width px wide:", ({ colorScheme, width }) => {
  test.each(Object.entries(PAGES))(
    "%s has no accessibility issue and no horizontal scroll",
    async (_, [heading, open]) => {
      const viewport = { width, height: 800 };
      const context = await browser.newContext({ colorScheme, viewport, bypassCSP: true });
      const page = await context.newPage();
      await open(page);
      await page.getByRole("heading", { name: heading, exact: true }).waitFor();
      await expectSound(page);
      await context.close();
    },
  );
});

test("the pages work without JavaScript and never violate their policy", async () => {
  const run = async (page: Page) => {
    await go(page, authorize());
    await enterPassword(page, person.email);
    await page.waitForURL(`${wiki.url}/`);
    await go(page, "/login");
    await page.getByText("Hello, Ada Lovelace").waitFor();
    await page.getByRole("button", { name: "Sign out everywhere" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  };
  await withPage(browser, run, { javaScriptEnabled: false });
});

test("a person changes the password and ends another session without JavaScript", async () => {
  const open = async () => (await browser.newContext({ javaScriptEnabled: false })).newPage();
  const [here, there] = [await open(), await open()];
  person = await makePerson(site.service);
  for (const page of [here, there]) {
    await signIn(page);
    await page.getByRole("link", { name: "Sessions" }).click();
  }
  await here.reload();
  await here.getByRole("button", { name: "End the session of Chrome on Linux" }).click();
  await here.getByText("Session ended.").waitFor();
  await there.getByRole("link", { name: "Profile" }).click();
  await there.getByRole("heading", { name: "Sign in" }).waitFor();
  await here.getByRole("link", { name: "Password" }).click();
  await here.fill("#present", PASSWORD);
  await here.fill("#password", "seven slow green boats");
  await here.getByRole("button", { name: "Change password" }).click();
  await here.getByText("Password changed.").waitFor();
  for (const page of [here, there]) await page.context().close();
});

test("the stylesheet is applied under the policy", async () => {
  const page = await browser.newPage();
  await go(page, "/login");
  const radius = await page.evaluate(() => {
    const card = document.querySelector(".card");
    return card === null ? "" : getComputedStyle(card).borderTopLeftRadius;
  });
  expect(radius).toBe("14px");
  await page.close();
});

test("the organization's logo is loaded only by <img>, under an unchanged policy", async () => {
  const policyOf = (response: Response | null, url: string) =>
    response?.headers()["content-security-policy"]?.replaceAll(url, "");
  await withPage(browser, async (page) => {
    const plain = policyOf(await page.goto(`${site.identityUrl}/login`), site.identityUrl);
    const branded = await openSite({}, { service: { brand: { logo: LOGO } } });
    const { email } = await makePerson(branded.service, { consoleRole: "admin" });
    const loads: string[] = [];
    page.on("request", (request) => {
      if (request.url().includes("organization.png")) loads.push(request.resourceType());
    });
    const findLogos = () =>
      page.evaluate(() =>
        [...document.querySelectorAll("*")].flatMap((element) =>
          [...element.attributes]
            .filter(({ value }) => value.includes("organization.png"))
            .map(({ name }) => [
              element.tagName,
              name,
              element instanceof HTMLImageElement && element.naturalWidth,
            ]),
        ),
      );
    const { identityUrl } = branded;
    expect(policyOf(await page.goto(`${identityUrl}/login`), identityUrl)).toBe(plain ?? "none");
    expect(await findLogos()).toEqual([["IMG", "src", 1]]);
    await page.goto(`${identityUrl}/console`);
    await signInToConsole(page, email);
    expect(await findLogos()).toEqual([["IMG", "src", 1]]);
    expect([...new Set(loads)]).toEqual(["image"]);
    await branded.close();
  });
  setBrand({});
});
