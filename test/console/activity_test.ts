/** The audit log in the Console: each filter, the page of an app, client addresses, and CSV without formulas, page by page. */
import { expect, test } from "bun:test";
import { renameApp, setLimit } from "../../src/records/apps/mod.ts";
import { grantRole } from "../../src/records/people/mod.ts";
import { cases } from "../support/cases.ts";
import { testDeps } from "../support/deps.ts";
import { expectPage } from "../support/page_text.ts";
import { type Jar, makePerson, signInAs, visit } from "../support/people.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

let jar: Jar;
const service = await share(openTestService({ identity: () => ({ cookieDomain: "example.org" }) }));
const admin = await makePerson(service, { consoleRole: "admin" });
jar = await signInAs(service, admin);
const app = await service.makeApp();
// An entry of each kind, days apart and later than all others, and many entries of one kind.
await service.service.admin.message(`
    insert into rowhouse.audit_actions
      select 'test_' || name, false from unnest(array['first', 'second', 'third', 'many', 'long']) as name;
    insert into rowhouse.audit (at, actor, action, user_id, app, details, client) values
      ('2030-03-01T23:59:59Z', 'operator', 'test_first', null, '${app.slug}', '{}', null),
      ('2030-03-02T00:00:00Z', '${admin.id}', 'test_second', null, 'other', '{"n": "=1+1"}', '192.0.2.7'),
      ('2030-03-03T12:00:00Z', '=cmd()', 'test_third', '${admin.id}', null, '{"a": "<script>x</script>"}', null);
    insert into rowhouse.audit (at, actor, action, details) select '2031-01-01'::timestamptz, 'operator', 'test_many',
      jsonb_build_object('n', n) from generate_series(1, 2500) as n; select 1`);

const show = async (path: string) => await visit(service, jar, path);
/** The sentences of a page, without markup. */
const toSentences = (page: string) =>
  [...page.matchAll(/<div class="event"><p>(.*?)<\/p>/gs)]
    .map(([, sentence = ""]) => sentence.replace(/<[^>]+>/g, ""))
    .join("\n");
const toCodes = (page: string) =>
  [...toSentences(page).matchAll(/test[ _](\w+)/g)].map(([, name]) => `test_${name}`);

test.each(cases("name", "query", "want")`
  an app              | app=${app.slug}                                | test_first
  an actor's address  | actor=${admin.email.toUpperCase()}             | test_second
  the actor operator  | actor=operator&from=2030-01-01&to=2030-12-31   | test_first
  an action           | action=test_third                              | test_third
  a person's address  | person=${admin.email}                          | test_third
  a person's id       | person=${admin.id}                             | test_third
  an unknown person   | person=nobody                                  |
  a day               | from=2030-03-02&to=2030-03-02                  | test_second
  until a day         | to=2030-03-02                                  | test_second, test_first
  from a day          | from=2030-03-03&to=2030-03-31                  | test_third
`)("activity is filtered by $name, also as CSV", async ({ query, want }) => {
  const page = await show(`/console/activity?${query}`);
  expect([page.status, toCodes(page.text).join(", ")]).toEqual([200, want]);
  const { text } = await show(`/console/activity.csv?${query}`);
  expect((text.match(/test_(?:first|second|third)/g) ?? []).join(", ")).toBe(want);
});

test("an invalid day is rejected with all issues, and the input remains", async () => {
  const page = await show("/console/activity?from=2030-02-30&to=yesterday&app=kept-app");
  expect(page.status).toBe(422);
  for (const text of ["From must be a day", "To must be a day", 'value="kept-app"'])
    expect(page.text).toContain(text);
  expect((await show("/console/activity.csv?from=2030-02-30")).status).toBe(400);
  const turned = await show("/console/activity?from=2030-03-02&to=2030-03-01");
  expectPage(turned, 422, "From must not be after To");
});

test("entries have a text instead of their code, links to people, and the client's address", async () => {
  const page = await show(`/console/activity?actor=${admin.id}`);
  expect(page.text).toMatch(/<p><a href="[^"]+"><bdi>[^<]+<wbr>@[^<]+<\/bdi><\/a> signed in<\/p>/);
  expect(page.text).not.toContain("<code>sign_in</code>");
  expect(page.text).toContain(`href="/console/people/${admin.id}"`);
  expect(page.text).toContain("<bdi>192.0.2.7</bdi>");
  expect(page.text).toContain("<bdi>127.0.0.1</bdi>");
});

test("an entry links to its app only while the app exists", async () => {
  const page = await show("/console/activity?from=2030-01-01&to=2030-12-31");
  expect(page.text).toContain(`: <a href="/console/apps/${app.slug}">`);
  expect(page.text).toContain(": other</p>");
});

test("an app's page lists only its entries, in pages, and returns 404 for an unknown app", async () => {
  const page = await show(`/console/apps/${app.slug}/activity`);
  expect(toCodes(page.text)).toEqual(["test_first"]);
  expect(page.text).toContain(`/console/apps/${app.slug}/activity.csv"`);
  expect((await show("/console/apps/no-such-app/activity")).status).toBe(404);
  const many = await show("/console/activity?action=test_many");
  const older = /href="([^"]+before=\d+)"/.exec(many.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
  expect(older).toContain("action=test_many");
  const next = await show(older);
  expect(next.text).toContain("{&quot;n&quot;: 2450}");
  expect(next.text).not.toContain("{&quot;n&quot;: 2451}");
});

test("a session that ends during a CSV download aborts the download", async () => {
  await service.service.admin.message(`
    insert into rowhouse.audit (actor, action, details) select 'operator', 'test_long', jsonb_build_object('x', repeat('x', 3000))
    from generate_series(1, 6000) as n; select 1`);
  const mine = await signInAs(service, admin);
  const cookie = [...mine].map(([name, value]) => `${name}=${value}`).join("; ");
  const response = await fetch(`${service.url}/console/activity.csv?action=test_long`, {
    headers: { cookie },
  });
  const reader = response.body?.getReader();
  await reader?.read();
  await service.query("delete from rowhouse.sessions");
  const drain = async () => {
    while ((await reader?.read())?.done === false);
  };
  expect(
    await drain().then(
      () => "whole",
      () => "cut off",
    ),
  ).toBe("cut off");
  jar = await signInAs(service, admin);
});

test("the sentence of an entry says what changed, from what to what", async () => {
  const deps = testDeps(service.service);
  const own = await service.makeApp();
  const grant = (role: string) => grantRole(deps, { email: admin.email, slug: own.slug, role });
  await grant("viewer");
  await grant("editor");
  await grant("editor");
  await setLimit(deps, { slug: own.slug, perMinute: 77 });
  await renameApp(deps, { slug: own.slug, newSlug: `${own.slug}-new` });
  const { text } = await show(`/console/activity?app=${own.slug}`);
  const sentences = toSentences(text);
  expect(sentences).toContain(`, role viewer`);
  expect(sentences).toContain(`, role from viewer to editor`);
  expect(sentences).toContain(`, role editor`);
  expect(sentences).toContain(`, per minute from default to 77`);
  const renamed = await show(`/console/activity?app=${own.slug}-new`);
  expect(toSentences(renamed.text)).toContain(`, from ${own.slug} to ${own.slug}-new`);
});

test("entries are listed by day, and repeated ones that change nothing are one", async () => {
  await service.service.admin.message(`
    insert into rowhouse.audit (at, actor, action, user_id, app) select
      timestamptz '2035-05-01T00:00:00Z' + n * interval '8 hours', 'loud', case when n = 3 then 'set_password' else 'sign_in' end,
      '${admin.id}', 'noisy' from generate_series(0, 8) as n; select 1`);
  const { text } = await show("/console/activity?actor=loud");
  const days = text.split("<h2>").slice(1);
  expect(days.map((day) => day.split("<")[0])).toEqual([
    "Thursday, 3 May 2035",
    "Wednesday, 2 May 2035",
    "Tuesday, 1 May 2035",
  ]);
  const facts = days.map((day) => [
    day.match(/class="event"/g)?.length,
    /and (\d) times? before/.exec(day)?.[1],
  ]);
  expect(facts).toEqual([
    [1, "2"],
    [2, "1"],
    [1, "2"],
  ]);
});
