import { describe, expect, test } from "bun:test";
import { expectSentences } from "../../test/support/sentences.ts";
import { schema as design } from "../../test/types/dsl_rules.ts";
import { checkRules, defineSchema, type TableSources, t, toDefinition } from "./mod.ts";

const person = t.uuid().required();
const teams = t.model({ name: t.string() }).allow("member", { read: true });
const members = { person, team: t.ref("teams").required() };

type Case = { name: string; tables: TableSources; at: [table: string, column?: string] };

function issuesOf(tables: object) {
  const reading = toDefinition({ tables });
  return "issues" in reading ? reading.issues : [];
}
/** Todos of teams, whose members are in `team_members`. */
function ofTeams(memberships: object, match: object = { memberOf: "team_members" }): object {
  const todos = t
    .model({ team: t.ref("teams") })
    .allow("member", { read: { team: match as { readable: true } } });
  return { teams, todos, ...(memberships && { team_members: memberships }) };
}

test("checkRules() accepts the schema of the design", () => {
  expect(toDefinition(design)).toHaveProperty("definition");
});

test("checkRules() accepts a schema without rules", () => {
  expect(checkRules({ tables: [] })).toEqual([]);
});

describe("checkRules() rejects", () => {
  test.each<Omit<Case, "tables"> & { tables: object }>([
    {
      name: "a change without read",
      tables: { todos: t.model({}).allow("member", { update: true }) },
      at: ["todos"],
    },
    {
      name: "a delete without read",
      tables: { todos: t.model({}).allow("member", { delete: true, read: false }) },
      at: ["todos"],
    },
    {
      name: "a column only for a role without rules",
      tables: { todos: t.model({ a: t.string().only("lead") }).allow("member", { read: true }) },
      at: ["todos", "a"],
    },
    {
      name: "a column set by a role without rules",
      tables: { todos: { a: t.string().setBy("constructor") }, teams },
      at: ["todos", "a"],
    },
    {
      name: "a required column that a creating role does not see",
      tables: {
        todos: t
          .model({ a: t.string().required().only("lead") })
          .allow("lead", "everything")
          .allow("member", { create: true }),
      },
      at: ["todos", "a"],
    },
    {
      name: "a required column that a creating role never sets",
      tables: {
        todos: t
          .model({ a: t.string().required().setBy("lead") })
          .allow("lead", "everything")
          .allow("member", { create: true }),
      },
      at: ["todos", "a"],
    },
    {
      name: "memberships in no table",
      tables: ofTeams(members, { memberOf: "constructor" }),
      at: ["todos", "team"],
    },
    {
      name: "memberships without a person",
      tables: ofTeams({ team: members.team }),
      at: ["todos", "team"],
    },
    {
      name: "memberships of two people",
      tables: ofTeams({ ...members, by: t.uuid() }),
      at: ["todos", "team"],
    },
    {
      name: "memberships without a team",
      tables: ofTeams({ person, todo: t.ref("todos") }),
      at: ["todos", "team"],
    },
    {
      name: "memberships of two teams",
      tables: ofTeams({ ...members, former: t.ref("teams") }),
      at: ["todos", "team"],
    },
    {
      name: "a membership with an unknown column",
      tables: ofTeams(members, { memberOf: "team_members", where: { level: "lead" } }),
      at: ["todos", "team"],
    },
    {
      name: "a membership with an unknown value",
      tables: ofTeams(
        { ...members, level: t.enum(["member", "lead"]) },
        { memberOf: "team_members", where: { level: ["lead", "head"] } },
      ),
      at: ["todos", "team"],
    },
    {
      name: "a membership that compares a person",
      tables: ofTeams(members, { memberOf: "team_members", where: { person: "me" } }),
      at: ["todos", "team"],
    },
    {
      name: "a membership that compares a time",
      tables: ofTeams(
        { ...members, since: t.timestamp() },
        { memberOf: "team_members", where: { since: null } },
      ),
      at: ["todos", "team"],
    },
    {
      name: "rows that are readable if they are readable",
      tables: {
        todos: t
          .model({ parent: t.ref("todos") })
          .allow("member", { read: [{ id: "me" }, { parent: { readable: true } }] }),
      },
      at: ["todos"],
    },
    {
      name: "three tables that are readable through each other",
      tables: {
        a: t.model({ b: t.ref("b") }).allow("member", { read: { b: { readable: true } } }),
        b: t.model({ c: t.ref("c") }).allow("member", { read: { c: { readable: true } } }),
        c: t.model({ a: t.ref("a") }).allow("member", { read: { a: { readable: true } } }),
      },
      at: ["a"],
    },
    {
      name: "a delete that cascades to a table without rules",
      tables: {
        comments: { todo: t.ref("todos", { onDelete: "cascade" }) },
        todos: t.model({}).allow("member", "everything"),
      },
      at: ["todos"],
    },
    {
      name: "a delete that cascades to rows that the role deletes under a rule",
      tables: {
        comments: t
          .model({ todo: t.ref("todos", { onDelete: "cascade" }), author: t.uuid() })
          .allow("member", { read: true, delete: { author: "me" } }),
        todos: t.model({}).allow("member", "everything"),
      },
      at: ["todos"],
    },
    {
      name: "a delete that cascades to rows that the role does not read",
      tables: {
        comments: t
          .model({ todo: t.ref("todos", { onDelete: "cascade" }), author: t.uuid() })
          .allow("member", { read: { author: "me" }, delete: true }),
        todos: t.model({}).allow("member", "everything"),
      },
      at: ["todos"],
    },
    {
      name: "a delete that cascades to rows of the same table",
      tables: {
        todos: t
          .model({ after: t.ref("todos", { onDelete: "cascade" }), owner: t.uuid() })
          .allow("member", { read: { owner: "me" }, delete: true }),
      },
      at: ["todos"],
    },
  ])("$name", ({ tables, at: [table, column] }) => {
    const issues = issuesOf(tables);
    expect(issues.map((issue) => [issue.table, issue.column])).toEqual([[table, column]]);
    expectSentences(issues[0]?.message ?? "", { names: [] });
  });

  test("every mistake together", () => {
    const todos = t
      .model({ a: t.string().only("ghost"), parent: t.ref("todos", { onDelete: "cascade" }) })
      .allow("member", { delete: true, create: { parent: { memberOf: "none" } } })
      .allow("lead", { update: true });
    expect(issuesOf({ todos })).toHaveLength(5);
  });
});

describe("checkRules() accepts", () => {
  test.each<{ name: string; tables: TableSources }>([
    {
      name: "a role that only creates",
      tables: { todos: t.model({}).allow("clerk", { create: true }) },
    },
    {
      name: "a required owner, and a required column with a default",
      tables: {
        todos: t
          .model({ owner: person.owner(), a: t.string().required().default("").setBy("lead") })
          .allow("lead", "everything")
          .allow("member", { create: true }),
      },
    },
    {
      name: "a delete that cascades to rows that inherit from the deleted row",
      tables: {
        todos: t.model({ owner: person }).allow("member", { read: { owner: "me" }, delete: true }),
        comments: t
          .model({ todo: t.ref("todos", { onDelete: "cascade" }) })
          .allow("member", { read: { todo: { readable: true } }, delete: true }),
      },
    },
    {
      name: "references in a circle, if each role reads along a part of it",
      tables: {
        a: t.model({ b: t.ref("b") }).allow("one", { read: { b: { readable: true } } }),
        b: t
          .model({ a: t.ref("a") })
          .allow("one", { read: true })
          .allow("two", { read: { a: { readable: true } } }),
      },
    },
    {
      name: "new rows below rows that are readable through them",
      tables: {
        todos: t
          .model({ parent: t.ref("todos"), owner: person })
          .allow("member", { read: { owner: "me" }, create: { parent: { readable: true } } }),
      },
    },
    {
      name: "memberships with conditions",
      tables: {
        teams,
        team_members: {
          ...members,
          level: t.enum(["member", "lead"]),
          weight: t.decimal(),
          until: t.date(),
          left: t.boolean(),
        },
        todos: t.model({ team: t.ref("teams") }).allow("member", {
          read: {
            team: {
              memberOf: "team_members",
              where: { level: ["lead", "member"], weight: "1.5", left: null },
            },
          },
        }),
      },
    },
  ])("$name", ({ tables }) => {
    expect(toDefinition(defineSchema(tables))).toHaveProperty("definition");
  });
});
