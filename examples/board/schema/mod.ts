/** Everyone with a role reads the board. Members change and delete their own cards, administrators all. */
import { defineSchema, t } from "rowhouse/schema";

const own = { author: "me" } as const;

export default defineSchema({
  board_cards: t
    .model({
      title: t.string().required(),
      done: t.boolean().required().default(false),
      author: t.uuid().required().owner(),
    })
    .allow("member", { read: true, create: true, update: own, delete: own })
    .allow("admin", "everything"),
});
