/** Selections with related rows: their text, their tables, and what is rejected before a request. */
import { describe, expect, test } from "bun:test";
import { defineSchema, t } from "../schema/mod.ts";
import { toQueryParameters } from "./query_text.ts";
import { listTables } from "./related.ts";

const { tables } = defineSchema({
  vendors: { name: t.string() },
  projects: t.model({ name: t.string(), vendor: t.ref("vendors") }).index("vendor", "name"),
  todos: { title: t.string(), project: t.ref("projects"), due_at: t.timestamp() },
  matches: { home: t.ref("vendors"), away: t.ref("vendors") },
});

const toText = (select: readonly unknown[]) =>
  decodeURIComponent(`${new URLSearchParams(toQueryParameters({ select }))}`);

test.each([
  { select: ["id", "title"], text: "select=id,title" },
  { select: ["id", { project: ["id", "name"] }], text: "select=id,project(id,name)" },
  { select: [{ project: ["id"], parent: undefined }], text: "select=project(id)" },
  {
    select: [
      "id",
      { todos: { select: ["title"], limit: 10, orderBy: [{ due_at: "desc" }, { title: "asc" }] } },
    ],
    text: "select=id,todos(title)&todos.limit=10&todos.order=due_at.desc,title.asc",
  },
  {
    select: [{ "matches!home": { select: ["id"], limit: 0, orderBy: [] } }],
    text: "select=matches!home(id)&matches.limit=0",
  },
  {
    select: [
      { projects: { select: ["name", { todos: { select: ["title"], limit: 1 } }], limit: 5 } },
    ],
    text: "select=projects(name,todos(title))&projects.limit=5&projects.todos.limit=1",
  },
])("the selection is sent as $text", ({ select, text }) => {
  expect(toText(select)).toBe(text);
});

test.each<{ name: string; select: readonly unknown[]; message: string }>([
  { name: "null", select: [null], message: "Cannot select null" },
  { name: "a number", select: [1], message: "Cannot select a number" },
  {
    name: "a relation without columns",
    select: [{ todos: true }],
    message: 'Cannot select "todos"',
  },
  {
    name: "options without a selection",
    select: [{ todos: { limit: 1 } }],
    message: 'Cannot select "todos"',
  },
  {
    name: "conditions",
    select: [{ todos: { select: [], where: {} } }],
    message: 'Cannot use "where" of "todos"',
  },
  {
    name: "an unknown option below",
    select: [{ project: [{ vendor: { select: [], order: "id" } }] }],
    message: 'Cannot use "order" of "vendor"',
  },
])("the selection rejects $name", ({ select, message }) => {
  expect(() => toText(select)).toThrow(TypeError);
  expect(() => toText(select)).toThrow(message);
});

describe("a watch follows", () => {
  test.each<{
    table: string;
    select?: readonly unknown[] | undefined;
    where?: object;
    expected: string[];
  }>([
    { table: "todos", select: undefined, expected: ["todos"] },
    {
      table: "todos",
      select: ["id", { project: ["id", { vendor: ["id"] }] }],
      expected: ["todos", "projects", "vendors"],
    },
    {
      table: "vendors",
      select: [{ projects: { select: [{ todos: ["id"] }] } }, { "matches!home": ["id"] }],
      expected: ["vendors", "projects", "todos", "matches"],
    },
    {
      table: "projects",
      select: [{ todos: [{ project: ["id"] }] }],
      expected: ["projects", "todos"],
    },
    {
      table: "todos",
      where: { or: [{ title: "x" }, { not: { project: { not: { vendor: { name: "Ann" } } } } }] },
      expected: ["todos", "projects", "vendors"],
    },
    {
      table: "todos",
      select: [{ project: ["id"] }],
      where: { project: { neq: "x", or: [{ vendor: null }, { name: "House" }] } },
      expected: ["todos", "projects"],
    },
  ])("$expected", ({ table, select, where, expected }) => {
    expect(listTables(table, { select, where }, tables)).toEqual(expected);
  });

  test("an unknown table without a schema, so that it polls", () => {
    expect(listTables("todos", { select: [{ project: ["id"] }] })).toEqual(["todos", undefined]);
    const where = { project: { vendor: { name: "Ann" } } };
    expect(listTables("todos", { where })).toEqual(["todos", undefined]);
  });
});
