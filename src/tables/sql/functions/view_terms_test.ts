import { describe, expect, test } from "bun:test";
import { declareRules, tableOf } from "../../../../test/support/rules.ts";
import type { ColumnSet } from "../../catalog/mod.ts";
import { viewOf } from "../../catalog/mod.ts";
import { qualify } from "../../qualify.ts";
import { declareWho } from "./caller_terms.ts";
import {
  andVisible,
  checkedReferences,
  closedColumns,
  isAllowed,
  isAllowedNew,
  isVisible,
  onRow,
  readsItself,
  shownColumns,
} from "./view_terms.ts";

const APP = "01a1fcb7-5606-7633-8805-3f89707cdb6c";

const TABLES = declareRules({
  teams: { columns: { name: "string" }, rules: { allow: { member: { read: { name: "a'b" } } } } },
  groups: {
    columns: { team: { kind: "ref", table: "teams" } },
    rules: { allow: { member: { read: { team: { readable: true } } } } },
  },
  members: { columns: { person: "uuid", team: { kind: "ref", table: "teams" }, isOn: "boolean" } },
  todos: {
    columns: {
      title: "string",
      status: { kind: "enum", values: ["open", "done"] },
      owner: "uuid",
      team: { kind: "ref", table: "teams" },
      group: { kind: "ref", table: "groups" },
      cost: "decimal",
      rank: "integer",
    },
    rules: {
      allow: {
        lead: "everything",
        member: {
          read: [
            { owner: "me", status: ["open", "done"], title: null },
            { team: { memberOf: "members", where: { isOn: true } } },
            { group: { readable: true }, cost: "1.50", rank: 3 },
          ],
          create: { owner: "me" },
          update: { from: { owner: "me" }, to: { status: "done" } },
        },
      },
      owner: ["owner"],
      only: { cost: ["lead"] },
      setBy: { rank: ["lead"] },
    },
  },
});

function setOf(role: string, name = "todos"): ColumnSet {
  const table = tableOf(TABLES, name);
  const view = viewOf(APP, TABLES, table, role);
  if (view === undefined) throw new Error(`${role} has no view`);
  return { ...table, view };
}

describe("terms of a view", () => {
  test("a rule is one condition with the person, and no role", () => {
    const condition = qualify(`select true where ${isVisible(setOf("member"))}`);
    expect(condition).toMatchSnapshot();
    expect(condition).not.toContain("member'");
    expect(qualify(`select true where ${isVisible(setOf("member"), "$x", "$5")}`)).toContain(
      `"$x"."owner" operator(pg_catalog.=) $5`,
    );
  });

  test("without a view, or with a rule for all rows, there is no condition", () => {
    const { view: _, ...open } = setOf("lead");
    for (const set of [open, setOf("lead")]) {
      expect(andVisible(set)).toBe("");
      expect(isAllowed(set, "delete")).toBe("true");
    }
    expect(declareWho(open)).toBe("");
    expect(closedColumns(open, true)).toEqual([]);
    expect(checkedReferences(open)).toEqual([]);
  });

  test("an action without a rule is false, never true", () => {
    expect(isAllowed(setOf("member"), "delete")).toBe("false");
    expect(andVisible(setOf("member", "groups"))).toContain("exists");
  });

  test("a new row of the person has its owner", () => {
    const set = setOf("member");
    expect(isAllowedNew(set, "create", onRow())).toBe("true");
    expect(isAllowedNew(set, "to", onRow())).not.toBe("true");
    expect(isAllowed(set, "create")).toBe(`"$t"."owner" = "$who"`);
  });

  test("hidden columns are not shown, and protected columns are closed", () => {
    const set = setOf("member");
    expect(shownColumns(set).map(({ name }) => name)).not.toContain("cost");
    expect(closedColumns(set, true)).toEqual(["cost", "rank"]);
    expect(closedColumns(set, false)).toEqual(["owner", "cost", "rank"]);
    expect(closedColumns(setOf("lead"), false)).toEqual(["owner"]);
  });

  test("references to rows that the role does not all read are checked", () => {
    const checked = checkedReferences(setOf("member"));
    expect(checked.map(({ column }) => column)).toEqual(["team", "group"]);
    expect(checked.map(({ constraint }) => constraint)).toEqual([
      "todos__team__fkey",
      "todos__group__fkey",
    ]);
    expect(qualify(`select ${checked[1]?.isReadable(onRow())}`)).toContain(`data."teams"`);
    // A role without a rule for the other table reads none of its rows.
    expect(checkedReferences(setOf("lead"))[0]?.isReadable(onRow())).toBe("false");
  });

  test("a rule that follows references can depend on the written table", () => {
    expect(readsItself(setOf("member"))).toBe(true);
    expect(readsItself(setOf("lead"))).toBe(false);
  });
});
