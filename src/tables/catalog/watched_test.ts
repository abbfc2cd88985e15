import { expect, test } from "bun:test";
import { declareRules, tableOf } from "../../../test/support/rules.ts";
import { viewOf, watchedTables } from "./views.ts";

test("the tables that decide which rows a person reads, through memberships and readable rows", () => {
  const tables = declareRules({
    groups: { columns: { name: "string" } },
    group_members: { columns: { person: "uuid", group: { kind: "ref", table: "groups" } } },
    teams: { columns: { name: "string" } },
    members: {
      columns: {
        person: "uuid",
        team: { kind: "ref", table: "teams" },
        group: { kind: "ref", table: "groups" },
      },
      rules: { allow: { member: { read: { group: { memberOf: "group_members" } } } } },
    },
    todos: {
      columns: { team: { kind: "ref", table: "teams" }, via: { kind: "ref", table: "members" } },
      rules: {
        allow: {
          // A membership ignores the rule of its table, and a readable row does not.
          member: { read: [{ team: { memberOf: "members" } }, { via: { readable: true } }] },
        },
      },
    },
  });
  const view = viewOf("app", tables, tableOf(tables, "todos"), "member");
  expect(view && watchedTables(view)).toEqual(["group_members", "members"]);
});
