/** An app's pages on Vite's port during development: they sign people in with `rowhouse dev`. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import type { IdentityClient } from "../../src/sdk/identity.ts";
import { bundleClient, enterPassword, openBrowser } from "../support/browser.ts";
import { makeProject, ROOT, type Running } from "../support/command.ts";
import { readDev, startDev } from "../support/dev.ts";
import { eventually } from "../support/eventually.ts";

declare const identity: IdentityClient;

const PAGES = "http://wiki.rowhouse.localhost:5173";
setDefaultTimeout(120_000);

let project: ReturnType<typeof makeProject>;
let dev: Running;
let vite: Bun.Subprocess;
let file: ReturnType<typeof readDev>;
let browser: Browser;
beforeAll(async () => {
  project = makeProject();
  dev = await startDev(project.folder, "--app", "wiki");
  file = readDev(project.folder);
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
}, 120_000);
afterAll(async () => {
  await browser.close();
  vite.kill();
  await Promise.all([vite.exited, dev.kill("SIGTERM")]);
  project.remove();
}, 120_000);

test("pages on port 5173 sign a person in", async () => {
  const page = await browser.newPage();
  await eventually(async () => (await page.goto(PAGES).catch(() => null))?.ok() === true);
  const session = () => page.evaluate(() => identity.getSession());
  await page.waitForFunction(() => "identity" in globalThis);
  expect(await session()).toEqual({ status: "unauthenticated" });
  await page.evaluate(() => identity.login());
  await page.waitForURL(`${file.identityUrl}/authorize**`);
  await enterPassword(page, file.user.email, file.user.password);
  await page.waitForURL(`${PAGES}/**`);
  await page.waitForFunction(() => "identity" in globalThis);
  expect(await session()).toMatchObject({
    status: "authenticated",
    user: { email: file.user.email, role: "member" },
  });
});
