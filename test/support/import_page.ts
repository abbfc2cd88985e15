/** The page that imports a file into the table `todos`. @module */
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { signInToConsole } from "./browser.ts";
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

export async function choose(page: Page, text: string, name = "todos.csv"): Promise<void> {
  const file = { name, mimeType: "text/csv", buffer: Buffer.from(text) };
  await page.getByLabel("File", { exact: true }).setInputFiles(file);
}

/** The second batch of the page is stored, but its response is lost. */
export async function loseSecondResponse(
  { site }: ReturnType<typeof useTablePages>,
  page: Page,
): Promise<void> {
  let sent = 0;
  await page.route("**/data/**", async (route) => {
    if (route.request().method() !== "POST" || ++sent !== 2) return await route.continue();
    const { host, pathname } = new URL(route.request().url());
    const headers = { ...(await route.request().allHeaders()), host };
    const body = route.request().postData() ?? "";
    const sentOn = await fetch(site.service.url + pathname, { method: "POST", headers, body });
    expect(sentOn.status).toBe(201);
    return await route.abort();
  });
}
