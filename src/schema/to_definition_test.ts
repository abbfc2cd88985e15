import { describe, expect, test } from "bun:test";
import exampleSchema from "../../schema/mod.ts";
import { expectIssues } from "../../test/support/definitions.ts";
import { defineSchema, t, toDefinition } from "./mod.ts";

const PLAIN = { required: false, unique: false, index: false };

test("toDefinition() returns the definition of the example app", () => {
  expect(toDefinition(exampleSchema)).toEqual({
    definition: {
      version: 1,
      tables: [
        {
          name: "projects",
          columns: [
            { ...PLAIN, name: "name", kind: "string", required: true, unique: true },
            { ...PLAIN, name: "archived", kind: "boolean", required: true, default: false },
          ],
          indexes: [],
          uniques: [],
        },
        {
          name: "todos",
          columns: [
            { ...PLAIN, name: "title", kind: "string", required: true },
            {
              ...PLAIN,
              name: "status",
              kind: "enum",
              required: true,
              values: ["open", "doing", "done"],
              default: "open",
            },
            { ...PLAIN, name: "project", kind: "ref", table: "projects", onDelete: "cascade" },
            { ...PLAIN, name: "position", kind: "number" },
            { ...PLAIN, name: "estimate_hours", kind: "decimal" },
            { ...PLAIN, name: "checklist", kind: "json" },
            { ...PLAIN, name: "due_at", kind: "timestamp" },
            { ...PLAIN, name: "noted_at", kind: "timestamp", required: true, default: "now" },
          ],
          indexes: [["status", "due_at"]],
          uniques: [["project", "title"]],
        },
      ],
    },
  });
});

test("toDefinition() reads schemas from other copies of the package", () => {
  const copy = JSON.parse(JSON.stringify(exampleSchema));
  expect(toDefinition(copy)).toEqual(toDefinition(exampleSchema));
});

test("toDefinition() distinguishes columns, models and tables with equal names", () => {
  const tables = {
    tables: { model: t.string(), column: t.json(), index: t.string(), unique: t.string() },
    model: t.model({ model: t.string(), columns: t.string() }).index("model", "columns"),
  };
  const reading = toDefinition(defineSchema(tables));
  const names = "definition" in reading ? reading.definition.tables : [];
  expect(names.map(({ name, columns }) => [name, ...columns.map((column) => column.name)])).toEqual(
    [
      ["model", "model", "columns"],
      ["tables", "model", "column", "index", "unique"],
    ],
  );
});

describe("toDefinition() rejects an export that is", () => {
  test.each([
    { name: "missing", schema: undefined },
    { name: "null", schema: null },
    { name: "a text", schema: "todos" },
    { name: "a list", schema: [] },
    { name: "a function", schema: () => defineSchema({}) },
    { name: "a promise", schema: Promise.resolve(defineSchema({})) },
    { name: "tables without defineSchema()", schema: { todos: { title: t.string() } } },
    { name: "a schema of a list", schema: { tables: [] } },
  ])("$name", ({ schema }) => {
    expectIssues(toDefinition(schema), [{ names: ["export default defineSchema"] }]);
  });
});

describe("toDefinition() reports", () => {
  test.each([
    {
      name: "a builder without a call",
      tables: { todos: { due: t.timestamp } },
      issue: { table: "todos", column: "due", names: ["t.timestamp()"] },
    },
    {
      name: "a modifier without a call",
      tables: { todos: { title: t.string().required } },
      issue: { table: "todos", column: "title", names: [".required()"] },
    },
    {
      name: "a text instead of a column",
      tables: { todos: { title: "string" } },
      issue: { table: "todos", column: "title", names: ['"string"', "t.string()", "t.ref()"] },
    },
    {
      name: "a column instead of a table",
      tables: { todos: t.string() },
      issue: { table: "todos", names: ['("string")'] },
    },
    {
      name: "a function instead of a table",
      tables: { todos: t.model },
      issue: { table: "todos", names: ["t.string()"] },
    },
    {
      name: "__proto__ in an object literal of columns",
      tables: { todos: { __proto__: t.string() } },
      issue: { table: "todos", names: ['"__proto__"'] },
    },
    {
      name: "__proto__ in a model",
      tables: {
        todos: { model: { columns: { __proto__: t.string() }, indexes: [], uniques: [] } },
      },
      issue: { table: "todos", names: ['"__proto__"'] },
    },
    {
      name: "__proto__ in an object literal of tables",
      tables: { __proto__: { title: t.string() } },
      issue: { names: ['"__proto__"'] },
    },
    {
      name: "a default of undefined",
      tables: { todos: { title: Reflect.apply(t.string().default, undefined, [undefined]) } },
      issue: { table: "todos", column: "title", names: ["undefined", "string"] },
    },
  ])("$name", ({ tables, issue }) => {
    expectIssues(toDefinition({ tables }), [issue]);
  });

  test("errors of the source and of the definition together, without duplicates", () => {
    const tables = {
      users: {},
      todos: {
        model: { columns: { a: t.string, id: t.uuid() }, indexes: [["a", "b"]], uniques: [] },
      },
    };
    expectIssues(toDefinition({ tables }), [
      { table: "todos", column: "a", names: ["t.string()"] },
      { table: "users", names: ['"users"'] },
      { table: "todos", column: "id", names: ['"id"'] },
      { table: "todos", names: ['"b"'] },
    ]);
  });
});

/** Calls by an author without a compiler. */
// biome-ignore lint/suspicious/noExplicitAny: the compiler rejects every row below
const untyped: any = t;

describe("toDefinition() lists unused arguments of a schema:", () => {
  test.each([
    {
      name: "an option of a plain builder",
      column: () => untyped.decimal({ precision: 12, scale: 2 }),
      names: [
        ['"precision"', "t.decimal()"],
        ['"scale"', "t.decimal()"],
      ],
    },
    { name: "a length", column: () => untyped.string(255), names: [["255", "t.string()"]] },
    { name: "an empty object", column: () => untyped.json({}), names: [["t.json()"]] },
    {
      name: "enum values as separate arguments",
      column: () => untyped.enum("open", "done"),
      names: [['"done"', "t.enum("], ['"open"']],
    },
    {
      name: "unknown options of a reference",
      column: () => untyped.ref("todos", { onUpdate: "cascade", required: true, kind: "json" }),
      names: ["onUpdate", "required", "kind"].map((option) => [`"${option}"`, 't.ref("table")']),
    },
    {
      name: "options of a reference that are not an object",
      column: () => untyped.ref("todos", "cascade"),
      names: [['"cascade"', 't.ref("table")']],
    },
    {
      name: "arguments of all modifiers",
      column: () => untyped.number().required(false).unique(true).index("btree").default(1, 2),
      names: [
        ["false", ".required()"],
        ["true", ".unique()"],
        ['"btree"', ".index()"],
        ["2", ".default(value)"],
      ],
    },
    {
      name: "the rule for updates with another argument, and on another kind",
      column: () => untyped.date().default("today").onUpdate("now", 1),
      names: [
        ["1", '.onUpdate("now")'],
        ["date", '"onUpdate"', "timestamp"],
      ],
    },
    {
      name: "the rule for updates with another value",
      column: () => untyped.timestamp().default("now").onUpdate("today"),
      names: [['"today"', '"now"']],
    },
    {
      name: "an unknown modifier",
      column: () => untyped.string().notNull().max(5),
      names: [
        [".notNull()", ".required()", ".onUpdate("],
        [".max()", ".required()", ".onUpdate("],
      ],
    },
    ...["day", "text", "int", "varchar"].map((name) => ({
      name: `an unknown builder, t.${name}()`,
      column: () => untyped[name](1).required().default(new Date()),
      names: [[`t.${name}()`, "t.string()", "t.ref()", "t.model()"]],
    })),
    {
      name: "an unknown builder without a call",
      column: () => untyped.day,
      names: [["t.string()", "t.ref()"]],
    },
  ])("$name", ({ column, names }) => {
    const issues = names.map((each) => ({ table: "todos", column: "a", names: each }));
    expectIssues(toDefinition({ tables: { todos: { a: column() } } }), issues);
  });

  test("arguments of t.model() and defineSchema(), and an unknown modifier of a model", () => {
    const todos = untyped.model({ a: t.string() }, { name: "x" }).primaryKey("a").index("a");
    const schema: unknown = Reflect.apply(defineSchema, undefined, [{ todos }, { strict: true }]);
    expectIssues(toDefinition(schema), [
      { names: ['"strict"', "defineSchema()"] },
      { table: "todos", names: ['"name"', "t.model()"] },
      { table: "todos", names: [".primaryKey()"] },
    ]);
  });

  test("and accepts an undefined argument", () => {
    const column = untyped.ref("todos", undefined, undefined).required(undefined);
    expect(toDefinition({ tables: { todos: { a: column } } })).toHaveProperty("definition");
  });
});
