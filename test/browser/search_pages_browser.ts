/** A search of a table that one response of the list endpoint does not reach: every reader of its pages finds the rows at the end. */
import { beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { useTablePages } from "../support/table_pages.ts";

const SCHEMA = defineSchema({
  people: { email: t.string().required(), note: t.string() },
  todos: { title: t.string(), person: t.ref("people") },
  papers: { title: t.string(), text: t.string() },
});
const ROWS = 20_001;
/** 40 rows before the end of the first response, and 56 after it. */
const HITS = new Set(
  Array.from({ length: 96 }, (_, n) => (n < 40 ? 100 * n : 10_100 + 100 * (n - 40))),
);

describe("20,001 rows:", () => {
  const pages = useTablePages(SCHEMA, { previews: [] });
  const emails = Array.from(
    { length: ROWS },
    (_, n) => `p${String(n).padStart(5, "0")}@example.org`,
  );
  const last = emails.at(-2) ?? "";
  beforeAll(async () => {
    await pages.makeApp();
    await pages.addRows([{ title: "a" }, { title: "b" }]);
    for (let start = 0; start < ROWS; start += 1000) {
      const part = emails.slice(start, start + 1000);
      const toNote = (n: number) => (HITS.has(start + n) ? "a hit" : "nothing");
      await pages.addRows(
        part.map((email, n) => ({ email, note: toNote(n) })),
        "people",
      );
    }
  }, 60_000);

  const range = (page: Page, text: string) =>
    page.locator("[data-range]", { hasText: text }).waitFor();
  const search = async (page: Page, [column, value]: readonly [string, string]) => {
    await page.getByRole("button", { name: "Add a filter" }).click();
    await page.getByLabel("Column", { exact: true }).selectOption(column);
    await page.getByLabel("Comparison").selectOption({ label: "contains" });
    await page.getByLabel("Value").fill(value);
    await page.getByRole("button", { name: "Search", exact: true }).click();
  };
  const emailsShown = (page: Page) => page.locator("tbody tr td:nth-child(2)").allTextContents();

  test("a row near the end is found, by a filter and by a text", async () => {
    await pages.open("people", async (page) => {
      await search(page, ["email", last]);
      await range(page, "Rows 1 to 1 of 1 found");
      expect(await emailsShown(page)).toEqual([last]);
      await page.getByRole("button", { name: "Clear" }).click();
      await range(page, "Rows 1 to 50 of 20");
      await page.locator(".row-search input[type=search]").first().fill(last);
      await page.keyboard.press("Enter");
      await range(page, "Rows 1 to 1 of 1 found");
      await page.getByRole("button", { name: "Clear" }).click();
      await search(page, ["email", "nobody@"]);
      await page.getByText("No rows match this search.").first().waitFor();
    });
  });

  test("the pages of a filter are full and numbered, selected and exported as a whole", async () => {
    const hits = emails.filter((_, n) => HITS.has(n));
    await pages.open("people", async (page) => {
      await search(page, ["note", "hit"]);
      await range(page, "Rows 1 to 50 of 96 found");
      expect(await emailsShown(page)).toEqual(hits.slice(0, 50));
      await page.getByRole("link", { name: "Next" }).click();
      await range(page, "Rows 51 to 96 of 96 found");
      expect(await emailsShown(page)).toEqual(hits.slice(50));
      expect(await page.getByRole("link", { name: "Next" }).count()).toBe(0);
      await page.getByRole("link", { name: "Previous" }).click();
      await range(page, "Rows 1 to 50 of 96 found");
      await page.getByRole("button", { name: "Select all 96" }).click();
      await page.getByText("96 rows selected").first().waitFor();
      await page.locator("summary", { hasText: "Export" }).click();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Found rows as CSV" }).click(),
      ]);
      const text = await Bun.file(await download.path()).text();
      expect(
        text
          .trim()
          .split("\n")
          .slice(1)
          .map((line) => line.split(",")[1]),
      ).toEqual(hits);
    });
  });

  test("an export of many rows shows how far it is, and can be stopped", async () => {
    await pages.open("people#where=note.present", async (page) => {
      await range(page, "of 20,001 found");
      let held = Promise.withResolvers<void>();
      let sent = 0;
      await page.route("**/data/people*", async (route) => {
        if (++sent === 3) await held.promise;
        await route.continue();
      });
      const press = async () => {
        await page.locator("summary", { hasText: "Export" }).click();
        await page.getByRole("button", { name: "Found rows as CSV" }).click();
        await page.getByText("Exporting… 2,000 of 20,001 rows").waitFor();
      };
      await press();
      await page.getByRole("button", { name: "Stop" }).click();
      held.resolve();
      await page.getByText("Not exported: it was stopped").first().waitFor();
      [sent, held] = [0, Promise.withResolvers<void>()];
      await press();
      const download = page.waitForEvent("download");
      held.resolve();
      const text = await Bun.file(await (await download).path()).text();
      expect(text.trim().split("\n")).toHaveLength(ROWS + 1);
    });
  }, 120_000);

  test("rows that are too large for one response are one page", async () => {
    // A response ends after 8 MB.
    const text = "x".repeat(99_000);
    for (let n = 0; n < 90; n++) await pages.addRows([{ title: "a hit", text }], "papers");
    await pages.open("papers?limit=100", async (page) => {
      page.setDefaultTimeout(60_000);
      await search(page, ["title", "hit"]);
      await range(page, "Rows 1 to 90 of 90 found");
      expect(await page.locator("tbody tr").count()).toBe(90);
    });
  }, 120_000);

  test("a reference finds a row near the end: typed, searched, and pasted", async () => {
    const [{ rows: people }] = [
      (await pages.call(`/v1/data/db/people?limit=2&offset=${ROWS - 2}`)).json as {
        rows: { id: string }[];
      },
    ];
    const id = people[0]?.id ?? "";
    const stored = async () => (await pages.listRows()).map(({ person }) => person);
    await pages.open("todos", async (page) => {
      page.setDefaultTimeout(60_000);
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      const cell = (row: number) => page.locator("tbody tr").nth(row).locator("td").nth(2);
      await page.locator("table[role=grid]").waitFor();
      await cell(0).focus();
      await page.keyboard.type(last);
      await page.keyboard.press("Enter");
      await page.locator("#save-state", { hasText: "Saved" }).waitFor();
      expect(await stored()).toEqual([id, null]);
      await cell(1).focus();
      await page.keyboard.type(last.slice(0, 7));
      await page.locator(".options [role=option]", { hasText: last }).waitFor();
      await page.keyboard.press("Escape");
      await page.keyboard.press("Escape");
      await page.locator("tbody tr").nth(1).locator("td").nth(1).focus();
      await page.evaluate((text) => navigator.clipboard.writeText(text), `c\t${last}`);
      await page.keyboard.press("Control+v");
      await page.getByRole("button", { name: "Save 1 row" }).click();
      await page.getByText("Changed 1 of 1 row").waitFor();
      expect(await stored()).toEqual([id, id]);
    });
  }, 120_000);
});
