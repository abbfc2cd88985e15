/** Lists of the Console as CSV: every row of the list, from several pages, filtered as its page. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { consoleRoutes } from "../../src/console/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { type Jar, makePerson, signInAs, visit } from "../support/people.ts";
import { openTestService, type TestService } from "../support/service.ts";

/** More than two pages of a CSV. */
const MANY = 1030;
const FORMULA = "=cmd()";

let service: TestService;
let jar: Jar;
let personId: string;
let slug: string;
beforeAll(async () => {
  service = await openTestService();
  const admin = await makePerson(service, { consoleRole: "super_admin" });
  personId = admin.id;
  jar = await signInAs(service, admin);
  const app = await service.makeApp(defineSchema({ listed: { title: t.string() } }));
  slug = app.slug;
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
}, 60_000);
afterAll(() => service.close());

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
