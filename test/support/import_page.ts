/** The page that imports a file into the table `todos`. @module */
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { signInToConsole, withPage } from "./browser.ts";
import type { useTablePages } from "./table_pages.ts";

export const press = (page: Page, name: string | RegExp): Promise<void> =>
  page.getByRole("button", { name }).click();

export async function openImport(
  pages: ReturnType<typeof useTablePages>,
  page: Page,
): Promise<void> {
  await page.goto(pages.toUrl("todos"));
  await signInToConsole(page, pages.person.email);
  await page.getByRole("link", { name: "Import", exact: true }).click();
  await page.getByLabel("File", { exact: true }).waitFor();
}

/** Runs on the page that imports a file, in a fresh browser. */
export async function withImport(
  pages: ReturnType<typeof useTablePages>,
  run: (page: Page) => Promise<void>,
): Promise<void> {
  await withPage(pages.browser, async (page) => {
    await openImport(pages, page);
    await run(page);
  });
}

/** Checks the chosen file and imports it, without an error: "1 row". */
export async function importAll(page: Page, rows: string): Promise<void> {
  await press(page, "Check the file");
  await press(page, `Import ${rows}`);
  await page.locator("[data-results]").getByText(`${rows} stored.`).waitFor();
}

export async function choose(page: Page, text: string, name = "todos.csv"): Promise<void> {
  const file = { name, mimeType: "text/csv", buffer: Buffer.from(text) };
  await page.getByLabel("File", { exact: true }).setInputFiles(file);
}

/** The batch of the page with this number is stored, but its response is lost. */
export async function loseResponse(
  { site }: ReturnType<typeof useTablePages>,
  page: Page,
  batch: number,
): Promise<void> {
  let sent = 0;
  await page.route("**/data/*", async (route) => {
    if (route.request().method() !== "POST" || ++sent !== batch) return await route.continue();
    const { host, pathname } = new URL(route.request().url());
    const headers = { ...(await route.request().allHeaders()), host };
    const body = route.request().postData() ?? "";
    const sentOn = await fetch(site.service.url + pathname, { method: "POST", headers, body });
    expect(sentOn.status).toBe(201);
    return await route.abort();
  });
}
