import { describe, expect, test } from "bun:test";
import { casesBy } from "../../test/support/cases.ts";
import { expectSentences } from "../../test/support/sentences.ts";
import { schema as design } from "../../test/types/dsl_rules.ts";
import { checkRules, defineSchema, type TableSources, t, toDefinition } from "./mod.ts";

const person = t.uuid().required();
const teams = t.model({ name: t.string() }).allow("member", { read: true });
const members = { person, team: t.ref("teams").required() };

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
  test.each(
    casesBy<object>({
      todos: {
        "a change without read": { todos: t.model({}).allow("member", { update: true }) },
        "a delete without read": {
          todos: t.model({}).allow("member", { delete: true, read: false }),
        },
        "rows that are readable if they are readable": {
          todos: t
            .model({ parent: t.ref("todos") })
            .allow("member", { read: [{ id: "me" }, { parent: { readable: true } }] }),
        },
        "a delete that cascades to a table without rules": {
          comments: { todo: t.ref("todos", { onDelete: "cascade" }) },
          todos: t.model({}).allow("member", "everything"),
        },
        "a delete that cascades to rows that the role deletes under a rule": {
          comments: t
            .model({ todo: t.ref("todos", { onDelete: "cascade" }), author: t.uuid() })
            .allow("member", { read: true, delete: { author: "me" } }),
          todos: t.model({}).allow("member", "everything"),
        },
        "a delete that cascades to rows that the role does not read": {
          comments: t
            .model({ todo: t.ref("todos", { onDelete: "cascade" }), author: t.uuid() })
            .allow("member", { read: { author: "me" }, delete: true }),
          todos: t.model({}).allow("member", "everything"),
        },
        "a delete that cascades to rows of the same table": {
          todos: t
            .model({ after: t.ref("todos", { onDelete: "cascade" }), owner: t.uuid() })
            .allow("member", { read: { owner: "me" }, delete: true }),
        },
      },
      "todos/a": {
        "a column only for a role without rules": {
          todos: t.model({ a: t.string().only("lead") }).allow("member", { read: true }),
        },
        "a column set by a role without rules": {
          todos: { a: t.string().setBy("constructor") },
          teams,
        },
        "a required column that a creating role does not see": {
          todos: t
            .model({ a: t.string().required().only("lead") })
            .allow("lead", "everything")
            .allow("member", { create: true }),
        },
        "a required column that a creating role never sets": {
          todos: t
            .model({ a: t.string().required().setBy("lead") })
            .allow("lead", "everything")
            .allow("member", { create: true }),
        },
      },
      "todos/team": {
        "memberships in no table": ofTeams(members, { memberOf: "constructor" }),
        "memberships without a person": ofTeams({ team: members.team }),
        "memberships of two people": ofTeams({ ...members, by: t.uuid() }),
        "memberships without a team": ofTeams({ person, todo: t.ref("todos") }),
        "memberships of two teams": ofTeams({ ...members, former: t.ref("teams") }),
        "a membership with an unknown column": ofTeams(members, {
          memberOf: "team_members",
          where: { level: "lead" },
        }),
        "a membership with an unknown value": ofTeams(
          { ...members, level: t.enum(["member", "lead"]) },
          { memberOf: "team_members", where: { level: ["lead", "head"] } },
        ),
        "a membership that compares a person": ofTeams(members, {
          memberOf: "team_members",
          where: { person: "me" },
        }),
        "a membership that compares a time": ofTeams(
          { ...members, since: t.timestamp() },
          { memberOf: "team_members", where: { since: null } },
        ),
      },
      a: {
        "three tables that are readable through each other": {
          a: t.model({ b: t.ref("b") }).allow("member", { read: { b: { readable: true } } }),
          b: t.model({ c: t.ref("c") }).allow("member", { read: { c: { readable: true } } }),
          c: t.model({ a: t.ref("a") }).allow("member", { read: { a: { readable: true } } }),
        },
      },
    }),
  )("$name", ({ value: tables, expected }) => {
    const [table, column] = expected.split("/");
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
  test.each(
    Object.entries<TableSources>({
      "a role that only creates": { todos: t.model({}).allow("clerk", { create: true }) },
      "a required owner, and a required column with a default": {
        todos: t
          .model({ owner: person.owner(), a: t.string().required().default("").setBy("lead") })
          .allow("lead", "everything")
          .allow("member", { create: true }),
      },
      "a delete that cascades to rows that inherit from the deleted row": {
        todos: t.model({ owner: person }).allow("member", { read: { owner: "me" }, delete: true }),
        comments: t
          .model({ todo: t.ref("todos", { onDelete: "cascade" }) })
          .allow("member", { read: { todo: { readable: true } }, delete: true }),
      },
      "references in a circle, if each role reads along a part of it": {
        a: t.model({ b: t.ref("b") }).allow("one", { read: { b: { readable: true } } }),
        b: t
          .model({ a: t.ref("a") })
          .allow("one", { read: true })
          .allow("two", { read: { a: { readable: true } } }),
      },
      "new rows below rows that are readable through them": {
        todos: t
          .model({ parent: t.ref("todos"), owner: person })
          .allow("member", { read: { owner: "me" }, create: { parent: { readable: true } } }),
      },
      "memberships with conditions": {
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
    }),
  )("%s", (_, tables) => {
    expect(toDefinition(defineSchema(tables))).toHaveProperty("definition");
  });
});
