/** Which schemas the compiler rejects. Compiled by `tsc`; never run. @module */
import { defineSchema, t } from "../../src/dsl/mod.ts";

type Shape = { readonly tags: readonly string[] };

export const fine = [
  t.string().default(""),
  t.number().default(0),
  t.decimal().default("12.50"),
  t.boolean().default(false),
  t.uuid().default("0190163d-8694-739b-aea5-966c26f8ad91"),
  t.timestamp().default("now"),
  t.timestamp().default("2026-01-02T03:04:05Z"),
  t.json().default({ deep: [1, "two", { three: null }] }),
  t.json<Shape>().default({ tags: [] }),
  t.enum(["open", "done"]).default("open"),
];

// @ts-expect-error a string column takes a string
t.string().default(1);
// @ts-expect-error a number column takes a number
t.number().default("1");
// @ts-expect-error a decimal is a string
t.decimal().default(12.5);
// @ts-expect-error a boolean column takes a boolean
t.boolean().default("false");
// @ts-expect-error a uuid is a string
t.uuid().default(0);
// @ts-expect-error "yesterday" is no time
t.timestamp().default("yesterday");
// @ts-expect-error "now" means now on a timestamp only
t.boolean().default("now");
// @ts-expect-error the default is not of the shape
t.json<Shape>().default({ tags: "none" });
// @ts-expect-error a date is no JSON value
t.json().default({ at: new Date() });
// @ts-expect-error null is said by leaving the default out
t.json().default(null);
// @ts-expect-error the default is not one of the values
t.enum(["open", "done"]).default("lost");
// @ts-expect-error a reference takes no default
t.ref("todos").default("0190163d-8694-739b-aea5-966c26f8ad91");
// @ts-expect-error an enum has one value at least
t.enum([]);
// @ts-expect-error onDelete has one value
t.ref("todos", { onDelete: "set null" });
// @ts-expect-error an index names columns of its table
t.model({ title: t.string() }).index("titel");
// @ts-expect-error a unique names one column at least
t.model({ title: t.string() }).unique();

// @ts-expect-error no builder has this name
t.date();
// @ts-expect-error no builder has this name
t.text();
// @ts-expect-error a decimal takes no options
t.decimal({ precision: 12 });
// @ts-expect-error a modifier takes no argument
t.string().required(false);
// @ts-expect-error a reference has one option
t.ref("todos", { onUpdate: "cascade" });
// @ts-expect-error a model takes columns only
t.model({ title: t.string() }, { name: "tasks" });
// @ts-expect-error a schema takes tables only
defineSchema({}, { strict: true });

// A table refers to itself, or two to one another.
defineSchema({ todos: { parent: t.ref("todos") } });
defineSchema({ a: { b: t.ref("b") }, b: t.model({ a: t.ref("a") }).index("a") });
// Columns may be called as the parts of a model, of a column or of a schema.
defineSchema({ tables: { model: t.string(), column: t.string(), index: t.string() } });
// An empty table, and an empty schema.
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
