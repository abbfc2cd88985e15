import { describe, expect, test } from "bun:test";
import exampleSchema from "../../schema/mod.ts";
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

const EXPORT = 'must be "export default defineSchema({ … })"';

describe("toDefinition() rejects an export that is", () => {
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
      name: "tables without defineSchema()",
      schema: { todos: { title: t.string() } },
      message: `Cannot read an object as a schema: ${EXPORT}`,
    },
    {
      name: "a schema of a list",
      schema: { tables: [] },
      message: `Cannot read an object as a schema: ${EXPORT}`,
    },
  ])("$name", ({ schema, message }) => {
    expect(toDefinition(schema)).toEqual({ issues: [{ message }] });
  });
});

const PROTO =
  'must be a plain object. A "__proto__" key sets its prototype, and a class instance is not a declaration';

describe("toDefinition() reports", () => {
  test.each([
    {
      name: "a builder without a call",
      tables: { todos: { due: t.timestamp } },
      issue: {
        table: "todos",
        column: "due",
        message: "Cannot read a function as a column: call it: t.timestamp()",
      },
    },
    {
      name: "a modifier without a call",
      tables: { todos: { title: t.string().required } },
      issue: {
        table: "todos",
        column: "title",
        message: "Cannot read a function as a column: call it: .required()",
      },
    },
    {
      name: "a text instead of a column",
      tables: { todos: { title: "string" } },
      issue: {
        table: "todos",
        column: "title",
        message:
          'Cannot read "string" as a column: must be one of t.string(), t.number(), t.integer(), t.decimal(), t.boolean(), t.uuid(), t.timestamp(), t.date(), t.json(), t.enum(), t.ref()',
      },
    },
    {
      name: "a column instead of a table",
      tables: { todos: t.string() },
      issue: {
        table: "todos",
        message: 'Cannot read a column ("string") as a table: must be { column: t.string(), … }',
      },
    },
    {
      name: "a function instead of a table",
      tables: { todos: t.model },
      issue: {
        table: "todos",
        message: "Cannot read a function as a table: must be { column: t.string(), … }",
      },
    },
    {
      name: "__proto__ in an object literal of columns",
      tables: { todos: { __proto__: t.string() } },
      issue: { table: "todos", message: `Cannot read the columns: ${PROTO}` },
    },
    {
      name: "__proto__ in a model",
      tables: {
        todos: { model: { columns: { __proto__: t.string() }, indexes: [], uniques: [] } },
      },
      issue: { table: "todos", message: `Cannot read the columns: ${PROTO}` },
    },
    {
      name: "__proto__ in an object literal of tables",
      tables: { __proto__: { title: t.string() } },
      issue: { message: `Cannot read the tables: ${PROTO}` },
    },
    {
      name: "a default of undefined",
      tables: { todos: { title: Reflect.apply(t.string().default, undefined, [undefined]) } },
      issue: {
        table: "todos",
        column: "title",
        message:
          "Cannot use undefined as the default of this string column: must be a string without U+0000 or lone surrogates",
      },
    },
  ])("$name", ({ tables, issue }) => {
    expect(toDefinition({ tables })).toEqual({ issues: [issue] });
  });

  test("errors of the source and of the definition together, without duplicates", () => {
    const tables = {
      users: {},
      todos: {
        model: { columns: { a: t.string, id: t.uuid() }, indexes: [["a", "b"]], uniques: [] },
      },
    };
    expect(toDefinition({ tables })).toEqual({
      issues: [
        {
          table: "todos",
          column: "a",
          message: expect.stringContaining("call it: t.string()"),
        },
        {
          table: "users",
          message: expect.stringContaining('table "users": the name is reserved'),
        },
        {
          table: "todos",
          column: "id",
          message: expect.stringContaining('column "id"'),
        },
        {
          table: "todos",
          message: expect.stringContaining('no column "b"'),
        },
      ],
    });
  });
});

const MODIFIERS =
  'the modifiers are .required(), .unique(), .index(), .default(value) and .onUpdate("now")';
const BUILDERS =
  "t.string(), t.number(), t.integer(), t.decimal(), t.boolean(), t.uuid(), t.timestamp(), t.date(), t.json(), t.enum(), t.ref()";
const REF = 'must be t.ref("table") or t.ref("table", { onDelete: "cascade" or "set null" })';

/** Calls by an author without a compiler. */
// biome-ignore lint/suspicious/noExplicitAny: the compiler rejects every row below
const untyped: any = t;

describe("toDefinition() lists unused arguments of a schema:", () => {
  test.each([
    {
      name: "an option of a plain builder",
      column: () => untyped.decimal({ precision: 12, scale: 2 }),
      messages: [
        'Cannot pass the option "precision" to t.decimal(): must be t.decimal()',
        'Cannot pass the option "scale" to t.decimal(): must be t.decimal()',
      ],
    },
    {
      name: "a length",
      column: () => untyped.string(255),
      messages: ["Cannot pass 255 to t.string(): must be t.string()"],
    },
    {
      name: "an empty object",
      column: () => untyped.json({}),
      messages: ["Cannot pass an object to t.json(): must be t.json()"],
    },
    {
      name: "enum values as separate arguments",
      column: () => untyped.enum("open", "done"),
      messages: [
        'Cannot pass "done" to t.enum(): must be t.enum(["a", "b", …])',
        'Cannot read enum values: must be a list, not "open"',
      ],
    },
    {
      name: "unknown options of a reference",
      column: () => untyped.ref("todos", { onUpdate: "cascade", required: true, kind: "json" }),
      messages: ["onUpdate", "required", "kind"].map(
        (option) => `Cannot pass the option "${option}" to t.ref(): ${REF}`,
      ),
    },
    {
      name: "options of a reference that are not an object",
      column: () => untyped.ref("todos", "cascade"),
      messages: [`Cannot pass "cascade" to t.ref(): ${REF}`],
    },
    {
      name: "arguments of all modifiers",
      column: () => untyped.number().required(false).unique(true).index("btree").default(1, 2),
      messages: [
        "Cannot pass false to .required(): must be .required()",
        "Cannot pass true to .unique(): must be .unique()",
        'Cannot pass "btree" to .index(): must be .index()',
        "Cannot pass 2 to .default(): must be .default(value)",
      ],
    },
    {
      name: "the rule for updates with another argument, and on another kind",
      column: () => untyped.date().default("today").onUpdate("now", 1),
      messages: [
        'Cannot pass 1 to .onUpdate(): must be .onUpdate("now")',
        'Cannot give this date column the key "onUpdate": only timestamp columns have it',
      ],
    },
    {
      name: "the rule for updates with another value",
      column: () => untyped.timestamp().default("now").onUpdate("today"),
      messages: ['Cannot read onUpdate "today": must be "now" or left out'],
    },
    {
      name: "an unknown modifier",
      column: () => untyped.string().notNull().max(5),
      messages: [
        `Cannot use .notNull() on a column: ${MODIFIERS}`,
        `Cannot use .max() on a column: ${MODIFIERS}`,
      ],
    },
    ...["day", "text", "int", "varchar"].map((name) => ({
      name: `an unknown builder, t.${name}()`,
      column: () => untyped[name](1).required().default(new Date()),
      messages: [`Cannot use t.${name}(): the builders are ${BUILDERS}, t.model()`],
    })),
    {
      name: "an unknown builder without a call",
      column: () => untyped.day,
      messages: [`Cannot read a function as a column: must be one of ${BUILDERS}`],
    },
  ])("$name", ({ column, messages }) => {
    const issues = messages.map((message) => ({ table: "todos", column: "a", message }));
    expect(toDefinition({ tables: { todos: { a: column() } } })).toEqual({ issues });
  });

  test("arguments of t.model() and defineSchema(), and an unknown modifier of a model", () => {
    const todos = untyped.model({ a: t.string() }, { name: "x" }).primaryKey("a").index("a");
    const schema: unknown = Reflect.apply(defineSchema, undefined, [{ todos }, { strict: true }]);
    expect(toDefinition(schema)).toEqual({
      issues: [
        {
          message: expect.stringContaining('option "strict" to defineSchema()'),
        },
        {
          table: "todos",
          message: expect.stringContaining('option "name" to t.model()'),
        },
        {
          table: "todos",
          message: expect.stringContaining(".primaryKey() on a model"),
        },
      ],
    });
  });

  test("and accepts an undefined argument", () => {
    const column = untyped.ref("todos", undefined, undefined).required(undefined);
    expect(toDefinition({ tables: { todos: { a: column } } })).toHaveProperty("definition");
  });
});
