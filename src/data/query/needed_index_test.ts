/** Which declaration the error of a slow query names, and that it serves the query: without a database. */
import { expect, test } from "bun:test";
import { cases } from "../../../test/support/cases.ts";
import { findTable } from "../../../test/support/recorded.ts";
import { defineSchema, t } from "../../schema/mod.ts";
import { indexesOf, type RecordedTable } from "../../tables/catalog/mod.ts";
import { planFind } from "./find_plan.ts";
import { findUse } from "./index_use.ts";
import { describeTime, explainNeededIndex, explainWrite } from "./needed_index.ts";
import { readListQuery } from "./read_list_query.ts";

const schema = defineSchema({
  projects: { name: t.string().required(), size: t.integer().index() },
  todos: t
    .model({
      title: t.string().required(),
      note: t.string(),
      status: t.enum(["open", "done"]).required(),
      rank: t.integer(),
      due_at: t.timestamp(),
      created_at: t.timestamp().required(),
      amount: t.decimal(),
      meta: t.json(),
      code: t.string().unique(),
      project: t.ref("projects"),
    })
    .index("status", "created_at")
    .index("due_at"),
});
const TABLE = findTable(schema, "todos");
const READER = { appId: "01900000-0000-7000-8000-000000000001", person: undefined };

const readOf = (query: string, table: RecordedTable = TABLE) =>
  readListQuery(query, table.definition, {
    appId: READER.appId,
    find: (name) => findTable(schema, name),
  });

/** The table with one more index. */
function withIndex(columns: readonly string[]): RecordedTable {
  const { definition } = TABLE;
  const more = { ...definition, indexes: [...definition.indexes, columns] };
  return { ...TABLE, definition: more, whole: more };
}

test.each(cases("query", "declared", "served")`
  order=rank                                    | rank                | true
  order=rank.desc                               | rank                | true
  order=title,note                              | title, note         | true
  order=title.desc,note.desc                    | title               | false
  order=title,created_at.desc                   | title               | false
  order=note,created_at                         | note, created_at    | true
  order=amount                                  | amount              | true
  rank=eq.5                                     | rank                | true
  rank=gte.5&rank=lt.9&order=rank.desc          | rank                | true
  note=is.null                                  | note                | true
  note=is.null&amount=is.null&order=rank.desc   | note, amount, rank  | true
  note=is.null&order=rank                       | note, rank          | true
  note=like.ab*                                 | note                | false
  note=like.ab*&order=note.desc                 | note                | true
  note=like.*ab                                 | nothing             | false
  note=ilike.ab*                                | nothing             | false
  note=in.(a,b)                                 | note                | false
  note=in.(a,b)&order=rank                      | note                | false
  rank=neq.5                                    | nothing             | false
  or=(rank.eq.5,note.eq.a)                      | nothing             | false
  rank=eq.5&note=eq.a                           | rank, note          | true
  rank=eq.5&note=ilike.*a*                      | rank                | false
  rank=eq.5&order=title                         | rank, title         | true
  status=eq.open&order=title                    | status, title       | true
  status=eq.open&note=eq.a&order=created_at     | status, note, created_at | true
  meta=is.null&order=title                      | title               | false
  project.size=eq.5&order=title                 | title               | false
  project=not.is.null&order=title               | title               | false
  order=title&offset=500                        | title               | true
`)("the error of ?$query names $declared", ({ query, declared, served }) => {
  const asked = readOf(query);
  expect(findUse(asked, TABLE, READER).isServed).toBe(false);
  const message = explainNeededIndex(asked, TABLE, {
    ...READER,
    reason: describeTime(TABLE, 1000),
  });
  const [, list] = /declare \.index\((.*?)\)/.exec(message) ?? [];
  const columns: string[] = list === undefined ? [] : JSON.parse(`[${list}]`);
  expect(columns.join(", ") || "nothing").toBe(String(declared));
  const after = findUse(asked, withIndex(columns), READER);
  expect(`${columns.length > 0 && after.isServed}`).toBe(`${served}`);
  if (columns.length > 0) expect(after.hasIndex).toBe(true);
});

test.each([
  "",
  "order=id.desc",
  "id=eq.01900000-0000-7000-8000-000000000001",
  "id=in.(01900000-0000-7000-8000-000000000001)&note=like.*a*&order=title",
  "status=eq.open&order=created_at.desc",
  "status=eq.open&created_at=gte.2026-01-01T00:00:00Z&order=created_at",
  "code=eq.x&note=ilike.*a*&order=title",
  "due_at=is.null",
  "order=due_at.desc",
  "project=eq.01900000-0000-7000-8000-000000000001",
  "select=title,project(name)&order=due_at",
])("?%s is served", (query) => {
  expect(findUse(readOf(query), TABLE, READER).isServed).toBe(true);
});

test.each(cases("query", "has")`
  note=ilike.*a*                       | false
  note=ilike.*a*&order=id.desc         | false
  note=ilike.*a*&order=rank            | false
  note=ilike.*a*&order=due_at          | true
  note=ilike.*a*&due_at=is.null        | true
  rank=eq.5&order=status.desc          | true
  id=gte.01900000-0000-7000-8000-000000000001&note=ilike.*a* | true
`)("?$query: an index has its order or narrows its rows: $has", ({ query, has }) => {
  expect(`${findUse(readOf(query), TABLE, READER).hasIndex}`).toBe(`${has}`);
});

test("an index that has only another app's rows serves nothing", () => {
  const { whole, definition } = withIndex(["rank"]);
  const name = indexesOf(whole).find(({ columns }) => columns[0] === "rank")?.name ?? "";
  const isServed = (appId: string) => {
    const deferred = { indexes: { [name]: appId } };
    const table = { ...TABLE, definition, whole: { ...whole, deferred } } as RecordedTable;
    return findUse(readOf("order=rank"), table, READER).isServed;
  };
  const other = "01900000-0000-7000-8000-000000000002";
  expect([isServed(READER.appId), isServed(other)]).toEqual([true, false]);
  // PostgreSQL needs the id of the app for such an index.
  const planOf = (appId: string) => {
    const table = {
      ...TABLE,
      definition,
      whole: { ...whole, deferred: { columns: [], indexes: { [name]: READER.appId } } },
    };
    return planFind(readOf("order=rank"), table, { ...READER, appId }).plan.includes(
      '"isOwn":true',
    );
  };
  expect([planOf(READER.appId), planOf(other)]).toEqual([true, false]);
});

test("children are served by an index of their reference and order", () => {
  const project = findTable(schema, "projects");
  const use = (order: string) =>
    findUse(readOf(`select=name,todos(title)&todos.order=${order}`, project), project, READER);
  expect([use("id").isServed, use("title").isServed]).toEqual([true, false]);
});

test("the error of a write names what finds its rows", () => {
  const { where } = readOf("rank=eq.5");
  const message = explainWrite(where, TABLE, { ...READER, reason: describeTime(TABLE, 1000) });
  expect(message).toContain('declare .index("rank") on todos');
});
