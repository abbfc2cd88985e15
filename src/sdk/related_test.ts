/** Selections with related rows: their text, their tables, and what is rejected before a request. */
import { describe, expect, test } from "bun:test";
import { casesBy } from "../../test/support/cases.ts";
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

const SENT: Readonly<Record<string, readonly unknown[]>> = {
  "select=id,title": ["id", "title"],
  "select=id,project(id,name)": ["id", { project: ["id", "name"] }],
  "select=project(id)": [{ project: ["id"], parent: undefined }],
  "select=id,todos(title)&todos.limit=10&todos.order=due_at.desc,title.asc": [
    "id",
    { todos: { select: ["title"], limit: 10, orderBy: [{ due_at: "desc" }, { title: "asc" }] } },
  ],
  "select=matches!home(id)&matches.limit=0": [
    { "matches!home": { select: ["id"], limit: 0, orderBy: [] } },
  ],
  "select=projects(name,todos(title))&projects.limit=5&projects.todos.limit=1": [
    { projects: { select: ["name", { todos: { select: ["title"], limit: 1 } }], limit: 5 } },
  ],
};
test.each(Object.entries(SENT))("the selection is sent as %s", (text, select) => {
  expect(toText(select)).toBe(text);
});

test.each(
  casesBy<readonly unknown[]>({
    "Cannot select null": { null: [null] },
    "Cannot select a number": { "a number": [1] },
    'Cannot select "todos"': {
      "a relation without columns": [{ todos: true }],
      "options without a selection": [{ todos: { limit: 1 } }],
    },
    'Cannot use "where" of "todos"': { conditions: [{ todos: { select: [], where: {} } }] },
    'Cannot use "order" of "vendor"': {
      "an unknown option below": [{ project: [{ vendor: { select: [], order: "id" } }] }],
    },
  }),
)("the selection rejects $name", ({ value: select, expected: message }) => {
  expect(() => toText(select)).toThrow(TypeError);
  expect(() => toText(select)).toThrow(message);
});

describe("a watch follows", () => {
  type Followed = [expected: string, select?: readonly unknown[] | undefined, where?: object];
  const FOLLOWED: readonly Followed[] = [
    ["todos"],
    ["todos projects vendors", ["id", { project: ["id", { vendor: ["id"] }] }]],
    [
      "vendors projects todos matches",
      [{ projects: { select: [{ todos: ["id"] }] } }, { "matches!home": ["id"] }],
    ],
    ["projects todos", [{ todos: [{ project: ["id"] }] }]],
    [
      "todos projects vendors",
      undefined,
      { or: [{ title: "x" }, { not: { project: { not: { vendor: { name: "Ann" } } } } }] },
    ],
    [
      "todos projects",
      [{ project: ["id"] }],
      { project: { neq: "x", or: [{ vendor: null }, { name: "House" }] } },
    ],
  ];
  test.each(FOLLOWED.map(([expected, select, where]) => ({ expected, select, where })))(
    "$expected",
    ({ expected, select, where }) => {
      const followed = expected.split(" ");
      expect(listTables(followed[0] ?? "", { select, where }, tables)).toEqual(followed);
    },
  );

  test("an unknown table without a schema, so that it polls", () => {
    expect(listTables("todos", { select: [{ project: ["id"] }] })).toEqual(["todos", undefined]);
    const where = { project: { vendor: { name: "Ann" } } };
    expect(listTables("todos", { where })).toEqual(["todos", undefined]);
  });
});
