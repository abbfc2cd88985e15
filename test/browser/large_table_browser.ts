/** A table with more rows than a search reads, in a real browser: duration, memory, and the notice about the remaining rows. */
import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { openBrowser, openSite, withConsole } from "../support/browser.ts";
import { makePerson } from "../support/people.ts";
import { share } from "../support/share.ts";

const ROWS = 52_000;

const [site, browser] = await Promise.all([
  share(openSite({}, { service: { previews: [] } })),
  share(openBrowser()),
]);
const person = await makePerson(site.service, { name: "Ada", consoleRole: "super_admin" });
const app = await site.service.makeApp(
  defineSchema({ todos: { title: t.string().required(), note: t.string(), hours: t.decimal() } }),
);
for (let start = 0; start < ROWS; start += 1000) {
  const json = Array.from({ length: 1000 }, (_, place) => ({
    title: `Row ${start + place}.`,
    note: "The key is under the mat",
    hours: `${(start + place) % 997}.5`,
  }));
  const response = await site.service.call(app, "/v1/data/db/todos", { method: "POST", json });
  expect(response.status).toBe(201);
}

async function openTodos(run: (page: Page) => Promise<void>): Promise<void> {
  const url = `${site.identityUrl}/console/apps/${app.slug}/tables/todos`;
  const runPatiently = async (page: Page) => {
    page.setDefaultTimeout(60_000);
    await run(page);
  };
  await withConsole(browser, { url, email: person.email }, runPatiently);
}

/** The peak memory of the processes of pages, in megabytes. */
async function readPeak(): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const peaks = await Promise.all(
    processInfo
      .filter(({ type }) => type === "renderer")
      .map(async ({ id }) => {
        const status = await Bun.file(`/proc/${id}/status`).text();
        return Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024;
      }),
  );
  return Math.round(Math.max(...peaks));
}

test("50,000 rows are searched and sorted in bounded memory, and the page names the rest", async () => {
  await openTodos(async (page) => {
    await page.locator("[data-range]", { hasText: "of more than 50,000" }).waitFor();
    const before = await readPeak();
    const start = performance.now();
    await page.getByRole("searchbox", { name: "Search all columns" }).fill("row 49000.");
    await page.keyboard.press("Enter");
    await page.locator("#search-progress", { hasText: "searched" }).waitFor();
    await page.locator("[data-range]", { hasText: "of 1 found in the first 50," }).waitFor();
    const searched = performance.now() - start;
    await page.getByRole("button", { name: "Clear" }).click();
    await page.locator("[data-range]", { hasText: "of more than 50,000" }).waitFor();
    await page.getByRole("button", { name: "hours" }).click();
    await page.locator("[data-range]", { hasText: "the table has more" }).waitFor();
    const after = await readPeak();
    console.log(
      `50,000 rows searched after ${Math.round(searched)} ms; ${before} MB before, at most ${after} MB after searching and sorting`,
    );
    expect(after - before).toBeLessThan(200);
  });
}, 180_000);

test("a canceled search keeps the current rows", async () => {
  await openTodos(async (page) => {
    await page.route("**/data/**", () => {});
    await page.getByRole("searchbox", { name: "Search all columns" }).fill("nowhere");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.locator("#search-progress").waitFor({ state: "detached" });
    expect(await page.locator("tbody tr").count()).toBe(50);
  });
}, 60_000);
