/** Single sign-on in a real browser: two apps on two subdomains, the pages on a third, the gateway on a fourth. */
import { beforeEach, describe, expect, test } from "bun:test";
import type { BrowserContext, Page } from "playwright-core";
import { SESSION_COOKIE } from "../../src/identity/mod.ts";
import { grantRole, setDisabled } from "../../src/records/people/mod.ts";
import type { IdentityClient, SessionState } from "../../src/sdk/identity.ts";
import { DOMAIN, enterPassword, openAppHost, openBrowser, openSite } from "../support/browser.ts";
import { makePerson, PASSWORD, type Person } from "../support/people.ts";
import { share } from "../support/share.ts";

declare const identity: IdentityClient;

let person: Person;
let context: BrowserContext;
const [site, browser] = await Promise.all([share(openSite()), share(openBrowser())]);
const wiki = await share(openAppHost(site, "wiki"));
const todo = await share(openAppHost(site, "todo"));
beforeEach(async () => {
  context = await browser.newContext();
  person = await makePerson(site.service, { name: "Ada", app: wiki, role: "editor" });
});

async function openPage(url: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

function sessionIn(page: Page): Promise<SessionState> {
  return page.evaluate(() => identity.getSession());
}

/** From an app through its client to the sign-in page and back. */
async function signInFrom(page: Page, who: Person = person): Promise<void> {
  await page.evaluate(() => identity.login());
  await page.waitForURL(`${site.identityUrl}/authorize**`);
  await fillIn(page, who);
  await page.waitForURL(/^http:\/\/(wiki|todo)\./);
}

/** Waits for the navigation of `login()`, and returns its destination. */
async function followLogin(page: Page): Promise<void> {
  await page.goto(await page.evaluate(() => identity.loginUrl()));
}

async function fillIn(page: Page, who: Person = person): Promise<void> {
  await enterPassword(page, who.email);
}

test("one sign-in opens both apps and returns to the same page", async () => {
  const page = await openPage(`${wiki.url}/pages/7?edit=yes#title`);
  expect(await sessionIn(page)).toEqual({ status: "unauthenticated" });
  await signInFrom(page);
  expect(page.url()).toBe(`${wiki.url}/pages/7?edit=yes#title`);
  expect(await sessionIn(page)).toMatchObject({
    status: "authenticated",
    user: { email: person.email, role: "editor" },
  });
  const second = await openPage(`${todo.url}/`);
  expect(await sessionIn(second)).toMatchObject({ status: "forbidden", user: { role: null } });
  await followLogin(second);
  expect(second.url()).toBe(`${todo.url}/`);
  expect(await second.title()).toBe("todo");
});

test("a grant changes forbidden to authenticated without a new sign-in", async () => {
  const page = await openPage(todo.url);
  await signInFrom(page);
  expect((await sessionIn(page)).status).toBe("forbidden");
  await grantRole(
    { admin: site.service.service.admin },
    { email: person.email, slug: "todo", role: "member" },
  );
  expect(await sessionIn(page)).toMatchObject({
    status: "authenticated",
    user: { role: "member" },
  });
  expect(await page.evaluate(() => identity.hasAccess("member"))).toBe(true);
  expect(await page.evaluate(() => identity.hasAccess("admin"))).toBe(false);
  await setDisabled({ admin: site.service.service.admin }, person.email, true);
  expect(await sessionIn(page)).toEqual({ status: "unauthenticated" });
});

test("requireUser() leads through the sign-in and returns the person", async () => {
  const page = await openPage(wiki.url);
  await page.evaluate(() => void identity.requireUser());
  await page.waitForURL(`${site.identityUrl}/authorize**`);
  await fillIn(page);
  await page.waitForURL(`${wiki.url}/`);
  expect((await page.evaluate(() => identity.requireUser())).email).toBe(person.email);
});

test("logout ends the session in every tab and app, and displays the sign-in page", async () => {
  const page = await openPage(wiki.url);
  await signInFrom(page);
  const others = [
    await openPage(wiki.url),
    await openPage(todo.url),
    await openPage(`${site.identityUrl}/login`),
  ];
  await page.evaluate(() => void identity.logout());
  await page.waitForURL(`${site.identityUrl}/login`);
  expect(await page.textContent("h1")).toBe("Sign in");
  for (const other of others.slice(0, 2))
    expect(await sessionIn(other)).toEqual({ status: "unauthenticated" });
  await others[2]?.reload();
  expect(await others[2]?.textContent("h1")).toBe("Sign in");
  const cookies = await context.cookies([wiki.url, site.apiUrl]);
  expect(cookies.filter(({ name }) => name === SESSION_COOKIE)).toEqual([]);
});

test("signing out on the account page signs out of the apps, too", async () => {
  const page = await openPage(wiki.url);
  await signInFrom(page);
  const account = await openPage(`${site.identityUrl}/login`);
  await account.getByRole("button", { name: "Sign out", exact: true }).click();
  await account.waitForURL(`${site.identityUrl}/login?signed-out=*`);
  expect(await account.textContent("h1")).toBe("Sign in");
  expect(await account.textContent("main")).toContain("You are signed out");
  expect(await sessionIn(page)).toEqual({ status: "unauthenticated" });
});

test("the cookie is HttpOnly, limited to the parent domain, and unreadable for scripts", async () => {
  const page = await openPage(wiki.url);
  await signInFrom(page);
  expect(await page.evaluate(() => document.cookie)).toBe("");
  const cookies = await context.cookies([wiki.url, site.identityUrl, site.apiUrl]);
  const kept = cookies.map(({ name, domain, path, httpOnly, secure, sameSite }) => ({
    name,
    domain,
    path,
    httpOnly,
    secure,
    sameSite,
  }));
  const common = { path: "/", httpOnly: true, secure: true, sameSite: "Lax" as const };
  expect(kept).toContainEqual({ ...common, name: SESSION_COOKIE, domain: `.${DOMAIN}` });
  expect(kept).toContainEqual({
    ...common,
    name: "__Host-rowhouse_identity",
    domain: `id.${DOMAIN}`,
  });
  expect(kept.filter(({ domain }) => domain === `.${DOMAIN}`)).toHaveLength(1);
});

test("an app on localhost receives neither the cookie nor a response", async () => {
  const page = await openPage(wiki.url);
  await signInFrom(page);
  const stray = await openPage(`http://localhost:${new URL(wiki.url).port}/`);
  const outcome = await stray.evaluate(() =>
    identity.getUser().then(
      () => "a response",
      (error: Error) => error.name,
    ),
  );
  expect(outcome).toBe("TypeError");
  expect(
    (await context.cookies("http://localhost")).filter(({ name }) => name === SESSION_COOKIE),
  ).toEqual([]);
});

describe("a shared cookie that a sibling site planted", () => {
  const PATHS = ["/", "/authorize", "/login", "/v1", "/v1/", "/v1/auth", "/v1/auth/me"];
  test.each(PATHS)("on %s opens no page and causes no loop", async (path) => {
    const thief = await makePerson(site.service, { app: wiki, role: "thief" });
    const stolen = (await signInOnPages(thief)).get(SESSION_COOKIE) ?? "";
    const page = await openPage(wiki.url);
    await signInFrom(page);
    const plant = await fetchSetCookie(
      `${SESSION_COOKIE}=${stolen}; Domain=${DOMAIN}; Path=${path}; Secure; HttpOnly`,
    );
    const sibling = await openPage(plant.url);
    await plant.stop();
    await sibling.close();
    const account = await openPage(`${site.identityUrl}/login`);
    expect(await account.textContent("body")).not.toContain(thief.email);
    // The service detects and clears the planted cookie. Then one sign-in suffices.
    await page.goto(wiki.url);
    for (let round = 0; round < 3 && (await sessionIn(page)).status !== "authenticated"; round++) {
      await followLogin(page);
      if (page.url().startsWith(site.identityUrl)) {
        expect(await page.textContent("h1")).toBe("Sign in");
        await fillIn(page);
        await page.waitForURL(`${wiki.url}/`);
      }
    }
    // On the cookie's own path, the planted cookie replaces the person's cookie: apps trust every subdomain.
    const [email, role] = path === "/" ? [thief.email, "thief"] : [person.email, "editor"];
    expect(await sessionIn(page)).toMatchObject({ status: "authenticated", user: { email, role } });
    // The pages never accept it: the person is the signed-in person, or is signed out if the two cookies differ.
    await page.goto(`${site.identityUrl}/login`);
    const shown = (await page.textContent("body")) ?? "";
    expect(shown).not.toContain(thief.email);
    expect(shown).toContain(path === "/" ? "to see and open your apps" : person.email);
  });
});

/** A sibling host that sets a cookie, like a compromised app. */
async function fetchSetCookie(cookie: string): Promise<{ url: string; stop: () => Promise<void> }> {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response("planted", { headers: { "set-cookie": cookie } }),
  });
  return { url: `http://evil.${DOMAIN}:${server.port}/`, stop: () => server.stop(true) };
}

/** The cookies of a person who signed in elsewhere. */
async function signInOnPages(who: Person): Promise<Map<string, string>> {
  const elsewhere = await browser.newContext();
  const page = await elsewhere.newPage();
  await page.goto(`${site.identityUrl}/login`);
  await fillIn(page, who);
  await page.waitForURL(`${site.identityUrl}/login`);
  await page.getByRole("heading", { name: "Your apps" }).waitFor();
  const cookies = await elsewhere.cookies(site.identityUrl);
  await elsewhere.close();
  return new Map(cookies.map(({ name, value }) => [name, value]));
}

test("a sibling site's cross-origin form is rejected, with and without the token", async () => {
  const page = await openPage(wiki.url);
  await signInFrom(page);
  const account = await openPage(`${site.identityUrl}/login`);
  const token = await account.getAttribute("input[name=form_token]", "value");
  const sibling = await openPage(todo.url);
  for (const value of ["", token ?? ""]) {
    await sibling.goto(todo.url);
    await sibling.evaluate(
      ({ action, value }) => {
        const form = document.createElement("form");
        Object.assign(form, { method: "post", action });
        const input = document.createElement("input");
        Object.assign(input, { name: "form_token", value });
        form.append(input);
        document.body.append(form);
        form.submit();
      },
      { action: `${site.identityUrl}/sign-out`, value },
    );
    await sibling.waitForURL(`${site.identityUrl}/sign-out`);
    expect(await sibling.textContent("h1")).toBe("Form rejected");
  }
  expect((await sessionIn(page)).status).toBe("authenticated");
  // An unregistered origin cannot sign a person out, even if it is a sibling.
  const evil = await fetchSetCookie("harmless=1");
  const stranger = await openPage(evil.url);
  await stranger.evaluate(
    (url) => fetch(url, { method: "POST", credentials: "include" }).catch(() => undefined),
    `${site.apiUrl}/v1/auth/logout`,
  );
  await evil.stop();
  expect((await sessionIn(page)).status).toBe("authenticated");
});

test("two tabs that sign in simultaneously both succeed", async () => {
  const tabs = [await openPage(wiki.url), await openPage(wiki.url)];
  for (const tab of tabs) {
    await tab.evaluate(() => identity.login());
    await tab.waitForURL(`${site.identityUrl}/authorize**`);
    await tab.fill("#email", person.email);
    await tab.fill("#password", PASSWORD);
  }
  await Promise.all(tabs.map((tab) => tab.click("button[type=submit]")));
  for (const tab of tabs) {
    await tab.waitForURL(`${wiki.url}/`);
    expect((await sessionIn(tab)).status).toBe("authenticated");
  }
});

test("the back button after sign-out does not display a person's apps", async () => {
  const page = await openPage(`${site.identityUrl}/login`);
  await fillIn(page);
  await page.getByText("Hello, Ada").waitFor();
  await page.goto(wiki.url);
  await page.goto(`${site.identityUrl}/login`);
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.goBack();
  await page.waitForLoadState("load");
  expect(await page.textContent("body")).not.toContain(person.email);
});

test("a person signs in by keyboard", async () => {
  const page = await openPage(wiki.url);
  await page.evaluate(() => identity.login());
  await page.waitForURL(`${site.identityUrl}/authorize**`);
  // The page opens with the cursor in the first field.
  await page.waitForFunction(() => document.activeElement?.id === "email");
  await page.keyboard.type(person.email);
  await page.keyboard.press("Tab");
  await page.keyboard.type(PASSWORD);
  for (const name of ["Show password", "Sign in"]) {
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(name);
  }
  await page.keyboard.press("Enter");
  await page.waitForURL(`${wiki.url}/`);
  expect((await sessionIn(page)).status).toBe("authenticated");
});

test("a visitor of an app that never detects the session gets an explanation", async () => {
  const deaf = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request): Response => {
      const here = `http://deaf.${DOMAIN}:${new URL(request.url).port}/`;
      const query = new URLSearchParams({ app: "deaf", redirect_uri: here });
      return Response.redirect(`${site.identityUrl}/authorize?${query}`, 302);
    },
  });
  const origin = `http://deaf.${DOMAIN}:${deaf.port}`;
  await site.service.makeApp(undefined, { slug: "deaf", origins: [origin], cookieDomain: DOMAIN });
  const page = await openPage(`${site.identityUrl}/login`);
  await fillIn(page);
  await page.getByText("Hello, Ada").waitFor();
  await page.goto(origin);
  expect(await page.textContent("h1")).toBe("deaf keeps redirecting you");
  await deaf.stop(true);
});
