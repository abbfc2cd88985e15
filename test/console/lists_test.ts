/** Lists of the Console as CSV: every row of the list, from several pages, filtered as its page. */
import { expect, test } from "bun:test";
import { consoleRoutes } from "../../src/console/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makePerson, signInAs, visit } from "../support/people.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

/** More than two pages of a CSV. */
const MANY = 1030;
const FORMULA = "=cmd()";

const service = await share(openTestService());
const admin = await makePerson(service, { consoleRole: "super_admin" });
const personId = admin.id;
const jar = await signInAs(service, admin);
const slug = "listed-1-app";
const app = await service.makeApp(defineSchema({ listed: { title: t.string() } }), { slug });
const n = `generate_series(1, ${MANY}) as n`;
await service.service.admin.message(`
    insert into rowhouse.apps (id, slug) select gen_random_uuid(), 'listed-' || n from ${n};
    insert into rowhouse.users (id, email, display_name)
      select gen_random_uuid(), 'listed-' || n || '@example.org', '${FORMULA}' from ${n};
    insert into rowhouse.invitations (user_id, invited_by)
      select id, 'operator' from rowhouse.users where email like 'listed-%';
    insert into rowhouse.grants (app_id, user_id, role)
      select '${app.id}', id, 'member' from rowhouse.users where email like 'listed-%';
    insert into rowhouse.api_keys (key_id, app_id, name, digest, scopes)
      select left(md5('listed' || n), 16), '${app.id}', '${FORMULA}', sha256(('listed' || n)::bytea), '{data:read}' from ${n};
    insert into rowhouse.tables (name, owner_app_id, definition, version) select 'listed_' || n, '${app.id}',
      jsonb_build_object('name', 'listed_' || n, 'columns', '[]'::jsonb, 'indexes', '[]'::jsonb, 'uniques', '[]'::jsonb), 0 from ${n};
    insert into rowhouse.registrations (app_id, table_name, definition, version)
      select '${app.id}', name, definition, 0 from rowhouse.tables where name like 'listed\\_%';
    insert into rowhouse.migrations (app_id, seq, name, parent, checksum, text, sql)
      select '${app.id}', n + 1, '${FORMULA}', n::text, n::text, '', '' from ${n};
    insert into rowhouse.audit (actor, action, app, details)
      select '${FORMULA}', 'sign_in', '${app.slug}', '{}' from ${n};
    insert into rowhouse.sessions (id, user_id, session_digest, identity_digest, secret_id, expires_at)
      select left(md5('listed' || n), 16), '${personId}', sha256(n::text::bytea), sha256(n::text::bytea), 'x', now() + interval '1 hour' from ${n};
    select 1`);

const show = (path: string) => visit(service, jar, path);
const toPath = (template: string) => template.replace(":app", slug).replace(":person", personId);

const LISTS = consoleRoutes.flatMap(({ path }) => (path.endsWith(".csv") ? [{ path }] : []));

test("every list has a CSV", () => expect(LISTS).toHaveLength(11));

test.each(LISTS)("$path has every row once, without formulas", async ({ path: template }) => {
  const path = toPath(template);
  const page = await show(path.replace(/(\/sessions)?\.csv$/, ""));
  expect(page.text).toContain(`href="${path}" download>Download as CSV`);
  const { status, headers, text } = await show(path);
  expect([status, headers.get("content-type")]).toEqual([200, "text/csv; charset=utf-8"]);
  const name = path.replace(/.*\/(\w+)\.csv$/, "$1");
  const file = `rowhouse-${template.includes(":app") ? `${slug}-` : ""}${name}-`;
  expect(headers.get("content-disposition")).toStartWith(`attachment; filename="${file}20`);
  const [head = "", ...rows] = text.trimEnd().split("\r\n");
  expect(head).toMatch(/^[a-z_,]+$/);
  expect(new Set(rows).size).toBe(rows.length);
  const listed = rows.filter((row) => /listed|'=cmd|[0-9a-f]{16}/.test(row));
  expect(listed.length).toBeGreaterThanOrEqual(MANY);
  expect(text).not.toMatch(/(^|,)=cmd/m);
});

test.each([
  ["/console/apps", "listed-77"],
  ["/console/people", "listed-77@"],
  ["/console/invitations", "listed-77@"],
  ["/console/tables", "listed_77"],
  ["/console/apps/:app/people", "listed-77@"],
])("%s.csv?q=… has the rows of its page", async (template, search) => {
  const path = toPath(template);
  const query = `?${new URLSearchParams({ q: search })}`;
  const page = await show(path + query);
  expect(page.text).toContain(`href="${path}.csv${query.replaceAll("&", "&amp;")}" download`);
  const rows = (await show(`${path}.csv${query}`)).text.trimEnd().split("\r\n").slice(1);
  const expected = page.text.match(/<tr><td/g) ?? [];
  expect(rows.length).toBe(expected.length);
  for (const row of rows) expect(row).toContain(search);
});

test("a CSV of an unknown app or person is not found, and of a malformed filter rejected", async () => {
  const owned = LISTS.filter(({ path }) => path.includes(":"));
  expect(owned.length).toBeGreaterThan(5);
  for (const { path } of owned)
    for (const person of [crypto.randomUUID(), "x"]) {
      const unknown = path.replace(":app", "nowhere").replace(":person", person);
      expect([unknown, (await show(unknown)).status]).toEqual([unknown, 404]);
    }
  expect((await show(`/console/apps/${slug}/activity.csv?from=x`)).status).toBe(400);
});

/** The names of the rows of a page, and the address of the next page. */
async function readNames(path: string): Promise<{ names: string[]; next: string | undefined }> {
  const { status, text } = await show(path);
  expect([path, status]).toEqual([path, 200]);
  const names = [...text.matchAll(/<a class="row-name"[^>]*>(?:<bdi>)?([^<]+)/g)];
  const next = /href="([^"]+)">Next page/.exec(text)?.[1]?.replaceAll("&amp;", "&");
  return { names: names.map(([, name = ""]) => name), next };
}

async function readAllNames(path: string): Promise<string[]> {
  const { names, next } = await readNames(path);
  return next === undefined ? names : [...names, ...(await readAllNames(next))];
}

test("a sorted list has every row once, in the order of the column, over all its pages", async () => {
  // 143 of the apps: three pages.
  const list = "/console/apps?q=listed-1";
  const names = await readAllNames(list);
  expect(names.length).toBeGreaterThan(100);
  expect(await readAllNames(`${list}&sort=-slug`)).toEqual(names.toReversed());
  // Apps with equal numbers keep the order of the list.
  const others = names.filter((name) => name !== slug);
  expect(await readAllNames(`${list}&sort=-keys`)).toEqual([slug, ...others]);
  expect(await readAllNames(`${list}&sort=keys`)).toEqual([...others, slug]);
});

test.each([
  // Without a value comes last, in both orders.
  { path: "/console/people?sort=lastSeenAt", name: "person-" },
  { path: "/console/people?sort=-lastSeenAt", name: "person-" },
  { path: "/console/people?sort=-consoleRole", name: "person-" },
  { path: "/console/tables?sort=-name", name: "listed_999" },
  { path: "/console/tables?sort=-columns", name: "listed" },
  { path: "/console/apps/:app/tables?sort=-columns", name: "listed" },
])("$path begins with $name", async ({ path, name }) => {
  expect((await readNames(toPath(path))).names[0]).toStartWith(name);
});

test("keys are sorted by name", async () => {
  const read = async (query: string) => {
    const { text } = await show(toPath(`/console/apps/:app/keys${query}`));
    return /<td[^>]*data-label="Name">(?:<[^>]+>)*([^<]+)/.exec(text)?.[1];
  };
  expect([await read("?sort=name"), await read("?sort=-name")]).toEqual([FORMULA, "test"]);
});

test("a heading links to the other order, and an unknown column has no effect", async () => {
  const read = async (path: string) =>
    [
      ...(await show(path)).text.matchAll(
        /<th[^>]*?( aria-sort="\w+")?><a class="sort" href="([^"]+)"/g,
      ),
    ]
      .map(([, order = "", href = ""]) => href + order)
      .slice(0, 3);
  const plain = ['/console/apps?sort=-slug aria-sort="ascending"', "/console/apps?sort=origin"];
  expect(await read("/console/apps")).toEqual([...plain, "/console/apps?sort=tables"]);
  for (const sort of ["createdAt", "--slug", "'; select 1"])
    expect(await read(`/console/apps?${new URLSearchParams({ sort })}`)).toEqual([
      ...plain,
      "/console/apps?sort=tables",
    ]);
  expect(await read("/console/apps?sort=tables&q=a")).toEqual([
    "/console/apps?q=a",
    "/console/apps?q=a&amp;sort=origin",
    '/console/apps?q=a&amp;sort=-tables aria-sort="ascending"',
  ]);
});

test("a list of more than 5,000 rows says that only the first are sorted", async () => {
  const text = "only its first 5,000 rows are sorted";
  expect((await show("/console/apps?sort=-slug")).text).not.toContain(text);
  await service.service.admin.message(`
    insert into rowhouse.apps (id, slug) select gen_random_uuid(), 'more-' || n from generate_series(1, 4000) as n;
    select 1`);
  expect((await show("/console/apps?sort=-slug")).text).toContain(text);
  expect((await show("/console/apps")).text).not.toContain(text);
});
