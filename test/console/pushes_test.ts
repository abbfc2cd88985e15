/** The Console's pages of pushes: the history, and one push with its statements and what it changed. */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { rowsOf, textOf } from "../support/page_text.ts";
import { makePerson, signInAs, visit } from "../support/people.ts";
import { freshName, postSchema, readMigrations } from "../support/push.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService());
const jar = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));

const show = (path: string) => visit(service, jar, path);

test("the history is newest first, describes each push, and is paged", async () => {
  const [one, two] = [freshName(), freshName()];
  const app = await service.makeApp(defineSchema({ [one]: { title: t.string() } }));
  await service.pushSchema(
    app,
    defineSchema({ [one]: { title: t.string(), more: t.json() }, [two]: { n: t.number() } }),
  );
  const path = `/console/apps/${app.slug}/pushes`;
  const [, second = "", first = ""] = rowsOf(await show(path));
  expect(second).toStartWith("0002 ");
  expect(second).toContain(`add column ${one}.more`);
  expect(second).toContain(`create table ${two}`);
  expect(second).toContain("just now an operator");
  expect(first).toStartWith(`0001 create table ${one}`);
  const [migration] = await readMigrations(service, app);
  expect(first).toEndWith(migration?.checksum.slice("sha256:".length, 19) ?? "none");
  await service.service.admin.message(`insert into rowhouse.migrations (app_id, seq, name, parent, checksum, text, sql)
    select '${app.id}', n, 'x', 'p' || n, 'sha256:' || n, '', '' from generate_series(3, 55) as n; select 1`);
  const page = await show(path);
  expect(rowsOf(page)[1]).toStartWith("0055 x");
  const older = /href="([^"]+)">Older/.exec(page.text)?.[1] ?? "";
  expect(
    rowsOf(await show(older))
      .map((row) => row.slice(0, 4))
      .slice(1),
  ).toEqual(["0005", "0004", "0003", "0002", "0001"]);
});

test("a push is listed with its key", async () => {
  const app = await service.makeApp();
  await postSchema(service, app, defineSchema({ [freshName()]: { title: t.string() } }));
  const path = `/console/apps/${app.slug}/pushes`;
  expect(rowsOf(await show(path))[1]).toContain("just now test ");
  expect(textOf(await show(`${path}/1`))).toContain(`By test ${app.key.slice(3, 19)}`);
});

test("a push has its statements and its differences from the previous push, by table", async () => {
  const [one, two] = [freshName(), freshName()];
  const app = await service.makeApp(
    defineSchema({
      [one]: { title: t.string(), kind: t.enum(["a"]), old: t.string() },
      [two]: { n: t.number() },
    }),
  );
  await service.pushSchema(
    app,
    defineSchema({
      [one]: t
        .model({ title: t.string(), kind: t.enum(["a", "b"]), size: t.number().index() })
        .index("title", "kind"),
    }),
  );
  const path = `/console/apps/${app.slug}/pushes`;
  const page = await show(`${path}/2`);
  const [, migration] = await readMigrations(service, app);
  expect(page.text).toContain(migration?.checksum ?? "none");
  for (const statement of migration?.sql.split("\n") ?? ["none"])
    expect(page.text).toContain(statement.replaceAll('"', "&quot;").replaceAll("'", "&#39;"));
  const text = textOf(page);
  for (const line of [
    `${one} changed ~ changed: kind enum (a) kind enum (a, b)`,
    "+ added: size number index",
    "+ added: index (title, kind)",
    "− removed: old string",
    `${two} no longer declared`,
  ])
    expect(text).toContain(line);
  expect(text).not.toContain("added: title string");
  const [, whole = ""] = /<pre tabindex="0"><code>(.*?)<\/code>/s.exec(page.text) ?? [];
  expect(whole.replace(/<[^>]+>/g, "").split("\n")).toEqual([
    "  title string",
    "− kind enum (a)",
    "+ kind enum (a, b)",
    "+ size number index",
    "+ index (title, kind)",
    "− old string",
    "",
  ]);
  expect(textOf(await show(`${path}/1`))).toContain(`${one} new + added: title string`);
  for (const seq of ["0", "3", "x", "99999999999"])
    expect(await show(`${path}/${seq}`)).toMatchObject({
      status: 404,
      text: expect.stringContaining("The app has no push with this number"),
    });
});

test("a deferred build is listed on its push's page until it ends", async () => {
  const name = freshName();
  const app = await service.makeApp(defineSchema({ [name]: { title: t.string() } }));
  await service.service.admin.message(`insert into rowhouse.deferred_steps (app_id, table_name, kind, name, columns, state, issue, attempts, created_at)
    select app_id, '${name}', 'reference', '${name}__x__fkey', '["x"]', 'failed', 'existing rows violate it', 2, applied_at
    from rowhouse.migrations where app_id = '${app.id}'; select 1`);
  expect(textOf(await show(`/console/apps/${app.slug}/pushes/1`))).toMatch(
    new RegExp(
      `Reference from ${name} \\( x \\) Could not be built: existing rows violate it · pushed just now · attempt 2`,
    ),
  );
});

test("names in a push are escaped, and do not stretch the page", async () => {
  const name = freshName();
  const hostile = `</code></pre><script>alert(1)</script>\u202e"'&${"x".repeat(300)}`;
  const app = await service.makeApp(
    defineSchema({
      [name]: { title: t.string().default(hostile), kind: t.enum(["<b>x</b>", "\u202ea"]) },
    }),
  );
  for (const path of [
    `/console/tables/${name}`,
    `/console/tables?q=${name}`,
    `/console/apps/${app.slug}/tables`,
    `/console/apps/${app.slug}/pushes`,
    `/console/apps/${app.slug}/pushes/1`,
  ]) {
    const page = await show(path);
    expect(page.status).toBe(200);
    expect(page.text).not.toMatch(/<script>alert|<b>x/);
    expect(page.headers.get("content-security-policy")).not.toContain("unsafe-inline");
  }
  expect((await show(`/console/tables/${name}`)).text).not.toContain("x".repeat(200));
});
