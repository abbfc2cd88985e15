/** An app's pages on Vite's port during development: they sign people in with `rowhouse dev`. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import type { IdentityClient } from "../../src/sdk/identity.ts";
import { bundleClient, openBrowser } from "../support/browser.ts";
import { makeProject, ROOT, type Running, startCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";

declare const identity: IdentityClient;

const PAGES = "http://wiki.rowhouse.localhost:5173";
const LIMIT_MS = 120_000;

type DevFile = {
  gatewayUrl: string;
  identityUrl: string;
  app: string;
  user: { email: string; password: string };
};

let project: ReturnType<typeof makeProject>;
let dev: Running;
let vite: Bun.Subprocess;
let file: DevFile;
let browser: Browser;
beforeAll(async () => {
  project = makeProject();
  dev = startCommand(["dev", "--port", "0", "--app", "wiki"], project);
  await dev.until(/Ctrl-C stops everything/);
  file = JSON.parse(readFileSync(join(project.folder, ".rowhouse/dev.json"), "utf8")) as DevFile;
  const options = { url: file.gatewayUrl, identityUrl: file.identityUrl, app: file.app };
  project.write(
    "index.html",
    '<!doctype html><html lang="en"><title>Wiki</title><script type="module" src="/main.js"></script></html>',
  );
  project.write(
    "main.js",
    `${await bundleClient()}\nwindow.identity = createIdentityClient(${JSON.stringify(options)});`,
  );
  const command = join(ROOT, "node_modules/.bin/vite");
  vite = Bun.spawn([process.execPath, command, "--port", "5173", "--strictPort"], {
    cwd: project.folder,
    stdio: ["ignore", "ignore", "inherit"],
  });
  browser = await openBrowser();
}, LIMIT_MS);
afterAll(async () => {
  await browser.close();
  vite.kill();
  await Promise.all([vite.exited, dev.kill("SIGTERM")]);
  project.remove();
}, LIMIT_MS);

test(
  "pages on port 5173 sign a person in",
  async () => {
    const page = await browser.newPage();
    await eventually(async () => (await page.goto(PAGES).catch(() => null))?.ok() === true);
    const session = () => page.evaluate(() => identity.getSession());
    await page.waitForFunction(() => "identity" in globalThis);
    expect(await session()).toEqual({ status: "unauthenticated" });
    await page.evaluate(() => identity.login());
    await page.waitForURL(`${file.identityUrl}/authorize**`);
    await page.fill("#email", file.user.email);
    await page.fill("#password", file.user.password);
    await page.click("button[type=submit]");
    await page.waitForURL(`${PAGES}/**`);
    await page.waitForFunction(() => "identity" in globalThis);
    expect(await session()).toMatchObject({
      status: "authenticated",
      user: { email: file.user.email, role: "member" },
    });
  },
  LIMIT_MS,
);
