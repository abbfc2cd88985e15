import { describe, expect, test } from "bun:test";
import exampleSchema from "../../schema/mod.ts";
import { defineSchema, t, toDefinition } from "../../src/dsl/mod.ts";

const PLAIN = { required: false, unique: false, index: false };

test("toDefinition() of the example app", () => {
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

test("toDefinition() reads data that other copies of the package made", () => {
  const copy = JSON.parse(JSON.stringify(exampleSchema));
  expect(toDefinition(copy)).toEqual(toDefinition(exampleSchema));
});

test("toDefinition() tells columns, models and tables apart when their names collide", () => {
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

const EXPORT = 'must be "export default defineSchema({ … })"';

describe("toDefinition() refuses an export that is", () => {
  test.each([
    { name: "missing", schema: undefined, message: `Cannot read undefined as a schema: ${EXPORT}` },
    { name: "null", schema: null, message: `Cannot read null as a schema: ${EXPORT}` },
    { name: "a text", schema: "todos", message: `Cannot read "todos" as a schema: ${EXPORT}` },
    { name: "a list", schema: [], message: `Cannot read a list as a schema: ${EXPORT}` },
    {
      name: "a function",
      schema: () => defineSchema({}),
      message: `Cannot read a function as a schema: ${EXPORT}`,
    },
    {
      name: "a promise",
      schema: Promise.resolve(defineSchema({})),
      message: `Cannot read a promise as a schema: ${EXPORT}`,
    },
    {
      name: "tables without defineSchema",
      schema: { todos: { title: t.string() } },
      message: `Cannot read an object as a schema: ${EXPORT}`,
    },
    {
      name: "a schema of a list",
      schema: { tables: [] },
      message: `Cannot read an object as a schema: ${EXPORT}`,
    },
  ])("$name", ({ schema, message }) => {
    expect(toDefinition(schema)).toEqual({ faults: [{ message }] });
  });
});

const PROTO =
  'must be a plain object. A "__proto__" key sets its prototype, and an instance of a class is no declaration';

describe("toDefinition() finds", () => {
  test.each([
    {
      name: "a builder that is not called",
      tables: { todos: { due: t.timestamp } },
      fault: {
        table: "todos",
        column: "due",
        message: "Cannot read a function as a column: call it: t.timestamp()",
      },
    },
    {
      name: "a modifier that is not called",
      tables: { todos: { title: t.string().required } },
      fault: {
        table: "todos",
        column: "title",
        message: "Cannot read a function as a column: call it: .required()",
      },
    },
    {
      name: "a word in the place of a column",
      tables: { todos: { title: "string" } },
      fault: {
        table: "todos",
        column: "title",
        message: 'Cannot read "string" as a column: must be a column such as t.string()',
      },
    },
    {
      name: "a column in the place of a table",
      tables: { todos: t.string() },
      fault: {
        table: "todos",
        message: 'Cannot read a column ("string") as a table: must be { column: t.string(), … }',
      },
    },
    {
      name: "a function in the place of a table",
      tables: { todos: t.model },
      fault: {
        table: "todos",
        message: "Cannot read a function as a table: must be { column: t.string(), … }",
      },
    },
    {
      name: "__proto__ in a literal of columns",
      tables: { todos: { __proto__: t.string() } },
      fault: { table: "todos", message: `Cannot read the columns: ${PROTO}` },
    },
    {
      name: "__proto__ in a model",
      tables: {
        todos: { model: { columns: { __proto__: t.string() }, indexes: [], uniques: [] } },
      },
      fault: { table: "todos", message: `Cannot read the columns: ${PROTO}` },
    },
    {
      name: "__proto__ in the literal of tables",
      tables: { __proto__: { title: t.string() } },
      fault: { message: `Cannot read the tables: ${PROTO}` },
    },
    {
      name: "a default of undefined",
      tables: { todos: { title: Reflect.apply(t.string().default, undefined, [undefined]) } },
      fault: {
        table: "todos",
        column: "title",
        message:
          "Cannot use undefined as the default of this string column: must be a string without U+0000 or lone surrogates",
      },
    },
  ])("$name", ({ tables, fault }) => {
    expect(toDefinition({ tables })).toEqual({ faults: [fault] });
  });

  test("faults of the source and of the definition at once, without repeating any", () => {
    const tables = {
      users: {},
      todos: {
        model: { columns: { a: t.string, id: t.uuid() }, indexes: [["a", "b"]], uniques: [] },
      },
    };
    expect(toDefinition({ tables })).toEqual({
      faults: [
        {
          table: "todos",
          column: "a",
          message: "Cannot read a function as a column: call it: t.string()",
        },
        {
          table: "users",
          message: 'Cannot name a table "users": the name is reserved organisation-wide',
        },
        {
          table: "todos",
          column: "id",
          message: 'Cannot name a column "id": every table already has it',
        },
        {
          table: "todos",
          message: 'Cannot make an index on "b": the table declares no column "b"',
        },
      ],
    });
  });
});
