/** The buffers of lists with related rows at growing sizes, on PostgreSQL 18 and 15, with plans from an almost empty table. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import postgres from "postgres";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { buffersOf, EXPLAIN, freezeStatistics, measureList } from "../support/buffers.ts";
import { openOnVersion, POSTGRES_VERSIONS } from "../support/postgres_versions.ts";
import type { TestApp, TestService } from "../support/service.ts";

const schema = defineSchema({
  vendors: { name: t.string().required() },
  projects: t.model({ name: t.string().required(), vendor: t.ref("vendors") }).index("name"),
  todos: t
    .model({
      title: t.string().required(),
      done: t.boolean().required(),
      project: t.ref("projects"),
      due_at: t.timestamp(),
    })
    // Indexes that a plan for a comparison by "=" could prefer.
    .index("due_at")
    .index("done", "due_at")
    .index("title")
    .index("project", "due_at")
    .index("project", "title"),
});
const SIZES = [1000, 10_000, 100_000] as const;
/** Children of each project. */
const CHILDREN = 100;
const PART = 10_000;

/** Lists, and how many related rows or lists they find, with how many rows. */
const CASES = [
  { table: "todos", query: "select=title&order=due_at.desc&due_at=not.is.null&limit=20" },
  { table: "todos", query: "select=title,project(name)&order=title&limit=20", related: 20 },
  {
    table: "todos",
    query: "select=title,project(name,vendor(name))&order=title.desc&limit=20",
    related: 40,
  },
  ...["", ".desc"].flatMap((way) =>
    ["id", "due_at", "title"].map((key) => ({
      table: "projects",
      query: `select=name,todos(title)&todos.limit=10&todos.order=${key}${way}&limit=10`,
      related: 10,
      rows: 100,
    })),
  ),
  {
    table: "vendors",
    query:
      "select=name,projects(name,todos(title))&projects.limit=4&projects.todos.limit=5&limit=5",
    related: 5 + 20,
    rows: 20 + 100,
  },
  {
    table: "todos",
    query:
      "select=project(todos(title))&project.todos.limit=3&project.todos.order=due_at.desc&limit=10",
    related: 20,
    rows: 30,
  },
];

describe.each(POSTGRES_VERSIONS)("on $name with old statistics", ({ isDebian }) => {
  let service: TestService;
  const apps: TestApp[] = [];
  beforeAll(async () => {
    service = await openOnVersion(isDebian, { service: { previews: ["filters"] } });
    apps.length = 0;
    for (const _ of SIZES) apps.push(await service.makeApp(schema));
    await fill(service, apps[0]?.id ?? "", 3, 0);
    await freezeStatistics(service, "vendors", "projects", "todos");
    for (const [index, size] of SIZES.entries())
      for (let from = index === 0 ? 3 : 0; from < size; from += PART)
        await fill(service, apps[index]?.id ?? "", Math.min(size, from + PART) - from, from);
  }, 600_000);
  afterAll(() => service.close());

  test.each(CASES)("$table?$query reads few buffers", async ({ table, query, ...cost }) => {
    const { related = 0, rows = 0 } = { related: 0, rows: 0, ...cost };
    const found: number[] = [];
    for (const app of apps) found.push(await measureList(service, app, { schema, table, query }));
    // A page of the query function, a search of an index for each related row or list, and its rows, each by its id.
    expect(Math.max(...found)).toBeLessThan(200 + 6 * related + 4 * rows);
    // A level of an index more for each search. The smallest app has fewer related rows.
    expect(Math.max(...found.slice(1)) - Math.min(...found.slice(1))).toBeLessThan(20 + related);
  });

  test("the check of a delete finds the rows of a reference by its index", async () => {
    const sql = postgres(service.database.superuserUrl, { max: 1, prepare: false });
    const found: number[] = [];
    // As PostgreSQL checks a reference.
    for (const app of apps) {
      const check = `select 1 from only data.todos x
        where '${app.id}' = app_id and '${MISSING}' = project for key share of x`;
      found.push(buffersOf(await sql.unsafe(`${EXPLAIN} ${check}`)));
    }
    await sql.end();
    expect(Math.max(...found)).toBeLessThan(8);
  });
});

const MISSING = "01900000-0000-7000-8002-999999999999";

async function fill(service: TestService, appId: string, rows: number, from: number) {
  await service.query(
    `with vendors as (
      insert into data.vendors (app_id, id, name)
      select $1::uuid, ('01900000-0000-7000-8001-' || lpad(n::text, 12, '0'))::uuid, 'v' || n
      from generate_series($2::int4 / 1000, ($2 + $3::int4) / 1000) n on conflict do nothing),
    projects as (
      insert into data.projects (app_id, id, name, vendor)
      select $1, ('01900000-0000-7000-8002-' || lpad(n::text, 12, '0'))::uuid, 'p' || n,
        ('01900000-0000-7000-8001-' || lpad((n / 10)::text, 12, '0'))::uuid
      from generate_series($2 / ${CHILDREN}, ($2 + $3) / ${CHILDREN}) n on conflict do nothing)
    insert into data.todos (app_id, id, title, done, project, due_at)
    select $1, ('01900000-0000-7000-8003-' || lpad(n::text, 12, '0'))::uuid, 'Task ' || n, n % 2 = 0,
      ('01900000-0000-7000-8002-' || lpad((n / ${CHILDREN})::text, 12, '0'))::uuid,
      case when n % 3 > 0 then timestamptz '2026-01-01Z' + n * interval '1 s' end
    from generate_series($2::int4, $2 + $3 - 1) n`,
    [appId, from, rows],
  );
}
