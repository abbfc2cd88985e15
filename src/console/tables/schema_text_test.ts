import { describe, expect, test } from "bun:test";
import type { NamedColumn } from "../../schema/mod.ts";
import { addToSchema, diffLines, renderColumnLines, renderTableLines } from "./schema_text.ts";

const plain = { required: false, unique: false, index: false } as const;
const NOTE: NamedColumn = { ...plain, name: "note", kind: "string" };
const COLUMN = renderColumnLines(NOTE);
const TABLE = renderTableLines("notes", [NOTE]);
const wrap = (tables: string) =>
  `import { defineSchema, t } from "rowhouse/schema";\nexport default defineSchema(${tables});\n`;

test("a column is its builder with all parts", () => {
  expect([
    ...renderColumnLines({ ...NOTE, required: true, unique: true, index: true }),
    ...renderColumnLines({ ...NOTE, kind: "enum", values: ["a", 'b"'], default: "a" }),
    ...renderColumnLines({ ...NOTE, kind: "ref", table: "todos", onDelete: "set null" }),
    ...renderColumnLines({ ...NOTE, kind: "timestamp", default: "now", onUpdate: "now" }),
  ]).toEqual([
    "note: t.string().required().unique().index(),",
    'note: t.enum(["a", "b\\""]).default("a"),',
    'note: t.ref("todos", { onDelete: "set null" }),',
    'note: t.timestamp().default("now").onUpdate("now"),',
  ]);
});

describe("a table or a column is added to the end", () => {
  test.each([
    {
      name: "of tables",
      before: "{\n  todos: { a: t.string() },\n}",
      table: undefined,
      after: "{\n  todos: { a: t.string() },\n  notes: {\n    note: t.string(),\n  },\n}",
    },
    {
      name: "of tables without a last comma",
      before: "{\n  todos: { a: t.string() } // the last }\n}",
      table: undefined,
      after:
        "{\n  todos: { a: t.string() }, // the last }\n  notes: {\n    note: t.string(),\n  },\n}",
    },
    {
      name: "of no tables",
      before: "{}",
      table: undefined,
      after: "{\n  notes: {\n    note: t.string(),\n  },\n}",
    },
    {
      name: "of a model, with its indentation",
      before:
        '{\n\ttodos: t\n\t\t.model({\n\t\t\ta: t.string(), /* { */\n\t\t})\n\t\t.index("a", "b"),\n}',
      table: "todos",
      after:
        '{\n\ttodos: t\n\t\t.model({\n\t\t\ta: t.string(), /* { */\n\t\t\tnote: t.string(),\n\t\t})\n\t\t.index("a", "b"),\n}',
    },
    {
      name: "of a table on one line",
      before: "{\n  todos: { a: t.string() },\n  todos_2: {},\n}",
      table: "todos",
      after: "{\n  todos: { a: t.string(),\n    note: t.string(),\n  },\n  todos_2: {},\n}",
    },
    {
      name: "with the line ends of the file",
      before: "{\r\n  todos: {\r\n    a: t.string(),\r\n  },\r\n}",
      table: "todos",
      after: "{\r\n  todos: {\r\n    a: t.string(),\r\n    note: t.string(),\r\n  },\r\n}",
    },
  ])("$name", ({ before, table, after }) => {
    const lines = table === undefined ? TABLE : COLUMN;
    expect(addToSchema(wrap(before), lines, table)).toBe(wrap(after));
  });
});

test.each([
  { name: "a table that is a variable", file: wrap("{ todos }"), table: "todos" },
  { name: "tables that are a variable", file: wrap("tables"), table: undefined },
  { name: "two schemas", file: wrap("{}") + wrap("{}"), table: undefined },
  {
    name: "a second schema of a variable",
    file: `const test = defineSchema({});\n${wrap("tables")}`,
    table: undefined,
  },
  { name: "a function of the name", file: "function defineSchema({ a }) {}", table: undefined },
  { name: "a method of the name", file: "x.defineSchema({});", table: undefined },
  { name: "tables with a quoted name", file: wrap('{ "note": {} }'), table: undefined },
  { name: "a template", file: wrap("{ todos: { [`a`]: t.string() } }"), table: undefined },
  {
    name: "a column with the name of the table",
    file: wrap("{ a: { todos: { b: t.string() } } }"),
    table: "todos",
  },
  { name: "tables that have the name", file: wrap("{ note: {} }"), table: undefined },
  {
    name: "a table with a column of the name",
    file: wrap("{ todos: { note: x } }"),
    table: "todos",
  },
  { name: "a call in a comment", file: "// defineSchema({})", table: undefined },
])("nothing is added to $name", ({ file, table }) => {
  expect(addToSchema(file, COLUMN, table)).toBeUndefined();
});

test("a difference has the lines around it", () => {
  const lines = diffLines("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nd,\nx\ne\nf\n");
  expect(lines.map(({ sign, text }) => sign + text)).toEqual([
    ...[" a", " b", " c", "-d", "+d,", "+x", " e", " f"],
  ]);
});
