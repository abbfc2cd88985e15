/** The schema of an app without a server: its members read and write their own rows, and its leads all rows. @module */
import { defineSchema, t } from "../../../src/schema/mod.ts";

export const schema = defineSchema({
  todos: t
    .model({
      title: t.string().required(),
      status: t.enum(["open", "done"]).required().default("open"),
      owner: t.uuid().required().owner(),
    })
    .index("owner", "id")
    .allow("member", {
      read: { owner: "me" },
      create: { status: "open" },
      update: { owner: "me" },
      delete: { owner: "me", status: "open" },
    })
    .allow("lead", { read: true, create: true, update: true, delete: true }),
});
