/** A change of one table touches no other table of the app, unless that one has its name: in a reference or in a rule. */
import { describe, expect, test } from "bun:test";
import { Problem } from "../../src/problem.ts";
import type { Definition } from "../../src/schema/mod.ts";
import { type Change, planPush } from "../../src/tables/mod.ts";
import { advanceState } from "../../src/tables/plan/advanced_state.ts";
import { planChange } from "../../src/tables/plan/plan_change.ts";
import { addViews } from "../../src/tables/plan/plan_views.ts";
import type { Plan, Step } from "../../src/tables/plan/step.ts";
import type { PushState } from "../../src/tables/state.ts";
import { drawRules, drawSchema } from "../support/oracle/draw_schema.ts";
import { definitionOfTables } from "../support/oracle/world.ts";
import { makeRandom, type Random } from "../support/random.ts";
import { countRuns } from "../support/tier.ts";

const OWNER = { id: "owner", slug: "owner" };
const GUEST = { id: "guest", slug: "guest" };
const EMPTY: PushState = {
  ...{ dialect: "plain", tables: [], migrations: [], head: undefined },
  ...{ journalBytes: 0, unheard: [], hasDeferredSteps: false, people: { isOpen: true, roles: [] } },
};
const SCHEMAS = countRuns(40);

function push(state: PushState, app: typeof OWNER, definition: Definition): PushState {
  const plan = addViews(planPush(app.id, definition, state), { app, state });
  if (plan.conflicts.length > 0) throw new Error(JSON.stringify(plan.conflicts));
  return advanceState(state, app, plan);
}

/** The owner's tables with rules. Another app uses some of them, so that the owner's last index on each is deferred. */
function drawState(random: Random, suffix: string): { state: PushState; definition: Definition } {
  const tables = drawRules(random, drawSchema(random, suffix));
  const definition = definitionOfTables(tables);
  const shared = definition.tables
    .filter(({ name }) => /^(?:teams|members|boxes)_/.test(name))
    .map(({ rules: _, ...table }) => table);
  const used = push(push(EMPTY, OWNER, definition), GUEST, { ...definition, tables: shared });
  const grown = {
    ...definition,
    tables: definition.tables.map((table) => {
      const [last] = table.columns.filter(({ kind }) => kind !== "json").slice(-1);
      const isIndexed = last === undefined || last.index || last.unique || last.kind === "ref";
      return isIndexed
        ? table
        : {
            ...table,
            columns: table.columns.map((column) =>
              column === last ? { ...column, index: true } : column,
            ),
          };
    }),
  };
  return { state: push(used, OWNER, grown), definition: grown };
}

/** Every change of the table that the owner can ask for. */
function listChanges({ tables }: Definition, name: string): Change[] {
  const table = tables.find((each) => each.name === name);
  const ofColumns = (table?.columns ?? []).flatMap(
    ({ name: column, kind, values = [] }): Change[] => [
      { kind: "rename_column", table: name, column, to: `${column}_2` },
      { kind: "drop_column", table: name, column },
      ...values
        .slice(0, 1)
        .map((value): Change => ({ kind: "drop_value", table: name, column, value })),
      {
        ...{ kind: "retype_column", table: name, column },
        type: { kind: kind === "string" ? "number" : "string" },
      },
    ],
  );
  return [
    ...ofColumns,
    { kind: "rename_table", table: name, to: `${name}_2` },
    { kind: "drop_table", table: name },
  ];
}

/** The plan; `undefined` if the change is rejected. */
function planOf(state: PushState, change: Change): Plan | undefined {
  try {
    const plan = planChange(OWNER.id, change, state, { isReplay: false });
    const whole = addViews(plan, { app: OWNER, state });
    return whole.conflicts.length > 0 ? undefined : whole;
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

const tableOf = (step: Step): string | undefined =>
  "table" in step ? (typeof step.table === "string" ? step.table : step.table.name) : undefined;

/** The steps on tables that neither are the changed one nor have its name in the state before. */
function listNeedless(state: PushState, { steps }: Pick<Plan, "steps">, changed: string): string[] {
  const names = [changed, `${changed}_2`];
  return steps.flatMap((step) => {
    const name = tableOf(step);
    if (name === undefined || names.includes(name)) return [];
    const found = state.tables.find((table) => table.name === name);
    const isNamed = (value: unknown) => JSON.stringify(value ?? null).includes(`"${changed}"`);
    const own = found?.uses.find(({ appId }) => appId === OWNER.id)?.definition;
    const needs: Partial<Record<Step["kind"], boolean>> = {
      register: isNamed(own),
      record_table: isNamed(found?.definition),
      // A rule reaches the other table through any number of tables.
      create_views: isNamed(found?.views.map(({ set }) => set.view)),
      drop_views: isNamed(found?.views.map(({ set }) => set.view)),
      change_rule: isNamed(own),
    };
    return needs[step.kind] === true ? [] : [`${step.kind} ${name}`];
  });
}

describe.each(Array.from({ length: SCHEMAS }, (_, schema) => schema))("schema %i", (schema) => {
  const { state, definition } = drawState(makeRandom(52 + schema), `${schema}`);

  test("each change", () => {
    let planned = 0;
    for (const { name } of definition.tables)
      for (const change of listChanges(definition, name)) {
        const plan = planOf(state, change);
        if (plan === undefined) continue;
        planned++;
        expect({ change, needless: listNeedless(state, plan, name) }).toEqual({
          change,
          needless: [],
        });
        const after = advanceState(state, OWNER, plan);
        for (const { name: other, definition: left } of after.tables) {
          const before = state.tables.find((table) => table.name === other)?.definition;
          const isRenamed = change.kind === "rename_table";
          if (before !== undefined && other !== name && !isRenamed)
            expect({ change, table: left }).toEqual({ change, table: before });
        }
      }
    expect(planned).toBeGreaterThan(10);
  });

  test("a push of a new column or index", () => {
    for (const { name } of definition.tables) {
      const added = { name: "added", kind: "integer", required: false, unique: false, index: true };
      const tables = definition.tables.map((table) =>
        table.name === name ? { ...table, columns: [...table.columns, added] } : table,
      );
      const next = { ...definition, tables } as Definition;
      const plan = addViews(planPush(OWNER.id, next, state), { app: OWNER, state });
      expect(plan.conflicts).toEqual([]);
      expect(plan.steps.length).toBeGreaterThan(0);
      expect(new Set(plan.steps.map(tableOf))).toEqual(new Set([name]));
    }
  });
});

test("some tables have deferred indexes of their owner", () => {
  const { state } = drawState(makeRandom(52), "0");
  const deferred = state.tables.filter(({ definition }) => definition.deferred !== undefined);
  expect(deferred.length).toBeGreaterThan(0);
});
