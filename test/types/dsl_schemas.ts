/** Schemas that the compiler accepts or rejects. Compiled by `tsc`, never run. @module */
import { defineSchema, t } from "../../src/schema/mod.ts";

type Shape = { readonly tags: readonly string[] };

export const accepted = [
  t.string().default(""),
  t.number().default(0),
  t.decimal().default("12.50"),
  t.boolean().default(false),
  t.uuid().default("0190163d-8694-739b-aea5-966c26f8ad91"),
  t.timestamp().default("now"),
  t.date().default("today"),
  t.date().default("2026-01-31"),
  t.timestamp().default("2026-01-02T03:04:05Z"),
  t.json().default({ deep: [1, "two", { three: null }] }),
  t.json<Shape>().default({ tags: [] }),
  t.enum(["open", "done"]).default("open"),
];

// @ts-expect-error the default of a string column is a string
t.string().default(1);
// @ts-expect-error the default of a number column is a number
t.number().default("1");
// @ts-expect-error a decimal is a string
t.decimal().default(12.5);
// @ts-expect-error the default of a boolean column is a boolean
t.boolean().default("false");
// @ts-expect-error a uuid is a string
t.uuid().default(0);
// @ts-expect-error "yesterday" is not a time
t.timestamp().default("yesterday");
// @ts-expect-error an integer is a number
t.integer().default("1");
// @ts-expect-error not a date or "today"
t.date().default("now");
// @ts-expect-error only timestamps support "now"
t.boolean().default("now");
// @ts-expect-error the default does not have the shape
t.json<Shape>().default({ tags: "none" });
// @ts-expect-error a Date is not a JSON value
t.json().default({ at: new Date() });
// @ts-expect-error null is already the default
t.json().default(null);
// @ts-expect-error the default is not a value of the enum
t.enum(["open", "done"]).default("lost");
t.timestamp().default("now").required().onUpdate("now").index();
// @ts-expect-error only a timestamp with a default has it
t.timestamp().onUpdate("now");
// @ts-expect-error only a timestamp has it
t.date().default("today").onUpdate("now");
// @ts-expect-error the only value is "now"
t.timestamp().default("now").onUpdate("2026-01-02T03:04:05Z");
// @ts-expect-error a reference has no default
t.ref("todos").default("0190163d-8694-739b-aea5-966c26f8ad91");
// @ts-expect-error an enum has at least one value
t.enum([]);
t.ref("todos", { onDelete: "set null" }).index().unique();
// @ts-expect-error a reference that a delete sets to null is optional
t.ref("todos", { onDelete: "set null" }).required();
// @ts-expect-error a reference that a delete sets to null is optional
t.ref("todos", { onDelete: "set null" }).unique().index().required();
// @ts-expect-error onDelete only supports "cascade" and "set null"
t.ref("todos", { onDelete: "restrict" });
// @ts-expect-error the table has no such column
t.model({ title: t.string() }).index("titel");
// @ts-expect-error a unique constraint has at least one column
t.model({ title: t.string() }).unique();

// @ts-expect-error the builder does not exist
t.duration();
// @ts-expect-error the builder does not exist
t.text();
// @ts-expect-error a decimal has no options
t.decimal({ precision: 12 });
// @ts-expect-error a modifier has no argument
t.string().required(false);
// @ts-expect-error a reference only has the option onDelete
t.ref("todos", { onUpdate: "cascade" });
// @ts-expect-error a model has only columns
t.model({ title: t.string() }, { name: "tasks" });
// @ts-expect-error a schema has only tables
defineSchema({}, { strict: true });

// A table can reference itself, and two tables can reference each other.
defineSchema({ todos: { parent: t.ref("todos") } });
defineSchema({ a: { b: t.ref("b") }, b: t.model({ a: t.ref("a") }).index("a") });
// Columns can have the names of a model's, a column's or a schema's members.
defineSchema({ tables: { model: t.string(), column: t.string(), index: t.string() } });
// A table and a schema can be empty.
defineSchema({ todos: {} });
defineSchema({});

// @ts-expect-error Rowhouse: table `users` is reserved organization-wide
defineSchema({ users: { name: t.string() } });
// @ts-expect-error Rowhouse: table `audit_log` is reserved organization-wide
defineSchema({ audit_log: t.model({ name: t.string() }) });
// @ts-expect-error Rowhouse: every table already has a column `id`
defineSchema({ todos: { id: t.uuid() } });
defineSchema({
  // @ts-expect-error Rowhouse: every table already has a column `app_id`
  todos: t.model({ app_id: t.uuid() }),
});
// @ts-expect-error Rowhouse: the column name `ctid` is reserved by PostgreSQL
defineSchema({ todos: { ctid: t.string() } });
// @ts-expect-error Rowhouse: the column name `toString` has a special meaning in JavaScript
defineSchema({ todos: { toString: t.string() } });
// @ts-expect-error Rowhouse: table `projects` is not declared in this schema
defineSchema({ todos: { project: t.ref("projects") } });
defineSchema({
  // @ts-expect-error Rowhouse: table `projects` is not declared in this schema
  todos: t.model({ title: t.string(), project: t.ref("projects").required() }).index("title"),
});
// @ts-expect-error a builder must be called
defineSchema({ todos: { title: t.string } });
