/** The fields of a row in a real browser: labels of references, rows that refer to a row, a calendar, checks of typed JSON. */
import { beforeEach, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { displays, expectSound } from "../support/browser.ts";
import { useTablePages } from "../support/table_pages.ts";

const SCHEMA = defineSchema({
  projects: { note: t.string(), name: t.string().required().unique() },
  todos: {
    title: t.string().required(),
    project: t.ref("projects"),
    due_at: t.timestamp(),
    meta: t.json(),
    day: t.date(),
  },
});

describe("the fields of a row:", () => {
  const pages = useTablePages(SCHEMA, { previews: [] });
  let projects: string[];
  beforeEach(async () => {
    await pages.makeApp();
    const names = Array.from({ length: 150 }, (_, place) => ({
      name: `Project ${place + 1}.`,
      note: "not its label",
    }));
    projects = (await pages.addRows(names, "projects")).map(({ id }) => id);
    await pages.addRows([
      { title: "Milk", project: projects[2], due_at: "2026-11-21T18:30:05Z" },
      { title: "Tea", project: projects[2] },
      { title: "Salt", project: projects[3] },
    ]);
  });

  async function firstTodo(): Promise<Record<string, unknown>> {
    const response = await pages.call("/v1/data/db/todos?limit=1");
    return (response.json as { rows: Record<string, unknown>[] }).rows[0] ?? {};
  }

  const options = (page: Page) => page.locator(".options [role=option]");
  const reference = (page: Page) => page.getByRole("combobox", { name: /^project/ });

  test("a text that wraps in a narrow window has no scroll bar beside one line", async () => {
    await pages.open("todos", async (page) => {
      await page.setViewportSize({ width: 360, height: 700 });
      await page.goto(pages.toUrl("todos/new"));
      const field = page.locator("textarea").first();
      await field.fill("A text of some words that is wider than a telephone.");
      expect(await field.evaluate((area) => area.scrollHeight - area.clientHeight)).toBe(0);
    });
  });

  test("a reference displays the unique text of its row, and the cell's editor selects by that text", async () => {
    await pages.open("todos", async (page) => {
      const cell = page.locator("tbody tr").first().locator("td").nth(2);
      await cell.getByText("Project 3.").dblclick();
      await reference(page).fill("project 142");
      await page.keyboard.press("End");
      await page.keyboard.type(".");
      await options(page).filter({ hasText: "Project 142." }).waitFor();
      expect(await options(page).count()).toBe(1);
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      expect(await reference(page).inputValue()).toBe(projects[141] ?? "");
      await page.locator(".picked", { hasText: "Project 142." }).waitFor();
      await page.keyboard.press("Enter");
      await page.locator("#save-state", { hasText: "Saved" }).waitFor();
      await cell.getByText("Project 142.").waitFor();
      expect((await firstTodo())["project"]).toBe(projects[141]);
    });
  });

  test("arrow keys list the first rows, a click selects a row, and Escape restores the value", async () => {
    await pages.open("todos/new", async (page) => {
      await reference(page).focus();
      await page.keyboard.press("ArrowDown");
      await options(page).first().waitFor();
      expect(await options(page).count()).toBe(20);
      await page.keyboard.press("Escape");
      expect(await page.locator(".options").isVisible()).toBe(false);
      expect(await reference(page).inputValue()).toBe("");
      await page.keyboard.type("Project 7.");
      await options(page).filter({ hasText: "Project 7." }).click();
      expect(await reference(page).inputValue()).toBe(projects[6] ?? "");
    });
  });

  test("a row has its label as its title, and the newest rows that reference it with another value", async () => {
    await pages.open(`projects/rows/${projects[2]}`, async (page) => {
      const rows = page.locator(".referring tbody tr");
      expect(await rows.locator("a").allTextContents()).toEqual(["Tea", "Milk"]);
      await rows.nth(1).locator("time[datetime^='2026-11-21']").waitFor();
      await page.getByRole("link", { name: "Tea" }).press("Enter");
      await page.getByRole("heading", { name: "Tea", exact: true }).waitFor();
      await page.getByRole("link", { name: "Open Project 3." }).press("Enter");
      await page.getByRole("link", { name: "Milk" }).waitFor();
    });
  });

  test("a row links to all rows that reference it, from its page and from its dialog", async () => {
    const titles = Array.from({ length: 30 }, (_, place) => `Todo ${place + 1}`);
    await pages.addRows(titles.map((title) => ({ title, project: projects[4] })));
    const showAll = async (page: Page) => {
      const newest = titles.slice(-10).toReversed();
      expect(await page.locator(".referring a").allTextContents()).toEqual(newest);
      await page.getByRole("link", { name: "All 30 of todos.project" }).press("Enter");
      await page.locator("[data-range]", { hasText: "Rows 1 to 30 of 30 found" }).waitFor();
      expect(await page.locator("tbody td:nth-child(2)").allTextContents()).toEqual(titles);
      expect(page.url()).toContain("#where=project.eq.");
    };
    await pages.open(`projects/rows/${projects[4]}`, showAll);
    await pages.open("projects", async (page) => {
      await page.locator(`tr[data-row-id="${projects[4]}"] td`).nth(1).focus();
      await page.keyboard.press("Shift+Enter");
      await page.getByRole("dialog").waitFor();
      await showAll(page);
    });
  });

  test("a timestamp is selected in a calendar, and JSON is validated during input", async () => {
    await pages.open("todos", async (page) => {
      await page.locator("tbody td").nth(1).focus();
      await page.keyboard.press("Shift+Enter");
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("button", { name: "Choose due_at in UTC" }).waitFor();
      await dialog.locator(".calendar").fill("2026-11-21T18:31:05");
      expect(await dialog.locator('[id="value.due_at"]').inputValue()).toBe(
        "2026-11-21 18:31:05 UTC",
      );
      await dialog.locator('[id="value.meta"]').fill('{"a": ');
      await dialog.locator(".json-issue", { hasText: "Invalid JSON" }).waitFor();
      await dialog.locator('[id="value.meta"]').fill('{"a": 1}');
      await dialog.locator(".json-issue").waitFor({ state: "hidden" });
      await dialog.getByRole("button", { name: "Save" }).click();
      await page.locator("#save-state", { hasText: "Saved" }).waitFor();
      expect(await firstTodo()).toMatchObject({
        due_at: "2026-11-21T18:31:05+00:00",
        meta: { a: 1 },
      });
    });
  });

  test.each(["Pacific/Kiritimati", "America/Los_Angeles"])(
    "a date is the same day in %s: in its cell, in the form and in a filter",
    async (timezoneId) => {
      await pages.open("todos", { timezoneId }, async (page) => {
        const cell = page.locator("tbody tr").first().locator("td").nth(5);
        await cell.dblclick();
        await cell.locator('input[type="date"]').fill("2024-02-29");
        await page.keyboard.press("Enter");
        await page.locator("#save-state", { hasText: "Saved" }).waitFor();
        await cell.getByText("2024-02-29", { exact: true }).waitFor();
        expect((await firstTodo())["day"]).toBe("2024-02-29");
        await cell.dblclick();
        expect(await cell.locator('input[type="date"]').inputValue()).toBe("2024-02-29");
        await page.keyboard.press("Escape");
        await page.getByRole("button", { name: "Add a filter" }).click();
        await page.getByLabel("Column", { exact: true }).selectOption("day");
        await page.getByLabel("Comparison").selectOption("lte");
        expect(await page.getByLabel("Comparison").locator("option:checked").textContent()).toBe(
          "is on or before",
        );
        await page.getByLabel("Value").fill("2024-02-29");
        await page.getByRole("button", { name: "Search", exact: true }).click();
        await page.locator("[data-range]", { hasText: "1 of 1 found" }).waitFor();
        expect(page.url()).toContain("where=day.lte.2024-02-29");
      });
    },
  );

  test.each(displays("light", 360))(
    "the fields have no accessibility issue: $colorScheme, $width px",
    async ({ colorScheme, width }) => {
      await pages.addRows([{ title: "x".repeat(200), project: projects[2] }]);
      await pages.open(
        `projects/rows/${projects[2]}`,
        { colorScheme, viewport: { width, height: 800 }, bypassCSP: true },
        async (page) => {
          await expectSound(page, "referrers");
          await page.goto(pages.toUrl("todos/new"));
          await page.locator('[id="value.meta"]').fill("{");
          await reference(page).focus();
          await page.keyboard.press("ArrowDown");
          await options(page).first().waitFor();
          await page.keyboard.press("ArrowDown");
          await expectSound(page, "options");
        },
      );
    },
  );
});
