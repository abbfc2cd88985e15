/** Values that an edit must not change, and copies that are the same: line ends, long numbers, JSON as text, times, spaces. */
import { beforeEach, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { splitList, splitObject } from "../../src/std/json_text.ts";
import { useTablePages } from "../support/table_pages.ts";

const SCHEMA = defineSchema({
  todos: {
    title: t.string().required(),
    note: t.string(),
    empty: t.string(),
    size: t.number(),
    due_at: t.timestamp(),
    meta: t.json(),
  },
});
const COLUMNS = ["id", "title", "note", "empty", "size", "due_at", "meta"];
const JSON_TEXT = '{"n": 12345678901234567890, "10": 0.1000, "list": [1, {"e": 1E+400}]}';

const pages = useTablePages(SCHEMA);
let id: string;
beforeEach(async () => {
  await pages.makeApp();
});

async function addRow(json: object): Promise<void> {
  const [row] = await pages.addRows([json]);
  id = row?.id ?? "";
}

/** Stores values that only SQL can write. */
async function addLongNumbers(json: object): Promise<void> {
  await addRow(json);
  await pages.site.service.service.admin.message(
    `set session rowhouse.app_id = '${pages.app.id}'; update data.todos set meta = '${JSON_TEXT}', size = 12345678901234567890 where id = '${id}'; select 1`,
  );
}

/** The values of all rows as the endpoints send them. */
async function read(): Promise<Record<string, string>[]> {
  const { text } = await pages.call("/v1/data/db/todos");
  return splitList(splitObject(text).get("rows") ?? "").map((row) =>
    Object.fromEntries(splitObject(row)),
  );
}

const cell = (page: Page, column: string) =>
  page.locator("tbody tr").first().locator("td").nth(COLUMNS.indexOf(column));
const field = (page: Page, column: string) => page.locator(`[id="value.${column}"]`);
const isSaved = (page: Page) => page.locator("#save-state", { hasText: /^Saved/ }).waitFor();

type Edit = (column: string, change: (text: string) => string) => Promise<void>;
const SURFACES: readonly [name: string, edit: Edit][] = [
  [
    "the grid",
    (column, change) =>
      pages.open("todos", async (page) => {
        await cell(page, column).focus();
        await page.keyboard.press("F2");
        await field(page, column).waitFor();
        await field(page, column).fill(change(await field(page, column).inputValue()));
        await page.keyboard.press("Enter");
        await isSaved(page);
      }),
  ],
  [
    "the dialog of a row",
    (column, change) =>
      pages.open("todos", async (page) => {
        await cell(page, column).focus();
        await page.keyboard.press("Shift+Enter");
        await page.getByRole("dialog").waitFor();
        await field(page, column).fill(change(await field(page, column).inputValue()));
        await page.getByRole("button", { name: "Save" }).click();
        await isSaved(page);
      }),
  ],
  ...([true, false] as const).map((javaScriptEnabled): [string, Edit] => [
    `the page of a row ${javaScriptEnabled ? "with" : "without"} JavaScript`,
    (column, change) =>
      pages.open(`todos/rows/${id}`, { javaScriptEnabled }, async (page) => {
        await field(page, column).fill(change(await field(page, column).inputValue()));
        await page.getByRole("button", { name: "Save", exact: true }).click();
        await page.waitForURL("**stored=*");
      }),
  ]),
];

describe.each(SURFACES)("in %s", (_, edit) => {
  test.each(["a\rb", "a\r\nb", "\r", "a\r\nb\rc\nd\r", " \u00a0a \t"])(
    "an edit of another column leaves %j",
    async (note) => {
      await addLongNumbers({ title: "t", note, empty: "", due_at: "2026-01-02T03:04:05.123456Z" });
      const [before] = await read();
      await edit("title", (text) => `${text}!`);
      expect(await read()).toEqual([{ ...before, title: '"t!"' } as never]);
    },
  );

  test.each([
    ["a\r\nb\r\nc", (text: string) => `${text}!`, "a\r\nb\r\nc!"],
    ["a\rb\rc", (text: string) => text.replace("b", "B\nB"), "a\rB\rB\rc"],
    ["a\r\nb\rc\nd\re", (text: string) => text.replace("c\n", ""), "a\r\nb\rd\re"],
    ["a\nb", (text: string) => `${text}\n`, "a\nb\n"],
    ["a\r\nb", (text: string) => text.replace("\n", ""), "ab"],
  ])("an edit of %j keeps the line ends of other lines", async (note, change, edited) => {
    await addRow({ title: "t", note });
    await edit("note", change);
    expect((await read())[0]?.["note"]).toBe(JSON.stringify(edited));
  });
});

test.each([true, false])("a duplicate is the same, with JavaScript: %j", async (isOn) => {
  await addRow({
    title: " a\r\nb\r",
    note: "x\ry\nz",
    empty: "",
    size: 1e21,
    due_at: "2026-01-02T03:04:05.123456Z",
    meta: { b: 0.1, "10": [1] },
  });
  await pages.open(`todos/new?like=${id}`, { javaScriptEnabled: isOn }, async (page) => {
    await page.getByRole("button", { name: "Add the row" }).click();
    await page.waitForURL("**added=*");
  });
  const [original, copy] = await read();
  expect({ ...copy, id: original?.["id"] }).toEqual(original as never);
});

test("Undo restores the exact text", async () => {
  await addRow({ title: "t", note: "a\rb\r\nc" });
  await pages.open("todos", async (page) => {
    await cell(page, "note").focus();
    await page.keyboard.type("x");
    await page.keyboard.press("Enter");
    await isSaved(page);
    expect((await read())[0]?.["note"]).toBe('"x"');
    await page.getByRole("button", { name: "Undo" }).click();
    await page.locator("#save-state", { hasText: "Undone" }).waitFor();
    expect((await read())[0]?.["note"]).toBe('"a\\rb\\r\\nc"');
  });
});

test("a change of several rows is undone exactly, and sets a text that differs only in line ends", async () => {
  await addRow({ title: "t", note: "a\rb" });
  await pages.open("todos", async (page) => {
    await page.locator("tbody .select").first().check();
    await page.locator(".selection select").selectOption("note");
    await page.locator(".selection").getByRole("button", { name: "Set" }).click();
    const dialog = page.getByRole("dialog");
    await field(page, "note").fill("a\nb");
    await dialog.getByRole("button", { name: "Preview" }).click();
    await dialog.getByRole("button", { name: "Save 1 row" }).click();
    await dialog.getByRole("button", { name: "Undo" }).waitFor();
    expect((await read())[0]?.["note"]).toBe('"a\\nb"');
    await dialog.getByRole("button", { name: "Undo" }).click();
    await dialog.getByText("Restored 1 of 1").waitFor();
    expect((await read())[0]?.["note"]).toBe('"a\\rb"');
  });
});

test("copies, exports and the deletion have the digits of the endpoints", async () => {
  await addLongNumbers({ title: "t" });
  const [row] = await read();
  const { size = "", meta = "" } = row ?? {};
  expect(meta).toContain("12345678901234567890");
  const inCsv = `,${size},,"${meta.replaceAll(" ", "").replaceAll('"', '""')}"`;
  await pages.open("todos", async (page) => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    expect(await cell(page, "meta").textContent()).toContain("12345678901234567890");
    expect(await cell(page, "size").textContent()).toBe(size);
    await page.locator("tbody .select").first().check();
    for (const [format, expected] of [
      ["JSON", '"n": 12345678901234567890'],
      ["CSV", inCsv],
    ] as const) {
      await page.getByRole("button", { name: `Copy as ${format}` }).click();
      await page.locator("#save-state", { hasText: "Copied" }).waitFor();
      expect(await page.evaluate(() => navigator.clipboard.readText())).toContain(expected);
      await page.evaluate(() => document.getElementById("save-state")?.remove());
    }
    await cell(page, "title").focus();
    await page.keyboard.press("Delete");
    const deletion = page.getByRole("dialog").locator("#row-json");
    expect(await deletion.textContent()).toContain("12345678901234567890");
    const csv = await page.evaluate(async () =>
      (await fetch(`${location.pathname}/export/csv`)).text(),
    );
    expect(csv).toContain(inCsv);
  });
});
