/** Rules that the compiler accepts or rejects. Compiled by `tsc`, never run, except the schema. @module */
import { defineSchema, type Insert, type Row, t } from "../../src/schema/mod.ts";
import type { Equal } from "./equal.ts";

/** The schema of the design. */
export const schema = defineSchema({
  teams: t
    .model({ name: t.string().required() })
    .allow(["member", "lead"], { read: true })
    .allow("admin", "everything"),
  team_members: t
    .model({ person: t.uuid().required(), team: t.ref("teams").required() })
    .index("person", "team")
    .allow("member", { read: { person: "me" } })
    .allow("admin", "everything"),
  todos: t
    .model({
      title: t.string().required(),
      status: t.enum(["open", "done", "approved"]).required().default("open"),
      owner: t.uuid().required().owner(),
      team: t.ref("teams"),
      cost: t.decimal().only("lead", "admin"),
      approved_by: t.string().setBy("lead"),
    })
    .index("owner", "id")
    .index("team", "id")
    .allow("viewer", { read: { status: ["done", "approved"] } })
    .allow("member", {
      read: [{ owner: "me" }, { team: { memberOf: "team_members" } }],
      create: { status: "open" },
      update: {
        from: { owner: "me", status: "open" },
        to: { owner: "me", status: ["open", "done"] },
      },
      delete: { owner: "me", status: "open" },
    })
    .allow("lead", { read: true, create: true, update: true }),
});

export type Checks = [
  // An owner is filled, also if it is required.
  Equal<Insert<typeof schema, "todos">["owner"], string | undefined>,
  Equal<Row<typeof schema, "todos">["owner"], string>,
  Equal<Insert<typeof schema, "todos">["cost"], string | null | undefined>,
  Equal<Insert<typeof schema, "team_members">["person"], string>,
];

const all = t.model({
  title: t.string().required(),
  note: t.string(),
  rank: t.integer(),
  share: t.number(),
  cost: t.decimal(),
  urgent: t.boolean(),
  status: t.enum(["open", "done"]),
  owner: t.uuid(),
  due: t.date(),
  seen: t.timestamp(),
  data: t.json(),
  team: t.ref("teams"),
  former: t.ref("teams", { onDelete: "set null" }),
});

export const accepted = [
  all.allow("a", {}),
  all.allow("a", { read: false, create: true }),
  all.allow(["a", "b"], { read: {} }),
  all.allow("a", { read: { title: "x", rank: [1, 2], share: 0.5, cost: "1.5", urgent: false } }),
  all.allow("a", { read: { note: null, rank: null, owner: null, team: null, status: null } }),
  all.allow("a", { read: { id: "me" } }),
  all.allow("a", { read: { team: { readable: true } } }),
  all.allow("a", { read: { former: { memberOf: "team_members" } } }),
  all.allow("a", {
    read: { team: { memberOf: "members", where: { level: ["lead", "head"], former: null } } },
  }),
  all.allow("a", { read: true, update: [{ owner: "me" }, { status: "open" }] }),
  all.allow("a", { read: true, update: { from: { status: "open" }, to: true } }),
  all.allow("a", "everything"),
  t.model({ from: t.string(), to: t.string() }).allow("a", { read: true, update: [{ to: "x" }] }),
  t.ref("teams", { onDelete: "set null" }).only("lead").setBy("lead"),
  t.uuid().owner().required().index().only("lead"),
];

// @ts-expect-error the enum has no such value
all.allow("a", { read: { status: "lost" } });
// @ts-expect-error the enum has no such value
all.allow("a", { read: { status: ["open", "lost"] } });
// @ts-expect-error the table has no such column
all.allow("a", { read: { sttaus: "open" } });
// @ts-expect-error the table has no such column
all.allow("a", { read: [{ status: "open" }, { sttaus: "open" }] });
// @ts-expect-error a rule does not know the app
all.allow("a", { read: { app_id: "me" } });
// @ts-expect-error only a uuid column is compared with the person
all.allow("a", { read: { status: "me" } });
// @ts-expect-error a reference is not the person
all.allow("a", { read: { team: "me" } });
// @ts-expect-error a uuid column is compared with the person only
all.allow("a", { read: { owner: "0190163d-8694-739b-aea5-966c26f8ad91" } });
// @ts-expect-error the id is never null
all.allow("a", { read: { id: null } });
// @ts-expect-error a required column is never null
all.allow("a", { read: { title: null } });
// @ts-expect-error null is an alternative of its own
all.allow("a", { read: { note: ["x", null] } });
// @ts-expect-error only a reference has members
all.allow("a", { read: { title: { memberOf: "team_members" } } });
// @ts-expect-error only a reference is readable
all.allow("a", { read: { owner: { readable: true } } });
// @ts-expect-error readable is true or left out
all.allow("a", { read: { team: { readable: false } } });
// @ts-expect-error a membership is not nested
all.allow("a", { read: { team: { memberOf: "m", where: { team: { memberOf: "m" } } } } });
// @ts-expect-error times are not compared
all.allow("a", { read: { seen: "2026-01-01T00:00:00Z" } });
// @ts-expect-error dates are not compared
all.allow("a", { read: { due: "2026-01-01" } });
// @ts-expect-error JSON is not compared
all.allow("a", { read: { data: {} } });
// @ts-expect-error JSON is not compared
all.allow("a", { read: { data: null } });
// @ts-expect-error a number is not a text
all.allow("a", { read: { rank: "1" } });
// @ts-expect-error a decimal is a text
all.allow("a", { read: { cost: 1.5 } });
// @ts-expect-error there is no such action
all.allow("a", { write: true });
// @ts-expect-error both parts of a change are needed
all.allow("a", { read: true, update: { from: { owner: "me" } } });
// @ts-expect-error the only word is "everything"
all.allow("a", "all");
// @ts-expect-error rules are needed
all.allow("a");
// @ts-expect-error a list has at least one role
all.allow([], { read: true });
// @ts-expect-error a text is not an owner
t.string().owner();
// @ts-expect-error an owner has no arguments
t.uuid().owner(true);
// @ts-expect-error at least one role
t.decimal().only();
// @ts-expect-error at least one role
t.decimal().setBy();
// @ts-expect-error a role is a name
t.decimal().only(1);
