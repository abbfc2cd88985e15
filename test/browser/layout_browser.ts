/** The Console's layout in a browser: visible actions at every width, complete names, and no page higher than its content. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { consoleRoutes } from "../../src/console/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import {
  DOMAIN,
  openBrowser,
  openSite,
  type TestSite,
  weighPage,
  withConsole,
} from "../support/browser.ts";
import { makePerson, type Person } from "../support/people.ts";
import { fillPath } from "../support/samples/routes.ts";
import { countRequests } from "../support/statistics.ts";
import { isFull } from "../support/tier.ts";

const SLUG = "an-app-whose-slug-is-rather-long";
const CLIENT = "2001:db8:1234:5678:9abc:def0:1234:5678";

let site: TestSite;
let browser: Browser;
let person: Person;
beforeAll(async () => {
  [site, browser] = await Promise.all([
    // Some pages exist only with it.
    openSite({}, { service: { previews: ["browser"] } }),
    openBrowser(),
  ]);
  const { service } = site;
  person = await makePerson(service, { name: "Ada Lovelace", consoleRole: "super_admin" });
  const schema = defineSchema({ notes: { title: t.string().required() } });
  const host = `the-address-of-an-app-can-be-long-as-well-as-its-slug.${DOMAIN}`;
  await service.makeApp(schema, { slug: SLUG, cookieDomain: DOMAIN, origins: [`http://${host}`] });
  await countRequests(service);
  await service.service.admin.message(`
    update rowhouse.migrations set applied_at = now() - interval '11 minutes';
    insert into rowhouse.stored_requests (id, app_id, at, method, route, status, code, ms)
      select gen_random_uuid(), id, now(), 'PATCH', '/v1/data/db/:table/:id', 504, 'timeout', 30000 from rowhouse.apps;
    insert into rowhouse.audit (actor, action, user_id, app, details, client)
      values ('${person.id}', 'set_targets', '${person.id}', '${SLUG}',
        '{"origins": ["https://wiki.example.org", "https://other.example.org"]}', '${CLIENT}');
    select 1`);
}, 60_000);
afterAll(async () => {
  await browser.close();
  await site.close();
});

async function openConsole(
  viewport: { width: number; height: number },
  run: (page: Page, go: (path: string) => Promise<void>) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const go = (page: Page) => async (path: string) => {
    const response = await page.goto(site.identityUrl + path);
    expect([path, response?.status()]).toEqual([path, 200]);
  };
  const visitor = { url: `${site.identityUrl}/console`, email: person.email };
  await withConsole(browser, visitor, (page) => run(page, go(page)), { viewport, ...options });
}

const LISTS = [
  "/console",
  "/console?span=week",
  "/console/apps",
  `/console/apps/${SLUG}`,
  `/console/apps/${SLUG}/people`,
  `/console/apps/${SLUG}/tables`,
  `/console/apps/${SLUG}/pushes`,
  "/console/people",
  "/console/invitations",
  "/console/tables",
  "/console/tables/notes",
  "/console/requests",
  "/console/changes",
  `/console/apps/${SLUG}?span=day`,
  "/console/activity",
];

test.each(isFull() ? [360, 769, 820, 900, 1024, 1025, 1100, 1101, 1280] : [360])(
  "a list stays inside its card at %d px",
  async (width) => {
    await openConsole({ width, height: 900 }, async (page, go) => {
      for (const path of LISTS) {
        await go(path);
        const cut = await page.evaluate(() =>
          [...document.querySelectorAll(".sheet-tight")]
            .map((card) => card.scrollWidth - card.clientWidth)
            .filter((pixels) => pixels > 0),
        );
        expect([path, cut]).toEqual([path, []]);
      }
    });
  },
);

/** Pages of a person, a key, a push or a row need one; files and streams are no pages. */
const PAGES = consoleRoutes
  .filter(
    ({ method, path }) =>
      method === "GET" &&
      /^(?:[^:]|:app|:table)*$/.test(path) &&
      !path.includes("/data/") &&
      // Without the history of an app, its page does not exist.
      !/[/.](?:csv|json|docs|changes|find|sign-in|end|transfer|drop|history|restore|set-live)$/.test(
        path,
      ),
  )
  .map(({ path }) => fillPath(path, { app: SLUG, table: "notes" }));

// At 200% zoom a window of 1280 × 800 has half as many CSS pixels, each of two device pixels.
test("no page scrolls sideways at 200% zoom, every control is visible, and titles are distinct", async () => {
  const zoomed = { width: 640, height: 400 };
  const titles = new Map<string, string>();
  const run = async (page: Page, go: (path: string) => Promise<void>) => {
    for (const path of new Set([...LISTS, ...PAGES])) {
      await go(path);
      const title = await page.title();
      // A list with a query has the title of its list.
      if (PAGES.includes(path)) expect([path, titles.get(title)]).toEqual([path, undefined]);
      if (PAGES.includes(path)) titles.set(title, path);
      const outside = await page.evaluate(() =>
        [
          document.documentElement,
          ...document.querySelectorAll<HTMLElement>("a, button, input, select"),
        ]
          .filter((part) => part.checkVisibility({ visibilityProperty: true }))
          .filter((part) => part.closest("svg, .visually-hidden, .cells") === null)
          .filter((part) =>
            part === document.documentElement
              ? part.scrollWidth > innerWidth
              : part.getBoundingClientRect().right > innerWidth + 1,
          )
          .map((part) => part.outerHTML.slice(0, 200)),
      );
      expect([path, outside]).toEqual([path, []]);
    }
  };
  await openConsole(zoomed, run, { deviceScaleFactor: 2 });
});

const KB = 1024;
/** The lists have the same assets, and a reduced run weighs those with the most HTML. */
const HEAVY = isFull() ? LISTS : ["/console", "/console/apps", "/console/activity"];

test("a first visit needs at most 45 KB, and 60 KB for rows", async () => {
  await openConsole({ width: 1280, height: 800 }, async (page) => {
    const rows = `/console/apps/${SLUG}/tables/notes`;
    const all = [
      ...[...HEAVY, "/login", "/account/security"].map((path) => site.identityUrl + path),
      ...[rows, `${rows}/new`, `${rows}/import`].map((path) => site.identityUrl + path),
      ...["/docs", "/docs/operating", "/docs/data"].map((path) => site.apiUrl + path),
    ];
    for (const url of all) {
      const max = url.includes(rows) ? 60 * KB : 45 * KB;
      const bytes = await weighPage(page, url);
      console.log(`${new URL(url).pathname}: ${(bytes / KB).toFixed(1)} KB on a first visit`);
      expect([url, Math.max(bytes, max)]).toEqual([url, max]);
      expect(bytes).toBeGreaterThan(5 * KB);
    }
  });
}, 180_000);

test("a missing page keeps the navigation", async () => {
  await openConsole({ width: 1280, height: 900 }, async (page) => {
    for (const path of ["/console/apps/nope", "/console/nowhere", "/console/tables/nope"]) {
      await page.goto(site.identityUrl + path);
      await page.getByRole("navigation", { name: "Console" }).getByText("People").waitFor();
      expect(await page.locator("#reference").count()).toBe(1);
    }
  });
});

test("the first key of an app can push, and an app with shared tables links to their transfer", async () => {
  const { service } = site;
  await service.makeApp(undefined, { slug: "empty", cookieDomain: DOMAIN });
  const guest = await service.makeApp(undefined, { slug: "guest", cookieDomain: DOMAIN });
  await service.pushSchema(guest, defineSchema({ notes: { title: t.string().required() } }));
  await openConsole({ width: 1280, height: 900 }, async (page, go) => {
    await go("/console/apps/empty/new-key");
    expect(await page.isChecked("input[name='scope schema:push']")).toBe(true);
    await go("/console/apps/guest/new-key");
    expect(await page.isChecked("input[name='scope schema:push']")).toBe(false);
    await go(`/console/apps/${SLUG}/delete`);
    expect(await page.locator("main").textContent()).not.toContain("rowhouse admin");
    await page.getByRole("link", { name: "Transfer ownership of notes" }).click();
    await page.waitForURL("**/tables/notes/transfer");
  });
});

test("all tabs of an app are visible on a phone", async () => {
  await openConsole({ width: 360, height: 800 }, async (page, go) => {
    await go(`/console/apps/${SLUG}/settings`);
    const tabs = page.getByRole("navigation", { name: "App" }).getByRole("link");
    const rights = await tabs.evaluateAll((all) =>
      all.map((tab) => tab.getBoundingClientRect().right),
    );
    expect(rights.length).toBe(8);
    expect(Math.max(...rights)).toBeLessThanOrEqual(360);
  });
});

test("a short page is as high as the window", async () => {
  await openConsole({ width: 1280, height: 900 }, async (page, go) => {
    for (const path of ["/console/new-app", "/console/people", `/console/apps/${SLUG}/limits`]) {
      await go(path);
      await page.locator("#announcements").waitFor({ state: "attached" });
      expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBe(900);
    }
  });
});

/** The number of lines of text in an element. */
const lines = (page: Page, text: string) =>
  page
    .locator("td", { hasText: text })
    .getByText(text, { exact: true })
    .first()
    .evaluate((element) => {
      const range = document.createRange();
      range.selectNodeContents(element);
      return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
    });

test.each(isFull() ? [360, 390, 1280] : [360])(
  "each label of a time axis is one line and not covered at %d px",
  async (width) => {
    await openConsole({ width, height: 900 }, async (page, go) => {
      for (const path of ["/console", "/console?span=week", `/console/apps/${SLUG}`]) {
        await go(path);
        const labels = await page.evaluate(() =>
          [...document.querySelectorAll<HTMLElement>(".axis-lanes b")].map((label) => {
            const range = document.createRange();
            range.selectNodeContents(label);
            const { right } = range.getBoundingClientRect();
            const number = label.nextElementSibling?.getBoundingClientRect();
            const isLine = range.getClientRects().length === 1 && (number?.height ?? 99) < 20;
            return [label.textContent, isLine, right < (number?.left ?? 0)];
          }),
        );
        const names = ["Requests", "Errors", "Rejections", "p99"];
        expect([path, labels]).toEqual([path, names.map((name) => [name, true, true])]);
        const times = await page.evaluate(() =>
          [...document.querySelectorAll(".axis-times span")]
            .filter((time) => time.checkVisibility())
            .map((time) => time.getBoundingClientRect())
            .map((time, index, all) => {
              const isApart = time.left > (all[index - 1]?.right ?? 0);
              return [time.height < 24, isApart];
            }),
        );
        expect(times.length).toBeGreaterThan(2);
        expect([path, times]).toEqual([path, times.map(() => [true, true])]);
      }
    });
  },
);

test("the activity list splits no address and truncates no details", async () => {
  await openConsole({ width: 1440, height: 900 }, async (page, go) => {
    await go("/console/activity");
    // A broken address breaks before its @.
    expect(await lines(page, person.email)).toBeLessThanOrEqual(2);
    expect(await lines(page, CLIENT)).toBe(1);
    const details = page.locator("summary", { hasText: "wiki.example.org" });
    expect(await details.textContent()).toContain("other.example.org");
  });
});

test("a long address of an app does not overflow its column", async () => {
  await openConsole({ width: 1270, height: 900 }, async (page, go) => {
    await go("/console");
    const overlap = await page.evaluate(() => {
      const row = [...document.querySelectorAll("tr")].find((one) => one.querySelector(".chart"));
      const address = row?.querySelector(".row-detail")?.getBoundingClientRect();
      const chart = row?.querySelector(".chart")?.getBoundingClientRect();
      return (address?.right ?? Number.NaN) - (chart?.left ?? Number.NaN);
    });
    expect(overlap).toBeLessThanOrEqual(0);
  });
});

test("the start of a long text is visible in its cell, also of one from right to left", async () => {
  const { service } = site;
  const app = await service.makeApp(defineSchema({ texts: { title: t.string() } }));
  const json = ["W", "\u{5e9}"].map((letter) => ({ title: letter.repeat(80) }));
  await service.call(app, "/v1/data/db/texts", { method: "POST", json });
  await openConsole({ width: 1280, height: 800 }, async (page, go) => {
    await go(`/console/apps/${app.slug}/tables/texts`);
    const cells = page.locator('[role="grid"] tbody td:nth-child(2)');
    await cells.nth(1).waitFor();
    const starts = await cells.evaluateAll((all) =>
      all.map((cell) => {
        const range = document.createRange();
        const text = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT).nextNode();
        if (text === null) return "empty";
        range.setStart(text, 0);
        range.setEnd(text, 1);
        const [first, box] = [range.getBoundingClientRect(), cell.getBoundingClientRect()];
        return first.width > 0 && first.left >= box.left && first.right <= box.right;
      }),
    );
    expect(starts).toEqual([true, true]);
  });
});

test("app slugs and request ids are not truncated on a phone", async () => {
  await openConsole({ width: 360, height: 800 }, async (page, go) => {
    for (const [path, part] of [
      ["/console", ".row-name"],
      ["/console/requests", ".request-id"],
      ["/console/requests", "td[data-label=App] a"],
      ["/console/activity", ".event a"],
    ] as const) {
      await go(path);
      const cut = await page
        .locator(part)
        .first()
        .evaluate((element) => {
          const { right } = element.getBoundingClientRect();
          const card = element.closest(".sheet")?.getBoundingClientRect().right ?? 0;
          return element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0
            ? Number.NaN
            : Math.max(right - card, 0);
        });
      expect([path, part, cut]).toEqual([path, part, 0]);
    }
  });
});
