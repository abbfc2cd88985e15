/** The forms of a new table and column in a real browser, without scripts: their fields, the text, and the file of `dev`. */
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { openSchemaFile } from "../../src/cli/dev/schema_file.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { displays, expectSound, openBrowser, openSite, withConsole } from "../support/browser.ts";
import { makePerson } from "../support/people.ts";
import { share } from "../support/share.ts";

const folder = mkdtempSync(join(tmpdir(), "new-table-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, "mod.ts");
const FILE = `import { defineSchema, t } from "rowhouse/schema";

export default defineSchema({
  todos: {
    title: t.string().required(),
  },
});
`;
const service = { findSchemaFile: () => openSchemaFile(folder, file) };
const [site, browser] = await Promise.all([share(openSite({}, { service })), share(openBrowser())]);
await site.service.makeApp(defineSchema({ todos: { title: t.string().required() } }), {
  slug: "wiki",
});
const ada = await makePerson(site.service, { name: "Ada", consoleRole: "admin" });
const url = `${site.identityUrl}/console/apps/wiki/tables`;

test.each(displays("dark", 360))(
  "a table is written into the schema file without JavaScript: $colorScheme, $width px",
  async ({ colorScheme, width }) => {
    writeFileSync(file, FILE);
    const options = { javaScriptEnabled: false, colorScheme, viewport: { width, height: 800 } };
    const run = async (page: Page) => {
      await page.getByRole("link", { name: "New table" }).click();
      await page.getByLabel("Name of the table").fill("people");
      const first = page.getByRole("group", { name: "Column 1" });
      await first.getByLabel("Name").fill("state");
      expect(await first.getByLabel("Choices").isVisible()).toBe(false);
      await first.getByLabel("Type").selectOption("enum");
      expect(await first.getByLabel("Of table").isVisible()).toBe(false);
      await first.getByLabel("Choices").fill("open, done");
      const second = page.getByRole("group", { name: "Column 2" });
      await second.getByLabel("Name").fill("todo");
      await second.getByLabel("Type").selectOption("ref");
      await second.getByLabel("When that row is deleted").selectOption("set null");
      await page.getByRole("button", { name: "Show the text" }).click();
      expect(await page.locator("ins").allTextContents()).toEqual([
        "+   people: {\n",
        '+     state: t.enum(["open", "done"]),\n',
        '+     todo: t.ref("todos", { onDelete: "set null" }),\n',
        "+   },\n",
      ]);
      await page.getByRole("button", { name: "Write mod.ts" }).click();
      await page.getByText("Schema file written.").waitFor();
      expect(readFileSync(file, "utf8")).toContain("  people: {\n    state: t.enum");
    };
    await withConsole(browser, { url, email: ada.email }, run, options);
  },
);

test("the forms have no accessibility issue, and are in the palette", async () => {
  writeFileSync(file, FILE);
  const run = async (page: Page) => {
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").getByRole("combobox").fill("wiki new t");
    await page.getByRole("option", { name: "wiki: New table" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByLabel("Name of the table").fill("users");
    await page.getByRole("button", { name: "Show the text" }).click();
    await page.getByText("Cannot name a table").waitFor();
    await expectSound(page, "rejected");
    await page.getByLabel("Name of the table").fill("people");
    await page.getByLabel("Name", { exact: true }).first().fill("name");
    await page.getByRole("button", { name: "Show the text" }).click();
    await page.getByRole("button", { name: "Write mod.ts" }).waitFor();
    await expectSound(page, "shown");
    await page.goto(`${url}/todos`);
    await page.getByRole("link", { name: "Structure" }).click();
    await page.getByRole("link", { name: "New column" }).click();
    await page.getByRole("heading", { name: "New column of todos" }).waitFor();
  };
  await withConsole(browser, { url, email: ada.email }, run, { bypassCSP: true });
});
