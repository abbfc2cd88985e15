/** Records the pictures of the tutorial: `bun test/docs/screenshots.ts`. Needs Chromium; run it when the pages change. @module */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openBrowser } from "../support/browser.ts";
import { makeProject, ROOT, startCommand } from "../support/command.ts";

type DevFile = { identityUrl: string; user: { email: string; password: string } };

const TODOS = ["Water the plants", "Buy milk", "Write to Grace"];
const folder = join(ROOT, "docs/images");

const project = makeProject({ "tsconfig.json": "{}" });
const argv = ["dev", "--port", "8787", "--app", "todo", "--schema", join(ROOT, "schema/mod.ts")];
const dev = startCommand(argv, project);
const [, appUrl = ""] = await dev.until(/The app:\n {2}(http:\S+)[\s\S]*Ctrl-C stops everything/);
const text = readFileSync(join(project.folder, ".rowhouse/dev.json"), "utf8");
const { identityUrl, user } = JSON.parse(text) as DevFile;
const browser = await openBrowser();
const page = await browser.newPage({
  viewport: { width: 560, height: 480 },
  deviceScaleFactor: 1.5,
});
mkdirSync(folder, { recursive: true });

await page.goto(appUrl);
await page.getByRole("button", { name: "Sign in" }).click();
await page.waitForURL(`${identityUrl}/authorize**`);
await page.screenshot({ path: join(folder, "sign_in.png") });
await page.fill("#email", user.email);
await page.fill("#password", user.password);
await page.click("button[type=submit]");
for (const title of TODOS) {
  await page.fill("#title", title);
  await page.getByRole("button", { name: "Add" }).click();
  await page.waitForSelector(`text=${title}`);
}
await page.click("li input[type=checkbox]");
await page.waitForSelector("li label.done");
await page.screenshot({ path: join(folder, "todo.png") });

await browser.close();
await dev.kill("SIGINT");
project.remove();
