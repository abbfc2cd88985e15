/**
 * The plans of statements that find rows, as PostgreSQL makes them for `rowhouse_reader`: an app beside larger ones, before any
 * statistics and with them. An index has the rows in their order, and no others are read.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import postgres from "postgres";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { planList } from "../support/buffers.ts";
import { setOf } from "../support/functions.ts";
import { openTestService, type TestApp, UNGUARDED } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({
  projects: { name: t.string().required() },
  todos: t
    .model({
      title: t.string().required().index(),
      code: t.string().unique(),
      status: t.enum(["open", "done", "lost"]).required(),
      stage: t.enum(["new", "old"]),
      due_at: t.timestamp().index(),
      created_at: t.timestamp().required().index(),
      rank: t.integer().index(),
      price: t.number().index(),
      amount: t.decimal().index(),
      project: t.ref("projects"),
      note: t.string(),
      subject: t.string().index(),
      done: t.boolean().required(),
      url: t.string().index(),
    })
    .index("done", "due_at")
    .index("status", "created_at")
    .index("status", "due_at")
    .index("stage", "created_at")
    .index("project", "created_at")
    .index("note", "rank"),
});
const ROWS = 20_000;
const OTHERS = 50_000;
const LIMIT = 20;
const LONG = "https://example.org/a/long/path/that/each/row/has/in/common/with/others/";
const DEEP = ROWS / 2;
const id = (n: number) => `01900000-0000-7000-8000-${String(n).padStart(12, "0")}`;
const time = (n: number) => new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString();
const cursor = (order: string, ...values: (string | null)[]) =>
  `after=${Buffer.from(JSON.stringify([order, ...values, id(DEEP)])).toString("base64url")}`;

const named = (query: string) => ({ name: decodeCursor(query), query });
const decodeCursor = (query: string) =>
  query.replace(/after=([\w-]+)/, (_, text) => `after=${Buffer.from(text, "base64url")}`);

/** Pages that one index has, or two for the rows with and without a value. */
const ORDERED = [
  "order=id",
  "order=id.desc",
  cursor("id.asc"),
  ...["", ".desc"].flatMap((way) => {
    const to = way === "" ? ".asc" : way;
    return [
      `status=eq.open&order=created_at${way}`,
      `status=eq.lost&order=created_at${way}`,
      `status=eq.open&order=due_at${way}`,
      `status=eq.open&due_at=gte.${time(DEEP)}&order=due_at${way}`,
      `done=eq.false&due_at=not.is.null&order=due_at${way}`,
      `done=eq.false&due_at=gte.${time(1)}&due_at=lte.${time(30)}&order=due_at${way}`,
      `done=eq.true&order=due_at${way}`,
      `stage=eq.new&order=created_at${way}`,
      `stage=is.null&order=created_at${way}`,
      `project=eq.${id(3)}&order=created_at${way}`,
      `order=title${way}`,
      `title=gte.Title 5&title=lt.Title 6&order=title${way}`,
      `title=like.Title 10*&order=title${way}`,
      `order=created_at${way}&${cursor(`created_at${to},id${to}`, time(DEEP))}`,
      `order=title${way}&${cursor(`title${to},id${to}`, `Title ${DEEP}`)}`,
      `status=eq.open&order=created_at${way}&${cursor(`created_at${to},id${to}`, time(DEEP))}`,
      `note=is.null&order=rank${way}&rank=not.is.null`,
      `code=not.is.null&order=code${way}`,
      `order=subject${way}`,
      `order=subject${way}&${cursor(`subject${to},id${to}`, null)}`,
      `subject=is.null&order=id${way}`,
      ...["due_at", "rank", "price", "amount"].flatMap((column) => {
        const value = column === "due_at" ? time(DEEP) : `${DEEP}`;
        return [
          `order=${column}${way}`,
          `${column}=gte.${value}&order=${column}${way}`,
          `${column}=lt.${value}&order=${column}${way}`,
          `order=${column}${way}&${cursor(`${column}${to},id${to}`, value)}`,
          `order=${column}${way}&${cursor(`${column}${to},id${to}`, null)}`,
          `${column}=is.null&order=id${way}`,
        ];
      }),
    ];
  }),
].map(named);

/** Conditions that few rows meet: PostgreSQL can sort them. */
const NARROW = [
  "code=eq.c500",
  `code=eq.${"x".repeat(70)}`,
  "code=in.(c5,c500)&order=title",
  // Many texts begin as these do.
  `url=in.(${LONG}5,${LONG}500,nothing)&order=created_at`,
  `url=eq.${LONG}500&order=created_at`,
  "title=eq.Title 500",
  "title=in.(Title 5,Title 500)&order=due_at.desc,rank",
  "title=like.Title 1999*",
  "rank=eq.500&order=title",
  `amount=gte.${DEEP}&amount=lt.${DEEP + 9}`,
  `status=eq.open&created_at=gte.${time(DEEP)}&created_at=lt.${time(DEEP + 9)}&order=note.desc,id`,
  `id=in.(${[1, 500, DEEP].map(id).join(",")})&order=due_at`,
].map(named);

const service = await share(openTestService({ service: { previews: ["filters"], ...UNGUARDED } }));
let app: TestApp;
let reader: postgres.Sql;

beforeAll(async () => {
  app = await service.makeApp(schema);
  await service.service.admin.message(
    "alter table data.todos set (autovacuum_enabled = off); select 1",
  );
  reader = postgres(service.database.superuserUrl, { max: 1, onnotice: () => undefined });
  await fill((await service.makeApp(schema)).id, 3);
  await reader.unsafe("analyze data.todos");
  for (let n = 0; n < 2; n++) await fill((await service.makeApp(schema)).id, OTHERS / 2);
  await fill(app.id, ROWS);
});
afterAll(() => reader?.end());

/** Every third row has no due date, rank, price, amount and note, and every thousandth is lost. */
async function fill(appId: string, rows: number): Promise<void> {
  await service.query(
    `with inserted as (insert into data.projects (app_id, id, name)
      select $1::uuid, ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'p' from generate_series(0, 49) n)
    insert into data.todos (app_id, id, title, code, status, stage, due_at, created_at, rank, price, amount, project, note, subject, done, url)
    select $1::uuid, ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'Title ' || n, case when n % 3 > 0 or n = 500 then 'c' || n end,
      (case when n % 1000 = 0 then 'lost' when n % 5 = 0 then 'done' else 'open' end)::data.todos__status__enum,
      (case when n % 4 = 0 then 'new' when n % 4 = 1 then 'old' end)::data.todos__stage__enum,
      case when n % 3 > 0 then timestamptz '2026-01-01Z' + n * interval '1 s' end,
      timestamptz '2026-01-01Z' + n * interval '1 s',
      case when n % 3 > 0 then n end, case when n % 3 > 0 then n end, case when n % 3 > 0 then n end,
      ('01900000-0000-7000-8000-' || lpad((n % 50)::text, 12, '0'))::uuid, case when n % 7 > 0 then 'Note' end,
      case when n % 3 > 0 then 'Subject ' || n end, n % 2 = 0, $3 || n
    from generate_series(1, $2::int4) n`,
    [appId, rows, LONG],
  );
}

type Node = {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly Node[];
};

/** The nodes of the plan of the statement that the function of lists sends for a query. */
async function explain(query: string): Promise<Node[]> {
  const { plan, values } = planList(app, { schema, table: "todos", query });
  const [found] = await reader`select prosrc as source from pg_proc where proname = 'enter_set'`;
  const source: string = found?.["source"];
  const settings = [...source.matchAll(/set_config\('(\w+)', '([\w]+)', true\)/g)];
  expect(settings.length).toBe(5);
  const [row] = await reader`select rowhouse.find_statement(
    rowhouse.read_terms(${setOf(schema, "todos")}, 1::int2), null, ${plan}::text::jsonb, false) as text`;
  return await reader.begin(async (session) => {
    for (const [, name = "", value = ""] of settings)
      await session`select set_config(${name}, ${value}, true)`;
    await session`set local role rowhouse_reader`;
    if (JSON.parse(plan).isOrdered === true) await session`set local enable_sort = off`;
    // "execute" plans with the values, whatever the setting.
    await session`set local plan_cache_mode = force_custom_plan`;
    await session.unsafe(`prepare found (uuid, uuid, text[], int4, uuid[]) as ${row?.["text"]}`);
    const list = values.map((value) => `'${value.replaceAll("'", "''")}'`).join(", ");
    const given = `'${app.id}', null, array[${list}]::text[], ${LIMIT + 1}, null`;
    const [explained] = await session.unsafe(
      `explain (analyze, timing off, format json) execute found (${given})`,
    );
    await session`deallocate found`;
    const [{ Plan: root }] = explained?.["QUERY PLAN"] ?? [{}];
    return listNodes(root);
  });
}

function listNodes(node: Node): Node[] {
  return [node, ...(node.Plans ?? []).flatMap(listNodes)];
}

/** The rows that scans of tables and indexes read. */
function countRead(nodes: readonly Node[]): number {
  return nodes
    .filter((node) => node["Index Name"] ?? node["Relation Name"])
    .reduce((sum, node) => {
      const { "Actual Rows": rows, "Rows Removed by Filter": removed = 0 } = node;
      return sum + node["Actual Loops"] * (rows + removed);
    }, 0);
}

const OLD = "with statistics of few other rows";
const STATISTICS = {
  [OLD]: "select 1",
  "before any statistics": "delete from pg_statistic where starelid = 'data.todos'::regclass",
  "with statistics": "analyze data.todos, data.projects",
};

describe.each(Object.entries(STATISTICS))("%s", (when, change) => {
  beforeAll(async () => {
    await reader.unsafe(change);
  });

  test.each(ORDERED)("an index has the order of $name", async ({ query }) => {
    const nodes = await explain(query);
    const sorts = nodes.map((node) => node["Node Type"]).filter((type) => /^Sort|Seq/.test(type));
    const read = countRead(nodes);
    // Of two indexes with the order, old statistics can prefer that without a condition on the reference.
    const most = 2 * (LIMIT + 1) * (when === OLD && query.startsWith("project=") ? 50 : 1);
    expect({ sorts, read, isFew: read <= most }).toEqual({
      sorts: [],
      read,
      isFew: true,
    });
  });

  test.each(NARROW)("an index narrows $name", async ({ query }) => {
    const nodes = await explain(query);
    const scans = nodes.map((node) => node["Node Type"]).filter((type) => /Seq/.test(type));
    const read = countRead(nodes);
    const isFew = read < 100 || when !== "with statistics";
    expect({ scans, read, isFew }).toEqual({ scans: [], read, isFew: true });
  });
});
