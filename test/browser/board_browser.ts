/**
 * The first hour with an app without a server: `rowhouse init --react` in an empty folder, `rowhouse dev`, Vite, and two people with
 * two roles in a real browser (examples/board/README.md, chapter 7 of docs/tutorial.md).
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { enterPassword, expectSound, openBrowser } from "../support/browser.ts";
import { findFreePort } from "../support/free_port.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const ROWHOUSE = join(ROOT, "src/cli/rowhouse.ts");
/** The files that the author of an app writes; init writes the first version. */
const OWN = ["schema/mod.ts", "src/main.tsx"];
const MAX_OWN_LINES = 60;

type DevFile = {
  baseUrl: string;
  gatewayUrl: string;
  identityUrl: string;
  app: string;
  apiKey: string;
  admin: { email: string; password: string };
  user: { email: string; password: string };
};
type Card = { id: string; title: string; done: boolean; author: string };

let folder: string;
let dev: Bun.Subprocess<"ignore", "pipe", "pipe">;
let web: Bun.Subprocess<"ignore", "pipe", "pipe">;
let printed = "";
let file: DevFile;
let appUrl: string;
let port: number;
let browser: Browser;
/** Responses that a browser shows as errors of the service. */
const failures: string[] = [];

beforeAll(async () => {
  folder = join(mkdtempSync(join(tmpdir(), "rowhouse-board-")), "wall");
  mkdirSync(folder);
  // What bun install would write, with the sources of this checkout as the package.
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const extended = { extends: join(ROOT, "tsconfig.json"), include: ["src", "schema"] };
  const compilerOptions = { types: ["bun-types", "vite/client"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ ...extended, compilerOptions }));
  const init = start([ROWHOUSE, "init", "--react", "--no-install"]);
  expect(await new Response(init.stdout).text()).toContain(
    "Production needs PREVIEW=browser in the service, and browser access for the app: rowhouse admin set-app wall browser on",
  );
  const config = join(folder, "vite.config.ts");
  const text = readFileSync(config, "utf8");
  writeFileSync(config, text.replace("server:", "resolve: { tsconfigPaths: true },\n  server:"));
  port = await findFreePort();
  appUrl = `http://wall.rowhouse.localhost:${port}`;
  dev = start([ROWHOUSE, "dev", "--port", "0", "--origin", appUrl]);
  printed = await readUntil(dev, "Ctrl-C stops everything");
  file = await Bun.file(join(folder, ".rowhouse", "dev.json")).json();
  const { gatewayUrl, identityUrl, app } = file;
  const settings = {
    ...{ VITE_SERVICE_URL: gatewayUrl, VITE_SERVICE_IDENTITY_URL: identityUrl },
    VITE_SERVICE_APP: app,
  };
  const build = start(["x", "vite", "build"], settings);
  expect([await build.exited, await new Response(build.stderr).text()]).toEqual([0, ""]);
  web = start(["x", "vite", "preview", "--host", "127.0.0.1", "--port", `${port}`]);
  await readUntil(web, `${port}`);
  browser = await openBrowser();
}, 120_000);

afterAll(async () => {
  await browser?.close();
  for (const child of [web, dev]) {
    child?.kill("SIGINT");
    await child?.exited;
  }
  rmSync(join(folder, ".."), { recursive: true, force: true });
}, 30_000);

function start(words: readonly string[], settings: object = {}) {
  return Bun.spawn([process.execPath, ...words], {
    cwd: folder,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

async function readUntil({ stdout, stderr }: typeof dev, wanted: string): Promise<string> {
  let text = "";
  for await (const chunk of stdout) {
    text += new TextDecoder().decode(chunk);
    if (text.includes(wanted)) return text;
  }
  throw new Error(`No "${wanted}" in:\n${text}\n${await new Response(stderr).text()}`);
}

/** A page of the app on which the person is signed in. */
async function signIn(person: DevFile["user"]): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  page.on("response", (response) => {
    if (response.status() >= 500) failures.push(`${response.status()} ${response.url()}`);
  });
  await page.goto(appUrl);
  await page.getByRole("button", { name: "Sign in" }).click();
  await enter(page, person);
  return page;
}

async function enter(page: Page, { email, password }: DevFile["user"]): Promise<void> {
  await page.waitForURL(`${file.identityUrl}/authorize**`);
  await enterPassword(page, email, password);
  await page.waitForURL(`${appUrl}/**`);
  await page.waitForSelector("input[name=title]");
}

async function listCards(): Promise<Card[]> {
  const response = await fetch(`${file.baseUrl}/v1/data/db/wall_cards`, {
    headers: { authorization: `Bearer ${file.apiKey}` },
  });
  return ((await response.json()) as { rows: Card[] }).rows;
}

async function add(page: Page, title: string): Promise<void> {
  await page.fill("input[name=title]", title);
  await page.keyboard.press("Enter");
  await page.getByLabel(title).waitFor();
}

test("the app is at most 60 lines of its author, and its pages have no key", async () => {
  const lines = OWN.flatMap((path) => readFileSync(join(folder, path), "utf8").split("\n"));
  const code = lines.filter((line) => !/^\s*(?:\/\*\*.*\*\/)?\s*$/.test(line));
  expect(code.length).toBeLessThanOrEqual(MAX_OWN_LINES);
  expect(printed).toContain("dev turns PREVIEW=browser on");
  const built = Array.from(new Bun.Glob("dist/**/*.{js,html}").scanSync(folder));
  expect(built.length).toBeGreaterThan(1);
  for (const path of built)
    expect(await Bun.file(join(folder, path)).text()).not.toContain(file.apiKey);
});

test("the tutorial has this schema, and what dev prints", async () => {
  const page = await Bun.file(join(ROOT, "docs/tutorial.md")).text();
  expect(page).toContain(`\n${await Bun.file(join(folder, "schema/mod.ts")).text()}\`\`\``);
  for (const line of ["The schema has rules", "member can change"]) {
    const [shown = "nothing"] = printed.split("\n").filter((one) => one.includes(line));
    expect(page).toContain(shown);
  }
});

test("two roles: a member changes own cards, an administrator all", async () => {
  const [member, admin] = [await signIn(file.user), await signIn(file.admin)];
  await add(member, "Milk");
  await admin.getByLabel("Milk").waitFor();
  await add(admin, "Rent");
  await member.getByLabel("Rent").waitFor();
  await expectSound(member);
  expect(await member.getByRole("button", { name: "Delete" }).count()).toBe(1);
  expect(await admin.getByRole("button", { name: "Delete" }).count()).toBe(2);

  expect(await member.getByLabel("Milk").isEnabled()).toBe(true);
  expect(await member.getByLabel("Rent").isDisabled()).toBe(true);
  expect(await admin.getByLabel("Milk").isEnabled()).toBe(true);
  // The page only saves the person a rejection: PostgreSQL applies the rule.
  await member
    .getByLabel("Rent")
    .evaluate((box) => box.closest("fieldset")?.removeAttribute("disabled"));
  await member.getByLabel("Rent").click();
  await member.getByText("does not allow").waitFor();
  expect((await listCards()).map(({ title, done }) => [title, done])).toEqual([
    ["Milk", false],
    ["Rent", false],
  ]);
  const [milk, rent] = await listCards();
  expect(milk?.author).not.toBe(rent?.author ?? "");

  await member.getByLabel("Milk").click();
  await admin.locator("input[type=checkbox]:checked").waitFor();
  const form = admin.locator("form", { has: admin.getByLabel("Milk") });
  await form.getByRole("button", { name: "Delete" }).click();
  await member.getByLabel("Milk").waitFor({ state: "detached" });
  expect((await listCards()).map(({ title }) => title)).toEqual(["Rent"]);
  expect(failures).toEqual([]);
}, 60_000);

test("a session that ends leaves the text of the form, and offers the sign-in", async () => {
  const page = await signIn(file.user);
  const other = await page.context().newPage();
  await other.goto(appUrl);
  await other.getByRole("button", { name: "Sign out" }).click();
  await other.waitForURL(`${file.identityUrl}/login**`);
  await page.fill("input[name=title]", "Kept");
  await page.keyboard.press("Enter");
  await page.getByText("wall_cards.create: No one is signed in").waitFor();
  const [again] = await Promise.all([
    page.context().waitForEvent("page"),
    page.getByRole("link", { name: "Sign in again" }).click(),
  ]);
  await enter(again, file.user);
  await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  expect(await page.inputValue("input[name=title]")).toBe("Kept");
  await page.press("input[name=title]", "Enter");
  await page.getByLabel("Kept").waitFor();
}, 60_000);

test("a page at another origin says which origin the app needs", async () => {
  const page = await browser.newPage();
  const origin = `http://127.0.0.1:${port}`;
  await page.goto(origin);
  await page.getByText(`${origin} must be an origin of the app`).waitFor();
});
