/**
 * The API reference and the guides in a browser: a key that is only in memory, trying requests, themes, keyboard, hostile
 * values.
 */
import { expect, test } from "bun:test";
import type { BrowserContext, Page } from "playwright-core";
import { defineSchema, t } from "../../src/schema/mod.ts";
import {
  displays,
  expectSound,
  type OnPage,
  openBrowser,
  openSite,
  readOnPage,
  withPage,
} from "../support/browser.ts";
import { share } from "../support/share.ts";

const HOSTILE = '<img src=x onerror=alert(1)><script>alert("x")</script>';
const TURNED = "\u202eturned";

const [site, browser] = await Promise.all([share(openSite()), share(openBrowser())]);
const app = await site.service.makeApp(
  defineSchema({
    todos: {
      title: t.string().required(),
      kind: t.enum(["plain", HOSTILE, TURNED]).required().default("plain"),
    },
    projects: { [`a_name_${"so_long".repeat(5)}`]: t.string() },
  }),
);

/** Fails the test on any browser error, and on any request to another host. */
async function open(
  path: string,
  ...given: OnPage<(page: Page, context: BrowserContext) => Promise<void>>
): Promise<void> {
  const { options, run } = readOnPage(given);
  const goThere = async (page: Page, issues: string[]) => {
    page.on("dialog", (dialog) => issues.push(dialog.message()));
    page.on("console", (message) => {
      // Browsers log each rejection.
      if (!message.text().startsWith("Failed to load resource")) issues.push(message.text());
    });
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(`${site.apiUrl}/`) || url.includes(app.key.slice(20))) issues.push(url);
    });
    await page.goto(site.apiUrl + path);
    await run(page, page.context());
  };
  await withPage(browser, goThere, options);
}

async function enterKey(page: Page, key = app.key): Promise<void> {
  await page.getByLabel("API key", { exact: true }).fill(key);
  await page.getByRole("button", { name: "Use this key" }).click();
}

async function openTable(page: Page, table: string): Promise<void> {
  await page.locator("#content").getByRole("link", { name: table, exact: true }).click();
  await page.getByRole("heading", { name: table, exact: true, level: 1 }).waitFor();
}

test.each(displays("light", 360))(
  "pages are accessible and fit, $colorScheme at $width px",
  async (look) => {
    const { colorScheme, width } = look;
    const viewport = { width, height: 800 };
    await open("/docs", { colorScheme, viewport, bypassCSP: true }, async (page) => {
      await expectSound(page);
      await enterKey(page);
      await openTable(page, "todos");
      for (const each of await page.locator("details").all())
        await each.evaluate((details) => details.setAttribute("open", ""));
      await expectSound(page);
      const menu = page.getByRole("button", { name: "Menu" });
      if (!(await menu.isVisible())) return;
      await menu.click();
      await expectSound(page);
      await page.locator("#menu").getByRole("link", { name: "Delete a row" }).click();
      expect(await page.locator("#menu").isVisible()).toBe(false);
      expect(new URL(page.url()).hash).toBe("#delete_todos");
    });
  },
);

test.each(displays("dark", 1280))(
  "guides are accessible and fit, $colorScheme at $width px",
  async (look) => {
    const { colorScheme, width } = look;
    const viewport = { width, height: 800 };
    await open("/docs/operating", { colorScheme, viewport, bypassCSP: true }, async (page) => {
      await expectSound(page);
      const menu = page.getByRole("button", { name: "Menu" });
      await page
        .getByRole("navigation", { name: "On this page" })
        .getByRole("link", { name: "Keys", exact: true })
        .click();
      expect(new URL(page.url()).hash).toBe("#keys");
      if (await menu.isVisible()) await menu.click();
      await page.locator("#menu").getByRole("link", { name: "Data", exact: true }).click();
      await page.getByRole("heading", { name: "Data", level: 1 }).waitFor();
      await expectSound(page);
    });
  },
);

test("nothing moves on a phone while the page starts, and one entry of the menu is current", async () => {
  const read = async (page: Page) => {
    const shift = await page.evaluate(
      () =>
        new Promise<number>((resolve) => {
          let sum = 0;
          const observer = new PerformanceObserver((list) => {
            for (const entry of list.getEntries())
              sum += (entry as unknown as { value: number }).value;
          });
          observer.observe({ type: "layout-shift", buffered: true });
          setTimeout(() => resolve(sum), 500);
        }),
    );
    expect(shift).toBeLessThan(0.02);
    const current = page.locator("#menu [aria-current]");
    expect(await current.allTextContents()).toEqual(["Introduction"]);
    await page.locator("#push_schema").scrollIntoViewIfNeeded();
    await page.evaluate(() => document.querySelector("#push_schema")?.scrollIntoView());
    await page
      .locator("#menu a[href$='#push_schema'][aria-current]")
      .waitFor({ state: "attached" });
    expect(await current.count()).toBe(1);
  };
  await open("/docs", { viewport: { width: 390, height: 800 } }, read);
});

test("a push in Try it is a dry run unless its author changes that", async () => {
  await open("/docs", async (page) => {
    const body = await page.locator("#push_schema-body").inputValue();
    expect(JSON.parse(body)).toMatchObject({ dryRun: true });
  });
});

test("an example of a guide is copied by keyboard, and a guide is complete without scripts", async () => {
  await open(
    "/docs/data#values",
    { permissions: ["clipboard-read", "clipboard-write"] },
    async (page, context) => {
      const copy = page.locator(".copyable").first().getByRole("button");
      await copy.focus();
      await page.keyboard.press("Enter");
      await copy.getByText("Copied").waitFor();
      expect(await page.evaluate(() => navigator.clipboard.readText())).toStartWith(
        "export ROWHOUSE",
      );
      await context.clearPermissions();
    },
  );
  const still = { javaScriptEnabled: false };
  const read = async (page: Page) => {
    expect(await page.getByRole("button", { name: "Copy" }).count()).toBe(0);
    await page.getByRole("link", { name: "This page as Markdown" }).click();
    expect(page.url()).toEndWith("/docs/data.md");
  };
  await open("/docs/data", still, read);
});

test("Try it creates and reads a row by keyboard", async () => {
  await open("/docs", async (page) => {
    const isAt = (selector: string) =>
      page.evaluate((wanted) => document.activeElement?.matches(wanted) === true, selector);
    const tabTo = async (selector: string) => {
      for (let presses = 0; presses < 60 && !(await isAt(selector)); presses++)
        await page.keyboard.press("Tab");
      expect([selector, await isAt(selector)]).toEqual([selector, true]);
    };
    await tabTo("#api-key");
    await page.keyboard.type(app.key);
    await page.keyboard.press("Enter");
    await page.locator("#tables").waitFor();
    await tabTo('#content [href="/docs/tables/todos"]');
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "todos", level: 1 }).waitFor();
    const create = page.locator("#create_todos");
    await tabTo("#create_todos .try summary");
    await page.keyboard.press("Enter");
    await tabTo("#create_todos-body");
    await page.keyboard.press("Control+a");
    await page.keyboard.type('{"title":"by hand <b>&"}');
    await tabTo("#create_todos .try button");
    await page.keyboard.press("Enter");
    await create.locator(".status", { hasText: "201" }).last().waitFor();
    const row = JSON.parse((await create.locator("[data-body]").textContent()) ?? "");
    expect(row).toMatchObject({ title: "by hand <b>&", app_id: app.id });

    const get = page.locator("#get_todos");
    await get.locator("summary", { hasText: "Try it" }).click();
    await get.getByLabel("id required").fill(row.id);
    await get.getByRole("button", { name: "Send" }).click();
    await get.locator("[data-body]").waitFor();
    expect(JSON.parse((await get.locator("[data-body]").textContent()) ?? "")).toEqual(row);
  });
});

test("every control can be reached by keyboard", async () => {
  await open("/docs", async (page) => {
    const count = await page.evaluate(() => {
      const all = document.querySelectorAll<HTMLElement>("a, button, input, summary, textarea");
      // Tab reaches only the checked radio button.
      for (const each of all)
        if (each.checkVisibility() && !each.matches("[type=radio]:not(:checked)"))
          each.dataset["unseen"] = "";
      return all.length;
    });
    for (let presses = 0; presses < count; presses++) {
      await page.keyboard.press("Tab");
      await page.evaluate(() => document.activeElement?.removeAttribute("data-unseen"));
    }
    expect(await page.locator("[data-unseen]").allTextContents()).toEqual([]);
  });
});

/** The names in the storage of the tab and of the origin. */
function readStored(page: Page): Promise<string[]> {
  return page.evaluate(() => [...Object.keys(sessionStorage), ...Object.keys(localStorage)]);
}

test("the key is only in memory while the reference's pages are opened, and can be forgotten", async () => {
  await open("/docs", async (page, context) => {
    await enterKey(page);
    await openTable(page, "todos");
    expect(page.url()).toBe(`${site.apiUrl}/docs/tables/todos`);
    expect(await readStored(page)).toEqual([]);
    await page.goBack();
    await page.locator("#tables").waitFor();
    await openTable(page, "projects");
    expect(await readStored(page)).toEqual([]);
    expect(await context.cookies()).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.outerHTML)).not.toContain(
      app.key.split(".")[1],
    );
    const second = await context.newPage();
    await second.goto(page.url());
    await second.getByRole("heading", { name: "A table of your app" }).waitFor();
    await page.getByRole("button", { name: "Forget the key" }).click();
    await page.getByRole("heading", { name: "A table of your app" }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "API reference" }).waitFor();
    expect(await page.locator("#tables").count()).toBe(0);
  });
});

test("a reload and a guide forget the key and say so before, and a stored key is deleted", async () => {
  await open("/docs", async (page) => {
    await enterKey(page);
    await page.getByText("Reloading this page or leaving the reference forgets the key").waitFor();
    await page.reload();
    await page.getByLabel("API key", { exact: true }).waitFor();
    expect(await page.locator("#tables").count()).toBe(0);
    await enterKey(page);
    await page.locator("#tables").waitFor();
    await page.getByRole("link", { name: "Versions" }).first().click();
    await page.getByRole("heading", { name: "Versions", level: 2 }).waitFor();
    await page.evaluate((key) => sessionStorage.setItem("rowhouse.apiKey", key), app.key);
    await page.goto(`${site.apiUrl}/docs`);
    await page.getByLabel("API key", { exact: true }).waitFor();
    expect(await page.locator("#tables").count()).toBe(0);
    expect(await readStored(page)).toEqual([]);
  });
});

test.each([
  { what: "an invalid key", key: "rh_none.at-all" },
  { what: "a text that is not a header value", key: "ключ" },
])("$what is rejected and not stored, and requests ask for a key", async ({ key }) => {
  await open("/docs", async (page) => {
    await enterKey(page, key);
    await page.getByRole("alert").filter({ hasText: "not accepted" }).waitFor();
    expect(await readStored(page)).toEqual([]);
    const status = page.locator("#get_schema");
    await status.locator("summary", { hasText: "Try it" }).click();
    await status.getByRole("button", { name: "Send" }).click();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("api-key");
  });
});

test("hostile values are text in examples and in responses", async () => {
  const made = await site.service.call(app, "/v1/data/db/todos", {
    method: "POST",
    json: { title: TURNED, kind: HOSTILE },
  });
  await open("/docs", async (page) => {
    await enterKey(page);
    await openTable(page, "todos");
    const list = page.locator("#list_todos");
    await list.locator("summary", { hasText: "Try it" }).click();
    await list.getByRole("button", { name: "Send" }).click();
    const body = (await list.locator("[data-body]").textContent()) ?? "";
    expect(body).toContain("\\u202eturned");
    expect(JSON.parse(body).rows).toContainEqual(made.json);
    expect(await page.locator("#content img, #content script").count()).toBe(0);
    expect(await page.locator(".values", { hasText: "<script>" }).count()).toBeGreaterThan(0);
  });
});

test("the page can be read without JavaScript, and has no control that does not work", async () => {
  await open("/docs", { javaScriptEnabled: false }, async (page) => {
    expect(await page.getByRole("heading", { name: "Create a row" }).isVisible()).toBe(true);
    expect(await page.getByLabel("API key", { exact: true }).isVisible()).toBe(false);
    expect(await page.getByText("Try it").first().isVisible()).toBe(false);
    await page.getByRole("link", { name: "Versions" }).first().click();
    await page.getByRole("heading", { name: "Versions", level: 2 }).waitFor();
  });
});
