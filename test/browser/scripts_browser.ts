/** The scripts of the pages under the pages' policy: copying, local times, keys, single submission, focus on an issue. */
import { expect, test } from "bun:test";
import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { issueKey } from "../../src/records/apps/mod.ts";
import {
  displays,
  expectSound,
  type OnPage,
  openBrowser,
  openSite,
  readOnPage,
  signInToConsole,
  withPage,
} from "../support/browser.ts";
import { testDeps } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { makePerson } from "../support/people.ts";
import { share } from "../support/share.ts";

const [site, browser] = await Promise.all([share(openSite()), share(openBrowser())]);
const person = await makePerson(site.service, { name: "Ada Lovelace", consoleRole: "super_admin" });
const app = await site.service.makeApp();

type Run = (page: Page, context: BrowserContext) => Promise<void>;

async function open(path: string, run: Run, options: BrowserContextOptions = {}): Promise<void> {
  const goThere = async (page: Page) => {
    await page.goto(site.identityUrl + path);
    await run(page, page.context());
  };
  await withPage(browser, goThere, options);
}

async function openConsole(path: string, ...given: OnPage<Run>): Promise<void> {
  const { options, run } = readOnPage(given);
  const signInFirst: Run = async (page, context) => {
    await signInToConsole(page, person.email);
    await run(page, context);
  };
  await open(path, signInFirst, options);
}

const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
const focused = (page: Page) => page.evaluate(() => document.activeElement?.id ?? "");
const said = (page: Page, text: string) =>
  page.locator("#announcements", { hasText: text }).waitFor({ state: "attached" });
const path = (rest = "") => `/console/apps/${app.slug}${rest}`;

test("a password can be displayed and hidden, and is submitted unchanged", async () => {
  await open("/login", async (page) => {
    await page.fill("#password", "what was typed");
    await press(page, "Show password");
    expect(await page.getAttribute("#password", "type")).toBe("text");
    await press(page, "Hide password");
    expect(await page.getAttribute("#password", "type")).toBe("password");
    await press(page, "Show password");
    await page.fill("#email", person.email);
    // Stays on the page and shows the form as it was sent.
    const type = page.evaluate(
      () =>
        new Promise((resolve) =>
          document.addEventListener("submit", () =>
            resolve(document.querySelector("#password")?.getAttribute("type")),
          ),
        ),
    );
    await page.click("button[type=submit]");
    expect(await type).toBe("password");
    await page.getByRole("alert").waitFor();
  });
});

test("a page without JavaScript has no button without a function", async () => {
  await open(
    "/login",
    async (page) => {
      expect(await page.getByRole("button").count()).toBe(1);
      await page.goto(`${site.identityUrl}/nowhere`);
      expect(await page.getByRole("button").count()).toBe(0);
    },
    { javaScriptEnabled: false },
  );
});

test("a new key, its snippet and an error's reference can be copied", async () => {
  await openConsole(
    path("/new-key"),
    { permissions: ["clipboard-read", "clipboard-write"] },
    async (page) => {
      await page.fill("#name", "web server");
      await press(page, "Issue the key");
      const key = (await page.textContent("#key")) ?? "";
      site.service.secrets.add(key);
      const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
      await press(page, "Copy the key");
      await said(page, "Copied");
      expect(await clipboard()).toBe(key);
      await press(page, "Copy curl");
      // "Copied" was already announced.
      await eventually(async () => (await clipboard()).includes(`Bearer ${key}`));
      await page.goto(`${site.identityUrl}/nowhere`);
      await press(page, "Copy the reference");
      await said(page, "Copied");
      expect(await clipboard()).toBe((await page.textContent("#reference")) ?? "-");
    },
  );
});

test("the text is selected or copied by the old command without access to the clipboard", async () => {
  await open("/nowhere", async (page) => {
    await page.evaluate(() => {
      Object.defineProperty(navigator, "clipboard", { value: undefined });
      document.execCommand = () => false;
    });
    await press(page, "Copy the reference");
    await said(page, "Selected");
    const selected = await page.evaluate(() => String(getSelection()));
    expect(selected).toBe((await page.textContent("#reference")) ?? "-");
  });
});

test("times are in the reader's time zone, with UTC on hover, and stay correct", async () => {
  await issueKey(testDeps(site.service.service), {
    slug: app.slug,
    name: "ends",
    scopes: ["data:read"],
    expiresAt: new Date(Date.now() + 200 * 86_400_000),
  });
  await openConsole(
    path("/keys"),
    { locale: "de-DE", timezoneId: "Asia/Kathmandu" },
    async (page) => {
      const time = page.getByRole("row", { name: "ends" }).getByRole("time").last();
      const at = (await time.getAttribute("datetime")) ?? "";
      const [text, title] = [await time.textContent(), await time.getAttribute("title")];
      const format = (options: Intl.DateTimeFormatOptions) =>
        new Intl.DateTimeFormat("de-DE", { ...options, timeZone: "Asia/Kathmandu" }).format(
          new Date(at),
        );
      expect(text).toBe(format({ dateStyle: "medium" }));
      expect(title).toContain(format({ dateStyle: "medium", timeStyle: "short" }));
      expect(title).toContain(`${at.slice(0, 16).replace("T", " ")} UTC`);
    },
  );
});

test("an irreversible action requires the typed name", async () => {
  await openConsole(path("/delete"), async (page) => {
    const button = page.getByRole("button", { name: "Delete permanently" });
    // The script disables it after it loads.
    await button.and(page.locator(":disabled")).waitFor();
    await page.fill("#typed_name", `${app.slug}x`);
    expect(await button.isDisabled()).toBe(true);
    await page.fill("#typed_name", app.slug);
    expect(await button.isDisabled()).toBe(false);
  });
});

test("a form is sent once, even if its button is clicked repeatedly", async () => {
  await openConsole("/console/new-app", async (page) => {
    let sent = 0;
    await page.route("**/console/new-app", async (route) => {
      sent += 1;
      await route.fulfill({ status: 204 });
    });
    await page.fill("#slug", "twice");
    const button = page.getByRole("button", { name: "Create the app" });
    await button.dblclick();
    await page.keyboard.press("Enter");
    await button.click({ force: true });
    await eventually(() => sent > 0);
    expect(await button.getAttribute("aria-disabled")).toBe("true");
    expect(sent).toBe(1);
    await page.evaluate(() => dispatchEvent(new PageTransitionEvent("pageshow")));
    expect(await button.getAttribute("aria-disabled")).toBeNull();
  });
});

test("the focus moves to the issue of a rejected form", async () => {
  await openConsole(path("/settings"), async (page) => {
    await page.fill("#origins", "not an address");
    await press(page, "Save");
    await page.getByRole("alert").waitFor();
    await page.waitForFunction(() => document.activeElement?.classList.contains("notice-error"));
  });
});

test("the ? key lists the shortcuts, which open pages and fields and are inactive while a field has the focus", async () => {
  await openConsole("/console", async (page) => {
    await page.keyboard.press("/");
    expect(await page.evaluate(() => document.activeElement?.getAttribute("name"))).toBe("q");
    await page.keyboard.type("?ga");
    expect(await page.inputValue("[name=q]")).toBe("?ga");
    expect(await page.getByRole("dialog").count()).toBe(0);
    await page.getByRole("link", { name: "Activity" }).focus();
    await page.keyboard.press("?");
    const dialog = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    expect(await dialog.textContent()).toContain("Find anything");
    await page.keyboard.press("g");
    await page.keyboard.press("a");
    await page.keyboard.press("Escape");
    expect(await dialog.count()).toBe(0);
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Activity");
    await page.keyboard.press("Control+g");
    await page.keyboard.press("a");
    expect(new URL(page.url()).pathname).toBe("/console");
    await page.keyboard.press("g");
    await page.keyboard.press("a");
    await page.waitForURL("**/console/apps");
    await page.keyboard.press("n");
    await page.waitForURL("**/console/new-app");
  });
});

test("j and k go through the list of requests, and Enter opens one", async () => {
  await site.service.service.admin.message(`
    insert into rowhouse.stored_requests (id, app_id, at, method, route, status, code, ms)
      select ('00000000-0000-4000-8000-00000000000' || n)::uuid, '${app.id}', now() - n * interval '1 hour', 'GET', '/-/:table', 404, 'unknown_route', 1
      from generate_series(1, 3) as n; select 1`);
  // Without the failed requests of earlier tests, which are stored each minute.
  await openConsole(`/console/requests?app=${app.slug}`, async (page) => {
    const focused = () =>
      page.evaluate(() => document.activeElement?.getAttribute("href")?.slice(-1));
    const visited: (string | undefined)[] = [];
    for (const key of ["k", "j", "j", "j", "k"]) {
      await page.keyboard.press(key);
      visited.push(await focused());
    }
    expect(visited).toEqual(["1", "2", "3", "3", "2"]);
    await page.keyboard.press("?");
    const dialog = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    expect(await dialog.textContent()).toContain("Next and previous entry");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/console/requests/00000000-0000-4000-8000-000000000002");
  });
});

test("shortcuts without a modifier can be turned off, and stay off", async () => {
  await openConsole("/console", async (page) => {
    await press(page, "Keyboard shortcuts");
    await page.getByLabel("Enable keyboard shortcuts").uncheck();
    await press(page, "Close");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(
      "Keyboard shortcuts",
    );
    await page.reload();
    await page.keyboard.press("?");
    await page.keyboard.press("/");
    expect(await page.getByRole("dialog").count()).toBe(0);
    expect(await focused(page)).toBe("");
  });
});

test.each(displays("dark", 1280))(
  "the list of shortcuts is accessible: $colorScheme, $width px",
  async ({ colorScheme, width }) => {
    await openConsole(
      "/console",
      { colorScheme, viewport: { width, height: 800 }, bypassCSP: true },
      async (page) => {
        await page.keyboard.press("?");
        await page.getByRole("dialog").waitFor();
        await expectSound(page);
      },
    );
  },
);
