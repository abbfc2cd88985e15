/** The docs in a real browser: search, languages, anchors, contents, colors and the reader's own address. */
import { describe, expect, test } from "bun:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import { displays, expectSound, openBrowser, openSite, withPage } from "../support/browser.ts";
import { share } from "../support/share.ts";

const [site, browser] = await Promise.all([share(openSite()), share(openBrowser())]);

type Run = (page: Page) => Promise<void>;

async function open(path: string, run: Run, options: BrowserContextOptions = {}): Promise<void> {
  const goThere: Run = async (page) => {
    await page.goto(site.apiUrl + path);
    await run(page);
  };
  await withPage(browser, goThere, options);
}

test("Ctrl+K searches the docs over the page by keyboard", async () => {
  for (const path of ["/docs/tutorial", "/docs"])
    await open(path, async (page) => {
      await page.getByRole("button", { name: "Ctrl K" }).waitFor();
      await page.keyboard.press("Control+k");
      await page.keyboard.insertText("authenticator app recovery");
      await page.getByRole("option").filter({ hasText: "second factor" }).first().waitFor();
      await page.keyboard.press("Enter");
      await page.waitForURL((url) => url.pathname === "/docs/identity");
    });
});

test("a page searches the docs and selects a language without JavaScript", async () => {
  const run: Run = async (page) => {
    const example = page.locator("#list_rows");
    await example.getByText("Python", { exact: true }).click();
    await example.locator(".of-python").waitFor();
    expect(await example.locator(".of-curl").isVisible()).toBe(false);
    await page.getByRole("searchbox", { name: "Search the docs" }).fill("backup");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Backup", exact: true }).first().click();
    await page.waitForURL(/#backup$/);
  };
  await open("/docs", run, { javaScriptEnabled: false });
});

test("a language choice applies to every example and is remembered", async () => {
  await open("/docs", async (page) => {
    const first = page.locator(".languages").first();
    await first.getByRole("radio", { name: "curl" }).focus();
    await page.keyboard.press("ArrowRight");
    const shown = (language: string) =>
      page
        .locator(`.of-${language}`)
        .evaluateAll((all) => all.every((one) => (one as HTMLElement).offsetHeight > 0));
    expect(await shown("typescript")).toBe(true);
    await page.reload();
    expect(await shown("typescript")).toBe(true);
    await page.goto(`${site.apiUrl}/docs/data`);
    await page.goto(`${site.apiUrl}/docs`);
    expect(await shown("typescript")).toBe(true);
  });
});

test("a heading's address can be copied, and examples use the reader's own address", async () => {
  const permissions = ["clipboard-read", "clipboard-write"];
  const run: Run = async (page) => {
    await page.getByRole("heading", { name: "Backup" }).getByRole("link").click();
    await page.locator("#announcements", { hasText: "Link copied" }).waitFor({ state: "attached" });
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toBe(`${site.apiUrl}/docs/operating#backup`);
    await page.goto(`${site.apiUrl}/docs/push`);
    await page.getByText(`export ROWHOUSE_URL=${site.apiUrl}`).first().waitFor();
    expect(await page.getByText("https://api.example.org").count()).toBe(0);
  };
  await open("/docs/operating", run, { permissions });
});

test("a page links to its sections and to its neighbors", async () => {
  await open("/docs/push", async (page) => {
    const contents = page.getByRole("navigation", { name: "On this page" });
    await contents.getByRole("link").nth(1).click();
    expect(new URL(page.url()).hash).not.toBe("");
    const neighbors = page.getByRole("navigation", { name: "Other guides" });
    await neighbors.getByRole("link", { name: "Next Rules for people" }).click();
    await neighbors.getByRole("link", { name: "Previous Pushing a schema" }).click();
    await page.waitForURL("**/docs/push");
  });
});

describe.each(displays("dark", 360))("$colorScheme, $width px wide:", ({ colorScheme, width }) => {
  test("the search over the page has no accessibility issue", async () => {
    const viewport = { width, height: 800 };
    const run: Run = async (page) => {
      await page.keyboard.press("Control+k");
      await page.keyboard.type("backup");
      await page.getByRole("option").first().waitFor();
      await expectSound(page);
    };
    await open("/docs", run, { colorScheme, viewport, bypassCSP: true });
  });
});
