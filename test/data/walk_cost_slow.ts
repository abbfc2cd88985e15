/** The buffers that walks along each index read in an app of 100,000 rows, and hostile calls, on PostgreSQL 18 and 15. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import postgres from "postgres";
import { readListQuery } from "../../src/data/query/read_list_query.ts";
import { planWalk } from "../../src/data/query/walk.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { toParameters } from "../../src/tables/catalog/mod.ts";
import {
  analyze,
  buffersOf,
  EXPLAIN,
  freezeStatistics,
  MEASURED_SERVERS,
} from "../support/buffers.ts";
import { cases } from "../support/cases.ts";
import { functionOf } from "../support/functions.ts";
import { openOnVersion } from "../support/postgres_versions.ts";
import { proofOf } from "../support/proof.ts";
import { findIn, findTable } from "../support/recorded.ts";
import { type TestApp, type TestService, UNGUARDED } from "../support/service.ts";

const schema = defineSchema({
  projects: t.model({ name: t.string().required() }).index("name"),
  todos: t
    .model({
      title: t.string().required(),
      done: t.boolean().required(),
      due_at: t.timestamp(),
      created_at: t.timestamp().required(),
      email: t.string().unique(),
      subject: t.string().index(),
      project: t.ref("projects"),
    })
    .index("project", "created_at")
    .index("created_at", "id")
    .index("done", "created_at", "id")
    .index("done", "id")
    .index("due_at", "id"),
});
/** The entries of the index, and each row at its place. */
const MAX_BUFFERS = 40;
/** For each row of the page, a search by its id, a search for its related rows, max 6 of them, and 5 by their ids. */
const MAX_RELATED_BUFFERS = 20 * (4 + 4 + 6 + 5 * 4);
const ROWS = 100_000;
const PROJECTS = 1000;
const PART = 10_000;
const SECRET = "of another app";

const cursor = (...parts: (string | null)[]) =>
  Buffer.from(JSON.stringify(parts)).toString("base64url");
const id = (n: number) => `01900000-0000-7000-8000-${String(n).padStart(12, "0")}`;
const time = (n: number) => new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString();

const QUERIES = ["asc", "desc"].flatMap((way) => [
  `order=id.${way}`,
  `order=created_at.${way}`,
  // No row is done: an equality would let PostgreSQL filter all rows of the app.
  `done=eq.true&order=created_at.${way}`,
  `done=eq.true&order=id.${way}`,
  `done=eq.false&order=created_at.${way}`,
  `done=eq.false&created_at=gte.${time(10)}&created_at=lt.${time(15)}&order=created_at.${way}`,
  `order=due_at.${way}`,
  `order=due_at.${way}&due_at=not.is.null`,
  `due_at=is.null&order=id.${way}`,
  `order=subject.${way}`,
  `subject=like.Subject 5*&order=subject.${way}`,
  `order=email.${way}&email=not.is.null`,
  "email=eq.500@example.org",
  `order=created_at.${way}&after=${cursor(`created_at.${way},id.${way}`, time(ROWS / 2), id(ROWS / 2))}`,
  `order=due_at.${way}&after=${cursor(`due_at.${way},id.${way}`, null, id(ROWS / 2))}`,
  `order=subject.${way}&after=${cursor(`subject.${way},id.${way}`, "Subject 500", id(ROWS / 2))}`,
]);

/** Pages with related rows: of their references, and the first 5 of the 100 rows that refer to each row. */
const RELATED = ["asc", "desc"].flatMap((way) => [
  { name: "todos", query: `order=created_at.${way}&select=id,project(id,name)` },
  { name: "todos", query: `done=eq.false&order=created_at.${way}&select=title,project(name)` },
  {
    name: "projects",
    query: `order=name.${way}&select=id,todos(title)&todos.limit=5&todos.order=created_at.${way}`,
  },
]);

describe.each(MEASURED_SERVERS)("on $name with $statistics statistics", ({ isDebian, isStale }) => {
  let service: TestService;
  let app: TestApp;
  beforeAll(async () => {
    service = await openOnVersion(isDebian, { service: { previews: ["filters"], ...UNGUARDED } });
    app = await service.makeApp(schema);
    const other = await service.makeApp(schema);
    for (const { id } of [app, other]) await fillProjects(service, id);
    await fill(service, other.id, { from: 0, rows: 3, title: SECRET });
    if (isStale) await freezeStatistics(service, "todos");
    for (let from = 0; from < ROWS; from += PART)
      await fill(service, app.id, { from, rows: PART, title: "Mine" });
    if (!isStale) await analyze(service, "todos");
  }, 300_000);
  afterAll(() => service.close());

  test.each(QUERIES)("%s reads few buffers", async (query) => {
    const values = planned("todos", query);
    // The first call of a session reads the catalogs.
    await measure({ endpoint: "walk", values });
    expect(await measure({ endpoint: "walk", values })).toBeLessThanOrEqual(MAX_BUFFERS);
  });

  test.each(RELATED)("$name?$query reads few buffers more", async ({ name, query }) => {
    const values = planned(name, query);
    await measure({ endpoint: "walk", values }, name);
    const buffers = await measure({ endpoint: "walk", values }, name);
    expect(buffers).toBeLessThanOrEqual(MAX_BUFFERS + MAX_RELATED_BUFFERS);
  });

  function planned(name: string, query: string) {
    const tables = { appId: app.id, find: findIn(schema) };
    const table = findTable(schema, name);
    const options = { appId: app.id, person: undefined };
    const read = readListQuery(`${query}&limit=20`, table.definition, tables);
    const walk = planWalk(read, table, options);
    if (walk === undefined) throw new Error("No index has these rows in this order");
    return { ...walk, bytes: 8_388_608, known: "", inline: null };
  }

  test.each(cases("name", "values")`
    no limit                       | '', false, '{}', '{}', null, null, '{}', '{1}', ''
    a negative limit               | '', false, '{}', '{}', null, -1, '{}', '{1}', ''
    a large limit                  | '', false, '{}', '{}', null, 100000, '{}', '{1}', ''
    no direction                   | '', null, '{}', '{}', null, 5, '{}', '{1}', ''
    no selection                   | '', false, '{}', '{}', null, 5, null, '{1}', ''
    no order                       | '', false, '{}', '{}', null, 5, '{}', null, ''
    no index                       | null, false, '{}', '{}', null, 5, '{}', '{1}', ''
    another index                  | 'pg_class', false, '{}', '{}', null, 5, '{}', '{1}', ''
    SQL                            | $$' or true --$$, false, '{}', '{}', null, 5, '{}', '{1}', ''
    no id                          | '', false, '{x}', '{y}', null, 5, '{}', '{1}', ''
    no positions                   | '', false, null, null, null, 5, '{}', '{1}', ''
    another function as a relation | '', false, '{"${id(0)}"}', '{"${id(9)}"}', null, 5, '{}', '{1}', E'\\n[{"call":"x_list"}]'
    relations that are not JSON    | '', false, '{"${id(0)}"}', '{"${id(9)}"}', null, 5, '{}', '{1}', E'\\n['
    lists of lists                 | '', false, '{{"${id(1)}"},{"${id(2)}"}}', '{{"${id(1)}"}}', null, 5, '{{1}}', '{{1}}', ''
    unknown columns                | '', false, '{"${id(0)}"}', '{"${id(9)}"}', null, 0, '{99}', '{99,-1}', $$"\\'$$
  `)("a call with $name finds no row of another app", async ({ values }) => {
    const login = postgres(service.database.servingUrl, { max: 1, prepare: false });
    const name = functionOf(schema, "todos", "walk");
    const found = await login
      .unsafe(
        `select api."${name}"('${app.id}', ${proofOf(app.key)}, ${values}, 8388608, '', null) as body`,
      )
      .then(
        ([row]) => String(row?.["body"]),
        (error: { code: string }) => error.code,
      );
    await login.end();
    expect(found).not.toContain(SECRET);
    expect(found).toMatch(/^(42883|RH02[12]|22P02|[0-9a-f]{64}\{"rows":\[\])/);
  });

  async function measure(asked: Parameters<typeof toParameters>[2], of = "todos"): Promise<number> {
    const [, , ...values] = toParameters(
      findTable(schema, of).definition,
      { app: app.id, proof: new Uint8Array() },
      asked,
    );
    const list = values.map((_, position) => `$${position + 2}`).join(", ");
    const name = functionOf(schema, of, "walk");
    const call = `select api."${name}"($1, ${proofOf(app.key)}, ${list})`;
    return buffersOf(await service.query(`${EXPLAIN} ${call}`, [app.id, ...values]));
  }
});

type Filled = { from: number; rows: number; title: string };

async function fill(service: TestService, appId: string, { from, rows, title }: Filled) {
  await service.query(
    `insert into data.todos (app_id, id, title, done, due_at, created_at, email, subject, project)
    select $1::uuid, ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, $4, false,
      case when n % 3 > 0 then timestamptz '2026-01-01Z' + n * interval '1 s' end,
      timestamptz '2026-01-01Z' + n * interval '1 s', n || '@example.org',
      case when n % 10 > 0 then 'Subject ' || n end,
      ('01900000-0000-7000-8000-' || lpad((n % $5::int4)::text, 12, '0'))::uuid
    from generate_series($2::int4, $2::int4 + $3::int4 - 1) n`,
    [appId, from, rows, title, PROJECTS],
  );
}

async function fillProjects(service: TestService, appId: string) {
  await service.query(
    `insert into data.projects (app_id, id, name)
    select $1::uuid, ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'Project ' || n
    from generate_series(0, $2::int4 - 1) n`,
    [appId, PROJECTS],
  );
}
