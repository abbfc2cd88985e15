// Written by rowhouse db push. Do not edit: the next push overwrites this file.
import type { Insert, Row, Unique, Update } from "rowhouse/schema";
import type schema from "../schema/mod.ts";

export interface Tables {
  projects: {
    row: Row<typeof schema, "projects">;
    insert: Insert<typeof schema, "projects">;
    update: Update<typeof schema, "projects">;
    unique: Unique<typeof schema, "projects">;
  };
  todos: {
    row: Row<typeof schema, "todos">;
    insert: Insert<typeof schema, "todos">;
    update: Update<typeof schema, "todos">;
    unique: Unique<typeof schema, "todos">;
  };
}
