/** Typed text in the grid and in pickers: without pauses, with slow responses, with input methods, pasted. */
import { describe, expect, test } from "bun:test";
import type { BrowserContextOptions, CDPSession, Page } from "playwright-core";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { useTablePages } from "../support/table_pages.ts";

const SCHEMA = defineSchema({
  todos: {
    title: t.string().required(),
    note: t.string(),
    status: t.enum(["open", "doing", "done"]).required().default("open"),
    hours: t.decimal(),
    parent: t.ref("todos"),
  },
});
const COLUMNS = ["id", "title", "note", "status", "hours", "parent"];

const pages = useTablePages(SCHEMA);

type Grid = {
  page: Page;
  session: CDPSession;
  select: (row: number, column: string) => Promise<void>;
  /** The values of a column, after all edits are stored. */
  read: (column: string) => Promise<unknown[]>;
};

async function openGrid(
  titles: readonly string[],
  run: (grid: Grid) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  await pages.makeApp();
  await pages.addRows(titles.map((title) => ({ title })));
  await pages.open("todos", options, async (page) => {
    await page.locator("table[role=grid]").waitFor();
    const cells = (row: number) => page.locator("tbody tr").nth(row).locator("td");
    await run({
      page,
      session: await page.context().newCDPSession(page),
      select: (row, column) => cells(row).nth(COLUMNS.indexOf(column)).focus(),
      read: async (column) => {
        await page.locator("td[data-saving]").first().waitFor({ state: "detached" });
        return (await pages.listRows()).map((row) => row[column]);
      },
    });
  });
}

/** Delays each response by this time. */
async function slowDown(page: Page, ms: number): Promise<void> {
  await page.route("**/data/**", async (route) => {
    await Bun.sleep(ms);
    await route.continue();
  });
}

/** Sends keys without waiting for the page. */
async function press(session: CDPSession, keys: readonly string[]): Promise<void> {
  const codes: Readonly<Record<string, number>> = {
    Enter: 13,
    Tab: 9,
    Escape: 27,
    Backspace: 8,
    ".": 190,
  };
  await Promise.all(
    keys.flatMap((key) => {
      const text = key === "Enter" ? "\r" : key.length === 1 ? key : undefined;
      const code = codes[key] ?? key.toUpperCase().charCodeAt(0);
      const event = { key, windowsVirtualKeyCode: code, ...(text === undefined ? {} : { text }) };
      return [
        session.send("Input.dispatchKeyEvent", { type: "keyDown", ...event }),
        session.send("Input.dispatchKeyEvent", { type: "keyUp", key, windowsVirtualKeyCode: code }),
      ];
    }),
  );
}

const LINES = [..."4711", "Enter", ..."4712", "Enter", ..."4713", "Enter"];

describe.each([0, 300])("with %d ms before each response", (ms) => {
  test("each typed line is stored in its row", async () => {
    await openGrid(["a", "b", "c", "d"], async ({ page, session, select, read }) => {
      await slowDown(page, ms);
      for (const column of ["title", "hours"]) {
        await select(0, column);
        await press(session, LINES);
      }
      expect(await read("title")).toEqual(["4711", "4712", "4713", "d"]);
      expect(await read("hours")).toEqual(["4711", "4712", "4713", null]);
    });
  });

  test("Tab stores a cell and continues in the next, also in a choice", async () => {
    await openGrid(["a", "b"], async ({ page, session, select, read }) => {
      await slowDown(page, ms);
      await select(0, "title");
      await press(session, [
        ..."4711",
        "Tab",
        ..."next",
        "Tab",
        ..."doing",
        "Tab",
        ..."1.5",
        "Enter",
      ]);
      expect(await read("title")).toEqual(["4711", "b"]);
      expect(await read("note")).toEqual(["next", null]);
      expect(await read("status")).toEqual(["doing", "open"]);
      expect(await read("hours")).toEqual(["1.5", null]);
    });
  });

  test("text is edited before it is stored, and Escape cancels it", async () => {
    await openGrid(["a", "b", "c"], async ({ page, session, select, read }) => {
      await slowDown(page, ms);
      await select(0, "title");
      await press(session, ["a", "b", "Backspace", "c", "Enter", "a", "b", "Escape"]);
      expect(await page.locator(".grid-input").inputValue()).toBe("");
      await press(session, ["x", "Enter"]);
      expect(await read("title")).toEqual(["ac", "x", "c"]);
    });
  });

  test("keys typed after a change of the opened value go into the next cell", async () => {
    await openGrid(["a", "b"], async ({ page, session, select, read }) => {
      await select(0, "title");
      await page.keyboard.press("F2");
      await page.locator(".cell-form").waitFor();
      await slowDown(page, ms);
      await press(session, ["1", "Enter", "2", "Enter"]);
      expect(await read("title")).toEqual(["1", "2"]);
    });
  });
});

test("a rejected text stays in its cell, and the lines after it are stored", async () => {
  await openGrid(["a", "b", "c"], async ({ page, session, select, read }) => {
    await slowDown(page, 100);
    await select(0, "hours");
    await press(session, ["1", "Enter", "x", "Enter", "3", "Enter"]);
    const field = page.locator(".cell-form [id='value.hours']");
    await field.waitFor();
    expect(await field.inputValue()).toBe("x");
    expect(await read("hours")).toEqual(["1", null, "3"]);
    await field.fill("2");
    await page.keyboard.press("Enter");
    await page.locator(".cell-form").waitFor({ state: "detached" });
    expect(await read("hours")).toEqual(["1", "2", "3"]);
  });
});

test("without a response all lines wait, and Retry stores them", async () => {
  await openGrid(["a", "b"], async ({ page, session, select, read }) => {
    await page.context().setOffline(true);
    await select(0, "title");
    await press(session, ["1", "Enter", "2", "Enter"]);
    await page.locator("#save-state", { hasText: "Not saved" }).waitFor();
    await page.context().setOffline(false);
    await page.locator("#save-state").getByRole("button", { name: "Retry" }).click();
    expect(await read("title")).toEqual(["1", "2"]);
  });
});

test("text is pasted into a selected cell, and after typed text", async () => {
  await openGrid(["a", "b"], async ({ page, select, read }) => {
    const paste = async (text: string) => {
      await page.evaluate((copied) => navigator.clipboard.writeText(copied), text);
      await page.keyboard.press("Control+v");
    };
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await select(0, "title");
    await paste("first\nline");
    await page.keyboard.press("Enter");
    await page.keyboard.type("ab");
    await paste("cd");
    await page.keyboard.press("Enter");
    expect(await read("title")).toEqual(["first\nline", "abcd"]);
  });
});

test.each(["@", "€", "{"])("%s typed with Alt or AltGr is text, first or later", async (key) => {
  await openGrid(["a"], async ({ session, select, read }) => {
    await select(0, "title");
    const type = (typed: string, modifiers: number) =>
      session.send("Input.dispatchKeyEvent", {
        ...{ type: "keyDown", key: typed, text: typed, unmodifiedText: typed, modifiers },
        windowsVirtualKeyCode: 76,
      });
    await type(key, 1);
    await type("b", 0);
    await type(key, 1);
    await press(session, ["Enter"]);
    expect(await read("title")).toEqual([`${key}b${key}`]);
  });
});

/** Composes a text as an input method does, and confirms it with a key of its own. */
async function compose(session: CDPSession, text: string, key: "Enter" | "Tab" | "Escape") {
  for (const part of [text.slice(0, 1), text])
    await session.send("Input.imeSetComposition", {
      ...{ text: part, selectionStart: part.length, selectionEnd: part.length },
    });
  // The key that confirms: browsers report it with this code.
  const event = { type: "rawKeyDown", key, windowsVirtualKeyCode: 229 } as const;
  await session.send("Input.dispatchKeyEvent", event);
}

describe.each(["Enter", "Tab", "Escape"] as const)("%s of an input method", (key) => {
  test("belongs to the composition in a selected cell", async () => {
    await openGrid(["a", "b"], async ({ page, session, select, read }) => {
      await select(0, "title");
      await compose(session, "にほん", key);
      expect(await page.locator(".grid-input").inputValue()).toBe("にほん");
      await session.send("Input.insertText", { text: "日本" });
      await page.keyboard.type("!");
      await page.keyboard.press("Enter");
      expect(await read("title")).toEqual(["日本!", "b"]);
    });
  });

  test("belongs to the composition in an open field, in the palette and in a picker", async () => {
    await openGrid(["Milk", "b"], async ({ page, session, select, read }) => {
      await select(0, "title");
      await page.keyboard.press("F2");
      const field = page.locator(".cell-form [id='value.title']");
      await field.waitFor();
      await compose(session, "にほん", key);
      expect(await field.inputValue()).toBe("にほん");
      await session.send("Input.insertText", { text: "日本" });
      await page.keyboard.press("Enter");
      expect(await read("title")).toEqual(["日本", "b"]);
      await select(0, "parent");
      await page.keyboard.press("F2");
      const picker = page.locator(".cell-form [role=combobox]");
      await picker.waitFor();
      await page.keyboard.press("ArrowDown");
      await page.locator(".options [role=option]").first().waitFor();
      await page.keyboard.press("ArrowDown");
      await compose(session, "にほん", key);
      expect(await picker.inputValue()).toBe("にほん");
      await session.send("Input.insertText", { text: "" });
      await page.keyboard.press("Escape");
      await page.keyboard.press("Escape");
      await page.keyboard.press("Control+k");
      const palette = page.locator(".palette-input");
      await palette.waitFor();
      await page.locator(".palette [role=option]").first().waitFor();
      const url = page.url();
      await compose(session, "にほん", key);
      expect(page.url()).toBe(url);
      expect(await palette.inputValue()).toBe("にほん");
    });
  });
});

test("an editor opens after the composition has ended, with its text", async () => {
  await openGrid(["a"], async ({ page, session, select, read }) => {
    const { promise: asked, resolve: respond } = Promise.withResolvers<void>();
    await page.route("**/data/**", async (route) => {
      await asked;
      await route.continue();
    });
    // The rows that the server rendered are read again, for edits.
    await page.reload();
    await page.locator("table[role=grid]").waitFor();
    await select(0, "title");
    await page.keyboard.press("F2");
    await compose(session, "にほん", "Enter");
    const responded = page.waitForResponse("**/data/**");
    respond();
    await responded;
    await session.send("Input.insertText", { text: "日本" });
    await page.locator(".cell-form").waitFor();
    await page.keyboard.type("!");
    await page.keyboard.press("Enter");
    expect(await read("title")).toEqual(["日本!"]);
  });
});

test("in WebKit the key directly after a composition belongs to it", async () => {
  const userAgent =
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15";
  await openGrid(
    ["a", "b"],
    async ({ page, session, select, read }) => {
      await select(0, "title");
      await session.send("Input.imeSetComposition", {
        ...{ text: "にほん", selectionStart: 3, selectionEnd: 3 },
      });
      await Promise.all([
        session.send("Input.insertText", { text: "日本" }),
        page.keyboard.press("Enter"),
      ]);
      expect(await page.locator(".grid-input").inputValue()).toStartWith("日本");
      await page.keyboard.press("Backspace");
      await page.keyboard.type("本");
      await page.keyboard.press("Enter");
      expect(((await read("title")) as string[])[1]).toBe("b");
    },
    { userAgent },
  );
});

test("an edit that waits for its response warns before the page is left", async () => {
  await openGrid(["a"], async ({ page, select, read }) => {
    await slowDown(page, 3000);
    await select(0, "title");
    await page.keyboard.type("x");
    await page.keyboard.press("Enter");
    const asked = page.waitForEvent("dialog");
    void page.reload().catch(() => undefined);
    await (await asked).dismiss();
    expect(await read("title")).toEqual(["x"]);
  });
});
