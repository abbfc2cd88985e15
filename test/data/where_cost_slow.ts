/**
 * The buffers that updates and deletes with conditions read and write in an app of 100,000 rows, on PostgreSQL 18 and 15, with
 * current statistics, and with statistics and plans of the empty table.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import postgres from "postgres";
import { planFind } from "../../src/data/query/find_plan.ts";
import { readWriteQuery, toList } from "../../src/data/write_where.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import {
  analyze,
  buffersOf,
  EXPLAIN,
  freezeStatistics,
  MEASURED_SERVERS,
} from "../support/buffers.ts";
import { renderCall } from "../support/functions.ts";
import { openOnVersion } from "../support/postgres_versions.ts";
import { proofOf } from "../support/proof.ts";
import { findTable } from "../support/recorded.ts";
import { type TestApp, type TestService, UNGUARDED } from "../support/service.ts";

const schema = defineSchema({
  todos: t.model({
    title: t.string().required().index(),
    rank: t.integer().required().index(),
    state: t.enum(["new", "old", "rare"]).required().index(),
    tag: t.string().unique(),
    amount: t.decimal().index(),
    parent: t.ref("todos", { onDelete: "set null" }),
    note: t.string().index(),
    changed_at: t.timestamp().default("now").onUpdate("now"),
  }),
  comments: { todo: t.ref("todos", { onDelete: "cascade" }) },
});
const ROWS = 100_000;
const PART = 5000;
const OTHER_APPS = 2;
const PREFIX = "01900000-0000-7000-8000-";
const id = (n: number) => `${PREFIX}${String(n).padStart(12, "0")}`;

const WRITES = ["update_found", "delete_found"] as const;
type Endpoint = (typeof WRITES)[number];

/** Conditions, and how many rows they find. No two find the same rows, because the deletes remain. */
const CASES = [
  { query: "tag=eq.tag 5000", count: 1 },
  { query: `id=in.(${[1, 2, 60_000, 99_000].map(id).join(",")})`, count: 4 },
  { query: "rank=gte.10000&rank=lt.10100", count: 100 },
  { query: "rank=gte.11000&rank=lt.14000&title=like.*77", count: 30 },
  { query: "title=like.Title 2000*", count: 11 },
  { query: "amount=gte.7500.25&amount=lt.7525.25", count: 100 },
  { query: "state=eq.rare&limit=20", count: 20 },
  { query: `parent=eq.${id(40_000)}`, count: 100 },
  { query: "parent.tag=eq.tag 41000", count: 100 },
  { query: "all=true&limit=100", count: 100 },
  { query: "rank=gte.300&limit=50", count: 50 },
];
/** What a call reads besides its rows: the key, its plan, the system's tables, the referenced rows. */
const CALL_BUFFERS = 300;
/** What it reads more if statistics know no row of the app: PostgreSQL can then compare a condition with each. */
const MISLED = 6000;
/** Max buffers of a row: it is found, locked, compared again and written, with an entry in each index, and its comments deleted. */
const ROW_BUFFERS = 60;

describe.each(MEASURED_SERVERS)("on $name with $statistics statistics", ({ isDebian, isStale }) => {
  let service: TestService;
  let app: TestApp;
  const table = findTable(schema, "todos");
  let login: postgres.Sql;
  beforeAll(async () => {
    service = await openOnVersion(isDebian, { service: { previews: ["filters"], ...UNGUARDED } });
    app = await service.makeApp(schema);
    if (isStale) await freezeStatistics(service, "todos", "comments");
    // A session that plans while the table is empty.
    login = postgres(service.database.servingUrl, { max: 1, prepare: false });
    for (const name of WRITES) await measure(name, "rank=eq.-1");
    await fill(service, app.id, ROWS);
    for (let n = 0; n < OTHER_APPS; n++)
      await fill(service, (await service.makeApp(schema)).id, ROWS / 10);
    if (!isStale) await analyze(service, "todos", "comments");
    // A session reads the system's tables once, for a row and for several.
    await measure("update_found", "rank=gte.20000&rank=lt.20002");
  }, 600_000);
  afterAll(async () => {
    await login?.end();
    await service?.close();
  });

  const toCall = (endpoint: Endpoint, query: string, isDry: boolean) => {
    const tables = {
      appId: app.id,
      find: (name: string) => (name === "todos" ? table : undefined),
    };
    const asked = readWriteQuery(query, table.definition, tables);
    const isPart = asked.limit !== undefined;
    const limit = asked.limit ?? 1000;
    const planned = planFind(toList(asked, limit), table, { appId: app.id, person: undefined });
    const list = `{${planned.values.map((value) => JSON.stringify(value)).join(",")}}`;
    const rest = endpoint === "update_found" ? `$7, 8388608, null` : "null";
    return {
      text: `select ${renderCall(schema, "todos", endpoint, {
        ...{ app: "$1", proof: proofOf(app.key) },
        values: `$2, $3::text::text[], $4, $5, $6, ${rest}`,
      })} as body`,
      values: [
        ...[app.id, planned.plan, list, limit, isPart, isDry],
        ...(endpoint === "update_found" ? [JSON.stringify({ note: "written" })] : []),
      ],
    };
  };

  async function countRows(endpoint: Endpoint, query: string): Promise<number> {
    const { text, values } = toCall(endpoint, query, true);
    const [row] = await login.unsafe(text, values);
    return JSON.parse(row?.["body"]).count;
  }

  async function measure(endpoint: Endpoint, query: string): Promise<number> {
    const { text, values } = toCall(endpoint, query, false);
    return buffersOf(await login.unsafe(`${EXPLAIN} ${text}`, values));
  }

  test.each(CASES)("$query writes $count rows and reads few buffers", async ({ query, count }) => {
    expect(await countRows("update_found", query)).toBe(count);
    const updated = await measure("update_found", query);
    expect(await countRows("delete_found", query)).toBe(count);
    const deleted = await measure("delete_found", query);
    if (!query.includes("limit=")) expect(await countRows("delete_found", query)).toBe(0);
    const most = CALL_BUFFERS + ROW_BUFFERS * count + (isStale ? MISLED : 0);
    for (const buffers of [updated, deleted]) expect(buffers).toBeLessThan(most);
  });
});

/** Inserts rows, each with a comment. Row 40,000 is the parent of 100 rows, and row 41,000 of 100 others. */
async function fill(service: TestService, appId: string, rows: number): Promise<void> {
  // In parts, because a statement has a time limit.
  for (let start = 1; start <= rows; start += PART)
    await service.query(
      `with inserted as (insert into data.todos (app_id, id, title, rank, state, tag, amount, parent)
        select $1, ($4 || lpad(n::text, 12, '0'))::uuid, 'Title ' || n, n,
          (case when n % 1000 = 0 then 'rare' when n % 2 = 0 then 'new' else 'old' end)::data.todos__state__enum,
          'tag ' || n, n / 4.0,
          case when n between 50000 and 50099 then ($4 || lpad('40000', 12, '0'))::uuid
            when n between 50100 and 50199 then ($4 || lpad('41000', 12, '0'))::uuid end
        from generate_series($2::int4, $3::int4) as s (n) returning id)
      insert into data.comments (app_id, id, todo) select $1, gen_random_uuid(), id from inserted`,
      [appId, start, start + PART - 1, PREFIX],
    );
}
