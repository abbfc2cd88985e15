/** The buffers that groups and counts read in a large app, next to apps with the same values, on PostgreSQL 18 and 15. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { AppTables } from "../../src/data/query/filter.ts";
import { planFind } from "../../src/data/query/find_plan.ts";
import { planGroups, readGroupQuery } from "../../src/data/query/group_query.ts";
import { readListQuery } from "../../src/data/query/read_list_query.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { MAX_COUNTED } from "../../src/std/limits.ts";
import { analyze, freezeStatistics, MEASURED_SERVERS, measureBuffers } from "../support/buffers.ts";
import { openOnVersion } from "../support/postgres_versions.ts";
import { findIn, findTable } from "../support/recorded.ts";
import type { TestApp, TestService } from "../support/service.ts";

const schema = defineSchema({
  projects: { name: t.string().unique() },
  todos: t
    .model({
      title: t.string().required(),
      status: t.enum(["open", "done", "lost"]).required(),
      stage: t.enum(["new", "old"]),
      done: t.boolean().required(),
      project: t.ref("projects"),
      due_at: t.timestamp(),
      email: t.string().unique(),
      subject: t.string().index(),
      level: t.integer().index(),
      price: t.number().index(),
      amount: t.decimal().index(),
    })
    .index("status", "due_at")
    .index("stage", "level")
    .index("done", "due_at", "id")
    .index("done", "subject")
    .index("due_at", "id"),
});
const ROWS = 60_000;
const PART = 10_000;
const TIMEOUT_MS = 600_000;
/** Buffers of the proof of the key, the plan and the search of an index. */
const BASE = 120;
/** For each row: its entry in the index, which can be on another page, and the row. */
const BUFFERS_A_ROW = 3.2;

const id = (n: number) => `01900000-0000-7000-8000-${String(n).padStart(12, "0")}`;
const PROJECT = "01900000-0000-7000-9000-000000000003";
const time = (n: number) =>
  encodeURIComponent(
    new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString().replace("Z", "+00:00"),
  );

/** Conditions, and the most rows that match. */
const CONDITIONS = [
  { where: "", rows: ROWS },
  { where: "title=ilike.*nothing*", rows: ROWS },
  { where: "status=neq.open", rows: ROWS },
  { where: "status=eq.lost", rows: ROWS / 1000 },
  { where: "status=eq.done", rows: ROWS / 3 },
  { where: "stage=eq.new", rows: ROWS / 10 },
  { where: "stage=is.null", rows: ROWS / 5 },
  { where: "stage=eq.new&level=lt.100", rows: 100 },
  { where: "stage=in.(new,old)&level=lt.100", rows: 100 },
  { where: "done=eq.true", rows: ROWS / 2 },
  { where: `project=eq.${PROJECT}`, rows: ROWS / 20 },
  { where: `project=in.(${PROJECT})`, rows: ROWS / 20 },
  { where: "project.name=eq.p 3", rows: ROWS / 20 + 20 },
  ...["done=eq.true&", "done=eq.false&", ""].flatMap((before) => [
    { where: `${before}due_at=gte.${time(ROWS)}`, rows: 10 },
    { where: `${before}due_at=gt.${time(ROWS + 10)}`, rows: 10 },
    { where: `${before}due_at=gte.${time(ROWS - 30)}`, rows: 40 },
    { where: `${before}due_at=gte.${time(1)}&due_at=lte.${time(30)}`, rows: 40 },
    { where: `${before}due_at=gte.${time(30)}&due_at=lte.${time(1)}`, rows: 10 },
    { where: `${before}due_at=lt.${time(30)}&status=eq.lost`, rows: 40 },
  ]),
  { where: "due_at=is.null", rows: ROWS / 3 },
  { where: `status=eq.lost&due_at=gte.${time(ROWS / 2)}`, rows: ROWS / 2000 },
  { where: "email=eq.500@example.org", rows: 1 },
  { where: "email=in.(nothing,5@example.org,500@example.org)", rows: 3 },
  { where: "subject=eq.Subject 500", rows: 1 },
  { where: "subject=like.Subject 500*", rows: 120 },
  { where: "done=eq.true&subject=like.Subject 500*", rows: 60 },
  { where: "done=eq.true&subject=gte.Subject 9999", rows: 10 },
  { where: "subject=gte.Subject 5&subject=lt.Subject 51", rows: ROWS / 50 },
  { where: "subject=is.null", rows: ROWS / 10 },
  { where: `id=in.(${[1, 2, 3, ROWS / 2].map(id).join(",")})`, rows: 4 },
  { where: `id=gt.${id(ROWS - 10)}`, rows: 10 },
  ...["level", "price", "amount"].flatMap((column) => [
    { where: `${column}=eq.${ROWS / 2 + 1}`, rows: 1 },
    { where: `${column}=in.(5,${ROWS / 2 + 1})`, rows: 2 },
    { where: `${column}=gte.100&${column}=lt.200`, rows: 100 },
    { where: `${column}=gte.${ROWS - 10}`, rows: 20 },
    { where: `${column}=is.null`, rows: ROWS / 4 },
  ]),
];

const GROUPS = [
  "",
  "by=status",
  "by=project,stage&sum=price,amount&avg=level&min=due_at&max=due_at",
  "by=title",
];

describe.each(MEASURED_SERVERS)("on $name with $statistics statistics", ({ isDebian, isStale }) => {
  let service: TestService;
  let app: TestApp;
  const table = findTable(schema, "todos");

  beforeAll(async () => {
    service = await openOnVersion(isDebian, { service: { previews: ["filters"] } });
    app = await service.makeApp(schema);
    if (isStale) {
      await fill(app.id, 3, 1_000_000);
      await freezeStatistics(service, "todos");
    }
    for (const other of [await service.makeApp(schema), await service.makeApp(schema)])
      await fill(other.id, ROWS / 4);
    await fill(app.id, ROWS);
    if (!isStale) await analyze(service, "todos");
  }, TIMEOUT_MS);
  afterAll(() => service.close());

  const toTables = (): AppTables => ({ appId: app.id, find: findIn(schema) });
  const toOptions = () => ({ appId: app.id, person: undefined });

  /** Inserts rows of an app in the order of their times. Every third row has no due date. */
  async function fill(appId: string, rows: number, from = 0): Promise<void> {
    // In parts, because a statement has a time limit.
    for (let start = from; start < from + rows; start += PART)
      await service.query(
        `with inserted as (
        insert into data.projects (app_id, id, name)
        select $1::uuid, ('01900000-0000-7000-9000-' || lpad(n::text, 12, '0'))::uuid, 'p ' || n from generate_series(1, 20) n
        on conflict do nothing)
        insert into data.todos (app_id, id, title, status, stage, done, project, due_at, email, subject, level, price, amount)
        select $1::uuid, ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'Task ' || n % 500,
          (case when n % 1000 = 0 then 'lost' when n % 3 = 0 then 'done' else 'open' end)::data.todos__status__enum,
          (case when n % 10 = 0 then 'new' when n % 10 > 2 then 'old' end)::data.todos__stage__enum,
          n % 2 = 0, ('01900000-0000-7000-9000-' || lpad((n % 20 + 1)::text, 12, '0'))::uuid,
          case when n % 3 > 0 then timestamptz '2026-01-01Z' + n * interval '1 s' end,
          n || '@example.org', case when n % 10 > 0 then 'Subject ' || n end,
          case when n % 4 > 0 then n end, case when n % 4 > 0 then n end, case when n % 4 > 0 then n end
        from generate_series($3::int4 + 1, $3::int4 + $2::int4) n`,
        [appId, Math.min(PART, from + rows - start), start],
      );
  }

  async function measure(planned: Parameters<typeof measureBuffers>[2]): Promise<number> {
    // The first call of a session reads the catalogs.
    await measureBuffers(service, app, planned);
    return await measureBuffers(service, app, planned);
  }

  // By statistics of other values, a search can seem to find all rows of the app: then a scan of these is as cheap.
  const toMost = (rows: number) => BASE + BUFFERS_A_ROW * (isStale ? ROWS : rows);

  test.each(CONDITIONS)("groups with $where read max $rows rows", async ({ where, rows }) => {
    for (const groups of GROUPS) {
      const query = readGroupQuery(`${where}&${groups}`, table.definition, toTables());
      const planned = planGroups(query, table, toOptions());
      const found = await measure({ schema, table: "todos", endpoint: "find_groups", ...planned });
      expect([groups, found < toMost(rows) || found]).toEqual([groups, true]);
    }
  });

  test.each(CONDITIONS)("a count with $where reads max $rows rows", async ({ where, rows }) => {
    const query = readListQuery(`${where}&limit=1`, table.definition, toTables());
    const [counted = 0, paged = 0] = await Promise.all(
      [true, false].map((isCounted) => {
        const options = { ...toOptions(), counted: isCounted ? MAX_COUNTED : undefined };
        return measure({ schema, table: "todos", ...planFind(query, table, options) });
      }),
    );
    expect(counted - paged).toBeLessThan(toMost(rows));
  });
});
