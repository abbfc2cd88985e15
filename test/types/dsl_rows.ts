/** The types of a schema's tables. Compiled by `tsc`, never run. @module */
import type exampleSchema from "../../schema/mod.ts";
import {
  defineSchema,
  type Id,
  type Insert,
  type Json,
  type Row,
  type TablesOf,
  t,
  type Unique,
  type Update,
} from "../../src/schema/mod.ts";
import { expectEqual } from "./equal.ts";

type Shape = { readonly tags: Set<string> };

const schema = defineSchema({
  projects: { name: t.string().required() },
  todos: t
    .model({
      title: t.string().required(),
      rank: t.number(),
      price: t.decimal().required().default("0.00"),
      done: t.boolean().default(false).required(),
      token: t.uuid().unique(),
      due: t.timestamp().default("now").onUpdate("now"),
      extra: t.json<Shape>(),
      free: t.json().required(),
      status: t.enum(["open", "done"]).required().index(),
      project: t.ref("projects", { onDelete: "cascade" }).required(),
      parent: t.ref("todos"),
      former: t.ref("projects", { onDelete: "set null" }).unique(),
    })
    .index("status", "rank"),
});

type Schema = typeof schema;

expectEqual<Row<Schema, "projects">, { id: Id<"projects">; app_id: string; name: string }>(true);
expectEqual<
  Row<Schema, "todos">,
  {
    id: Id<"todos">;
    app_id: string;
    title: string;
    rank: number | null;
    price: string;
    done: boolean;
    token: string | null;
    due: string | null;
    extra: Shape | null;
    free: Json;
    status: "open" | "done";
    project: Id<"projects">;
    parent: Id<"todos"> | null;
    former: Id<"projects"> | null;
  }
>(true);
expectEqual<
  Insert<Schema, "todos">,
  {
    title: string;
    free: Json;
    status: "open" | "done";
    project: Id<"projects">;
    rank?: number | null;
    price?: string;
    done?: boolean;
    token?: string | null;
    due?: string | null;
    extra?: Shape | null;
    parent?: Id<"todos"> | null;
    former?: Id<"projects"> | null;
  }
>(true);
expectEqual<
  Update<Schema, "todos">,
  {
    title?: string;
    rank?: number | null;
    price?: string;
    done?: boolean;
    token?: string | null;
    due?: string | null;
    extra?: Shape | null;
    free?: Json;
    status?: "open" | "done";
    project?: Id<"projects">;
    parent?: Id<"todos"> | null;
    former?: Id<"projects"> | null;
  }
>(true);

// A column is unique by its modifier, in any position, or by a constraint of the table over only this column. A constraint over
// several columns is a list of their names.
expectEqual<Unique<Schema, "todos">, "id" | "token" | "former">(true);
expectEqual<Unique<Schema, "projects">, "id">(true);
const anyOrder = defineSchema({
  cards: t
    .model({
      first: t.string().unique().required().index().default(""),
      last: t.number().default(1).index().required().unique(),
      single: t.uuid(),
      left: t.uuid(),
      right: t.uuid(),
    })
    .unique("left", "right")
    .unique("single")
    .index("left", "id"),
});
expectEqual<
  Unique<typeof anyOrder, "cards">,
  "first" | "id" | "last" | "single" | readonly ["left", "right"]
>(true);

// Push generates an interface. It has the same types as the schema.
interface Tables {
  todos: TablesOf<Schema>["todos"];
}
expectEqual<TablesOf<Tables>, Tables>(true);
expectEqual<Row<Tables, "todos">, Row<Schema, "todos">>(true);
expectEqual<Insert<Tables, "todos">, Insert<Schema, "todos">>(true);
expectEqual<Update<Tables, "todos">, Update<Schema, "todos">>(true);
expectEqual<Unique<Tables, "todos">, Unique<Schema, "todos">>(true);

// A todo of the example app needs only a title.
export const todo: Insert<typeof exampleSchema, "todos"> = { title: "Water the plants" };

// @ts-expect-error a required column without default is missing
export const untitled: Insert<typeof exampleSchema, "todos"> = {};

// @ts-expect-error a required column rejects null, even with a default
export const noStatus: Insert<typeof exampleSchema, "todos"> = { title: "", status: null };

// @ts-expect-error a required column rejects null in an update
export const noTitle: Update<typeof exampleSchema, "todos"> = { title: null };

// @ts-expect-error the service generates the id
export const ownId: Insert<typeof exampleSchema, "todos"> = { title: "", id: "" };

// @ts-expect-error the schema has no such table
export type None = Row<Schema, "tasks">;

// @ts-expect-error the generated types have no such table
export type NoneOfTables = Row<Tables, "projects">;

// Any string is assignable to an id, except an id of another table.
export const plain: Id<"todos"> = "0190163d-8694-739b-aea5-966c26f8ad91";
export const text: string = plain;
declare const projectId: Id<"projects">;
// @ts-expect-error an id of a project is not an id of a todo
export const mistaken: Id<"todos"> = projectId;
