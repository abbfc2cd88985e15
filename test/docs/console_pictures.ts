/**
 * Records the pictures of the Console in docs/console/: `bun test ./test/docs/console_pictures.ts`. Needs Chromium; run it
 * when the pages change.
 *
 * @module
 */
import { test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createUser, grantRole } from "../../src/records/people/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import {
  DOMAIN,
  openBrowser,
  openSite,
  signInToConsole,
  type TestSite,
} from "../support/browser.ts";
import { ROOT } from "../support/command.ts";
import { testDeps } from "../support/deps.ts";
import { makePerson } from "../support/people.ts";
import type { TestApp } from "../support/service.ts";

const FOLDER = join(ROOT, "docs/console");
const APPS = ["wiki", "expenses", "todo", "crm", "guest-list"] as const;
const LATENCY_BUCKETS = 12;

const schema = defineSchema({
  projects: { name: t.string().required().unique() },
  todos: t
    .model({
      title: t.string().required(),
      status: t.enum(["open", "doing", "done"]).required().default("open"),
      due: t.timestamp(),
      estimate: t.decimal(),
      note: t.string(),
      project: t.ref("projects", { onDelete: "cascade" }),
    })
    .index("project", "status"),
});

/** Each page, with its color scheme and width. */
const PICTURES = [
  { name: "home", path: "/console?span=week", scheme: "light", width: 1280 },
  { name: "home_phone", path: "/console?span=week", scheme: "dark", width: 390 },
  { name: "app", path: "/console/apps/wiki", scheme: "dark", width: 1280 },
  { name: "rows", path: "/console/apps/wiki/tables/todos", scheme: "dark", width: 1280 },
  { name: "rows_phone", path: "/console/apps/wiki/tables/todos", scheme: "light", width: 390 },
  { name: "table", path: "/console/tables/todos", scheme: "light", width: 1280 },
  { name: "push", path: "/console/apps/wiki/pushes/2", scheme: "light", width: 1280 },
  { name: "people", path: "/console/people", scheme: "light", width: 1280 },
  { name: "activity", path: "/console/activity", scheme: "dark", width: 1280 },
] as const;

test("the pictures of the Console are recorded", async () => {
  const [site, browser] = await Promise.all([openSite(), openBrowser()]);
  const email = await fill(site);
  mkdirSync(FOLDER, { recursive: true });
  const page = await browser.newPage();
  await page.goto(`${site.identityUrl}/console`);
  await signInToConsole(page, email);
  for (const { name, path, scheme, width } of PICTURES) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 800 });
    await page.goto(site.identityUrl + path);
    await page.screenshot({ path: join(FOLDER, `${name}.png`) });
  }
  await browser.close();
  await site.close();
}, 300_000);

async function fill({ service, apiUrl }: TestSite): Promise<string> {
  const apps = await Promise.all(
    APPS.map((slug) =>
      service.makeApp(undefined, {
        slug,
        origins: [`http://${slug}.${DOMAIN}`],
        cookieDomain: DOMAIN,
      }),
    ),
  );
  const [wiki] = apps;
  if (wiki === undefined) throw new Error("No app was created");
  await service.pushSchema(wiki, defineSchema({ projects: { name: t.string().required() } }));
  for (const app of apps) await service.pushSchema(app, schema);
  await fillRows(apiUrl, wiki);
  const deps = { ...testDeps(service.service), identityUrl: "http://id.example.org" };
  for (const { name, role } of PEOPLE) {
    const email = `${name}@example.org`;
    await createUser(deps, { email, displayName: undefined, consoleRole: undefined });
    await grantRole(deps, { email, slug: "wiki", role });
  }
  await service.service.admin.message(NUMBERS);
  const ada = await makePerson(service, { name: "Ada Lovelace", consoleRole: "super_admin" });
  const email = "ada@example.org";
  await service.service.admin.message(
    `update rowhouse.users set email = '${email}' where id = '${ada.id}'; select 1`,
  );
  return email;
}

const PEOPLE = [
  { name: "grace", role: "editor" },
  { name: "alan", role: "reader" },
  { name: "edsger", role: "editor" },
];

const TITLES = [
  "Water the plants",
  "Book the venue",
  "Write to Grace",
  "Renew the licence",
  "Count the chairs",
];
const STATES = ["open", "doing", "done"];

async function fillRows(url: string, { key }: TestApp): Promise<void> {
  const create = async (table: string, json: unknown) => {
    const response = await fetch(`${url}/v1/data/db/${table}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(json),
    });
    return (await response.json()) as { id: string };
  };
  const project = await create("projects", { name: "Summer party" });
  const rows = Array.from({ length: 40 }, (_, index) => ({
    title: TITLES[index % TITLES.length],
    status: STATES[index % STATES.length],
    due: index % 4 === 0 ? null : `2026-12-${String((index % 27) + 1).padStart(2, "0")}T09:00:00Z`,
    estimate: index % 3 === 0 ? null : `${index}.50`,
    note: ["", null, "before noon"][index % 3],
    project: index % 2 === 0 ? project.id : null,
  }));
  await create("todos", rows);
}

/** A week of requests, in the format in which processes of a service count them. */
const NUMBERS = `
insert into rowhouse.statistics
select id, span, at, r, case when slug = 'expenses' and n in (8, 30) then 3 else 0 end, r / 50,
  array[r / 3, r / 4, r / 5, r / 10, r / 20, r / 50, r / 100, r / 200, r / 400, 0, 0, 0]
from rowhouse.apps,
  lateral (
    select 'hour' as span, date_bin('1 hour', now(), 'epoch') - make_interval(hours => n) as at, n
    from generate_series(0, 167) as n
    union all
    select 'minute', date_bin('1 minute', now(), 'epoch') - make_interval(mins => n), n from generate_series(1, 60) as n
  ) as times,
  lateral (
    select (case slug when 'wiki' then 15000 when 'expenses' then 7000 when 'todo' then 900 else 40 end
      * case span when 'hour' then 10 else 1 end * (1 + sin(n / 4.0) * 0.5))::int as r
  ) as counted
where slug <> 'guest-list';
insert into rowhouse.statistics
select '00000000-0000-0000-0000-000000000000', span, at, sum(requests), sum(errors), sum(rejections),
  array[${Array.from({ length: LATENCY_BUCKETS }, (_, index) => `sum(latencies[${index + 1}])`).join(", ")}]
from rowhouse.statistics group by span, at;
update rowhouse.api_keys set name = 'ci-deploy', expires_at = now() + interval '3 days 2 hours'
where app_id = (select id from rowhouse.apps where slug = 'expenses');
select 1`;
