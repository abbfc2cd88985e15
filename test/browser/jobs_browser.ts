/** An operator's jobs, counted: clicks, keys pressed and fields filled, and seconds without the time to think and type. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser, Locator, Page } from "playwright-core";
import { grantRole } from "../../src/records/people/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import {
  DOMAIN,
  enterPassword,
  openBrowser,
  openSite,
  type TestSite,
  withConsole,
  withPage,
} from "../support/browser.ts";
import { makePerson, type Person } from "../support/people.ts";
import type { TestApp } from "../support/service.ts";

const ROWS = 5000;
const REQUEST_ID = "0199aaaa-0000-7000-8000-00000000cafe";
const TODOS = { title: t.string().required().unique(), note: t.string(), size: t.number() };

let site: TestSite;
let browser: Browser;
let operator: Person;
let person: Person;
let app: TestApp;
let leaked: string;
beforeAll(async () => {
  [site, browser] = await Promise.all([openSite(), openBrowser()]);
  const { service } = site;
  operator = await makePerson(service, { name: "Ada", consoleRole: "super_admin" });
  person = await makePerson(service, { name: "Tim" });
  app = await service.makeApp(defineSchema({ todos: TODOS }), {
    slug: "wiki",
    cookieDomain: DOMAIN,
  });
  ({ key: leaked } = await service.makeApp(undefined, { slug: "crm" }));
  for (const slug of ["blog", "desk", "shop"]) await service.makeApp(undefined, { slug });
  for (const role of ["member", "admin"])
    await grantRole(service.service, { email: operator.email, slug: "blog", role });
  for (let start = 0; start < ROWS; start += 1000) {
    const json = Array.from({ length: 1000 }, (_, index) => toTodo(start + index));
    const created = await service.call(app, "/v1/data/db/todos", { method: "POST", json });
    expect(created.status).toBe(201);
  }
  await service.pushSchema(
    app,
    defineSchema({ todos: { ...TODOS, status: t.enum(["open", "done"]) } }),
  );
  await service.service.admin.message(`
    insert into rowhouse.stored_requests
        (id, app_id, at, method, route, status, code, ms, key_id, table_name, paths)
      values ('${REQUEST_ID}', '${app.id}', now() - interval '2 minutes', 'POST', '/v1/data/db/:table', 422,
        'validation_failed', 1, '${app.key.slice(3, 19)}', 'todos', '{/status}');
    insert into rowhouse.rejections values
      ('${app.id}', 'minute', date_trunc('minute', now()) - interval '2 minutes', 'todos',
        'validation_failed', 41);
    update rowhouse.migrations set applied_at = now() - interval '5 minutes' where seq = 2;
    select 1`);
  await withPage(browser, async (page) => {
    await page.goto(`${site.identityUrl}/login`);
    await enterPassword(page, person.email);
    await page.getByText("Signed in as").waitFor();
  });
}, 120_000);
afterAll(async () => {
  await browser.close();
  await site.close();
});

/** Three rows need a correction, and the last 40 rows need another. */
const toTodo = (number: number) => ({
  title: `Row ${number}.`,
  note: [1234, 2345, 3456].includes(number) ? "draf" : number >= ROWS - 40 ? "obsolete" : null,
});

/** The actions of a person on a page. Each call is one step. */
type Steps = {
  click: (target: Locator) => Promise<void>;
  press: (key: string) => Promise<void>;
  /** Into the field that has the focus. */
  type: (text: string) => Promise<void>;
  fill: (field: Locator, value: string) => Promise<void>;
  choose: (field: Locator, value: string) => Promise<void>;
  upload: (field: Locator, text: string) => Promise<void>;
};

type Job = readonly [path: string, steps: number, run: (page: Page, steps: Steps) => unknown];

const TABLE = "/console/apps/wiki/tables/todos";
const dialog = (page: Page) => page.getByRole("dialog");
const button = (scope: Page | Locator, name: string) =>
  scope.getByRole("button", { name, exact: true });
const range = (page: Page, text: string) =>
  page.locator("[data-range]", { hasText: text }).waitFor();

async function search(page: Page, { press, type }: Steps, text: string): Promise<void> {
  await press("f");
  await type(text);
  await press("Enter");
  await range(page, "found");
}

async function openPerson(page: Page, { press, type }: Steps): Promise<void> {
  await press("Control+k");
  await type(person.email);
  await dialog(page).getByRole("option").filter({ hasText: "Tim" }).waitFor();
  await press("Enter");
  await page.getByRole("heading", { level: 1, name: "Tim" }).waitFor();
  // Then links open dialogs.
  await page.waitForLoadState();
}

const JOBS: Readonly<Record<string, Job>> = {
  [`find one row among ${ROWS}`]: [
    TABLE,
    3,
    async (page, steps) => {
      await search(page, steps, "row 4321.");
      await range(page, "Rows 1 to 1 of 1 found");
    },
  ],
  "fix three rows": [
    TABLE,
    9,
    async (page, steps) => {
      await search(page, steps, "draf");
      await steps.click(page.locator("[data-select-all]"));
      const toolbar = page.getByRole("form", { name: "Selected rows" });
      await steps.choose(toolbar.getByLabel("Set"), "note");
      await steps.click(button(toolbar, "Set"));
      await steps.fill(dialog(page).locator('[id="value.note"]'), "draft");
      await steps.click(button(dialog(page), "Preview"));
      await steps.click(button(dialog(page), "Save 3 rows"));
      await page.getByRole("heading", { name: "Changed 3 of 3 rows" }).waitFor();
    },
  ],
  "import 2,000 rows with 30 bad ones": [
    TABLE,
    4,
    async (page, steps) => {
      await steps.click(page.getByRole("link", { name: "Import", exact: true }));
      const lines = Array.from({ length: 2000 }, (_, at) => `n${at},${at % 67 === 0 ? "x" : at}`);
      const text = ["title,size", ...lines].join("\n");
      await steps.upload(page.getByLabel("File", { exact: true }), text);
      await steps.click(button(page, "Check the file"));
      await page.getByText("30 errors in 30 lines").waitFor();
      await steps.click(button(page, "Import only the 1,970 rows without errors"));
      await page.getByText("1,970 rows stored.").waitFor();
    },
  ],
  "delete 40 rows": [
    TABLE,
    6,
    async (page, steps) => {
      await search(page, steps, "obsolete");
      await steps.click(page.locator("[data-select-all]"));
      await steps.click(button(page.getByRole("form", { name: "Selected rows" }), "Delete"));
      await steps.click(button(dialog(page), "Delete 40 rows"));
      await page.getByText("No rows match this search.").first().waitFor();
    },
  ],
  "why did this request fail?": [
    "/console",
    3,
    async (page, { press, type }) => {
      await press("Control+k");
      await type(REQUEST_ID);
      await dialog(page).getByRole("option").filter({ hasText: REQUEST_ID }).waitFor();
      await press("Enter");
      await page.getByText("Invalid field:").waitFor();
      await page.locator(".why").getByText("status").waitFor();
    },
  ],
  "what changed before the errors?": [
    "/console",
    1,
    async (page, steps) => {
      await steps.click(button(page, "What changed"));
      await page.getByText("since push 0002 added it").waitFor();
    },
  ],
  "find a person and give a role": [
    "/console",
    6,
    async (page, steps) => {
      await openPerson(page, steps);
      await steps.click(page.getByRole("link", { name: "Grant a role" }));
      await steps.fill(page.getByLabel("App", { exact: true }), "wiki");
      await steps.click(button(page, "Grant role"));
      await page.getByRole("row", { name: /wiki.*member/ }).waitFor();
      await page.waitForFunction(() => document.activeElement?.matches(".notice[role=status]"));
    },
  ],
  "grant a role on three apps": [
    "/console",
    8,
    async (page, steps) => {
      await openPerson(page, steps);
      await steps.click(page.getByRole("link", { name: "Grant a role" }));
      for (const slug of ["crm", "desk", "shop"])
        await steps.click(dialog(page).getByRole("checkbox", { name: slug }));
      await steps.click(button(page, "Grant role"));
      for (const slug of ["crm", "desk", "shop"])
        await page.getByRole("row", { name: new RegExp(`${slug}.*member`) }).waitFor();
    },
  ],
  "who changed a role, from what to what?": [
    "/console",
    1,
    async (page, steps) => {
      await steps.click(page.getByRole("link", { name: "Activity", exact: true }));
      await page.getByRole("main").getByText("on blog, role from member to admin").waitFor();
    },
  ],
  "revoke a leaked key, from the whole key": [
    "/console",
    4,
    async (page, { click, press, type }) => {
      await press("Control+k");
      await type(leaked);
      await dialog(page)
        .getByRole("option", { name: /^Revoke / })
        .waitFor();
      await press("Enter");
      await click(button(page, "Revoke the key"));
      await page.getByRole("main").getByText("Key revoked.").waitFor();
    },
  ],
  "end all sessions of a person": [
    "/console",
    5,
    async (page, steps) => {
      await openPerson(page, steps);
      await steps.click(page.getByRole("link", { name: "End all" }));
      await steps.click(button(dialog(page), "End all sessions"));
      await page.getByRole("main").getByText("Sessions ended.").waitFor();
    },
  ],
  "end a departed person's access everywhere": [
    "/console",
    5,
    async (page, steps) => {
      await openPerson(page, steps);
      await steps.click(page.getByRole("link", { name: "End access" }));
      await steps.click(button(dialog(page), "End access"));
      await page.getByText("All access has ended").waitFor();
      await page.getByText("No roles. This person cannot open any app.").waitFor();
    },
  ],
};

test.each(Object.entries(JOBS))("%s", async (name, [path, steps, run]) => {
  const visitor = { url: site.identityUrl + path, email: operator.email };
  await withConsole(browser, visitor, async (page) => {
    let count = 0;
    const counted =
      <Input extends unknown[]>(step: (...input: Input) => Promise<unknown>) =>
      async (...input: Input) => {
        count++;
        await step(...input);
      };
    const start = performance.now();
    await run(page, {
      click: counted((target) => target.click()),
      press: counted((key) => page.keyboard.press(key)),
      type: counted((text) => page.keyboard.insertText(text)),
      fill: counted((field, value) => field.fill(value)),
      choose: counted((field, value) => field.selectOption(value)),
      upload: counted((field, text) =>
        field.setInputFiles({ name: "a.csv", mimeType: "text/csv", buffer: Buffer.from(text) }),
      ),
    });
    const seconds = (performance.now() - start) / 1000;
    console.log(`${name}: ${count} steps, ${seconds.toFixed(1)} s`);
    expect(count).toBe(steps);
  });
});
