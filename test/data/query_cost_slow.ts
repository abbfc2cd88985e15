/** The buffers that queries read in a large app, next to apps with the same values, on PostgreSQL 18 and 15. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import {
  analyze,
  freezeStatistics,
  MEASURED_SERVERS,
  measureList,
  planList,
} from "../support/buffers.ts";
import { openOnVersion } from "../support/postgres_versions.ts";
import type { TestApp, TestService } from "../support/service.ts";

const schema = defineSchema({
  projects: { name: t.string().required() },
  todos: t
    .model({
      title: t.string().required(),
      status: t.enum(["open", "done", "lost"]).required(),
      done: t.boolean().required(),
      project: t.ref("projects"),
      due_at: t.timestamp(),
      created_at: t.timestamp().required(),
      position: t.number(),
      external: t.uuid(),
      email: t.string().unique(),
      url: t.string().unique(),
      subject: t.string().index(),
      place: t.string().required(),
      level: t.integer().index(),
      day: t.date().index(),
      stage: t.enum(["new", "old"]),
      number: t.integer().required(),
    })
    .index("stage", "due_at")
    .index("project", "stage", "due_at")
    .unique("stage", "number")
    .index("place", "created_at")
    .index("done", "subject")
    .index("created_at", "id")
    .index("done", "due_at", "id")
    .index("due_at", "id")
    .index("project", "created_at", "id")
    .index("status", "created_at", "id"),
});
const TODOS = { schema, table: "todos" };
const ROWS = 100_000;
const PART = 10_000;
/** Max buffers of a page from an index without rows that no query needs. */
const LEAN = 120;
/** A text that all rows share as their start. */
const SHARED = "https://example.org/a/long/path/that/every/row/has/in/common/with/others/";
const PROJECT = "01900000-0000-7000-9000-000000000003";
/** Max buffers of a page from an index: a few for each row, the key, the tag and the plan. */
const SERVED = 1000;
/**
 * Max buffers if statistics know no row of the app: PostgreSQL then finds all indexes equal, and a condition can be compared with each row
 * of the app.
 */
const MISLED = 16_000;
/** Max buffers of a page of few matching rows among those of an index. */
const VISITED = 120_000;

const id = (n: number) => `01900000-0000-7000-8000-${String(n).padStart(12, "0")}`;
const time = (n: number) =>
  new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString().replace("Z", "+00:00");
const cursor = (...parts: string[]) => Buffer.from(JSON.stringify(parts)).toString("base64url");
const DEEP = ROWS / 2;
const range = (column: string, from: number, to: number) =>
  [`gte.${time(from)}`, `lte.${time(to)}`]
    .map((condition) => `${column}=${encodeURIComponent(condition)}`)
    .join("&");

/** A cursor among the rows without a value. */
const deep = (column: string, way: string) => {
  const direction = way === "" ? "asc" : "desc";
  const described = `${column}.${direction},id.${direction}`;
  return Buffer.from(JSON.stringify([described, null, id(DEEP)])).toString("base64url");
};

const served = (query: string) => ({ query, maxBuffers: SERVED });
const lean = (query: string) => ({ query, maxBuffers: LEAN });
const visiting = (query: string) => ({ query, maxBuffers: VISITED });
const CASES: readonly { query: string; maxBuffers: number; isCounted?: boolean }[] = [
  served("order=id&limit=20"),
  served("order=id.desc&limit=20"),
  served(`after=${cursor("id.asc", id(DEEP))}&limit=20`),
  served("order=created_at.desc&limit=20"),
  served("order=created_at&limit=20"),
  served(
    `order=created_at.desc&limit=20&after=${cursor("created_at.desc,id.desc", time(DEEP), id(DEEP))}`,
  ),
  served(
    `order=created_at&limit=20&after=${cursor("created_at.asc,id.asc", time(DEEP), id(DEEP))}`,
  ),
  served(`created_at=lt.${encodeURIComponent(time(DEEP))}&order=created_at.desc&limit=20`),
  served(
    `created_at=gt.${encodeURIComponent(time(DEEP))}&created_at=lt.${encodeURIComponent(time(DEEP + 30))}&order=created_at&limit=20`,
  ),
  served("done=eq.true&due_at=not.is.null&order=due_at.desc&limit=20"),
  served("done=eq.false&due_at=not.is.null&order=due_at&limit=20"),
  served(
    `done=eq.true&due_at=not.is.null&order=due_at.desc&limit=20&after=${cursor("due_at.desc,id.desc", time(DEEP), id(DEEP))}`,
  ),
  served(`done=eq.true&due_at=gte.${encodeURIComponent(time(DEEP))}&order=due_at&limit=20`),
  served(`done=eq.false&${range("due_at", 1, 30)}&order=due_at&limit=20`),
  served(`done=eq.false&${range("due_at", 1, 30)}&order=due_at`),
  served(`done=eq.false&${range("due_at", 1, 30)}&order=due_at.desc`),
  served(`done=eq.false&${range("due_at", ROWS - 30, ROWS)}&order=due_at.desc`),
  served(`done=eq.false&${range("due_at", 1, 30)}&order=title`),
  served(`done=eq.false&${range("due_at", 1, 30)}&status=eq.lost&order=due_at`),
  served(`done=eq.false&${range("due_at", 1, 30)}&title=like.*9&order=due_at`),
  {
    query: `done=eq.false&${range("due_at", 1, 30)}&order=due_at`,
    isCounted: true,
    maxBuffers: SERVED,
  },
  served(`project=eq.${PROJECT}&${range("created_at", 1, 30)}&order=created_at`),
  served("due_at=not.is.null&order=due_at&limit=20"),
  // The last value before the rows without one.
  ...["due_at", "subject"].flatMap((column) =>
    ["", "&status=eq.open", "&title=like.*9", "&limit=20"].flatMap((more) =>
      [0, 10].map((before) =>
        lean(
          `done=eq.true&${column}=gte.${encodeURIComponent(column === "due_at" ? time(ROWS - before) : `Subject 999${89 - before}`)}&order=${column}${more}`,
        ),
      ),
    ),
  ),
  lean(`done=eq.true&${range("due_at", ROWS + 10, ROWS + 20)}&order=due_at`),
  lean(`done=eq.true&${range("due_at", ROWS - 30, ROWS + 20)}&order=due_at`),
  {
    query: `done=eq.true&${range("due_at", ROWS - 30, ROWS)}&order=due_at`,
    isCounted: true,
    maxBuffers: 2 * LEAN,
  },
  lean(
    `done=eq.true&due_at=not.is.null&order=due_at&after=${cursor("due_at.asc,id.asc", time(ROWS - 10), id(ROWS - 10))}`,
  ),
  ...["eq", "gte"].flatMap((op) =>
    ["due_at.desc", "title"].map((order) =>
      lean(`done=eq.true&due_at=${op}.${encodeURIComponent(time(ROWS))}&order=${order}`),
    ),
  ),
  served(`project=eq.${PROJECT}&order=created_at.desc&limit=20`),
  served(`id=eq.${id(DEEP)}`),
  served(`id=in.(${[1, 2, 3, DEEP].map(id).join(",")})&order=title`),
  lean(`email=eq.${DEEP}@example.org`),
  lean("email=eq.nothing"),
  lean(`url=eq.${SHARED}${DEEP}`),
  lean(`url=eq.${SHARED}nothing`),
  lean(`email=in.(nothing,5@example.org,${DEEP}@example.org)`),
  lean(`url=in.(nothing,${SHARED}5,${SHARED}${DEEP})&order=created_at`),
  lean(`subject=eq.Subject ${DEEP}`),
  ...["", ".desc"].flatMap((way) => [
    served(`order=subject${way}&limit=20`),
    served(`order=email${way}&email=not.is.null&limit=20`),
    served(
      `order=subject${way}&limit=20&after=${cursor(`subject${way === "" ? ".asc" : way},id${way === "" ? ".asc" : way}`, `Subject ${DEEP}`, id(DEEP))}`,
    ),
    served(`subject=is.null&order=id${way}&limit=20`),
    ...["level", "day", "due_at"].flatMap((column) => [
      served(`order=${column}${way}&limit=20`),
      served(`order=${column}${way}&limit=20&after=${deep(column, way)}`),
      served(`${column}=is.null&order=id${way}&limit=20`),
    ]),
    served(`subject=like.Subject 5*&order=subject${way}&limit=20`),
    served(`subject=gte.Subject 5&subject=lt.Subject 6&order=subject${way}&limit=20`),
    served(`done=eq.true&subject=like.Subject 50*&order=subject${way}&limit=20`),
    served(`place=eq.Place 5&order=created_at${way}&limit=20`),
    served(`place=eq.Place 5&${range("created_at", 1, 300)}&order=created_at${way}`),
    visiting(`order=subject${way}&subject=not.is.null&status=eq.lost&limit=20`),
  ]),
  served(`subject=like.Subject 5000*`),
  lean(`level=in.(5,${DEEP})`),
  lean(`day=in.(2026-01-05,2099-01-01)`),
  visiting("status=eq.lost&limit=20"),
  visiting("title=ilike.*nothing*&limit=20"),
  ...["lost", "open"].flatMap((status) =>
    ["", ".desc"].flatMap((way) => [
      served(`status=eq.${status}&order=created_at${way}&limit=20`),
      served(
        `status=eq.${status}&order=created_at${way}&limit=20&after=${cursor(`created_at${way === "" ? ".asc" : way},id${way === "" ? ".asc" : way}`, time(DEEP), id(DEEP))}`,
      ),
      served(
        `status=eq.${status}&${range("created_at", DEEP, DEEP + 300)}&order=created_at${way}&limit=20`,
      ),
      served(`stage=eq.new&order=due_at${way}&limit=20`),
      served(`stage=is.null&order=due_at${way}&limit=20`),
      served(`project=eq.${PROJECT}&stage=eq.old&due_at=not.is.null&order=due_at${way}&limit=20`),
    ]),
  ),
  lean(`stage=eq.old&number=eq.${DEEP}`),
  lean(`number=eq.${DEEP}&stage=eq.new`),
  visiting(
    "project=eq.01900000-0000-7000-9000-000000000003&stage=in.(new,old)&number=lt.900&order=number",
  ),
  visiting("done=eq.true&due_at=not.is.null&status=eq.lost&order=due_at.desc&limit=20"),
  { query: "title=ilike.*nothing*&limit=20", isCounted: true, maxBuffers: 2 * VISITED },
];

/** Queries of all rows. */
const UNSERVED = [
  { query: "title=eq.nothing&order=position" },
  { query: "order=title" },
  { query: "order=position.desc&limit=20" },
];

describe.each(MEASURED_SERVERS)("on $name with $statistics statistics", ({ isDebian, isStale }) => {
  let service: TestService;
  let app: TestApp;
  beforeAll(async () => {
    service = await openOnVersion(isDebian, { service: { previews: ["filters"] } });
    const apps = [
      await service.makeApp(schema),
      await service.makeApp(schema),
      await service.makeApp(schema),
    ];
    if (isStale) {
      await fill(service, apps[0]?.id ?? "", 3, 1_000_000);
      await freezeStatistics(service, "todos");
    }
    for (const [index, { id: appId }] of apps.entries())
      await fill(service, appId, index === 1 ? ROWS : ROWS / 4);
    if (!isStale) await analyze(service, "todos");
    app = apps[1] ?? { id: "", slug: "", key: "" };
  }, 600_000);
  afterAll(() => service.close());

  test.each(CASES)(
    "$query reads max $maxBuffers buffers",
    async ({ query, maxBuffers, isCounted = false }) => {
      const measured = await measureList(service, app, { ...TODOS, query, isCounted });
      expect(measured).toBeLessThan(isStale ? Math.max(maxBuffers, MISLED) : maxBuffers);
    },
  );

  test("a count of a range is exact", async () => {
    const query = `done=eq.false&${range("due_at", 1, 30)}&order=due_at`;
    const headers = { prefer: "count=exact" };
    const { json } = await service.call(app, `/v1/data/db/todos?${query}`, { headers });
    expect(json).toMatchObject({ count: 10, hasMore: false });
  });

  test.each(UNSERVED)("no index serves $query", ({ query }) => {
    expect(planList(app, { ...TODOS, query }).isServed).toBe(false);
  });
});

/** Inserts rows of an app in the order of their times. Every thousandth row is lost, and every third has no due date. */
async function fill(service: TestService, appId: string, rows: number, from = 0): Promise<void> {
  // In parts, because a statement has a time limit.
  for (let start = from; start < from + rows; start += PART)
    await service.query(
      `with inserted as (
      insert into data.projects (app_id, id, name)
      select $1::uuid, ('01900000-0000-7000-9000-' || lpad(n::text, 12, '0'))::uuid, 'p' from generate_series(1, 20) n
      on conflict do nothing returning id)
    insert into data.todos (app_id, id, title, status, done, project, due_at, created_at, position, external, email,
      url, subject, place, level, day, stage, number)
    select $1::uuid, ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'Task ' || n,
      (case when n % 1000 = 0 then 'lost' when n % 3 = 0 then 'done' else 'open' end)::data.todos__status__enum,
      n % 2 = 0, ('01900000-0000-7000-9000-' || lpad((n % 20 + 1)::text, 12, '0'))::uuid,
      case when n % 3 > 0 then timestamptz '2026-01-01Z' + n * interval '1 s' end,
      timestamptz '2026-01-01Z' + n * interval '1 s', n,
      ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, n || '@example.org',
      $4 || n, case when n % 10 > 0 then 'Subject ' || n end, 'Place ' || n % 50,
      case when n % 4 > 0 then n end, case when n % 4 > 0 then date '2026-01-01' + n end,
      (case when n % 10 = 0 then 'new' when n % 10 > 2 then 'old' end)::data.todos__stage__enum, n
    from generate_series($3::int4 + 1, $3::int4 + $2::int4) n`,
      [appId, Math.min(PART, from + rows - start), start, SHARED],
    );
}
