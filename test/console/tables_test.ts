/** The Console's pages of tables: their content without waiting for a table, and the actions of administrators. */
import { beforeEach, describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { cases } from "../support/cases.ts";
import { citusUrl } from "../support/citus.ts";
import { withDatabase } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { whileLocked } from "../support/held_lock.ts";
import { listAudit } from "../support/lists.ts";
import { expectPage, expectRedirect, rowsOf, textOf } from "../support/page_text.ts";
import { type Jar, makePerson, signInAs, submitForm, visit } from "../support/people.ts";
import { freshName } from "../support/push.ts";
import { openTestService, type TestApp, UNGUARDED } from "../support/service.ts";
import { share } from "../support/share.ts";

let jar: Jar;
let name: string;
const service = await share(openTestService({ service: UNGUARDED }));
const admin = await makePerson(service, { consoleRole: "admin" });
beforeEach(async () => {
  jar = await signInAs(service, admin);
  name = freshName();
});

const write = (text: string) => service.service.admin.message(`${text}; select 1`);
const show = (path: string) => visit(service, jar, path);
const submit = (path: string, typed: Record<string, string>) =>
  submitForm(service, jar, { path, typed });

const rich = (table: string) =>
  defineSchema({
    [`${table}_lists`]: { title: t.string().required().unique() },
    [table]: t
      .model({
        title: t.string().required().default("untitled"),
        count: t.number().index(),
        price: t.decimal(),
        done: t.boolean().default(false),
        code: t.uuid(),
        at: t.timestamp().default("now").onUpdate("now"),
        more: t.json().default({ a: [1] }),
        kind: t.enum(["one", "two"]).required().default("two"),
        list: t.ref(`${table}_lists`, { onDelete: "cascade" }),
        // Citus has no such reference.
        origin: t.ref(`${table}_lists`, citusUrl() === undefined ? { onDelete: "set null" } : {}),
      })
      .unique("title", "count")
      .index("done", "at"),
  });

async function shareTable(): Promise<{ owner: TestApp; user: TestApp }> {
  const owner = await service.makeApp(
    defineSchema({ [name]: { title: t.string(), done: t.boolean() } }),
  );
  const user = await service.makeApp(defineSchema({ [name]: { title: t.string() } }));
  for (const app of [owner, user, user])
    await service.call(app, `/v1/data/db/${name}`, { method: "POST", json: { title: "x" } });
  return { owner, user };
}

/** Without the rows and bytes, which PostgreSQL can estimate anew at any time. */
const withoutSizes = (row: string) => row.replaceAll(/≈ \S+|–|\d+ [kMGTP]?B/g, "");

test("the list has each table with its owner, apps and columns, is searchable by them, and is paged", async () => {
  const { owner, user } = await shareTable();
  const listed = async (query: Record<string, string>) =>
    rowsOf(await show(`/console/tables?${new URLSearchParams(query)}`)).filter((row) =>
      row.startsWith(name),
    );
  const [row = ""] = await listed({ q: name.slice(2) });
  expect(row).toStartWith(`${name} ${owner.slug}`);
  expect(row).toContain(user.slug);
  expect((await listed({ q: owner.slug })).map(withoutSizes)).toEqual([withoutSizes(row)]);
  expect(await listed({ q: user.slug })).toEqual([]);
  expect((await show("/console/tables?q=no_such")).text).toContain("No matching tables");
  const many = Object.fromEntries(
    Array.from({ length: 51 }, (_, n) => [`${name}_${n + 10}`, { title: t.string() }]),
  );
  await service.makeApp(defineSchema(many));
  const first = await show(`/console/tables?q=${name}_`);
  const next = /href="([^"]+)">Next page/.exec(first.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
  expect(rowsOf(first)).toHaveLength(51);
  expect(rowsOf(await show(next)).slice(1)).toEqual([expect.stringContaining(`${name}_60`)]);
});

test("a table's page has every column, rule and app, and no difference after a push", async () => {
  const owner = await service.makeApp(rich(name));
  const page = await show(`/console/tables/${name}`);
  const rows = rowsOf(page);
  for (const row of [
    'title string no "untitled"',
    "count number yes indexed",
    "at timestamp yes now on update now",
    'more json yes {"a":[1]}',
    'kind enum one , two no "two"',
    `list → ${name}_lists yes on delete cascade`,
    ...(citusUrl() === undefined ? [`origin → ${name}_lists yes on delete set null`] : []),
    `primary key id ${name}__pkey valid`,
    `unique title, count ${name}__title__count__sorted_key valid`,
    `index done, at ${name}__done__at__search_idx valid`,
    `→ ${name}_lists list ${name}__list__fkey valid`,
    `${owner.slug} all`,
  ])
    expect(rows).toContain(row);
  expect(textOf(page)).not.toContain("differs");
  expect(textOf(await show(`/console/tables/${name}_lists`))).toContain(`Referenced by ${name}`);
});

test("apps are listed with their declared columns, and each column with its number of apps", async () => {
  const { owner, user } = await shareTable();
  const rows = rowsOf(await show(`/console/tables/${name}`));
  expect(rows).toContain(`${owner.slug} all`);
  expect(rows).toContain(`${user.slug} title`);
  expect(rows).toContain("title string yes 2 of 2");
  expect(rows).toContain("done boolean yes 1 of 2");
  const own = await show(`/console/apps/${user.slug}/tables`);
  const users = [owner.slug, user.slug].sort().join(" , ");
  expect(rowsOf(own)[1]).toStartWith(`${name} ${owner.slug} ${users} 1 of 2`);
  expect(own.text).toContain(`href="/console/apps/${user.slug}/tables/${name}"`);
});

test("sizes come from statistics, and no page waits for a locked table", async () => {
  const app = await service.makeApp(rich(name));
  await write(`insert into data.${name} (app_id, id, title, count) select '${app.id}', gen_random_uuid(), 't', n
    from generate_series(1, 2000) as n; analyze data.${name}`);
  await whileLocked(service.database.superuserUrl, name, async () => {
    for (const path of [
      `/console/tables?q=${name}`,
      `/console/tables/${name}`,
      `/console/apps/${app.slug}/tables`,
      `/console/apps/${app.slug}/pushes`,
    ]) {
      const page = await show(path);
      expect(page.status).toBe(200);
      if (!path.endsWith("pushes")) expect(page.text).toMatch(/≈ 2K.*\d+ [kM]B/s);
    }
  });
});

test("after a crash, which resets the statistics, the number of rows is the last estimate or unknown", async () => {
  const insert = (table: string, count: number) =>
    // PostgreSQL reports a session's statistics after 10 seconds, unless the session requests it.
    write(`insert into data.${table} (app_id, id, title) select '${app.id}', gen_random_uuid(), 't'
      from generate_series(1, ${count}); select pg_stat_force_next_flush()`);
  const showRows = async (table: string) =>
    rowsOf(await show(`/console/tables?q=${table}`)).find((row) => row.startsWith(`${table} `));
  const [analyzed, never] = [name, freshName()];
  const app = await service.makeApp(
    defineSchema({ [analyzed]: { title: t.string() }, [never]: { title: t.string() } }),
  );
  await insert(analyzed, 1500);
  await insert(never, 1500);
  await write(`analyze data.${analyzed}`);
  await eventually(async () => (await showRows(never))?.includes("≈ 1.5K") === true);
  await withDatabase(service.database.superuserUrl, (superuser) =>
    superuser.message(
      [analyzed, never]
        .map((table) => `select pg_stat_reset_single_table_counters('data.${table}'::regclass)`)
        .join("; "),
    ),
  );
  for (const table of [analyzed, never]) await insert(table, 1);
  const counted = () =>
    service.query<{ rows: number }>(
      `select pg_stat_get_live_tuples('data.${never}'::regclass)::int4 as rows`,
    );
  await eventually(async () => (await counted())[0]?.rows === 1);
  expect(await showRows(analyzed)).toContain("≈ 1.5K");
  expect(await showRows(never)).not.toMatch(/\b1\b rows|≈ 1\b/);
});

test.each(cases("what", "sql", "says")`
  an unpushed column    | add column extra int             | column extra pushed: nothing
  another type          | alter column count type text     | column count / type pushed: numeric , found: text
  a nullable column     | alter column title drop not null | column title / required pushed: required , found: optional
  a lost constraint     | drop constraint NAME__list__fkey | constraint NAME__list__fkey pushed: there , found: nothing
  disabled row security | disable row level security       | row security pushed: on, forced , found: off, forced
  a missing table       | rename to NAME_gone              | table NAME pushed: there , found: nothing
`)("$what is a difference, in the list and on the page", async ({ sql, says }) => {
  await service.makeApp(rich(name));
  await write(`alter table data.${name} ${sql.replace("NAME", name)}`);
  expect(textOf(await show(`/console/tables/${name}`))).toContain(says.replace("NAME", name));
  expect(rowsOf(await show(`/console/tables?q=${name}`))[1]).toContain("1 difference");
  await write(`drop table if exists data.${name}, data.${name}_gone cascade`);
});

test("a deferred build is listed with its progress, and is not a difference", async () => {
  const app = await service.makeApp(rich(name));
  await write(`drop index data.${name}__count__sorted_idx; insert into rowhouse.deferred_steps (app_id, table_name, kind, name, columns, state, progress)
    values ('${app.id}', '${name}', 'index', '${name}__count__sorted_idx', '["count"]', 'running',
      '{"phase": "building index: scanning table", "unit": "blocks", "done": 30, "total": 120}')`);
  for (const path of [`/console/tables/${name}`, `/console/apps/${app.slug}/pushes`]) {
    const page = await show(path);
    expect(page.text).toContain('<progress max="120" value="30"');
    expect(textOf(page)).toContain("building index: scanning table, 30 of 120 blocks");
    expect(page.text).toContain(`href="${path}">Reload`);
    expect(textOf(page)).not.toContain("differs");
  }
  expect(rowsOf(await show(`/console/tables?q=${name}`))[1]).toContain("1 build running");
});

describe("a table is transferred", () => {
  const path = () => `/console/tables/${name}/transfer`;
  const ownerOf = async () => rowsOf(await show(`/console/tables?q=${name}`))[1]?.split(" ")[1];

  test("to an app that uses it, after its name is typed, in the administrator's name", async () => {
    const { owner, user } = await shareTable();
    const rejected = await submit(path(), { app: user.slug, typed_name: "other" });
    expect([rejected.status, await ownerOf()]).toEqual([422, owner.slug]);
    const done = await submit(path(), { app: user.slug, typed_name: name });
    expectRedirect(done, `/console/tables/${name}?done=transferred`);
    expect(await ownerOf()).toBe(user.slug);
    expect(await listAudit(service.service, 1)).toMatchObject([
      { actor: admin.id, action: "transfer_table", app: user.slug, details: { from: owner.slug } },
    ]);
  });
});

test("ending an app's use deletes its rows, and the table is then dropped", async () => {
  const { owner, user } = await shareTable();
  const end = (app: TestApp) => `/console/apps/${app.slug}/tables/${name}/end`;
  expectPage(await show(end(owner)), 422, "Apps use the table");
  const used = textOf(await show(`/console/tables/${name}/drop`));
  expect(used).toContain("Apps use the table");
  expect(used).not.toContain("rowhouse ");
  expect(textOf(await show(end(user)))).toContain(`all rows of ${user.slug} in ${name}`);
  expect((await submit(end(user), { typed_name: "other" })).status).toBe(422);
  expect((await submit(end(user), { typed_name: name })).status).toBe(303);
  const list = async () => (await service.call(user, `/v1/data/db/${name}`)).status;
  await eventually(async () => (await list()) === 404);
  expect((await submit(end(owner), { typed_name: name })).status).toBe(303);
  expect((await submit(`/console/tables/${name}/drop`, { typed_name: "other" })).status).toBe(422);
  expect((await submit(`/console/tables/${name}/drop`, { typed_name: name })).status).toBe(303);
  expect((await show(`/console/tables/${name}`)).status).toBe(404);
  expect((await listAudit(service.service, 3)).map(({ action, actor }) => [action, actor])).toEqual(
    [
      ["drop_table", admin.id],
      ["end_registration", admin.id],
      ["end_registration", admin.id],
    ],
  );
});

test("an app without tables shows how to push; an unknown app or table is not found", async () => {
  const app = await service.makeApp();
  for (const page of ["tables", "pushes"])
    expect((await show(`/console/apps/${app.slug}/${page}`)).text).toContain("rowhouse db push");
  for (const path of [
    "/console/apps/no-such/tables",
    "/console/apps/no-such/pushes",
    "/console/tables/no_such",
    "/console/tables/no_such/transfer",
    "/console/tables/no_such/drop",
    `/console/apps/${app.slug}/tables/no_such/end`,
  ])
    expect([path, (await show(path)).status]).toEqual([path, 404]);
});
