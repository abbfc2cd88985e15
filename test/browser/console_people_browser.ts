/** People in the Console in a real browser: from an invitation to a role in an app and back, accessible in both themes. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { BrowserContext, Page } from "playwright-core";
import { showUser } from "../../src/records/people/mod.ts";
import type { IdentityClient, SessionState } from "../../src/sdk/identity.ts";
import {
  displays,
  expectSound,
  openAppHost,
  openBrowser,
  openMenu,
  openSite,
  signInToConsole,
} from "../support/browser.ts";
import { makePerson } from "../support/people.ts";
import { invite } from "../support/provider_people.ts";
import { share } from "../support/share.ts";

declare const identity: IdentityClient;

const MAIL = "tim@example.org";
const OWN_PASSWORD = "seven green bottles on a wall";

const [site, browser] = await Promise.all([share(openSite()), share(openBrowser())]);
const wiki = await share(openAppHost(site, "wiki"));
const chief = await makePerson(site.service, { name: "Ada Lovelace", consoleRole: "super_admin" });
// The first role of the app.
await invite(site.service, "wiki");
site.service.secrets.add(OWN_PASSWORD);

async function signIn(page: Page, path: string): Promise<void> {
  await page.goto(site.identityUrl + path);
  await signInToConsole(page, chief.email);
}

const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
const follow = (page: Page, name: string) => page.getByRole("link", { name, exact: true }).click();
const sessionIn = (page: Page): Promise<SessionState> => page.evaluate(() => identity.getSession());

/** The person opens the link and sets the password, which opens the app or else the account. */
async function acceptInvitation(page: Page, link: string, next: string): Promise<void> {
  await page.goto(link);
  await page.fill("#password", OWN_PASSWORD);
  await page.click("button[type=submit]");
  await page.waitForURL(next);
}

test("an invited person opens an app with a role until it is revoked, without JavaScript", async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await signIn(page, "/console/people");
  await follow(page, "Invite people");
  await page.fill("#email", MAIL);
  await page.fill("#name", "Tim");
  await page.fill("#app", "wiki");
  await page.fill("#role", "editor");
  await press(page, "Invite and show link");
  await page.getByLabel("Create the role editor").check();
  await press(page, "Invite and show link");
  const link = (await page.textContent("#link")) ?? "";
  site.service.secrets.add(link.split("token=")[1] ?? "");

  const theirs = await browser.newContext();
  const app = await theirs.newPage();
  await acceptInvitation(app, link, `${wiki.url}/`);
  expect(await sessionIn(app)).toMatchObject({ status: "authenticated", user: { role: "editor" } });

  await follow(page, "I have sent it");
  await page.getByRole("row", { name: "wiki" }).getByRole("link", { name: "Change" }).click();
  await page.fill("#role", "reader");
  await press(page, "Save");
  await page.getByLabel("Create the role reader").check();
  await press(page, "Save");
  await page.getByRole("status").waitFor();
  expect(await sessionIn(app)).toMatchObject({ user: { role: "reader" } });
  await openMenu(page.getByRole("row", { name: "wiki" }));
  await page.getByRole("link", { name: "Revoke" }).click();
  await press(page, "Revoke the role");
  expect((await sessionIn(app)).status).toBe("forbidden");
  await follow(page, "End all");
  await press(page, "End all sessions");
  await page.getByText("No active sessions").waitFor();
  expect((await sessionIn(app)).status).toBe("unauthenticated");
  await Promise.all([context.close(), theirs.close()]);
});

test("an invitation is resent and accepted by its new link, and another invitation is withdrawn, by keyboard", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const bo = await invite(site.service, "wiki");
  const cy = await invite(site.service, "wiki");
  await signIn(page, "/console/people");
  await page.getByRole("link", { name: "Invitations" }).click();
  const row = (email: string) => page.getByRole("row", { name: email });
  await row(bo.email).getByText("wiki: member").waitFor();
  await row(bo.email).getByRole("link", { name: "Resend" }).focus();
  await page.keyboard.press("Enter");
  await press(page, "Create link");
  const link = (await page.textContent("#link")) ?? "";
  site.service.secrets.add(link.split("token=")[1] ?? "");
  await page.goto(`${site.identityUrl}/set-password?token=${bo.linkText}`);
  await page.getByRole("heading", { name: "This link cannot be used" }).waitFor();
  const theirs = await browser.newContext();
  const accepting = await theirs.newPage();
  await accepting.goto(link);
  await accepting.getByText("You are invited to wiki").waitFor();
  await acceptInvitation(accepting, link, `${site.identityUrl}/login?done=password`);
  await theirs.close();
  await page.goto(`${site.identityUrl}/console/invitations`);
  await row(cy.email).waitFor();
  expect(await row(bo.email).count()).toBe(0);
  await openMenu(row(cy.email));
  await page.getByRole("link", { name: "Withdraw" }).click();
  await press(page, "Withdraw the invitation");
  await page.getByRole("main").getByText("Invitation withdrawn.").waitFor();
  expect(await row(cy.email).count()).toBe(0);
  await context.close();
});

describe.each(displays("light", 360))("$colorScheme, $width px wide:", ({ colorScheme, width }) => {
  let context: BrowserContext;
  let page: Page;
  let id: string;
  beforeAll(async () => {
    ({ id } = await showUser(site.service.service, MAIL));
    const viewport = { width, height: 800 };
    context = await browser.newContext({ colorScheme, viewport, bypassCSP: true });
    page = await context.newPage();
    await signIn(page, "/console");
  });
  afterAll(() => context.close());

  test("a rejected form and a displayed link have no accessibility issue", async () => {
    await page.goto(`${site.identityUrl}/console/new-person`);
    await page.fill("#email", MAIL);
    await press(page, "Invite and show link");
    await page.getByRole("alert").waitFor();
    await expectSound(page);
    await page.goto(`${site.identityUrl}/console/people/${id}/password-link`);
    await press(page, "Create link");
    const link = (await page.textContent("#link")) ?? "";
    site.service.secrets.add(link.split("token=")[1] ?? "");
    await page.getByRole("button", { name: "Copy the link" }).waitFor();
    await expectSound(page);
  });
});
