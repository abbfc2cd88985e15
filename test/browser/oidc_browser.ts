/** Sign-in with a provider in a real browser, through the provider's own pages, and without JavaScript. */
import { expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { displays, expectSound, openAppHost, openBrowser, openSite } from "../support/browser.ts";
import { makePerson, PASSWORD } from "../support/people.ts";
import { startProvider } from "../support/provider.ts";
import { invite } from "../support/provider_people.ts";
import { share } from "../support/share.ts";

const ours = await share(
  startProvider({ name: "ours", label: "Example Corp", trustedDomains: ["example.org"] }),
);
const [site, browser] = await Promise.all([
  share(openSite({ providers: [ours.settings] })),
  share(openBrowser()),
]);
ours.register(`${site.identityUrl}/oidc/ours/callback`);
const wiki = await share(openAppHost(site, "wiki"));

const authorize = () =>
  `${site.identityUrl}/authorize?${new URLSearchParams({ app: "wiki", redirect_uri: `${wiki.url}/?from=ours` })}`;

/** The provider's pages: sign-in, and consent if it asks for it. */
async function passPages(page: Page, login: string): Promise<void> {
  await page.fill('input[name="login"]', login);
  await page.fill('input[name="password"]', "any");
  await page.click('button[type="submit"]');
  if (new URL(page.url()).origin === ours.settings.issuer)
    await page.click('button[type="submit"]');
}

async function inBrowser(
  options: Parameters<Browser["newContext"]>[0],
  visit: (page: Page) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext(options);
  try {
    await visit(await context.newPage());
  } finally {
    await context.close();
  }
}

test("an invited person comes from an app, signs in with the provider, and returns to the app", async () => {
  const person = await invite(site.service, "wiki");
  ours.accounts.set("ada", { email: person.email, email_verified: true });
  await inBrowser({ javaScriptEnabled: false }, async (page) => {
    await page.goto(authorize());
    await page.getByRole("link", { name: "Sign in with Example Corp", exact: true }).click();
    expect(new URL(page.url()).origin).toBe(ours.settings.issuer);
    await passPages(page, "ada");
    await page.waitForURL(`${wiki.url}/?from=ours`);
    const names = (await page.context().cookies()).map(({ name }) => name);
    expect(names).toContain("__Secure-rowhouse_session");
    expect(names).not.toContain("__Host-rowhouse_oidc");
    await page.goto(`${site.identityUrl}/login`);
    expect(await page.textContent("main")).toContain(person.email);
  });
});

test("a link on another site asks before it starts a sign-in, without JavaScript", async () => {
  await inBrowser({ javaScriptEnabled: false }, async (page) => {
    const start = `${site.identityUrl}/oidc/ours?${new URL(authorize()).searchParams}`;
    await page.route("https://evil.example.com/", (route) =>
      route.fulfill({ contentType: "text/html", body: `<a href="${start}">A prize</a>` }),
    );
    await page.goto("https://evil.example.com/");
    await page.getByRole("link", { name: "A prize" }).click();
    await page.getByRole("heading", { name: "Sign in with Example Corp?" }).waitFor();
    expect(new URL(page.url()).origin).toBe(site.identityUrl);
    await page.getByRole("link", { name: "Continue with Example Corp" }).click();
    expect(new URL(page.url()).origin).toBe(ours.settings.issuer);
  });
  await inBrowser({}, async (page) => {
    await page.goto(`${site.identityUrl}/oidc/ours`);
    expect(new URL(page.url()).origin).toBe(ours.settings.issuer);
  });
});

test("a person with a password links an account, and every page of the flow is accessible", async () => {
  const person = await makePerson(site.service, { name: "Grace" });
  for (const { colorScheme, width } of displays("dark", 360))
    await inBrowser(
      { bypassCSP: true, colorScheme, viewport: { width, height: 800 } },
      async (page) => {
        const look = async (name: string) => {
          await expectSound(page, name);
          const folder = process.env["SCREENSHOTS"];
          if (folder !== undefined)
            await page.screenshot({ path: `${folder}/${name}-${colorScheme}.png` });
        };
        await page.goto(`${site.identityUrl}/login`);
        await look("sign-in");
        await page.fill('input[name="email"]', person.email);
        await page.fill('input[name="password"]', PASSWORD);
        await page.click('button[type="submit"]');
        await page.click("nav >> text=Linked");
        await look("linked-accounts");
        await page.click("button:has-text('Link')");
        await look("to-the-provider");
        await page.click("a:has-text('Continue to')");
        await passPages(page, "grace");
        await page.waitForURL(/\/account\/linked\?done=link$/);
        await look("linked");
        await page.click("a:has-text('Unlink')");
        await look("unlink");
        await page.click("button:has-text('Unlink the account')");
        await page.waitForURL(/done=unlink$/);
        await page.goto(`${site.identityUrl}/oidc/ours/callback?state=x`);
        await look("stale");
      },
    );
});
