/**
 * The buffers of lists with conditions on referenced rows at growing sizes, on PostgreSQL 18 and 15, with current statistics and
 * with those of an almost empty table.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { analyze, freezeStatistics, MEASURED_SERVERS, measureList } from "../support/buffers.ts";
import { openOnVersion } from "../support/postgres_versions.ts";
import type { TestApp, TestService } from "../support/service.ts";

const schema = defineSchema({
  vendors: { name: t.string().required() },
  projects: t
    .model({ name: t.string().required(), vendor: t.ref("vendors"), part: t.integer().required() })
    .index("name")
    .index("part"),
  todos: t
    .model({
      title: t.string().required(),
      done: t.boolean().required(),
      project: t.ref("projects"),
      due_at: t.timestamp(),
    })
    // Indexes that a plan could prefer.
    .index("due_at")
    .index("done", "due_at")
    .index("title")
    .index("project", "due_at"),
});
const TODOS = { schema, table: "todos" };
const TABLES = ["vendors", "projects", "todos"];
/** Todos of each app: 10 of each project, and 10 projects of each vendor. */
const SIZES = [1000, 50_000] as const;
const PART = 5000;
const id = (table: number, n: number) =>
  `01900000-0000-7000-800${table}-${String(n).padStart(12, "0")}`;
/** With a few referenced rows the size of the table does not matter. */
const FEW = [
  `project.vendor=eq.${id(1, 3)}`,
  `project.vendor=eq.${id(1, 3)}&order=due_at.desc&limit=20`,
  `project.vendor=eq.${id(1, 3)}&done=eq.true&order=title&limit=20`,
  `project.vendor=eq.${id(1, 9_999)}`,
  "project.name=in.(p1,p5,p7)&order=title.desc&limit=20",
  "project.name=like.p99*&limit=20",
  "project.vendor.name=eq.v3&order=due_at&limit=20",
  `project.vendor=eq.${id(1, 3)}&project.part=gte.0&title=like.Task 3*`,
];
/** With many, the ids are a hashed set. */
const MANY = [
  "project.part=lt.4000&order=due_at.desc&limit=20",
  "project.part=lt.4000&limit=20",
  "project.part=gte.100&project.part=lt.4100&done=eq.true&order=due_at&limit=20",
  "or=(project.part.lt.300,title.eq.Task 7)&order=title&limit=20",
];
/** PostgreSQL 15 searches an index anew for each id of a set. */
const MANY_BUFFERS = { newer: 1500, older: 10_000 };

describe.each(MEASURED_SERVERS)("on $name with $statistics statistics", ({ isDebian, isStale }) => {
  let service: TestService;
  const apps: TestApp[] = [];
  beforeAll(async () => {
    service = await openOnVersion(isDebian, { service: { previews: ["filters"] } });
    apps.length = 0;
    for (const _ of SIZES) apps.push(await service.makeApp(schema));
    await fill(service, apps[0]?.id ?? "", 3);
    await freezeStatistics(service, ...TABLES);
    for (const [index, size] of SIZES.entries())
      for (let from = 0; from < size; from += PART)
        await fill(service, apps[index]?.id ?? "", Math.min(size, from + PART), from);
    if (!isStale) await analyze(service, ...TABLES);
  }, 600_000);
  afterAll(() => service.close());

  test.each(FEW)("%s reads few buffers", async (query) => {
    const found: number[] = [];
    for (const app of apps) found.push(await measureList(service, app, { ...TODOS, query }));
    // A page by id, and two searches of an index for each of the referenced rows, at most 111. If statistics know no row of the app,
    // PostgreSQL can compare a condition with each.
    expect(Math.max(...found)).toBeLessThan(isStale ? 10_000 : 1200);
    if (isStale) return;
    expect((found[1] ?? 0) - (found[0] ?? 0)).toBeLessThan(query.includes("p99*") ? 1000 : 100);
  });

  test.each(MANY)("%s reads few rows of its index", async (query) => {
    const [, app] = apps;
    if (app === undefined) throw new Error("There is no app");
    expect(await measureList(service, app, { ...TODOS, query })).toBeLessThan(
      MANY_BUFFERS[isDebian ? "older" : "newer"],
    );
  });
});

/** The rows with these numbers: the todos up to `rows`, and what they refer to. */
async function fill(service: TestService, appId: string, rows: number, from = 0) {
  const idOf = (table: number, n: string) =>
    `('01900000-0000-7000-800${table}-' || lpad((${n})::text, 12, '0'))::uuid`;
  await service.query(
    `with vendors as (
      insert into data.vendors (app_id, id, name)
      select $1::uuid, ${idOf(1, "n")}, 'v' || n from generate_series($3::int4 / 100, $2::int4 / 100) n
      on conflict do nothing),
    projects as (
      insert into data.projects (app_id, id, name, vendor, part)
      select $1, ${idOf(2, "n")}, 'p' || n, ${idOf(1, "n / 10")}, n
      from generate_series($3 / 10, $2 / 10) n on conflict do nothing)
    insert into data.todos (app_id, id, title, done, project, due_at)
    select $1, ${idOf(3, "n")}, 'Task ' || n, n % 2 = 0, ${idOf(2, "n / 10")},
      case when n % 3 > 0 then timestamptz '2026-01-01Z' + n * interval '1 s' end
    from generate_series($3, $2 - 1) n on conflict do nothing`,
    [appId, rows, from],
  );
}
