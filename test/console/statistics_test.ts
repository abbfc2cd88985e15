/** Numbers on Home and on an app's page, what needs attention, and failed requests found by their id. */
import { expect, test } from "bun:test";
import { ALL_APPS, CONSOLE_APP, NO_APP, readRows } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { untilShown } from "../support/eventually.ts";
import { whileRowLocked } from "../support/held_lock.ts";
import { makePerson, signInAs, visit } from "../support/people.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const LIST = "/v1/data/db/todos";

let ahead = 0;
const service = await share(
  openTestService({
    limitMs: 3000,
    identity: () => ({ cookieDomain: "example.org" }),
    service: { now: () => Date.now() + ahead },
  }),
);
const app = await service.makeApp(defineSchema({ todos: { title: t.string() } }));
const jar = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));

const show = async (path: string) => (await visit(service, jar, path)).text;
const write = (text: string) => service.service.admin.message(`${text}; select 1`);
/** The rows of a page's table. */
const rowsOf = (page: string) => page.split("<tbody>")[1]?.split("</tr>").slice(0, -1) ?? [];

test("requests of an app appear on Home and on its page a minute later, for the hour, day and week", async () => {
  for (let count = 0; count < 3; count++) await service.call(app, LIST);
  ahead += 60_000;
  for (const path of ["/console", "/console?span=day", "/console?span=week"]) {
    const page = await untilShown(() => show(path), 'title="3 total"');
    expect(page).toContain('<svg class="chart"');
    expect(page).not.toContain("style=");
  }
  expect(await show(`/console/apps/${app.slug}`)).toContain("too few requests");
});

test("the Console's own requests are counted apart, and all counts add up to the total", async () => {
  const own = await service.makeApp(defineSchema({ notes: { title: t.string().required() } }));
  const rows = `/console/apps/${own.slug}/tables/notes`;
  await service.call(own, "/v1/data/db/notes");
  await service.call(undefined, "/v1/data/db/notes");
  for (const path of [rows, `${rows}/${crypto.randomUUID()}`, rows]) await show(path);
  ahead += 60_000;
  const page = await untilShown(() => show(`/console/apps/${own.slug}`), "1 total");
  expect(page).toContain("1 total");
  const [counted] = await service.query<Record<string, number>>(
    `select sum(requests) filter (where app_id = $1)::int4 as requests,
      sum(rejections) filter (where app_id = $1)::int4 as rejections,
      (sum(requests) filter (where app_id = '${CONSOLE_APP}') >= 5)::int4 as console,
      (sum(requests) filter (where app_id = '${NO_APP}') > 0)::int4 as none,
      sum(requests * case app_id when '${ALL_APPS}' then 1 else -1 end)::int4 as rest,
      sum(rejections * case app_id when '${ALL_APPS}' then 1 else -1 end)::int4 as rejected_rest
    from rowhouse.statistics where span = 'hour'`,
    [own.id],
  );
  expect(counted).toEqual({
    ...{ requests: 1, rejections: 0, console: 1, none: 1 },
    ...{ rest: 0, rejected_rest: 0 },
  });
  const home = await show("/console");
  for (const name of ["Without an app", "Console"])
    expect(rowsOf(home).find((row) => row.includes(`<span class="row-title">${name}`))).toMatch(
      /\d+ total/,
    );
  expect(await show(`/console/requests?app=${own.slug}`)).toContain("No matching requests");
});

test("Home lists apps with errors first, then the busiest apps, and remains small", async () => {
  // Within the period of the page, even if a minute or an hour ends before the request.
  await write(`insert into rowhouse.apps (id, slug) select gen_random_uuid(), 'many-' || n from generate_series(1, 1000) as n;
    insert into rowhouse.statistics select id, span, date_bin(step, now(), 'epoch') - step * n, 600, 0, 9, array[1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0]
      from rowhouse.apps, (values ('minute', interval '1 minute', 50), ('hour', '1 hour', 24)) as spans (span, step, most), generate_series(0, most) as n
      where slug ~ '^many-[1-9]?[0-9]$';
    update rowhouse.statistics set errors = 5 where app_id = (select id from rowhouse.apps where slug = 'many-77');
    update rowhouse.statistics set requests = 900 where app_id = (select id from rowhouse.apps where slug = 'many-55')`);
  const page = await show("/console");
  const slugs = rowsOf(page).flatMap((row) => /\/console\/apps\/([^"]+)"/.exec(row)?.[1] ?? []);
  expect(slugs.slice(0, 2)).toEqual(["many-77", "many-55"]);
  expect(slugs).toHaveLength(20);
  expect(rowsOf(page)[0]).toContain('<b class="bad">255</b>');
  expect(page).toContain("All 1,002 apps");
  expect(page.length).toBeLessThan(60_000);
  await write("delete from rowhouse.apps where slug like 'many-%'");
});

test("Home lists remains of an older rowhouse dev in a service, and nothing in a database of dev", async () => {
  const found = /admin@rowhouse\.localhost|dddddddddddddddd/;
  expect(await show("/console")).not.toMatch(found);
  await write(`insert into rowhouse.users (id, email) values (gen_random_uuid(), 'admin@rowhouse.localhost');
    insert into rowhouse.api_keys (key_id, app_id, name, digest, scopes)
      select repeat('d', 16), '${app.id}', 'rowhouse dev', sha256('d'), '{}'`);
  const page = await show("/console");
  expect(page).toContain("<bdi>admin@rowhouse.localhost</bdi>");
  expect(page).toContain(`href="/console/apps/${app.slug}/keys/dddddddddddddddd/revoke"`);
  await write("create schema rowhouse_dev");
  expect(await show("/console")).not.toMatch(found);
  await write("drop schema rowhouse_dev");
});

test("a silent process is listed until another process replaces it, and a stopped process is not listed", async () => {
  const add = (role: string, ended: string) =>
    write(`insert into rowhouse.processes (id, role, started_at, minute, seen_at, ended_at)
      values (gen_random_uuid(), '${role}', now() - interval '1 hour', now(), now() - interval '5 minutes', ${ended})`);
  await add("other", "now()");
  expect(await show("/console")).not.toContain("has not reported since");
  await add("other", "null");
  expect(await show("/console")).toContain("A process has not reported since");
  await write(
    `insert into rowhouse.processes (id, role, started_at, minute) values (gen_random_uuid(), 'other', now(), now())`,
  );
  expect(await show("/console")).not.toContain("has not reported since");
});

test("a guard's result is displayed on top of Home as text", async () => {
  expect(await untilShown(() => show("/console"), "every policy is active")).not.toContain(
    "does not isolate apps",
  );
  await write(`insert into rowhouse.processes (id, role, started_at, minute, isolation_at, isolation_issues)
    values (gen_random_uuid(), 'data', now(), now(), now(), array['table <script>x</script> has no policy'])`);
  const page = await show("/console");
  expect(page).toContain("The database does not isolate apps");
  expect(page).toContain("&lt;script&gt;");
  expect(page).not.toContain("<script>x");
  await write("delete from rowhouse.processes where cardinality(isolation_issues) > 0");
});

test("a failed request is listed and found by its id, and unstored requests are reported", async () => {
  const made = await service.call(app, LIST, { method: "POST", json: { title: "x" } });
  const row = made.headers.get("location") ?? "";
  const failed = await whileRowLocked(
    service.database.adminUrl,
    row.slice(row.lastIndexOf("/") + 1),
    () => service.call(app, row, { method: "PATCH", json: { title: "y" } }),
  );
  const id = failed.headers.get("x-request-id") ?? "";
  ahead += 60_000;
  await untilShown(() => show(`/console/requests/${id}`), `id="request-id">${id}<`);
  for (const path of ["", `?app=${app.slug}`, `?kind=failed&table=todos`, `/${id}`]) {
    const page = await show(`/console/requests${path}`);
    for (const word of [id, "PATCH", "/v1/data/db/todos/:id", String(failed.status), app.slug])
      expect(page).toContain(word);
    expect(page).not.toContain(row);
  }
  const unstored = made.headers.get("x-request-id") ?? "";
  const absent = await show(`/console/requests/${unstored}`);
  expect(absent).toContain("No stored request has this id");
  const script = await show("/console/requests?id=%3Cscript%3E");
  expect(script).toContain("This is not a request id");
});

test("counts with a timestamp in the distant future are assigned to the next hour", async () => {
  const id = crypto.randomUUID();
  const kept = JSON.stringify([{ id, at_ms: 9e15, method: "GET", route: "/", status: 500, ms: 1 }]);
  await readRows(
    service.service.db,
    `select rowhouse.add_minute(gen_random_uuid(), 'all', now(), 'infinity', false, null, '[]', '[]', '[]', $1::text::jsonb, null)`,
    [kept],
  );
  expect(await show(`/console/requests/${id}`)).toContain(id);
  const [row] = await service.query<{
    is_near: boolean;
  }>(`select max(at) < now() + interval '2 hours' as is_near from (
      select at from rowhouse.stored_requests union all select minute from rowhouse.processes) as added`);
  expect(row).toEqual({ is_near: true });
});
