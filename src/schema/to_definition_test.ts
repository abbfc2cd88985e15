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
  test.each(
    Object.entries({
      missing: undefined,
      null: null,
      "a text": "todos",
      "a list": [],
      "a function": () => defineSchema({}),
      "a promise": Promise.resolve(defineSchema({})),
      "tables without defineSchema()": { todos: { title: t.string() } },
      "a schema of a list": { tables: [] },
    }),
  )("%s", (_, schema) => {
    expectIssues(toDefinition(schema), [{ names: ["export default defineSchema"] }]);
  });
});

describe("toDefinition() reports", () => {
  const proto = { __proto__: t.string() };
  test.each(
    Object.entries<[todos: unknown, names: string, column?: string]>({
      "a builder without a call": [{ due: t.timestamp }, "t.timestamp()", "due"],
      "a modifier without a call": [{ title: t.string().required }, ".required()", "title"],
      "a text instead of a column": [{ title: "string" }, '"string" t.string() t.ref()', "title"],
      "a column instead of a table": [t.string(), '("string")'],
      "a function instead of a table": [t.model, "t.string()"],
      "__proto__ in an object literal of columns": [proto, '"__proto__"'],
      "__proto__ in a model": [
        { model: { columns: proto, indexes: [], uniques: [] } },
        '"__proto__"',
      ],
      "a default of undefined": [
        { title: Reflect.apply(t.string().default, undefined, [undefined]) },
        "undefined string",
        "title",
      ],
    }),
  )("%s", (_, [todos, names, column]) => {
    const issue = { table: "todos", names: names.split(" "), ...(column && { column }) };
    expectIssues(toDefinition({ tables: { todos } }), [issue]);
  });

  test("__proto__ in an object literal of tables", () => {
    const tables = { __proto__: { title: t.string() } };
    expectIssues(toDefinition({ tables }), [{ names: ['"__proto__"'] }]);
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

/** A column, and what each issue names. */
const UNUSED: Readonly<Record<string, readonly [column: () => unknown, ...issues: string[]]>> = {
  options: [
    () => untyped.decimal({ precision: 12, scale: 2 }),
    '"precision" t.decimal()',
    '"scale" t.decimal()',
  ],
  "a length": [() => untyped.string(255), "255 t.string()"],
  "an empty object": [() => untyped.json({}), "t.json()"],
  "enum values as separate arguments": [
    () => untyped.enum("open", "done"),
    ...['"done" t.enum(', '"open"'],
  ],
  "unknown options of a reference": [
    () => untyped.ref("todos", { onUpdate: "cascade", required: true, kind: "json" }),
    ...["onUpdate", "required", "kind"].map((option) => `"${option}" t.ref("table")`),
  ],
  "a text as options": [() => untyped.ref("todos", "cascade"), '"cascade" t.ref("table")'],
  "arguments of all modifiers": [
    () => untyped.number().required(false).unique(true).index("btree").default(1, 2),
    ...["false .required()", "true .unique()", '"btree" .index()', "2 .default(value)"],
  ],
  "the rule for updates with another argument, and on another kind": [
    () => untyped.date().default("today").onUpdate("now", 1),
    ...['1 .onUpdate("now")', 'date "onUpdate" timestamp'],
  ],
  "the rule for updates with another value": [
    () => untyped.timestamp().default("now").onUpdate("today"),
    '"today" "now"',
  ],
  "an unknown modifier": [
    () => untyped.string().notNull().max(5),
    ...[".notNull() .required() .onUpdate(", ".max() .required() .onUpdate("],
  ],
  ...Object.fromEntries(
    ["day", "text", "int", "varchar"].map((name) => [
      `an unknown builder, t.${name}()`,
      [
        () => untyped[name](1).required().default(new Date()),
        `t.${name}() t.string() t.ref() t.model()`,
      ] as const,
    ]),
  ),
  "an unknown builder without a call": [() => untyped.day, "t.string() t.ref()"],
};

describe("toDefinition() lists unused arguments of a schema:", () => {
  test.each(Object.entries(UNUSED))("%s", (_, [column, ...issues]) => {
    const wanted = issues.map((names) => ({
      table: "todos",
      column: "a",
      names: names.split(" "),
    }));
    expectIssues(toDefinition({ tables: { todos: { a: column() } } }), wanted);
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
