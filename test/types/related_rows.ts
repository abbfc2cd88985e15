/** The rows of lists with related rows, and selections that the compiler rejects. Compiled by `tsc`, never run. @module */
import { defineSchema, type Id, type Row, t } from "../../src/schema/mod.ts";
import { createDataClient } from "../../src/sdk/data.ts";
import { useRows } from "../../src/sdk/react.ts";
import { expectEqual } from "./equal.ts";

const schema = defineSchema({
  vendors: { name: t.string().required() },
  projects: t
    .model({
      name: t.string().required(),
      vendor: t.ref("vendors"),
      parent: t.ref("projects", { onDelete: "set null" }),
      budget: t.decimal(),
    })
    .index("vendor", "name"),
  todos: t.model({
    title: t.string().required(),
    project: t.ref("projects"),
    author: t.ref("people", { onDelete: "cascade" }).required(),
    status: t.enum(["open", "done"]).required().default("open"),
    external: t.uuid(),
    // A column wins over a table of its name.
    notes: t.string(),
  }),
  notes: { todo: t.ref("todos").required(), text: t.string() },
  people: { name: t.string().required() },
  matches: { home: t.ref("people").required(), away: t.ref("people"), score: t.number() },
});
type Schema = typeof schema;

/** As push generates them, with a table whose types are written by hand. */
interface Tables {
  projects: { row: Row<Schema, "projects">; insert: object; update: object };
  vendors: { row: Row<Schema, "vendors">; insert: object; update: object };
  todos: {
    row: { id: Id<"todos">; title: string; project: Id<"projects"> | null };
    insert: object;
    update: object;
  };
}
const to = { baseUrl: "https://api.example.org", apiKey: "rh_key" };
const db = createDataClient({ ...to, schema });
const generated = createDataClient<Tables>(to);

export async function selectRelatedRows(): Promise<void> {
  const up = await db.todos.list({
    select: ["id", "title", { project: ["id", "name"], author: ["name"] }],
  });
  expectEqual<
    (typeof up)["rows"],
    {
      id: Id<"todos">;
      title: string;
      project: { id: Id<"projects">; name: string } | null;
      author: { name: string };
    }[]
  >(true);

  const down = await db.projects.list({
    select: ["id", { todos: { select: ["title"], limit: 10, orderBy: [{ title: "desc" }] } }],
    where: { name: { like: "House*" } },
    orderBy: [{ name: "asc" }],
    limit: 20,
  });
  expectEqual<
    (typeof down)["rows"],
    {
      id: Id<"projects">;
      todos: { readonly rows: { title: string }[]; readonly hasMore: boolean };
    }[]
  >(true);

  // Separate items are one row, and the row of a reference replaces its id.
  const separate = await db.todos.list({
    select: ["project", { project: ["name"] }, { author: ["id"] }],
  });
  expectEqual<
    (typeof separate)["rows"],
    { project: { name: string } | null; author: { id: Id<"people"> } }[]
  >(true);

  // A table with several references names the column; the member has the name of the table.
  const several = await db.people.list({
    select: ["name", { "matches!home": { select: ["score"] } }],
  });
  expectEqual<
    (typeof several)["rows"],
    {
      name: string;
      matches: { readonly rows: { score: number | null }[]; readonly hasMore: boolean };
    }[]
  >(true);
  await db.projects.list({ select: [{ "todos!project": ["title"] }] });

  const deep = await db.todos.list({
    select: ["title", { project: ["name", { vendor: ["name"] }] }],
  });
  expectEqual<
    (typeof deep)["rows"],
    { title: string; project: { name: string; vendor: { name: string } | null } | null }[]
  >(true);
  const deepDown = await db.vendors.list({
    select: ["name", { projects: { select: ["name", { todos: ["title"], parent: ["name"] }] } }],
  });
  expectEqual<
    (typeof deepDown)["rows"],
    {
      name: string;
      projects: {
        readonly rows: {
          name: string;
          todos: { readonly rows: { title: string }[]; readonly hasMore: boolean };
          parent: { name: string } | null;
        }[];
        readonly hasMore: boolean;
      };
    }[]
  >(true);

  // A table can refer to itself, in both directions.
  await db.projects.list({ select: ["name", { parent: ["name"] }, { projects: ["name"] }] });

  for await (const row of db.todos.all({ select: [{ project: ["name"] }] }))
    expectEqual<typeof row, { project: { name: string } | null }>(true);
  for await (const { rows } of db.todos.watch({ select: ["id", { author: ["name"] }] }))
    expectEqual<typeof rows, { id: Id<"todos">; author: { name: string } }[]>(true);
  for await (const { rows } of db.todos.pages({ select: ["id"] }))
    expectEqual<typeof rows, { id: Id<"todos"> }[]>(true);

  const ofTypes = await generated.todos.list({
    select: ["title", { project: ["name", { vendor: ["name"] }] }],
  });
  expectEqual<
    (typeof ofTypes)["rows"],
    { title: string; project: { name: string; vendor: { name: string } | null } | null }[]
  >(true);
  const downOfTypes = await generated.projects.list({ select: ["id", { todos: ["title"] }] });
  expectEqual<
    (typeof downOfTypes)["rows"],
    {
      id: Id<"projects">;
      todos: { readonly rows: { title: string }[]; readonly hasMore: boolean };
    }[]
  >(true);

  // A list of columns that is not constant.
  const columns: ("id" | "title")[] = ["id"];
  const open = await db.todos.list({ select: columns });
  expectEqual<(typeof open)["rows"], { id: Id<"todos">; title: string }[]>(true);

  // @ts-expect-error the row has only the selected columns
  up.rows[0]?.status;
  // @ts-expect-error the reference can be null
  up.rows[0]?.project.name;
  // @ts-expect-error the referenced table has no such column
  await db.todos.list({ select: ["id", { project: ["title"] }] });
  // @ts-expect-error the column is not a reference
  await db.todos.list({ select: ["id", { title: ["id"] }] });
  // @ts-expect-error a uuid is not a reference
  await db.todos.list({ select: ["id", { external: ["id"] }] });
  // @ts-expect-error an enum is not a reference
  await db.todos.list({ select: ["id", { status: ["id"] }] });
  // @ts-expect-error a column wins over a table of its name
  await db.todos.list({ select: ["id", { notes: ["text"] }] });
  // @ts-expect-error the table has no reference to this table
  await db.vendors.list({ select: ["id", { people: ["id"] }] });
  // @ts-expect-error the table has several references to this table
  await db.people.list({ select: ["id", { matches: ["score"] }] });
  // @ts-expect-error the column is not a reference to this table
  await db.people.list({ select: ["id", { "matches!score": ["id"] }] });
  // @ts-expect-error the table has no such column
  await db.todos.list({ select: ["name"] });
  // @ts-expect-error the table has no such column, in a list that is not constant
  await db.todos.list({ select: ["id"] as ("id" | "name")[] });
  // @ts-expect-error the children have no such column
  await db.projects.list({ select: [{ todos: { select: ["name"] } }] });
  // @ts-expect-error the children have no such column, in the short form
  await db.projects.list({ select: [{ todos: ["name"] }] });
  // @ts-expect-error the children have no such column in their order
  await db.projects.list({ select: [{ todos: { select: ["id"], orderBy: [{ name: "asc" }] } }] });
  // @ts-expect-error children have no conditions
  await db.projects.list({ select: [{ todos: { select: ["id"], where: { title: "" } } }] });
  // @ts-expect-error a limit is a number
  await db.projects.list({ select: [{ todos: { select: ["id"], limit: "10" } }] });
  // @ts-expect-error children have a selection
  await db.projects.list({ select: [{ todos: { limit: 10 } }] });
  // @ts-expect-error a reference has one row, and no options
  await db.todos.list({ select: [{ project: { select: ["id"], limit: 1 } }] });
  // @ts-expect-error the second level has no such column
  await db.todos.list({ select: [{ project: [{ vendor: ["title"] }] }] });
  // @ts-expect-error related rows have at most two levels
  await db.notes.list({ select: [{ todo: [{ project: [{ vendor: ["name"] }] }] }] });
  // @ts-expect-error a selection is a list
  await db.todos.list({ select: "id" });
  // @ts-expect-error the generated types have no such table
  await generated.projects.list({ select: ["id", { notes: ["text"] }] });
  // @ts-expect-error all rows of an app have the same app
  await db.todos.list({ select: [{ project: ["app_id"] }] });
}

/** Rows in a component. */
export function followRows(): void {
  const all = useRows(db.todos, { limit: 5 }).page?.rows[0];
  expectEqual<typeof all, Row<Schema, "todos"> | undefined>(true);
  const some = useRows(db.todos, { select: ["id", { project: ["name"] }], limit: 5 }).page?.rows;
  expectEqual<typeof some, { id: Id<"todos">; project: { name: string } | null }[] | undefined>(
    true,
  );
  const ofTypes = useRows(generated.todos, { select: ["title"] }).page?.rows;
  expectEqual<typeof ofTypes, { title: string }[] | undefined>(true);

  // @ts-expect-error the table has no such column
  useRows(db.todos, { select: ["name"] });
  // @ts-expect-error the referenced table has no such column
  useRows(db.todos, { select: [{ project: ["title"] }] });
}

/** Conditions on the rows of references. */
export async function findByReferencedRows(vendor: Id<"vendors">): Promise<void> {
  await db.todos.list({ where: { project: { vendor, name: { like: "House*" } } } });
  await db.todos.list({ where: { project: { vendor: { name: "Ann" } }, author: { name: "Bob" } } });
  await db.todos.list({ where: { or: [{ project: { vendor: null } }, { status: "done" }] } });
  await db.todos.list({
    where: { project: { not: { vendor }, or: [{ budget: { gt: "1.5" } }, { budget: null }] } },
    select: ["title", { project: ["name"] }],
  });
  await db.todos.list({ where: { project: { vendor: { in: [vendor] }, parent: { is: null } } } });
  await db.projects.list({ where: { parent: { parent: { name: "House" } } } });
  await db.todos.groups({ by: ["status"], where: { project: { vendor } } });
  await generated.todos.list({ where: { project: { vendor: { name: { eq: "Ann" } } } } });
  for await (const { rows } of db.todos.watch({ where: { project: { vendor } } }))
    expectEqual<(typeof rows)[number], Row<Schema, "todos">>(true);

  // @ts-expect-error the referenced table has no such column
  await db.todos.list({ where: { project: { title: "x" } } });
  // @ts-expect-error the value is of another kind
  await db.todos.list({ where: { project: { name: 5 } } });
  // @ts-expect-error the id is of another table
  await db.todos.list({ where: { project: { vendor: "" as Id<"projects"> } } });
  // @ts-expect-error the column is not a reference
  await db.todos.list({ where: { title: { name: "x" } } });
  // @ts-expect-error a uuid is not a reference
  await db.todos.list({ where: { external: { id: "x" } } });
  // @ts-expect-error the column of the second row does not exist
  await db.todos.list({ where: { project: { vendor: { vendor } } } });
  // @ts-expect-error three references are too many
  await db.notes.list({ where: { todo: { project: { vendor: { name: "Ann" } } } } });
  // @ts-expect-error the group has a condition on an unknown column
  await db.todos.groups({ where: { and: [{ project: { title: "x" } }] } });
  // @ts-expect-error a required column is never null
  await db.todos.list({ where: { project: { name: { is: null } } } });
  // @ts-expect-error the generated types have no such column
  await generated.todos.watch({ where: { project: { budgets: "x" } } });
}
