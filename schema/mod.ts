/** The example app: projects and their todos. `bun run push` applies it. @module */
import { defineSchema, t } from "../src/schema/mod.ts";

type Checklist = { items: { text: string; done: boolean }[] };

export default defineSchema({
  projects: {
    name: t.string().required().unique(),
    archived: t.boolean().required().default(false),
  },
  todos: t
    .model({
      title: t.string().required(),
      status: t.enum(["open", "doing", "done"]).required().default("open"),
      project: t.ref("projects", { onDelete: "cascade" }),
      position: t.number(),
      estimate_hours: t.decimal(),
      checklist: t.json<Checklist>(),
      due_at: t.timestamp(),
      noted_at: t.timestamp().required().default("now"),
    })
    .index("status", "due_at")
    .unique("project", "title"),
});
