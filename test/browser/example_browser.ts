/** The example app as `rowhouse dev` serves it (examples/todo/README.md): from sign-in in a real browser to a stored row. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { displays, enterPassword, expectSound, openBrowser } from "../support/browser.ts";
import { previewsOfRun } from "../support/shape.ts";

const ROOT = join(import.meta.dirname, "..", "..");

type DevFile = {
  baseUrl: string;
  identityUrl: string;
  app: string;
  apiKey: string;
  databaseUrl: string;
  admin: { email: string; password: string };
  user: { email: string; password: string };
};

let folder: string;
/** With TEST_PREVIEW=filters the service finds the todos, otherwise the page does. */
const PREVIEW = ["--preview", [...new Set([...previewsOfRun(), "live"])].join(",")];

let dev: Bun.Subprocess<"ignore", "pipe", "pipe">;
let file: DevFile;
let appUrl: string;
let browser: Browser;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "rowhouse-example-"));
  const schema = join(ROOT, "schema", "mod.ts");
  writeFileSync(join(folder, "tsconfig.json"), "{}");
  const words = ["dev", "--port", "0", "--app", "todo", "--schema", schema, ...PREVIEW];
  dev = Bun.spawn([process.execPath, join(ROOT, "src/cli/rowhouse.ts"), ...words], {
    cwd: folder,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"] },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed = await readUntil(dev.stdout, "Ctrl-C stops everything");
  appUrl = /The app:\n {2}(http:\S+)/.exec(printed)?.[1] ?? "";
  file = await Bun.file(join(folder, ".rowhouse", "dev.json")).json();
  browser = await openBrowser();
}, 120_000);

afterAll(async () => {
  await browser.close();
  dev.kill("SIGINT");
  await dev.exited;
  rmSync(folder, { recursive: true, force: true });
}, 30_000);

async function readUntil(stream: ReadableStream<Uint8Array>, wanted: string): Promise<string> {
  let text = "";
  for await (const chunk of stream) {
    text += new TextDecoder().decode(chunk);
    if (text.includes(wanted)) return text;
  }
  throw new Error(
    `dev ended before it said "${wanted}":\n${text}\n${await new Response(dev.stderr).text()}`,
  );
}

async function signIn(page: Page, who: { email: string; password: string }): Promise<void> {
  await page.goto(appUrl);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${file.identityUrl}/authorize**`);
  await enterPassword(page, who.email, who.password);
  await page.waitForURL(`${appUrl}/**`);
}

async function listRows(): Promise<{ title: string; status: string }[]> {
  const response = await fetch(`${file.baseUrl}/v1/data/db/todos`, {
    headers: { authorization: `Bearer ${file.apiKey}` },
  });
  return ((await response.json()) as { rows: { title: string; status: string }[] }).rows;
}

test("two browsers display each other's todos", async () => {
  const pages = await Promise.all([browser.newContext(), browser.newContext()]);
  const [mine, theirs] = await Promise.all(pages.map((context) => context.newPage()));
  if (mine === undefined || theirs === undefined) throw new Error("There is no page");
  for (const page of [mine, theirs]) {
    await signIn(page, file.user);
    await page.waitForSelector("#title:focus");
  }
  await mine.fill("#title", "Seen by both");
  await mine.keyboard.press("Enter");
  await theirs.waitForSelector("li label >> text=Seen by both");
  await theirs.click("li .delete");
  await mine.waitForSelector("text=No todos");
  for (const context of pages) await context.close();
});

test("a person signs in, adds a todo, completes it and deletes it", async () => {
  const page = await (await browser.newContext()).newPage();
  await signIn(page, file.user);
  await page.waitForSelector("text=Dev Person");
  await page.waitForSelector("#title:focus");
  await page.keyboard.type('<b>Milk</b> & "bread"');
  await page.keyboard.press("Enter");
  await page.waitForSelector("li label");
  expect(await page.textContent("li label")).toBe('<b>Milk</b> & "bread"');
  expect(await listRows()).toMatchObject([{ title: '<b>Milk</b> & "bread"', status: "open" }]);
  await page.fill("#search", "bread");
  await page.waitForSelector("li label");
  await page.fill("#search", "butter");
  await page.waitForSelector("text=No matching todos");
  await page.fill("#search", "MILK");
  await page.waitForSelector("li label");
  await page.fill("#search", "");
  await page.click("li input[type=checkbox]");
  await page.waitForSelector("li label.done");
  await page.click("#open-only");
  await page.waitForSelector("text=No matching todos");
  await page.click("#open-only");
  await page.click("#by-due-date");
  await page.waitForSelector("li label.done");
  await page.click("li input[type=checkbox]");
  await page.waitForSelector("li label:not(.done)");
  await page.click("li input[type=checkbox]");
  await page.waitForSelector("li label.done");
  expect(await focused(page)).toStartWith("todo-");
  expect(await listRows()).toMatchObject([{ status: "done" }]);
  await page.getByRole("button", { name: /^Delete/ }).click();
  await page.waitForSelector("text=No todos");
  expect(await listRows()).toEqual([]);
}, 60_000);

test("a list that arrives late does not take the focus back", async () => {
  const page = await (await browser.newContext()).newPage();
  await signIn(page, file.user);
  await page.waitForSelector("#title:focus");
  const held = Promise.withResolvers<void>();
  await page.route("**/api/todos?due=1", async (route) => {
    await held.promise;
    await route.continue();
  });
  await page.click("#by-due-date");
  await page.focus("#search");
  await page.locator("ul.todos > li").evaluate((row) => row.setAttribute("data-old", ""));
  held.resolve();
  await page.waitForSelector("ul.todos > li:not([data-old])");
  expect(await focused(page)).toBe("search");
}, 60_000);

test("signing out ends at the sign-in page, and the app detects it", async () => {
  const page = await (await browser.newContext()).newPage();
  await signIn(page, file.admin);
  await page.waitForSelector("text=Dev Admin");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL(`${file.identityUrl}/login**`);
  await page.goto(appUrl);
  await page.waitForSelector("text=Sign in to see your list");
}, 60_000);

async function runAdmin(...words: string[]): Promise<void> {
  const child = Bun.spawn(
    [process.execPath, join(ROOT, "src/cli/rowhouse.ts"), "admin", ...words],
    {
      cwd: folder,
      env: { PATH: process.env["PATH"], ADMIN_DATABASE_URL: file.databaseUrl },
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  expect([await child.exited, await new Response(child.stderr).text()]).toEqual([
    0,
    expect.stringMatching(/^Destination: .*\n$/),
  ]);
}

/** The element that gets the next key. */
function focused(page: Page): Promise<string | null | undefined> {
  return page.evaluate(() => document.activeElement?.id || document.activeElement?.textContent);
}

/** Every state of the app, and how to reach it. */
const STATES = Object.entries<(page: Page) => Promise<unknown>>({
  "signed out": async (page) => {
    await page.goto(appUrl);
    await page.waitForSelector("text=Sign in to see your list");
  },
  "with an open and a completed todo": async (page) => {
    await signIn(page, file.user);
    await page.fill("#title", "Milk");
    await page.getByRole("button", { name: "Add" }).click();
    await page.waitForSelector("li label");
    await expectSound(page);
    await page.click("li input[type=checkbox]");
    await page.waitForSelector("li label.done");
  },
  "at an unknown address": async (page) => {
    const response = await page.goto(`${appUrl}/no/such/page`);
    expect(response?.status()).toBe(404);
    await page.getByRole("link", { name: "Open your list" }).waitFor();
  },
  "without a role": async (page) => {
    await signIn(page, file.user);
    await runAdmin("revoke", file.user.email, file.app);
    try {
      await page.reload();
      await page.waitForSelector("text=you have no role on this app");
      expect(await focused(page)).toBe("Try again");
    } finally {
      await runAdmin("grant", file.user.email, file.app, "member");
    }
  },
});

describe.each(displays("light", 360))("$colorScheme, $width px wide:", ({ colorScheme, width }) => {
  test.each(STATES)(
    "the app %s has no accessibility issue",
    async (_, open) => {
      const context = await browser.newContext({
        ...{ colorScheme, bypassCSP: true },
        viewport: { width, height: 800 },
      });
      const page = await context.newPage();
      await open(page);
      await expectSound(page);
      const remove = page.getByRole("button", { name: /^Delete/ });
      if ((await remove.count()) > 0) {
        await remove.click();
        // The next state begins without todos.
        await page.waitForSelector("text=No todos");
      }
      await context.close();
    },
    60_000,
  );
});

test.each([
  ["POST", "origin", "http://evil.rowhouse.localhost", 403],
  ["GET", "accept", "without a page's origin", 403],
  ["POST", "origin", "http://localhost", 403],
  // Its own page, without a session.
  ["GET", "sec-fetch-site", "same-origin", 401],
])("the server part responds to %s with %s: %s with %d", async (method, name, value, status) => {
  const response = await fetch(`${appUrl}/api/todos`, { method, headers: { [name]: value } });
  expect(response.status).toBe(status);
});
