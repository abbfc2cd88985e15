/** The tools around the rows in a real browser: one toolbar, exports of the rows found, counts after the rows, and the window. */
import { beforeEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { countEndedFiles, type OnPage, readOnPage } from "../support/browser.ts";
import { useTablePages } from "../support/table_pages.ts";

const SCHEMA = defineSchema({
  todos: {
    title: t.string().required().unique(),
    note: t.string(),
    status: t.enum(["open", "done"]).required().default("open").index(),
    hours: t.decimal(),
    due_at: t.timestamp(),
    meta: t.json(),
  },
});
const LONG = `https://example.org/${"x".repeat(300)}`;

describe("the tools", () => {
  const pages = useTablePages(SCHEMA, { previews: [] });
  beforeEach(async () => {
    await pages.makeApp();
    const rows = Array.from({ length: 120 }, (_, at) => ({
      ...{ title: `Row ${at}.`, note: LONG, status: at % 4 === 0 ? "done" : "open" },
      ...{ hours: `${at}.5`, meta: { text: LONG } },
    }));
    await pages.addRows(rows);
  });

  const range = (page: Page, text: string | RegExp) =>
    page.locator("[data-range]", { hasText: text }).waitFor();
  const open = (...given: OnPage) => {
    const { options, run } = readOnPage(given);
    return pages.open("todos", options, async (page) => {
      await page.locator("table[role=grid]").waitFor();
      await run(page);
    });
  };

  test("the rows are shown and edited before they are counted", async () => {
    await open(async (page) => {
      const { promise: counted, resolve: count } = Promise.withResolvers<void>();
      await page.route("**/data/**", async (route) => {
        if (route.request().headers()["rows-query"]?.startsWith("limit=1") === true) await counted;
        await route.continue();
      });
      await page.reload();
      await page.locator("table[role=grid]").waitFor();
      expect(await page.locator("[data-range]").textContent()).toBe("Rows 1 to 50");
      await page.locator("tbody tr").first().locator("td").nth(1).focus();
      await page.keyboard.type("New");
      await page.keyboard.press("Enter");
      await page.locator("#save-state", { hasText: "Saved" }).waitFor();
      count();
      await range(page, /^Rows 1 to 50 of 120$/);
      await page.getByRole("link", { name: "Last", exact: true }).click();
      await range(page, "Rows 101 to 120 of 120");
    });
  });

  test("the rows found are exported, or all rows", async () => {
    await open(async (page) => {
      const save = async (name: string) => {
        await page.getByText("Export", { exact: true }).click();
        const download = page.waitForEvent("download");
        await page.locator(".export").getByText(name, { exact: true }).click();
        return readFileSync(await (await download).path(), "utf8");
      };
      await page.getByText("Export", { exact: true }).click();
      expect(await page.getByRole("button", { name: "Found rows as CSV" }).isVisible()).toBe(false);
      await page.getByText("Export", { exact: true }).click();
      expect(((await save("All rows as CSV")).match(/Row \d+\./g) ?? []).length).toBe(120);
      await page.getByRole("searchbox").last().fill("Row 11");
      await page.keyboard.press("Enter");
      await range(page, "of 11 found");
      const countEnded = await countEndedFiles(page);
      const csv = await save("Found rows as CSV");
      expect(await countEnded()).toBe(0);
      expect(csv.startsWith("\ufeffid,title,note,status,hours,due_at,meta")).toBe(true);
      expect(csv.match(/Row 11\d*\./g)).toHaveLength(11);
      const json = JSON.parse(await save("Found rows as JSON")) as { title: string }[];
      expect(json.map(({ title }) => title)).toContain("Row 119.");
    });
  });

  test("the grid fits the window, long values stay in their cells, and the name stays visible", async () => {
    await open({ viewport: { width: 1000, height: 700 } }, async (page) => {
      const measure = () =>
        page.evaluate(() => {
          const boxes = [...document.querySelectorAll<HTMLElement>("tbody tr:first-child td")].map(
            (cell) => cell.getBoundingClientRect(),
          );
          return {
            page: document.documentElement.scrollHeight - innerHeight,
            wide: document.documentElement.scrollWidth - innerWidth,
            overlaps: [...document.querySelectorAll<HTMLElement>("tbody td")].filter(
              (cell) =>
                cell.scrollWidth > cell.clientWidth + 1 &&
                getComputedStyle(cell).overflow === "visible",
            ).length,
            name: boxes[1]?.left ?? 0,
            frame: document.querySelector(".sheet-tight")?.getBoundingClientRect().left ?? 0,
          };
        });
      const before = await measure();
      expect([before.page <= 0, before.wide <= 0, before.overlaps]).toEqual([true, true, 0]);
      await page.locator(".sheet-tight").evaluate((frame) => {
        frame.scrollLeft = 600;
      });
      const after = await measure();
      expect(Math.abs(after.name - before.name)).toBeLessThan(3);
    });
  });

  test("the tools leave space for the rows, and a new row is one press away on a phone", async () => {
    await open({ viewport: { width: 820, height: 844 } }, async (page) => {
      const measureTop = () =>
        page.evaluate(() => document.querySelector("tbody tr")?.getBoundingClientRect().top);
      expect(await measureTop()).toBeLessThan(170);
      await page.setViewportSize({ width: 360, height: 760 });
      expect(await measureTop()).toBeLessThan(300);
      await page.getByRole("link", { name: "New row" }).click();
      await page.waitForURL("**/new");
    });
  });

  test("Structure and Rows lead to each other, and Shift and a click check all rows between", async () => {
    await open(async (page) => {
      const box = (row: number) => page.locator("tbody input.select").nth(row);
      await box(2).click();
      await box(5).click({ modifiers: ["Shift"] });
      await page.locator("[data-selected]", { hasText: "4 rows selected" }).waitFor();
      await page.getByRole("link", { name: "Structure" }).click();
      await page.getByRole("heading", { name: "Columns" }).waitFor();
      await page.getByRole("link", { name: "Rows", exact: true }).click();
      await page.locator("table[role=grid]").waitFor();
    });
  });

  test("a value of an index is found page by page, with few requests", async () => {
    await open(async (page) => {
      const requests: string[] = [];
      page.on("request", (request) => {
        if (request.url().includes("/data/")) requests.push(request.headers()["rows-query"] ?? "");
      });
      const url = `${page.url()}#where=status.eq.open`;
      await page.goto("about:blank");
      requests.length = 0;
      await page.goto(url);
      await range(page, "Rows 1 to 50 of 90 found");
      await page.getByRole("link", { name: "Next", exact: true }).click();
      await range(page, "Rows 51 to 90 of 90 found");
      expect(requests.filter((query) => query.includes("status=eq.open"))).toHaveLength(3);
    });
  });
});
