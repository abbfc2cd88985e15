/** The examples for Node with React, and for Python, run with their locked packages. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { findPython } from "../contract/python.ts";
import { describePage, writeFile } from "../docs/page.ts";
import { openBrowser } from "../support/browser.ts";
import { ROOT } from "../support/command.ts";
import { PASSWORD } from "../support/people.ts";
import { openStack, REQUIREMENTS, type Stack } from "./project.ts";

const ME = "**/v1/auth/me?**";

const python = await findPython(REQUIREMENTS);
let pythonStack: Stack;
describePage(
  "examples/python/README.md",
  async (folder) => {
    if ("missing" in python) throw new Error(python.missing);
    const programs = [python.programs];
    pythonStack = await openStack(folder, { example: "python", programs });
    return pythonStack.setting;
  },
  () => {
    test("the sync job creates more rows, and more bytes, than a request can have", async () => {
      const { shell } = pythonStack.setting;
      const tasks = [2500, 300].flatMap((count, part) =>
        Array.from(
          { length: count },
          (_, n) => `Real,${part} ${n} ${"x".repeat(part * 900)},1.00,2026-03-01T08:00:00Z`,
        ),
      );
      writeFile(shell.folder(), "real.csv", ["project,title,hours,noted", ...tasks].join("\n"));
      expect(await shell.run("python sync.py real.csv")).toEqual({
        code: 0,
        output: "1 projects and 2800 todos created, 0 todos changed\n",
      });
    });

    test("a call is sent again while the service starts", async () => {
      const code = `import db
db.time.sleep = lambda s: print(f"{s} s")
try:
    db.call("GET", "/todos")
except db.httpx.ConnectError:
    print("refused")`;
      const { output } = await pythonStack.setting.shell.run(
        `ROWHOUSE_URL=http://127.0.0.1:1 python -c '${code}'`,
      );
      expect(output).toBe("1 s\n2 s\n4 s\n8 s\nrefused\n");
    });
  },
);

let react: Stack;
let project: string;
describePage(
  "examples/node/README.md",
  async (folder) => {
    project = folder;
    react = await openStack(folder, { example: "node", previews: ["filters", "live"] });
    return react.setting;
  },
  describeReact,
);

function describeReact(): void {
  test("the example compiles", () => {
    const tsc = join(ROOT, "node_modules/.bin/tsc");
    const { stdout } = Bun.spawnSync([tsc, "--noEmit"], { cwd: project });
    expect(stdout.toString()).toBe("");
  });

  describe("in a browser", () => {
    let browser: Browser;
    let context: BrowserContext;
    let page: Page;
    let checks = 0;
    beforeAll(async () => {
      const { shell } = react.setting;
      await shell.stop();
      await shell.start("npx tsx server.ts", "Listening");
      await removeTodos();
      browser = await openBrowser();
      context = await browser.newContext();
      page = await context.newPage();
      page.setDefaultTimeout(15_000);
      page.on("request", (request) => {
        if (request.url().includes("/v1/auth/me?")) checks++;
      });
    }, 60_000);
    afterAll(() => browser?.close());

    /** Removes the rows of the page. */
    const removeTodos = async () => {
      const url = `${react.site.service.url}/v1/data/db/todos?all=true`;
      const headers = { authorization: `Bearer ${react.key}` };
      expect((await fetch(url, { method: "DELETE", headers })).status).toBe(200);
    };
    const button = (name: string) => page.getByRole("button", { name });
    const showTab = async () => {
      // Headless tabs are always visible.
      await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    };

    test("a visitor signs in and returns", async () => {
      await page.goto(react.origin);
      await button("Sign in").click();
      await page.waitForURL(`${react.site.identityUrl}/authorize**`);
      await page.fill("#email", react.person.email);
      await page.fill("#password", PASSWORD);
      await page.click("button[type=submit]");
      await page.getByText("Ada").waitFor();
      checks = 0;
      await page.reload();
      await page.getByText("Ada").waitFor();
      expect(checks).toBe(1);
    });

    test("a new row appears before the server has stored it, and remains", async () => {
      let release = () => {};
      const isReleased = new Promise<void>((resolve) => {
        release = resolve;
      });
      await page.route("**/api/todos", async (route) => {
        if (route.request().method() === "POST") await isReleased;
        await route.continue();
      });
      await page.fill("[name=title]", "Water the plants");
      await button("Add").click();
      await page.locator("ul li", { hasText: "Water the plants" }).waitFor();
      release();
      await page.locator("ol li", { hasText: "Water the plants" }).waitFor();
      await page.unroute("**/api/todos");
      expect(await page.locator("ul li").count()).toBe(1);
    });

    test("a rejected row disappears, and the server's message appears", async () => {
      await page.fill("[name=title]", "x".repeat(110_000));
      await button("Add").click();
      await page.getByRole("alert").waitFor();
      expect(await page.locator("ul li").allTextContents()).toEqual(["Water the plants"]);
    });

    test("another person's rows appear, page by page", async () => {
      const rows = Array.from({ length: 30 }, (_, index) => ({ title: `Row ${index}` }));
      const body = JSON.stringify(rows);
      const headers = { authorization: `Bearer ${react.key}`, "content-type": "application/json" };
      const url = `${react.site.service.url}/v1/data/db/todos`;
      expect((await fetch(url, { method: "POST", headers, body })).status).toBe(201);
      await page.locator("ul li", { hasText: "Row 18" }).waitFor();
      await button("More").click();
      await page.locator("ol li").nth(30).waitFor();
      expect(new Set(await page.locator("ol li").allTextContents()).size).toBe(31);
      const latest = page.getByRole("region", { name: "Latest" });
      await latest.getByText("Row 29").waitFor();
      expect(await latest.locator("p").count()).toBe(31);
    });

    test("an outage preserves the session and displays an error until a check succeeds", async () => {
      await page.route(ME, (route) => route.fulfill({ status: 503, body: "unavailable" }));
      await showTab();
      await page.getByRole("status").waitFor();
      expect(await page.getByText("Ada").isVisible()).toBe(true);
      await page.unroute(ME);
      await showTab();
      await page.getByRole("status").waitFor({ state: "detached" });
      expect(await page.getByText("Ada").isVisible()).toBe(true);
    });

    test("a page that opens during an outage can try again", async () => {
      await page.route(ME, (route) => route.abort());
      await page.reload();
      await button("Try again").waitFor();
      await page.unroute(ME);
      await button("Try again").click();
      await page.getByText("Ada").waitFor();
    });

    test("a response that arrives after a later response is ignored", async () => {
      const held: (() => Promise<void>)[] = [];
      await page.route(ME, async (route) => {
        if (held.length > 0) return await route.continue();
        held.push(() => route.fulfill({ status: 401, body: '{"error":"unauthenticated"}' }));
      });
      const earlier = page.waitForRequest(ME);
      await showTab();
      await earlier;
      const later = page.waitForResponse(ME);
      await showTab();
      await later;
      for (const fulfill of held) await fulfill();
      await page.evaluate(() => new Promise(requestAnimationFrame));
      expect(await page.getByText("Ada").isVisible()).toBe(true);
      await page.unroute(ME);
    });

    test("a sign-out in another tab offers a sign-in when the tab is visible again, and keeps the page", async () => {
      const other = await context.newPage();
      await other.goto(react.origin);
      await other.getByRole("button", { name: "Sign out" }).click();
      await other.waitForURL(`${react.site.identityUrl}/login`);
      await other.close();
      await page.getByLabel("Title").fill("Half");
      await showTab();
      await page.getByRole("link", { name: "Sign in again" }).waitFor();
      expect(await page.getByLabel("Title").inputValue()).toBe("Half");
    });
  });

  test("the server renders the loading state without a request", () => {
    const code = `
      import { renderToString } from "react-dom/server";
      import { createElement } from "react";
      import { createIdentityClient } from "rowhouse-client/identity";
      import { useSession } from "rowhouse-client/react";
      globalThis.fetch = () => { throw new Error("A request"); };
      const url = "https://api.example.org";
      const identity = createIdentityClient({ url, identityUrl: url, app: "wiki" });
      const App = () => createElement("p", null, useSession(identity).status);
      console.log(renderToString(createElement(App)));`;
    writeFile(project, "ssr.mjs", code);
    const { stdout, stderr } = Bun.spawnSync(["node", "ssr.mjs"], { cwd: project });
    expect([stdout.toString(), stderr.toString()]).toEqual(["<p>loading</p>\n", ""]);
  });
}
