/** The tables. `rowhouse dev` pushes them. */
import { defineSchema, t } from "rowhouse-client/schema";

export default defineSchema({
  projects: {
    name: t.string().required().unique(),
  },
  todos: t
    .model({
      title: t.string().required(),
      status: t.enum(["open", "doing", "done"]).required().default("open"),
      project: t.ref("projects", { onDelete: "cascade" }),
      estimate_hours: t.decimal(),
      checklist: t.json<{ items: { text: string; done: boolean }[] }>(),
      noted_at: t.timestamp().required().default("now"),
    })
    .index("status", "noted_at")
    .unique("project", "title"),
});
