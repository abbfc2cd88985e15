/** Rules belong to an app's declaration: the record of a table has none, and a registration has those of the last declaration. */
import { describe, expect, test } from "bun:test";
import { readDefinition, type TableDefinition } from "../../src/schema/mod.ts";
import { type Change, planPush } from "../../src/tables/mod.ts";
import { changeTable } from "../../src/tables/plan/change.ts";
import { findDifferences } from "../../src/tables/plan/compare.ts";
import { accumulate, mergeDeclared, mergeTable } from "../../src/tables/plan/merge_table.ts";
import type { PushState } from "../../src/tables/state.ts";
import { PLAIN } from "../support/definitions.ts";

const COLUMNS = [
  { ...PLAIN, name: "owner", kind: "uuid" },
  { ...PLAIN, name: "status", kind: "enum", values: ["open", "done"] },
  { ...PLAIN, name: "team", kind: "ref", table: "teams" },
  { ...PLAIN, name: "title" },
];
const MEMBERS = { memberOf: "team_members", where: { level: 1 } };

function read(rules: object | undefined, columns: readonly object[] = COLUMNS): TableDefinition {
  const bare = { columns: [], indexes: [], uniques: [] };
  const todos = { ...bare, name: "todos", columns, ...(rules && { rules }) };
  const reading = readDefinition({ version: 1, tables: [todos, { ...bare, name: "teams" }] });
  const table = "definition" in reading ? reading.definition.tables[1] : undefined;
  if (table === undefined) throw new Error(JSON.stringify(reading));
  return table;
}

const RULES = {
  allow: { member: { read: [{ owner: "me", status: "open" }, { team: MEMBERS }] } },
  owner: ["owner"],
  setBy: { status: ["lead"] },
};
const ruled = read(RULES);
const plain = read(undefined);
const EMPTY: PushState = {
  ...{ dialect: "plain", tables: [], migrations: [], head: undefined },
  ...{ journalBytes: 0, unheard: [], hasDeferredSteps: false, people: { isOpen: true, roles: [] } },
};

describe("rules", () => {
  test("are in the registration of a new table and not in its record", () => {
    const { steps } = planPush("app", { version: 1, tables: [ruled] }, EMPTY);
    const withRules = steps.filter((step) => JSON.stringify(step).includes('"rules":'));
    expect(withRules).toEqual([{ kind: "register", table: ruled }]);
    expect(steps).toContainEqual({ kind: "record_table", table: plain });
  });

  test("are those of the last declaration", () => {
    expect(mergeTable(ruled, plain)).toEqual(plain);
    expect(mergeTable(plain, ruled)).toEqual(plain);
    const other = read({ allow: { viewer: { read: true } } });
    expect(accumulate(ruled, other, plain)).toEqual(ruled);
    expect(accumulate(plain, ruled, plain)).toEqual(plain);
  });

  test("of a former declaration do not count in a history", () => {
    const history = [
      { definition: { version: 1, tables: [ruled] } },
      { definition: { version: 1, tables: [] } },
    ] as const;
    expect(mergeDeclared(history.slice(0, 1)).tables).toEqual([ruled]);
    expect(mergeDeclared(history).tables).toEqual([plain]);
  });

  test("of one app are no difference for another", () => {
    expect(findDifferences(ruled, plain)).toEqual([]);
  });
});

describe("after a change, rules", () => {
  const allow = (read: object) => ({ ...RULES, allow: { member: { read } } });
  test.each<{ change: Change; rules: object | undefined }>([
    {
      change: { kind: "rename_column", table: "todos", column: "owner", to: "zoe" },
      rules: { ...allow([{ status: "open", zoe: "me" }, { team: MEMBERS }]), owner: ["zoe"] },
    },
    {
      change: { kind: "rename_column", table: "todos", column: "status", to: "state" },
      rules: {
        ...allow([{ owner: "me", state: "open" }, { team: MEMBERS }]),
        setBy: { state: ["lead"] },
      },
    },
    {
      change: { kind: "rename_table", table: "team_members", to: "crew" },
      rules: allow([{ owner: "me", status: "open" }, { team: { ...MEMBERS, memberOf: "crew" } }]),
    },
    { change: { kind: "rename_table", table: "todos", to: "tasks" }, rules: RULES },
    { change: { kind: "drop_column", table: "todos", column: "title" }, rules: RULES },
    {
      change: { kind: "rename_column", table: "team_members", column: "level", to: "rank" },
      rules: allow([{ owner: "me", status: "open" }, { team: { ...MEMBERS, where: { rank: 1 } } }]),
    },
    // Without the condition, the rules would allow more: the push rejects these changes.
    { change: { kind: "drop_column", table: "todos", column: "team" }, rules: RULES },
    { change: { kind: "drop_column", table: "todos", column: "status" }, rules: RULES },
    {
      change: { kind: "drop_value", table: "todos", column: "status", value: "open" },
      rules: RULES,
    },
    {
      change: { kind: "retype_column", table: "todos", column: "status", type: { kind: "string" } },
      rules: RULES,
    },
    {
      change: { kind: "retype_column", table: "todos", column: "title", type: { kind: "json" } },
      rules: RULES,
    },
  ])("follow $change", ({ change, rules }) => {
    const changed = changeTable(ruled, change);
    expect(changed?.rules).toEqual(rules as never);
    expect(Object.hasOwn(changed ?? {}, "rules")).toBe(rules !== undefined);
  });
});
