/** Search, filters and order over a whole table in a real browser. */
import { beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { displays, expectSound } from "../support/browser.ts";
import { type StoredRow, useTablePages } from "../support/table_pages.ts";

const SCHEMA = defineSchema({
  todos: {
    title: t.string().required(),
    note: t.string(),
    status: t.enum(["open", "doing", "done"]).required().default("open"),
    hours: t.decimal(),
    due_at: t.timestamp(),
    is_paid: t.boolean(),
    or: t.string(),
    meta: t.json(),
  },
});

const NAME = "Search texts, JSON, numbers, times and ids";

describe("5,000 rows:", () => {
  const pages = useTablePages(SCHEMA, { previews: [] });
  beforeAll(async () => {
    await pages.makeApp();
    for (let start = 0; start < 5000; start += 1000) {
      const json = Array.from({ length: 1000 }, (_, place) => toTodo(start + place));
      await pages.addRows(json);
    }
  }, 60_000);

  const toTodo = (number: number) => ({
    title: `Row ${number}.`,
    status: number % 10 === 0 ? "done" : "open",
    hours: number % 7 === 0 ? null : `${number % 100}.5`,
    due_at: `2026-01-01T${String(number % 24).padStart(2, "0")}:00:00Z`,
    is_paid: number % 2 === 0,
  });

  const box = (page: Page) => page.getByRole("searchbox", { name: NAME });
  const range = (page: Page, text: string) =>
    page.locator("[data-range]", { hasText: text }).waitFor();
  const titles = (page: Page) =>
    page
      .locator("tbody tr td:nth-child(2)")
      .evaluateAll((cells) => cells.map(({ textContent }) => textContent));

  /** Adds a filter by keyboard: column, operator, value. */
  async function addFilter(page: Page, column: string, operator: string, value?: string) {
    await page.getByRole("button", { name: "Add a filter" }).click();
    const filter = page.getByRole("group", { name: "Filter" }).last();
    await filter.getByLabel("Column").selectOption(column);
    await filter.getByLabel("Comparison").selectOption({ label: operator });
    const control = filter.getByLabel("Value");
    if (value === undefined) expect(await control.count()).toBe(0);
    else if ((await control.evaluate(({ tagName }) => tagName)) === "SELECT")
      await control.selectOption(value);
    else await control.fill(value);
  }

  test("one row of 5,000 is found by keyboard and edited, and its address opens it again", async () => {
    await pages.open("todos", async (page) => {
      await page.keyboard.press("f");
      await page.keyboard.type("row 4321.");
      const start = performance.now();
      await page.keyboard.press("Enter");
      await range(page, "Rows 1 to 1 of 1 found");
      console.log(`found one of 5,000 rows after ${Math.round(performance.now() - start)} ms`);
      expect(await titles(page)).toEqual(["Row 4321."]);
      expect(new URL(page.url()).search).toBe("");
      await page.locator("tbody td:nth-child(3)").dblclick();
      await page.locator('[id="value.note"]').fill("seen");
      await page.keyboard.press("Enter");
      await page.locator("tbody td:nth-child(3)", { hasText: "seen" }).waitFor();
      await page.reload();
      await range(page, "Rows 1 to 1 of 1 found");
      expect(await box(page).inputValue()).toBe("row 4321.");
      await page.getByRole("button", { name: "Clear" }).click();
      await range(page, "Rows 1 to 50 of 5,000");
      await page.goBack();
      await range(page, "Rows 1 to 1 of 1 found");
    });
  });

  test("filters of every kind are combined, and their rows are paged", async () => {
    await pages.open("todos", async (page) => {
      await addFilter(page, "status", "is", "done");
      await addFilter(page, "hours", "is at least", "20");
      await addFilter(page, "is_paid", "is", "true");
      await addFilter(page, "due_at", "is before", "2026-01-01T12:00");
      await addFilter(page, "note", "is null");
      await page.keyboard.press("Enter");
      const expected = Array.from({ length: 5000 }, (_, number) => number).filter(
        (number) => number % 10 === 0 && number % 7 !== 0 && number % 100 >= 20 && number % 24 < 12,
      );
      const count = expected.length;
      await page.getByRole("button", { name: "Search", exact: true }).click();
      await range(page, `Rows 1 to 50 of ${count} found`);
      expect(await titles(page)).toEqual(expected.slice(0, 50).map((number) => `Row ${number}.`));
      await page.getByRole("link", { name: "Next" }).click();
      await range(page, `Rows 51 to 100 of ${count} found`);
      expect(await titles(page)).toEqual(expected.slice(50, 100).map((number) => `Row ${number}.`));
      await page.getByRole("link", { name: "Previous" }).click();
      await range(page, "Rows 1 to 50");
      await page.getByRole("button", { name: "Remove the filter" }).first().click();
      await page.getByRole("button", { name: "Search", exact: true }).click();
      await page
        .locator("[data-range]")
        .filter({ hasNotText: `of ${count} found` })
        .waitFor();
    });
  });

  test("a column head sorts all rows up, down and not at all, and nulls come last", async () => {
    await pages.open("todos", async (page) => {
      const sort = page.getByRole("button", { name: "hours" });
      const head = page.getByRole("columnheader", { name: /^hours/ });
      const hours = () => page.locator("tbody tr").first().locator("td").nth(4).textContent();
      await sort.click();
      await range(page, "Rows 1 to 50 of 5,000 found");
      expect([await hours(), await head.getAttribute("aria-sort")]).toEqual(["0.5", "ascending"]);
      await sort.click();
      await page.locator("th[aria-sort=descending]").waitFor();
      expect(await hours()).toBe("99.5");
      await page.goto(`${page.url()}&page=100`);
      await page.reload();
      await range(page, "Rows 4,951 to 5,000 of 5,000 found");
      expect(await hours()).toBe("null");
      await sort.click();
      await range(page, "Rows 1 to 50 of 5,000");
      expect(page.url()).not.toContain("#");
    });
  });

  test("rows are filtered and ordered by their creation, and by lists and ranges of ids", async () => {
    const stored = [0, 1000, 4000].map(
      async (offset) => (await pages.call(`/v1/data/db/todos?limit=1&offset=${offset}`)).json,
    );
    const ids = (await Promise.all(stored)).map(
      (json) => (json as { rows: StoredRow[] }).rows[0]?.id,
    );
    await pages.open("todos", async (page) => {
      await page.locator("table[role=grid]").waitFor();
      await page.locator("th .sort", { hasText: "id" }).first().click();
      await page.locator('th[aria-sort="descending"]', { hasText: "id" }).waitFor();
      await page.locator("tbody tr:first-child td:nth-child(2)", { hasText: "4999" }).waitFor();
      await page.locator("th .sort", { hasText: "id" }).first().click();
      await page.locator("tbody tr:first-child td:nth-child(2)", { hasText: "Row 0." }).waitFor();
      await addFilter(page, "id", "is one of", `${ids[1]}, ${ids[2]} ${ids[0]}`);
      await page.keyboard.press("Enter");
      await range(page, "Rows 1 to 3 of 3 found");
      expect(await titles(page)).toEqual(["Row 0.", "Row 1000.", "Row 4000."]);
      await page.getByRole("button", { name: "Clear" }).click();
      await addFilter(page, "id", "is at least", ids[1]);
      await page.keyboard.press("Enter");
      await range(page, "of 4,000 found");
      await page.getByRole("button", { name: "Clear" }).click();
      await addFilter(page, "$created", "is before", "2020-01-01T00:00");
      await page.keyboard.press("Enter");
      await page.getByText("No rows match this search").first().waitFor();
      await page.getByRole("button", { name: "Clear" }).click();
      await addFilter(page, "$created", "is after", "2020-01-01T00:00");
      await page.keyboard.press("Enter");
      await range(page, "of 5,000 found");
      await page.getByText("created is after 2020-01-01 00:00").waitFor();
    });
  });

  test("a deleted row leaves the search results", async () => {
    await pages.open("todos", async (page) => {
      const json = [{ title: "gone 1" }, { title: "gone 2" }];
      await pages.addRows(json);
      await box(page).fill("GONE");
      await page.keyboard.press("Enter");
      await range(page, "of 2 found");
      await page.locator("tbody td").first().focus();
      await page.keyboard.press("Delete");
      await page.getByRole("dialog").getByRole("button", { name: "Delete the row" }).click();
      await range(page, "Rows 1 to 1 of 1 found");
      expect(await titles(page)).toEqual(["gone 2"]);
    });
  });

  test("no match, a value of another kind and a failed search are explained", async () => {
    await pages.open("todos", async (page) => {
      await box(page).fill("no such text");
      await page.keyboard.press("Enter");
      await page.getByText("No rows match this search.").first().waitFor();
      await page.getByRole("button", { name: "Clear" }).click();
      await range(page, "Rows 1 to 50 of 5,00");
      await addFilter(page, "hours", "is", "many");
      await page.getByRole("button", { name: "Search", exact: true }).click();
      expect(await page.locator(".condition input:invalid").count()).toBe(1);
      expect(page.url()).not.toContain("#");
      await page.getByRole("button", { name: "Remove the filter" }).click();
      await page.route("**/data/**", (route) => route.abort());
      await box(page).fill("Row");
      await page.keyboard.press("Enter");
      await page
        .locator("#search-progress", { hasText: "Search failed: The server did not respond." })
        .waitFor();
    });
  });

  test("a search that is left before it shows its progress never shows it", async () => {
    await pages.open("todos", async (page) => {
      await page.route("**/data/**", async (route) => {
        const isSearch = route.request().headers()["rows-query"]?.includes("slow") === true;
        if (isSearch) await Bun.sleep(1000);
        await route.continue();
      });
      await box(page).fill("slow");
      const responded = page.waitForResponse((response) =>
        (response.request().headers()["rows-query"] ?? "").includes("slow"),
      );
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Clear" }).click();
      await responded;
      await page.evaluate(() => new Promise((resolve) => setTimeout(resolve)));
      expect(await page.locator("#search-progress").count()).toBe(0);
    });
  });

  describe.each(displays("light", 360))(
    "$colorScheme, $width px wide:",
    ({ colorScheme, width }) => {
      test("the search has no accessibility issue and no horizontal scroll", async () => {
        await pages.open(
          "todos",
          { colorScheme, viewport: { width, height: 800 }, bypassCSP: true },
          async (page) => {
            await addFilter(page, "status", "is", "done");
            await addFilter(page, "due_at", "is before", "2026-01-01T12:00");
            await page.keyboard.press("Enter");
            await range(page, "found");
            await expectSound(page);
          },
        );
      });
    },
  );

  test("a sentence explains without JavaScript that search needs it", async () => {
    await pages.open("todos", { javaScriptEnabled: false }, async (page) => {
      await page.locator("noscript p", { hasText: "need JavaScript" }).waitFor();
      expect(await page.locator("form[data-search]").isVisible()).toBe(false);
    });
  });
});

describe("what a page displays is found,", () => {
  const FOUND = defineSchema({
    people: { email: t.email().required().unique(), name: t.string().required() },
    visits: {
      title: t.string().required(),
      at: t.timestamp(),
      is_paid: t.boolean(),
      size: t.number(),
      meta: t.json(),
      host: t.ref("people"),
    },
  });
  const pages = useTablePages(FOUND, { previews: [] });
  let ids: string[];
  beforeAll(async () => {
    await pages.makeApp();
    const people = [
      { name: "ÉLODIE Straße", email: "e.strasse@example.org" },
      { name: "Bob", email: "robert@example.org" },
    ];
    const [host] = await pages.addRows(people, "people");
    const visits = [
      {
        ...{ title: "first", at: "2026-11-22T02:30:05.123456Z", is_paid: true, size: 4711.5 },
        ...{ meta: { place: "Кафе", c: 1 }, host: host?.id },
      },
      { title: "second", at: "2025-07-01T12:00:00Z", is_paid: false, size: 12 },
    ];
    ids = (await pages.addRows(visits, "visits")).map(({ id }) => id);
  }, 60_000);

  const open = (hash: string, run: (page: Page) => Promise<void>) =>
    pages.open(`visits${hash}`, { timezoneId: "America/New_York", locale: "en-US" }, run);
  const found = async (page: Page, count: number) =>
    await page
      .locator("[data-range], .blank", { hasText: count === 0 ? "No rows" : `of ${count} found` })
      .waitFor();

  test("a text is searched in texts, JSON, choices, numbers, times, ids and the labels of references", async () => {
    await open("", async (page) => {
      const search = page.getByRole("searchbox", { name: NAME });
      const texts = [
        ...["élodie", "E\u0301lodie", "STRASSE", "true", "4711.5", ids[0] ?? "", "кафе", "place"],
        ...["2026-11", "2026-11-21", "2026-11-21 21:30"],
      ];
      for (const text of texts) {
        await search.fill(text);
        await page.keyboard.press("Enter");
        await page.waitForFunction(
          (wanted) => new URLSearchParams(location.hash.slice(1)).get("search") === wanted,
          text,
        );
        await found(page, 1);
        expect([text, await page.locator("tbody td:nth-child(2)").textContent()]).toEqual([
          text,
          "first",
        ]);
        await page.getByRole("button", { name: "Clear" }).click();
        await page.locator("[data-range]", { hasText: "Rows 1 to 2 of 2" }).waitFor();
      }
      await search.fill(ids[0]?.slice(0, 8) ?? "");
      await page.keyboard.press("Enter");
      // Ids of the same time begin with the same digits.
      await found(page, 2);
    });
  });

  test("hits in texts are shown at once, and those in JSON when they are found", async () => {
    await open("", async (page) => {
      const held = Promise.withResolvers<void>();
      await page.route("**/data/visits*", async (route) => {
        const query = (await route.request().allHeaders())["rows-query"] ?? "";
        if (query.includes("meta") && query.includes("host")) await held.promise;
        await route.continue();
      });
      await page.getByRole("searchbox", { name: NAME }).fill("c");
      await page.keyboard.press("Enter");
      // "second" is in a text; no total is shown before all is searched.
      await page.getByText("Rows 1 to 1 found", { exact: true }).first().waitFor();
      expect(await page.locator("tbody td:nth-child(2)").allTextContents()).toEqual(["second"]);
      await page.getByText("Searching…").waitFor();
      await page.locator("tbody td:nth-child(2)").click();
      held.resolve();
      const more = page.getByRole("button", { name: "Show more rows found" });
      await more.waitFor();
      await page.getByText("Rows 1 to 1 of 2 found", { exact: true }).first().waitFor();
      await more.click();
      await page.locator("[data-range]", { hasText: "Rows 1 to 2 of 2 found" }).waitFor();
      expect(await page.locator("tbody tr").count()).toBe(2);
    });
  });

  test("a time is filtered as it is displayed, in the time zone of the reader", async () => {
    await open("", async (page) => {
      await page.getByRole("button", { name: "Add a filter" }).click();
      const filter = page.getByRole("group", { name: "Filter" });
      await filter.getByLabel("Column").selectOption("at");
      await filter.getByLabel("Comparison").selectOption({ label: "is" });
      await filter
        .getByLabel("Value in the time zone America/New_York")
        .fill("2026-11-21T21:30:05");
      await page.getByRole("button", { name: "Search" }).click();
      await found(page, 1);
      expect(await page.locator("tbody td:nth-child(2)").textContent()).toBe("first");
      // A filter is applied when it is changed.
      await page.locator(".condition summary", { hasText: "at is 2026-11-21 21:30:05" }).click();
      await filter.getByLabel("Comparison").selectOption({ label: "is after" });
      await found(page, 0);
      await page.getByRole("button", { name: "Remove the filter" }).click();
      await page.locator("[data-range]", { hasText: "Rows 1 to 2 of 2" }).waitFor();
    });
  });

  test("a filter on a reference finds its row by its name or address, and shows the name", async () => {
    await open("", async (page) => {
      await page.getByRole("button", { name: "Add a filter" }).click();
      const filter = page.getByRole("group", { name: "Filter" });
      await filter.getByLabel("Column").selectOption("host");
      await filter.getByLabel("Value").pressSequentially("robert@");
      await filter.getByRole("option", { name: "Bob robert@example.org" }).waitFor();
      // The only row that was found needs no choice.
      await page.keyboard.press("Enter");
      await found(page, 0);
      await page.keyboard.press("Enter");
      await page.locator(".condition summary", { hasText: "host is Bob" }).click();
      await filter.getByLabel("Value").fill("strasse");
      await filter.getByRole("option", { name: "ÉLODIE" }).click();
      await found(page, 1);
      await page.reload();
      await page.locator(".condition summary", { hasText: "host is ÉLODIE Straße" }).waitFor();
      await found(page, 1);
    });
  });

  test("an address with what the table does not have says so, and the focus stays in the line", async () => {
    const where = [
      ["where", "gone.eq.1"],
      ["where", "is_paid.eq.maybe"],
    ];
    await open(`#${new URLSearchParams(where)}`, async (page) => {
      await page.locator("#save-state", { hasText: 'Not applied: "gone.eq.1".' }).waitFor();
      await page.locator(".condition", { hasText: "is_paid is maybe" }).waitFor();
      await page.locator("#search-progress", { hasText: "Search failed: " }).waitFor();
      await page.goto(pages.toUrl("visits#where=size.gt.abc"));
      await page.reload();
      await page.locator("#search-progress", { hasText: 'Cannot compare "size"' }).waitFor();
      await page.getByRole("button", { name: "Remove the filter" }).click();
      await page.locator("[data-range]", { hasText: "Rows 1 to 2 of 2" }).waitFor();
      await page.locator(":focus[type=search]").waitFor();
      await page.getByRole("button", { name: "Add a filter" }).click();
      await page.getByRole("group", { name: "Filter" }).getByLabel("Value").fill("first");
      await page.keyboard.press("Enter");
      await found(page, 1);
      await page.locator("summary:focus", { hasText: "title contains first" }).waitFor();
      await page.getByRole("button", { name: "Clear" }).click();
      await page.locator(":focus[type=search]").waitFor();
      // Closing a filter without a value removes it.
      await page.getByRole("button", { name: "Add a filter" }).click();
      await page.keyboard.press("Escape");
      await page.locator(".condition").waitFor({ state: "detached" });
    });
  });

  test("a filter finds a text in any spelling", async () => {
    await open(`#${new URLSearchParams({ where: "title.contains.FIRST" })}`, async (page) => {
      await found(page, 1);
    });
    const path = pages.toUrl("people");
    await open("", async (page) => {
      for (const text of ["strasse", "e\u0301lo"]) {
        await page.goto(
          `${path}?limit=25#${new URLSearchParams({ where: `name.contains.${text}` })}`,
        );
        await page.reload();
        await found(page, 1);
      }
    });
  });

  test.each(["search=f*t", "where=title.contains.f*t", "where=title.starts.f*"])(
    "#%s looks for the character *",
    async (hash) => {
      await open(`#${hash}`, async (page) => {
        await found(page, 0);
      });
    },
  );

  test("an address with a search opens its rows after the sign-in", async () => {
    await open("#search=first", async (page) => {
      await found(page, 1);
      expect(new URL(page.url()).hash).toBe("#search=first");
    });
  });
});
