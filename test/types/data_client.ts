/** The types of a data client, and calls that the compiler rejects. Compiled by `tsc`, never run. @module */
import exampleSchema from "../../schema/mod.ts";
import type { ProblemCode } from "../../src/problem.ts";
import { defineSchema, type Id, type TablesOf, t } from "../../src/schema/mod.ts";
import {
  createDataClient,
  type DataClient,
  type DataError,
  type DataErrorCode,
  matches,
  type Page,
} from "../../src/sdk/data.ts";
import { expectEqual } from "./equal.ts";

type Shape = { readonly tags: readonly string[] };

const schema = defineSchema({
  projects: { name: t.string().required() },
  people: t
    .model({
      email: t.string().unique().required(),
      badge: t.uuid(),
      name: t.string(),
      org: t.uuid(),
    })
    .unique("badge")
    .unique("name", "org"),
  todos: t
    .model({
      title: t.string().required(),
      price: t.decimal().required().default("0.00"),
      due: t.timestamp(),
      extra: t.json<Shape>(),
      status: t.enum(["open", "done"]).required().default("open"),
      project: t.ref("projects"),
    })
    .index("status"),
  // These names have a meaning elsewhere, but are valid names of tables.
  // biome-ignore lint/suspicious/noThenProperty: a table can have this name
  then: { tables: t.string() },
  tables: { row: t.string().required() },
});
const to = { baseUrl: "https://api.example.org", apiKey: "rh_key" };
const db = createDataClient({ ...to, schema });

// The types that push generates.
interface Tables {
  projects: TablesOf<typeof schema>["projects"];
  people: TablesOf<typeof schema>["people"];
  tables: TablesOf<typeof schema>["tables"];
  then: TablesOf<typeof schema>["then"];
  todos: {
    row: {
      id: Id<"todos">;
      app_id: string;
      title: string;
      price: string;
      due: string | null;
      extra: Shape | null;
      status: "open" | "done";
      project: Id<"projects"> | null;
    };
    insert: {
      title: string;
      price?: string;
      due?: string | null;
      extra?: Shape | null;
      status?: "open" | "done";
      project?: Id<"projects"> | null;
    };
    update: {
      title?: string;
      price?: string;
      due?: string | null;
      extra?: Shape | null;
      status?: "open" | "done";
      project?: Id<"projects"> | null;
    };
    unique: "id";
  };
}
const generated = createDataClient<Tables>(to);
const imported = createDataClient<typeof schema>(to);

type Todo = Tables["todos"]["row"];
const title = "Water the plants";
const anyId = "0190163d-8694-739b-aea5-966c26f8ad91";
declare const projectId: Id<"projects">;
declare const flags: DataClient<{
  flags: { row: { id: string; done: boolean }; insert: object; update: object };
}>["flags"];

// A schema, the type of a schema and generated types create the same client.
expectEqual<typeof imported, typeof db>(true);
expectEqual<DataClient<Tables>["todos"], DataClient<typeof schema>["todos"]>(true);
expectEqual<typeof generated, DataClient<Tables>>(true);
expectEqual<keyof typeof db, "people" | "projects" | "tables" | "then" | "todos">(true);
expectEqual<Awaited<typeof db>, typeof db>(true);

expectEqual<Awaited<ReturnType<typeof db.todos.get>>, Todo>(true);
expectEqual<Awaited<ReturnType<typeof db.todos.create>>, Todo>(true);
expectEqual<Awaited<ReturnType<typeof db.todos.createMany>>, Todo[]>(true);
expectEqual<Awaited<ReturnType<typeof db.todos.update>>, Todo>(true);
expectEqual<Awaited<ReturnType<typeof db.todos.delete>>, void>(true);
expectEqual<Awaited<ReturnType<typeof db.todos.list>>, Page<Todo>>(true);
expectEqual<Awaited<ReturnType<typeof generated.todos.list>>["rows"], Todo[]>(true);

export async function useEveryRule(signal: AbortSignal | undefined): Promise<void> {
  // Only required columns without a default are required.
  await db.todos.create({ title }, { signal, timeoutMs: 1000 });
  const todo = await db.todos.create({
    title,
    price: "12.50",
    due: "2026-01-02T03:04:05Z",
    extra: { tags: ["garden"] },
    status: "done",
    project: projectId,
  });
  await db.todos.createMany([{ title }, { title, status: "done" }] as const, { signal });
  await db.todos.createAll(new Set([{ title }]), { signal, onStored: ([row]) => row?.title });
  await db.todos.update(todo.id, { due: null });
  await db.todos.update(anyId, {});
  await db.projects.create({ name: "", ...{ more: 1 } });
  for await (const page of db.todos.pages({ limit: 10, signal }))
    expectEqual<typeof page, Page<Todo>>(true);
  for await (const row of db.todos.all({ offset: undefined })) expectEqual<typeof row, Todo>(true);
  expectEqual<Awaited<ReturnType<typeof db.then.list>>["rows"][number]["tables"], string | null>(
    true,
  );
  await createDataClient({ ...to, schema: exampleSchema }).todos.create({ title });

  // @ts-expect-error the app has no such table
  db.tasks;
  // @ts-expect-error the generated types have no such table
  generated.tasks;
  // @ts-expect-error a client without a schema or a type has no tables
  createDataClient(to).todos;
  // @ts-expect-error the value is not a schema
  createDataClient({ ...to, schema: { todos: {} } });
  // @ts-expect-error the key is missing
  createDataClient({ baseUrl: to.baseUrl, schema });

  // @ts-expect-error a required column without default is missing
  await db.todos.create({});
  // @ts-expect-error a required column without default is missing in one row
  await db.todos.createMany([{ title }, {}]);
  // @ts-expect-error a required column without default is missing in one row
  await db.todos.createAll([{ title }, {}]);
  // @ts-expect-error the rows are not a list
  await db.todos.createMany({ title });
  // @ts-expect-error the table does not declare the column
  await db.todos.create({ title, titel: "" });
  // @ts-expect-error a required column rejects null
  await db.todos.create({ title: null });
  // @ts-expect-error a decimal is a string
  await db.todos.create({ title, price: 12.5 });
  // @ts-expect-error a timestamp is ISO 8601 text
  await db.todos.create({ title, due: new Date() });
  // @ts-expect-error the enum has no such value
  await db.todos.create({ title, status: "lost" });
  // @ts-expect-error a json value has the column's shape
  await db.todos.create({ title, extra: { tags: "garden" } });
  // @ts-expect-error the service generates the id
  await db.todos.create({ title, id: anyId });
  // @ts-expect-error the key determines the app
  await db.todos.create({ title, app_id: anyId });
  // @ts-expect-error the id of a todo is not an id of a project
  await db.todos.create({ title, project: todo.id });
  // @ts-expect-error the id of a todo is not an id of a project, in generated types
  await generated.todos.create({ title, project: todo.id });

  // @ts-expect-error an update rejects null for a required column, even with a default
  await db.todos.update(todo.id, { status: null });
  // @ts-expect-error the table does not declare the column
  await db.todos.update(todo.id, { titel: "" });
  // @ts-expect-error the id of a row does not change
  await db.todos.update(todo.id, { id: anyId });
  // @ts-expect-error the id of a project is not an id of a todo
  await db.todos.update(projectId, { title });
  // @ts-expect-error the id of a project is not an id of a todo
  await db.todos.get(projectId);
  // @ts-expect-error the id of a project is not an id of a todo
  await db.todos.delete(projectId);
  // @ts-expect-error an id is a string
  await db.todos.get(1);
  // Conditions follow from the columns, and rows from the selection.
  const picked = await db.todos.list({
    where: {
      status: "open",
      title: { ilike: "*plants*", not: { eq: "" } },
      due: null,
      project: { in: [projectId] },
      or: [{ due: { lt: "2030-01-01T00:00:00Z" } }, { due: { is: null } }],
      not: { status: { in: ["done"] } },
    },
    orderBy: [{ due: "desc" }, { title: "asc" }],
    select: ["id", "due"],
    after: "",
    count: "exact",
  });
  expectEqual<(typeof picked)["rows"], Pick<Todo, "id" | "due">[]>(true);
  // Groups have exactly the values that were asked for; sums and averages are decimal strings.
  const groups = await db.todos.groups({
    by: ["status", "due"],
    where: { title: { like: "Water*" } },
    sum: ["price"],
    min: ["due"],
  });
  expectEqual<
    (typeof groups)[number]["by"],
    { readonly status: "open" | "done"; readonly due: string | null }
  >(true);
  expectEqual<(typeof groups)[number]["count"], number>(true);
  expectEqual<(typeof groups)[number]["sum"], { readonly price: string }>(true);
  expectEqual<(typeof groups)[number]["min"], { readonly due: string | null }>(true);
  const [total] = await generated.todos.groups({ avg: ["price"], max: ["price"] });
  expectEqual<NonNullable<typeof total>["avg"], { readonly price: string | null }>(true);
  expectEqual<NonNullable<typeof total>["max"], { readonly price: string | null }>(true);
  // @ts-expect-error no average was asked for
  groups[0]?.avg;
  // @ts-expect-error the groups have no such column
  groups[0]?.by.title;
  // @ts-expect-error the table has no such column
  await db.todos.groups({ by: ["nothing"] });
  // @ts-expect-error JSON values do not form groups
  await db.todos.groups({ by: ["extra"] });
  // @ts-expect-error an enum has no sum
  await db.todos.groups({ sum: ["status"] });
  // @ts-expect-error a reference has no sum
  await db.todos.groups({ sum: ["project"] });
  // @ts-expect-error a boolean has no highest value
  await flags.groups({ max: ["done"] });
  // @ts-expect-error groups have no order
  await db.todos.groups({ by: ["status"], orderBy: [{ status: "asc" }] });
  // @ts-expect-error a count is exact or estimated
  await db.todos.list({ count: true });
  const found = await generated.todos.find({ id: todo.id }, { signal });
  expectEqual<typeof found, Todo | undefined>(true);
  await db.people.find({ email: "ada@example.org" });
  await db.people.find({ badge: anyId });
  await generated.people.find({ email: "ada@example.org", badge: anyId });
  await db.people.find({ name: "Ada", org: anyId });
  await generated.people.find({ org: anyId, name: "Ada", email: "ada@example.org" });
  await flags.find({ id: anyId });
  for await (const row of db.todos.all({ select: ["title"] }))
    expectEqual<typeof row, Pick<Todo, "title">>(true);
  expectEqual<boolean, ReturnType<typeof matches<Todo>>>(true);
  matches(todo, { extra: null, price: { gt: "10" } }, schema.tables.todos);
  // @ts-expect-error the column was not selected
  picked.rows[0]?.title;
  // @ts-expect-error the table has no such column
  await db.todos.list({ where: { titel: "" } });
  // @ts-expect-error the enum has no such value
  await db.todos.list({ where: { status: "lost" } });
  // @ts-expect-error an enum does not support patterns
  await db.todos.list({ where: { status: { ilike: "*o*" } } });
  // @ts-expect-error booleans have no order
  await flags.list({ where: { done: { gt: true } } });
  // @ts-expect-error json columns only support comparison with null
  await db.todos.list({ where: { extra: { eq: { tags: [] } } } });
  // @ts-expect-error a required column is never null
  await db.todos.list({ where: { title: { is: null } } });
  // @ts-expect-error a required column is never null, in the short form
  await db.todos.list({ where: { title: null } });
  // @ts-expect-error the id of a todo is not an id of a project
  await db.todos.list({ where: { project: todo.id } });
  // @ts-expect-error every row has the same app
  await db.todos.list({ where: { app_id: anyId } });
  // @ts-expect-error a direction is asc or desc
  await db.todos.list({ orderBy: [{ due: "down" }] });
  // @ts-expect-error only columns can be selected
  await db.todos.list({ select: ["id", "nothing"] });
  // @ts-expect-error the table has no such column
  await db.todos.find({ email: "" });
  // @ts-expect-error the column is not unique
  await db.todos.find({ title });
  // @ts-expect-error the column is not unique in the generated types
  await generated.todos.find({ title });
  // @ts-expect-error the types name no unique column
  await flags.find({ done: true });
  // @ts-expect-error one of the columns is not unique
  await db.people.find({ email: "", org: anyId });
  // @ts-expect-error a constraint over two columns identifies a row only with both values
  await db.people.find({ name: "Ada" });
  // @ts-expect-error the columns are not those of one constraint
  await generated.people.find({ name: "Ada", email: "" });
  // @ts-expect-error a value is missing
  await db.people.find({ name: "Ada", org: undefined });
  // @ts-expect-error several rows can have null
  await db.people.find({ badge: null });
  // @ts-expect-error several rows can have null in one of the columns
  await db.people.find({ name: "Ada", org: null });
  // @ts-expect-error a number is not a text
  await db.people.find({ name: 1, org: anyId });
  // @ts-expect-error the column is not in the constraint
  await db.people.find({ name: "Ada", org: anyId, title: "" });
  // @ts-expect-error the value is a comparison
  await db.people.find({ email: { ilike: "*" } });
  // @ts-expect-error an empty condition identifies no row
  await db.people.find({});
  // @ts-expect-error the id of a project is not an id of a todo
  await db.todos.find({ id: projectId });
  // @ts-expect-error a limit is a number
  await db.todos.list({ limit: "10" });
  // @ts-expect-error the column can be null
  todo.due.length;
}

// The client names the service's codes, and these two.
type Named<Code> = Code extends string ? (string extends Code ? never : Code) : never;
expectEqual<Exclude<Named<DataErrorCode>, ProblemCode>, "network_error" | "unreadable_response">(
  true,
);

export function readError(error: DataError): string {
  // Editors complete known codes, and a later service can have more codes.
  if (error.code === "not_found" || error.code === "some_later_code") return error.message;
  // @ts-expect-error the status is readonly
  error.status = 1;
  return error.details.map(({ path, message }) => `${path}: ${message}`).join("\n");
}
