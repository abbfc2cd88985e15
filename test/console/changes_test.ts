/** The time axis on Home and on each app, and the changes before an increase of errors. */
import { expect, test } from "bun:test";
import { findRestriction } from "../../src/console/activity/definition_changes.ts";
import { ALL_APPS } from "../../src/db/mod.ts";
import { revokeKey, rollKey, setLimit } from "../../src/records/apps/mod.ts";
import { grantRole } from "../../src/records/people/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { testDeps } from "../support/deps.ts";
import { untilShown } from "../support/eventually.ts";
import { makePerson, signInAs, visit } from "../support/people.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

let ahead = 0;
const service = await share(
  openTestService({
    identity: () => ({ cookieDomain: "example.org" }),
    service: { now: () => Date.now() + ahead },
  }),
);
const app = await service.makeApp(defineSchema({ orders: { title: t.string() } }));
const other = await service.makeApp();
const person = await makePerson(service, { consoleRole: "admin" });
const jar = await signInAs(service, person);

const show = async (path: string) => (await visit(service, jar, path)).text;
const write = (text: string) => service.service.admin.message(`${text}; select 1`);
const keyOf = (one: TestApp) => one.key.slice(3, 19);
/** Text without markup. */
const toText = (page: string) => page.replace(/<[^>]+>/g, "").replace(/\s+/g, " ");

// First: the clock of the service is that of the database until a test moves it.
test("a push is no cause of earlier errors, or of errors that it cannot have caused", async () => {
  const currency = (values: [string, ...string[]], isUnique = false) => {
    const note = isUnique ? t.string().unique() : t.string();
    return defineSchema({ bills: { title: t.string(), currency: t.enum(values), note } });
  };
  const own = await service.makeApp(currency(["EUR", "USD"]));
  const fail = () =>
    service.call(own, "/v1/data/db/bills", { method: "POST", json: { currency: "GBP", note: 1 } });
  const showCauses = async (count: number) => {
    ahead += 60_000;
    const read = async () => toText(await show(`/console/changes?app=${own.slug}`));
    return await untilShown(read, `${count} × 422 on /currency`);
  };
  await fail();
  // Later, and it only allows more.
  await service.pushSchema(own, currency(["EUR", "USD", "CHF"]));
  let text = await showCauses(1);
  expect(text).toContain("1 × 422 on /currency since push 0001");
  expect(text).not.toContain("push 0002 changed");
  await fail();
  text = await showCauses(2);
  expect(text).toMatch(/2 × 422 on \/currency since push 0001 added it/);
  // Stricter, but after the first error.
  await service.pushSchema(own, currency(["EUR", "USD", "CHF"], true));
  await fail();
  text = await showCauses(3);
  expect(text).not.toContain("since push 0003");
});

test("a span names the codes that rose, by table, field and key, and the push that changed the field", async () => {
  await service.pushSchema(
    app,
    defineSchema({ orders: { title: t.string(), currency: t.enum(["EUR", "USD"]) } }),
  );
  for (let count = 0; count < 3; count++)
    await service.call(app, "/v1/data/db/orders", { method: "POST", json: { currency: "none" } });
  ahead += 60_000;
  const path = `/console/changes?app=${app.slug}`;
  const page = await untilShown(() => show(path), "validation_failed");
  const text = toText(page);
  expect(text).toContain("3 × 422 validation_failed on orders (0 before)");
  expect(text).toContain("3 × 422 on /currency since push 0002 added it");
  expect(text).toContain(`3 by key ${keyOf(app)}`);
  expect(text).toContain("too few requests to compare");
  expect(page).toContain(`href="/console/apps/${app.slug}/pushes/2">see the diff`);
  const [, filtered = ""] = /href="([^"]+field=currency[^"]*)"/.exec(page) ?? [];
  expect(
    (await show(filtered.replaceAll("&amp;", "&"))).match(/\/console\/requests\/[0-9a-f]/g),
  ).toHaveLength(3);
  // For all apps, the name of the app is included.
  expect(toText(await show("/console/changes"))).toContain(
    `3 × 422 validation_failed on orders of ${app.slug} (0 before)`,
  );
});

test.each([
  { what: "a value less", was: { values: ["a", "b"] }, is: { values: ["a"] }, says: "changed it" },
  { what: "a value more", was: { values: ["a"] }, is: { values: ["a", "b"] } },
  { what: "optional", was: { required: true }, is: { required: false } },
  { what: "required", was: { required: false }, is: { required: true }, says: "changed it" },
  { what: "an index", was: {}, is: { index: true } },
  { what: "no longer unique", was: { unique: true }, is: {} },
  { what: "unique", was: {}, is: { unique: true }, says: "changed it" },
  { what: "another default", was: { default: "a" }, is: { default: "b" } },
  {
    what: "no default",
    was: { required: true, default: "a" },
    is: { required: true },
    says: "changed it",
  },
  { what: "unique over two", was: {}, is: {}, uniques: [["c", "d"]], says: "added unique (c, d)" },
] as { what: string; was: object; is: object; uniques?: string[][]; says?: string }[])(
  "a push can cause errors of a column: $what",
  ({ was, is, uniques = [], says }) => {
    const toJson = (column: object, added: string[][]) =>
      JSON.stringify({
        version: 1,
        tables: [
          {
            ...{ name: "t", indexes: [], uniques: added },
            columns: [{ name: "c", kind: "enum", required: false, unique: false, ...column }],
          },
        ],
      });
    const pushed = { before: toJson(was, []), definition: toJson(is, uniques) };
    const found = findRestriction(pushed, { table: "t", field: "c" });
    if (says === undefined) expect(found).toBeUndefined();
    else expect(found).toStartWith(says);
  },
);

test("marks represent pushes, keys, limits and roles, of all apps on Home and of one app on its page", async () => {
  const deps = testDeps(service.service);
  const own = await service.makeApp(defineSchema({ notes: { title: t.string() } }));
  await rollKey(deps, keyOf(own), "1h");
  await revokeKey(deps, keyOf(other));
  await setLimit(deps, { slug: other.slug, perMinute: 77 });
  await grantRole(deps, { email: person.email, slug: other.slug, role: "reader" });
  const ofOther = await show(`/console/apps/${other.slug}`);
  for (const text of [keyOf(other), "revoked a key", "set request limits", "reader", "revoke key"])
    expect(ofOther).toContain(text);
  expect(ofOther).not.toContain(own.slug);
  expect(await show(`/console/apps/${own.slug}`)).toContain(
    `href="/console/apps/${own.slug}/pushes/1">push 0001</a>`,
  );
  const home = await show("/console");
  expect(home).toContain(`revoke key of ${other.slug}`);
  for (const slug of [own.slug, other.slug])
    expect(home.split('class="axis-changes"')[1]).toContain(`href="/console/apps/${slug}"`);
  expect(home).not.toContain("style=");
});

test("an expired key is a change, and an expired key of a Console page is not", async () => {
  const made = (name: string, created: string) =>
    `insert into rowhouse.api_keys (key_id, app_id, name, digest, scopes, created_at, expires_at)
      values ('${name}', '${app.id}', '', sha256('${name}'), '{}', now() - interval '${created}', now() - interval '1 minute')`;
  await write(`${made("e".repeat(16), "1 day")}; ${made("f".repeat(16), "6 minutes")}`);
  const page = await show(`/console/apps/${app.slug}`);
  expect(page).toContain("e".repeat(16));
  expect(page).not.toContain("f".repeat(16));
});

/** Requests of an app in a minute that is so many minutes ago. */
const addRequests = (appId: string, minutesAgo: number, requests: number) =>
  write(`insert into rowhouse.statistics select '${appId}', span,
      date_bin(step, now() - interval '${minutesAgo} minutes', 'epoch'), ${requests}, 1, 9, array[0, 0, ${requests}, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    from (values ('minute', interval '1 minute')) as spans (span, step)
    on conflict (app_id, span, at) do update set requests = statistics.requests + excluded.requests`);

test("numbers are compared with the previous span, and fewer than 30 requests are marked as too few", async () => {
  const own = await service.makeApp();
  const path = `/console/apps/${own.slug}`;
  await addRequests(own.id, 10, 29);
  const few = toText(await show(path));
  expect(few).toContain("too few requests for a share");
  expect(few).toContain("p99: too few requests");
  expect(few).not.toContain("from the previous hour");
  await addRequests(own.id, 20, 900);
  await addRequests(own.id, 70, 400);
  const page = await show(path);
  expect(toText(page)).toMatch(/929 total, \+1\d\d% from the previous hour/);
  expect(toText(page)).toContain("the previous hour");
  expect(page).toMatch(/<title>\d\d:\d\d: 900 requests, \d+ before/);
  expect(page).toMatch(/<title>\d\d:\d\d: \d+ requests, 400 before/);
});

test("a rejection with a revoked key is on the axis of its app", async () => {
  const own = await service.makeApp();
  await write(
    `insert into rowhouse.rejections select '${own.id}', 'minute', date_trunc('minute', now()) - interval '5 minutes', '', 'unauthenticated', 41`,
  );
  const page = await show(`/console/apps/${own.slug}`);
  expect(page).toMatch(/41 requests\n41 rejected/);
  expect(toText(await show(`/console/changes?app=${own.slug}`))).toContain(
    "41 × 401 unauthenticated (0 before)",
  );
});

test.each([
  { query: "from=none&to=%00", status: 200 },
  { query: "from=2026-01-01T00:00&to=2020-01-01T00:00", status: 200 },
  { query: "from=1000-01-01T00:00Z&to=2999-01-01T00:00Z", status: 200 },
  { query: "from=2026-99-99T99:99Z", status: 200 },
  { query: "app=no-such-app", status: 404 },
  { query: "app=%3Cscript%3E", status: 200 },
])("an unreadable time is replaced: $query", async ({ query, status }) => {
  const response = await visit(service, jar, `/console/changes?${query}`);
  expect(response.status).toBe(status);
  expect(response.text).not.toContain("<script>");
});

test("the page of a span has max 50 codes", async () => {
  await write(`insert into rowhouse.rejections select '${ALL_APPS}', 'minute', date_trunc('minute', now()) - interval '2 minutes', 't' || n, 'not_found', n
    from generate_series(1, 200) as n`);
  const page = await show("/console/changes");
  expect(page.match(/× 404/g)).toHaveLength(50);
  expect(toText(page)).toContain("200 × 404 not_found on t200");
  await service.query("delete from rowhouse.rejections where app_id = $1", [ALL_APPS]);
});
