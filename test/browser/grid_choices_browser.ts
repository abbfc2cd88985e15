/** Typing in each kind of cell: the stored value is the typed one at any speed, and a text that names no choice stores nothing. */
import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { useTablePages } from "../support/table_pages.ts";

const toValue = (n: number) => `value ${String(n).padStart(3, "0")}`;
const VALUES = [toValue(1), ...Array.from({ length: 99 }, (_, n) => toValue(n + 2))] as const;
const TODOS = {
  title: t.string(),
  status: t.enum(["open", "doing", "done"]).required().default("doing"),
  many: t.enum(VALUES),
  flag: t.boolean(),
  day: t.date(),
  due: t.timestamp(),
  count: t.integer(),
  hours: t.decimal(),
  ratio: t.number(),
  meta: t.json(),
  link: t.uuid(),
  parent: t.ref("todos"),
};
const SCHEMA = defineSchema({ todos: TODOS });
const COLUMNS = ["id", ...Object.keys(TODOS)];
const UUID = "0190163d-8694-739b-aea5-966c26f8ad91";

const pages = useTablePages(SCHEMA);

type Grid = {
  page: Page;
  select: (row: number, column: string) => Promise<void>;
  /** The values of a column, after all edits are stored. */
  read: (column: string) => Promise<unknown[]>;
};

async function openGrid(rows: readonly object[], run: (grid: Grid) => Promise<void>) {
  await pages.makeApp();
  await pages.addRows(rows);
  await pages.open("todos?limit=100", async (page) => {
    await page.locator("table[role=grid]").waitFor();
    await run({
      page,
      select: (row, column) =>
        page.locator("tbody tr").nth(row).locator("td").nth(COLUMNS.indexOf(column)).focus(),
      read: async (column) => {
        await page.locator("td[data-saving]").first().waitFor({ state: "detached" });
        return (await pages.listRows()).map((row) => row[column]);
      },
    });
  });
}

const ROW = { title: "a" };
const issue = (page: Page) => page.locator(".cell-form .issues");

test("each choice of a list of 100 is stored as it was typed, without pauses", async () => {
  await openGrid(Array(100).fill(ROW), async ({ page, select, read }) => {
    await select(0, "many");
    for (const value of VALUES) {
      await page.keyboard.type(value);
      await page.keyboard.press("Enter");
    }
    expect(await read("many")).toEqual([...VALUES]);
  });
});

test("choices that are typed slowly are stored as typed", async () => {
  const [first, second] = ["value 099", "value 100"];
  await openGrid([ROW, ROW, ROW], async ({ page, select, read }) => {
    await select(0, "many");
    for (const value of [first, second]) {
      await page.keyboard.type(value.slice(0, 7));
      await page.keyboard.type(value.slice(7), { delay: 1500 });
      await page.keyboard.press("Enter");
    }
    await select(0, "status");
    await page.keyboard.type("done", { delay: 1200 });
    await page.keyboard.press("Enter");
    expect(await read("many")).toEqual([first, second, null]);
    expect(await read("status")).toEqual(["done", "doing", "doing"]);
  });
});

describe.each([0, 150])("with %d ms between keys", (delay) => {
  test.each([
    { column: "title", text: "xyz", value: "xyz" },
    { column: "status", text: "done", value: "done" },
    { column: "status", text: "OPEN", value: "open" },
    { column: "status", text: "op", value: "open" },
    { column: "flag", text: "true", value: true },
    { column: "flag", text: "f", value: false },
    { column: "day", text: "2026-01-31", value: "2026-01-31" },
    { column: "due", text: "2026-01-31 12:00 UTC", value: "2026-01-31T12:00:00+00:00" },
    { column: "count", text: "4711", value: 4711 },
    { column: "hours", text: "1.50", value: "1.50" },
    { column: "ratio", text: "0.25", value: 0.25 },
    { column: "meta", text: '{"a":1}', value: { a: 1 } },
    { column: "link", text: UUID, value: UUID },
  ])("$text in $column is stored whole", async ({ column, text, value }) => {
    await openGrid([ROW, ROW], async ({ page, select, read }) => {
      await select(0, column);
      await page.keyboard.type(text, { delay: delay / (text.length > 8 ? 4 : 1) });
      await page.keyboard.press("Enter");
      expect((await read(column))[0]).toEqual(value);
      await page.keyboard.press("ArrowUp");
      const cell = page.locator(".grid-input");
      expect(await cell.evaluate((input) => input.closest("tr")?.ariaRowIndex)).toBe("2");
    });
  });
});

describe("a text that names no choice", () => {
  test.each([
    { text: "zzz", says: 'No choice is "zzz".' },
    { text: "donee", says: 'No choice is "donee".' },
    { text: "do", says: '"do" begins 2 choices: doing, done.' },
  ])("$text stores nothing and says why", async ({ text, says }) => {
    await openGrid([{ ...ROW, status: "open" }, ROW], async ({ page, select, read }) => {
      await select(0, "status");
      await page.keyboard.type(text);
      await page.keyboard.press("Enter");
      expect(await issue(page).textContent()).toBe(says);
      // Enter again stores nothing either.
      await page.keyboard.press("Enter");
      await issue(page).waitFor();
      await page.keyboard.press("Escape");
      await issue(page).waitFor({ state: "detached" });
      expect(await read("status")).toEqual(["open", "doing"]);
    });
  });

  test("is named in the preview of a paste, which leaves it out", async () => {
    await openGrid([ROW, ROW, ROW], async ({ page, select, read }) => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await select(0, "title");
      const text = "one\tdone\ntwo\tzzz\nthree\tdo";
      await page.evaluate((copied) => navigator.clipboard.writeText(copied), text);
      await page.keyboard.press("Control+v");
      const dialog = page.locator("dialog[open]");
      await dialog.getByText('Row 2, status: No choice is "zzz".').waitFor();
      await dialog.getByText('Row 3, status: No choice is "do".').waitFor();
      await dialog.getByRole("button", { name: "Save 3 rows" }).click();
      await dialog.getByText("Changed 3 of 3 rows").waitFor();
      expect(await read("title")).toEqual(["one", "two", "three"]);
      expect(await read("status")).toEqual(["done", "doing", "doing"]);
    });
  });
});

test("keys edit the typed choice: F2, Backspace, Escape, Tab", async () => {
  await openGrid([ROW, ROW], async ({ page, select, read }) => {
    await select(0, "status");
    for (const key of [..."dont", "Backspace", "e", "Enter", ..."open", "Escape", ..."open", "Tab"])
      await page.keyboard.press(key);
    await page.keyboard.type("value 007");
    await page.keyboard.press("Tab");
    await page.keyboard.type("true");
    await page.keyboard.press("Enter");
    expect(await read("status")).toEqual(["done", "open"]);
    expect(await read("many")).toEqual([null, "value 007"]);
    expect(await read("flag")).toEqual([null, true]);
    await select(0, "status");
    await page.keyboard.press("F2");
    await page.locator(".cell-form select").waitFor();
    await page.keyboard.type("doing");
    await page.keyboard.press("Enter");
    await select(0, "flag");
    await page.keyboard.type("null");
    await page.keyboard.press("Enter");
    expect(await read("status")).toEqual(["doing", "open"]);
    expect(await read("flag")).toEqual([null, true]);
  });
});

test("text typed into a reference opens its search, with every letter", async () => {
  await openGrid([{ title: "Alpha" }, { title: "Beta" }], async ({ page, select, read }) => {
    const [, second] = await pages.listRows();
    for (const text of ["t", "Beta"]) {
      await select(0, "parent");
      await page.keyboard.type(text);
      const picker = page.locator(".cell-form [role=combobox]");
      await picker.waitFor();
      expect(await picker.inputValue()).toBe(text);
      await page.locator(".options [role=option]", { hasText: "Beta" }).waitFor();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.keyboard.press("Enter");
      expect(await read("parent")).toEqual([second?.id, null]);
      await select(0, "parent");
      await page.keyboard.press("Control+Backspace");
      expect(await read("parent")).toEqual([null, null]);
    }
  });
});

test.each([
  { column: "status", text: "done", value: "done" },
  { column: "day", text: "2026-01-31", value: "2026-01-31" },
])("keys typed while the field of $column opens are kept", async ({ column, text, value }) => {
  await openGrid([ROW], async ({ page, select, read }) => {
    const { promise: asked, resolve: respond } = Promise.withResolvers<void>();
    await page.route("**/data/**", async (route) => {
      await asked;
      await route.continue();
    });
    // The rows that the server rendered are read again, for edits.
    await page.reload();
    await page.locator("table[role=grid]").waitFor();
    await select(0, column);
    await page.keyboard.press("F2");
    await page.keyboard.type(text.slice(0, 2));
    const responded = page.waitForResponse("**/data/**");
    respond();
    await responded;
    await page.locator("td[aria-busy]").waitFor({ state: "detached" });
    await page.keyboard.type(text.slice(2));
    await page.keyboard.press("Enter");
    expect(await read(column)).toEqual([value]);
  });
});
