/** What later pages and conditions of a person with several alternatives read: as much as the first page, however many rows the table has. */
import { expect, test } from "bun:test";
import { defineSchema, type TableRules, t } from "../../src/schema/mod.ts";
import { measurePage } from "../support/person_costs.ts";
import { openPersonViews, type TestCaller } from "../support/person_views.ts";
import { openTestService, UNGUARDED } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({
  teams: t.model({ name: t.string() }),
  members: t
    .model({ person: t.uuid().required(), team: t.ref("teams").required() })
    .index("person", "team"),
  notes: t
    .model({ owner: t.uuid(), team: t.ref("teams"), isOpen: t.boolean(), title: t.string() })
    .index("owner", "id")
    .index("team", "id"),
});
const rules: Record<string, TableRules> = {
  notes: { allow: { team: { read: [{ owner: "me" }, { team: { memberOf: "members" } }] } } },
};

const ROWS = 30_000;

const callers: Record<string, TestCaller> = {};
const service = await share(
  openTestService({ service: { ...UNGUARDED, previews: ["filters", "live"] } }),
);
const app = await service.makeApp(schema);
const views = await share(
  openPersonViews(service, { app, schema, rules }, ["list", "get", "find", "walk", "find_groups"]),
);
const teams = Array.from({ length: 40 }, () => Bun.randomUUIDv7());
await views.admin`insert into data.teams (app_id, id) select ${app.id}, unnest(${teams}::uuid[])`;
for (const role of ["team"]) {
  const caller = await views.makeCaller(role);
  callers[role] = caller;
  for (const team of teams.slice(0, 3))
    await views.admin`insert into data.members (app_id, id, person, team)
        values (${app.id}, gen_random_uuid(), ${caller.id}, ${team})`;
}
await views.admin`insert into data.notes (app_id, id, owner, team, "isOpen", title)
    select ${app.id}, gen_random_uuid(), case when n % 30 = 0 then ${callers["team"]?.id ?? ""}::uuid else gen_random_uuid() end,
      (${teams}::uuid[])[1 + n / 30 % 40], n % 7 = 0, 'note'
    from generate_series(1, ${ROWS}::int4) as n`;
await views.admin`vacuum analyze data.notes`;
await views.admin`vacuum analyze data.members`;

/** The buffers that a page reads, its rows and its cursor. */
function measure(role: string, text: string) {
  const caller = callers[role];
  if (caller === undefined) throw new Error(role);
  return measurePage(views, { appId: app.id, caller, table: "notes" }, text);
}

/** The buffers of a later page in a session that knows the catalog. */
async function measureLater(role: string, text: string, limit: number): Promise<number> {
  const { next } = await measure(role, text);
  const after = next === null ? "" : `&after=${next}`;
  for (let at = 0; at < 4; at++) await measure(role, text + after);
  const { buffers, rows } = await measure(role, text + after);
  expect(rows).toBe(limit);
  return buffers;
}

test.each([
  // As the first page.
  { text: "limit=20", limit: 20, max: 250 },
  { text: "limit=20&order=id.desc", limit: 20, max: 250 },
  { text: "limit=100", limit: 100, max: 1000 },
  // A condition is compared with the rows that the person sees, about 3,200, each of which can have a page of its own.
  { text: "limit=20&isOpen=eq.true", limit: 20, max: 4000 },
  { text: "limit=100&isOpen=eq.true", limit: 100, max: 4500 },
])("a later page of $text reads at most $max buffers", async ({ text, limit, max }) => {
  expect(await measureLater("team", text, limit)).toBeLessThan(max);
});

test("without a row, a page reads the rows that the person sees", async () => {
  const { buffers, rows, next } = await measure("team", "title=eq.none&limit=20");
  expect([rows, next]).toEqual([0, null]);
  expect(buffers).toBeLessThan(4000);
});
