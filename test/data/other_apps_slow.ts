/** What another app's many rows, and statistics of them, change in the responses of an app: nothing. On PostgreSQL 18 and 15. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { openOnVersion, POSTGRES_VERSIONS } from "../support/postgres_versions.ts";
import type { TestApp, TestService } from "../support/service.ts";

const schema = defineSchema({
  projects: { name: t.string().required() },
  todos: t
    .model({
      title: t.string().required(),
      tag: t.string().unique(),
      status: t.enum(["open", "done", "lost"]).required(),
      project: t.ref("projects"),
      due_at: t.timestamp(),
      price: t.decimal().index(),
      size: t.number().index(),
    })
    .index("title")
    .index("status", "due_at")
    .index("project", "due_at"),
});
/** More than a sort visits, and fewer than a count does. */
const ROWS = 12_000;
/** More than a count visits. */
const OTHER_ROWS = 200_000;
const PART = 20_000;
const TIMEOUT_MS = 600_000;

const QUERIES = [
  "limit=5",
  "limit=5&offset=100",
  ...["title", "status,due_at", "size", "price", "due_at"].flatMap((order) =>
    ["asc", "desc"].map((way) => `order=${order}.${way}&limit=5`),
  ),
  "tag=eq.tag 77",
  "title=like.Title 1*&order=title&limit=5",
  "title=ilike.*nothing*&limit=5",
  "price=gte.10.5&price=lt.11&order=price&limit=5",
  "status=eq.lost&order=due_at.desc&limit=5",
  "status=neq.open&limit=5",
  "due_at=is.null&limit=5",
  "select=id,title,project(name)&limit=5",
];
const GROUPS = [
  "",
  "by=status&sum=price,size&avg=price&min=due_at&max=size",
  "by=status,project",
  "by=title",
  "by=title&status=eq.lost",
  "status=eq.lost&by=project",
  "title=like.Title 11*&by=title",
];
const PATHS = [
  ...QUERIES.flatMap((query) =>
    [undefined, "exact", "estimated"].map((count) => ({ path: `todos?${query}`, count })),
  ),
  ...GROUPS.map((query) => ({ path: `todos/groups?${query}`, count: undefined })),
  {
    path: "projects?select=id,todos(title)&todos.limit=2&todos.order=due_at&limit=5",
    count: undefined,
  },
];

describe.each(POSTGRES_VERSIONS)("on $name", ({ isDebian }) => {
  let service: TestService;
  let app: TestApp;
  let other: TestApp;
  beforeAll(async () => {
    service = await openOnVersion(isDebian, { service: { previews: ["filters"] } });
    app = await service.makeApp(schema);
    other = await service.makeApp(schema);
    await fill(app, ROWS);
  }, TIMEOUT_MS);
  afterAll(() => service.close());

  async function fill({ id }: TestApp, rows: number, from = 0): Promise<void> {
    const options = { retry: "unsafe", queue: SERVICE_QUEUE } as const;
    for (let start = from; start < from + rows; start += PART)
      await service.service.admin.query(
        `with inserted as (
        insert into data.projects (app_id, id, name)
        select $1::uuid, ('01900000-0000-7000-9000-' || lpad(n::text, 12, '0'))::uuid, 'p' from generate_series(0, 9) n
        on conflict do nothing)
        insert into data.todos (app_id, id, title, tag, status, project, due_at, price, size)
        select $1::uuid, ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'Title ' || n % 3000, 'tag ' || n,
          (case when n % 100 = 0 then 'lost' when n % 3 = 0 then 'done' else 'open' end)::data.todos__status__enum,
          ('01900000-0000-7000-9000-' || lpad((n % 10)::text, 12, '0'))::uuid,
          case when n % 4 > 0 then timestamptz '2026-01-01Z' + n * interval '1 s' end, n % 999 + 0.25, n % 777
        from generate_series($3::int4 + 1, $3::int4 + $2::int4) n`,
        [id, Math.min(PART, from + rows - start), start],
        options,
      );
  }

  /** Every status, body and tag, without the request's own id. */
  async function read(): Promise<string[]> {
    const found: string[] = [];
    for (const { path, count } of PATHS) {
      const headers = count === undefined ? {} : { headers: { prefer: `count=${count}` } };
      const response = await service.call(app, `/v1/data/db/${path}`, headers);
      const body = response.text.replaceAll(/"requestId":"[^"]+"/g, "");
      found.push([path, count, response.status, response.headers.get("etag"), body].join(" "));
    }
    return found;
  }

  test(
    "many rows of another app change no byte of a list, count or group",
    async () => {
      const before = await read();
      // A list of all rows in an order, exact counts, groups, and too many groups.
      expect(before.filter((text) => text.includes(`"count":${ROWS}`)).length).toBeGreaterThan(10);
      expect(before.some((text) => text.includes("too_many_groups"))).toBe(true);
      await service.service.admin.message("analyze data.todos; select 1");
      expect(await read()).toEqual(before);
      await fill(other, OTHER_ROWS);
      expect(await read()).toEqual(before);
      await service.service.admin.message("analyze data.todos; select 1");
      expect(await read()).toEqual(before);
      const large = await service.call(other, "/v1/data/db/todos?limit=1", {
        headers: { prefer: "count=estimated" },
      });
      expect(large.json).toMatchObject({ count: null });
      const grouped = await service.call(other, "/v1/data/db/todos/groups?by=status");
      const { groups } = grouped.json as { groups: { count: number }[] };
      expect(groups.reduce((sum, group) => sum + group.count, 0)).toBe(OTHER_ROWS);
    },
    TIMEOUT_MS,
  );

  test(
    "a count of 100,000 rows is exact, and of one more null; groups have all rows",
    async () => {
      const user = await service.makeApp(schema);
      const count = async () => {
        const headers = { prefer: "count=exact" };
        const list = await service.call(user, "/v1/data/db/todos?limit=1", { headers });
        const { json, text } = await service.call(user, "/v1/data/db/todos/groups?by=status");
        const { groups, error = text } = json as { groups?: { count: number }[]; error?: string };
        const sum = groups?.reduce((total, group) => total + group.count, 0);
        return [(list.json as { count: number | null }).count, sum ?? error];
      };
      const found: unknown[] = [];
      await fill(user, 99_999);
      for (const n of [99_999, 100_000, 100_001]) {
        found.push(await count());
        await fill(user, 1, n);
      }
      expect(found).toEqual([
        [99_999, 99_999],
        [100_000, 100_000],
        [null, 100_001],
      ]);
    },
    TIMEOUT_MS,
  );
});
