import { describe, expect, test } from "bun:test";
import { declareRules, tableOf } from "../../../test/support/rules.ts";
import type { TableDefinition } from "../../schema/mod.ts";
import { ALL_ENDPOINTS } from "./functions.ts";
import { functionName, hashColumnSet, queryColumns, type View } from "./mod.ts";
import { allowsEndpoint, functionsOfView } from "./person_endpoints.ts";
import { definitionFor, membershipOf, viewOf, viewsOf } from "./views.ts";

const APP = "01a1fcb7-5606-7633-8805-3f89707cdb6c";

function declare(teamsRead: unknown = true): readonly TableDefinition[] {
  return declareRules({
    teams: { columns: { name: "string" }, rules: { allow: { member: { read: teamsRead } } } },
    members: {
      columns: { person: "uuid", team: { kind: "ref", table: "teams" } },
      rules: { allow: { boss: "everything" } },
    },
    todos: {
      columns: {
        title: { kind: "string", required: true },
        owner: { kind: "uuid", required: true },
        team: { kind: "ref", table: "teams" },
        cost: "decimal",
        state: "string",
      },
      rules: {
        allow: {
          boss: "everything",
          chief: "everything",
          member: { read: [{ owner: "me" }, { team: { memberOf: "members" } }], create: true },
          clerk: { create: true },
        },
        owner: ["owner"],
        only: { cost: ["boss", "chief"] },
        setBy: { state: ["boss", "chief"] },
      },
    },
  });
}

function todosView(role: string, tables = declare()): View {
  const view = viewOf(APP, tables, tableOf(tables, "todos"), role);
  if (view === undefined) throw new Error(`No view of ${role}`);
  return view;
}

describe("views", () => {
  test("roles with the same rights have one view", () => {
    const tables = declare();
    const roles = viewsOf(APP, tables, tableOf(tables, "todos")).map((view) => view.roles);
    expect(roles).toEqual([["boss", "chief"], ["clerk"], ["member"]]);
    expect(viewOf(APP, tables, tableOf(tables, "todos"), "stranger")).toBeUndefined();
    expect(viewOf(APP, tables, tableOf(tables, "todos"), "toString")).toBeUndefined();
  });

  test("a table of memberships with several columns for the person or the reference has no functions", () => {
    const withColumn = (column: TableDefinition["columns"][number]) =>
      declare().map((table) =>
        table.name === "members" ? { ...table, columns: [column, ...table.columns] } : table,
      );
    const plain = { required: false, unique: false, index: false };
    expect(membershipOf(todosView("member"), "members", "teams")).toEqual({
      person: "person",
      reference: "team",
    });
    for (const column of [
      { ...plain, name: "added_by", kind: "uuid" },
      { ...plain, name: "former_team", kind: "ref", table: "teams" },
    ] as const)
      expect(() =>
        membershipOf(todosView("member", withColumn(column)), "members", "teams"),
      ).toThrow("The table members has several columns of a membership");
  });

  test("a view has the columns that the roles do not see or set", () => {
    const { hidden, fixed, owner } = todosView("member");
    expect({ hidden, fixed, owner }).toEqual({
      hidden: ["cost"],
      fixed: ["owner", "state"],
      owner: ["owner"],
    });
    expect(todosView("boss")).toMatchObject({ hidden: [], fixed: ["owner"] });
  });

  test("a view reaches other tables by its rules and its references", () => {
    const { others } = todosView("member");
    expect(Object.keys(others)).toEqual(["members", "teams"]);
    expect(others["members"]?.read).toBeUndefined();
    expect(others["members"]?.columns.map(({ name }) => name)).toEqual(["person", "team"]);
    expect(others["teams"]).toEqual({ read: [{}], columns: [] });
  });

  test("everything that a view compares is in the name of its functions", () => {
    const set = tableOf(declare(), "todos");
    const member = todosView("member");
    const changed = todosView("member", declare({ name: "open" }));
    const sets = [
      set,
      { ...set, view: member },
      { ...set, view: changed },
      { ...set, view: todosView("boss") },
      { ...set, view: { ...member, app: APP.replace("01", "02") } },
      { ...set, view: { ...member, roles: ["member", "other"] } },
      { ...set, view: { ...member, read: [{}] } },
      { ...set, view: { ...member, hidden: [] } },
    ];
    expect(new Set(sets.map(hashColumnSet)).size).toBe(sets.length);
    expect(new Set(sets.map((each) => functionName(each, "list"))).size).toBe(sets.length);
  });

  test("a column that the roles do not see has no number and no definition", () => {
    const set = tableOf(declare(), "todos");
    const view = todosView("member");
    const numbered = queryColumns({ ...set, view }).map(({ name }) => name);
    expect(numbered).toEqual(["id", "owner", "state", "team", "title"]);
    const definition = definitionFor(set, view);
    expect(queryColumns(definition).map(({ name }) => name)).toEqual(numbered);
    expect(definition).not.toHaveProperty("rules");
    expect(definition.columns.find(({ name }) => name === "owner")?.required).toBe(false);
    expect(definition.columns.find(({ name }) => name === "title")?.required).toBe(true);
  });

  test("a view has only the functions that its actions allow", () => {
    const site = { dialect: "plain" } as const;
    const allowed = (view: View) =>
      ALL_ENDPOINTS.filter((endpoint) => allowsEndpoint(view, endpoint));
    expect(allowed(todosView("clerk"))).toEqual(["create", "create_many", "create_group"]);
    expect(allowed(todosView("member"))).not.toContain("update");
    expect(allowed(todosView("boss"))).toEqual([...ALL_ENDPOINTS]);
    expect(functionsOfView(todosView("boss"), site)).toContain("walk");
    expect(functionsOfView(todosView("boss"), { ...site, dialect: "citus" })).toEqual([
      ...["get", "create", "create_many", "update", "delete", "terms"],
    ] as never);
  });
});
