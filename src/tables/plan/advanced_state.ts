/** The state after a plan, so that the next push can be planned without applying it. Pure. @module */

import type { TableDefinition } from "../../schema/mod.ts";
import { hashColumnSet, toColumnSet } from "../catalog/mod.ts";
import type { PushState, RecordedView, TableState } from "../state.ts";
import { UNUSED_SET_LIFE_S } from "./plan_sets.ts";
import type { Plan, Step } from "./step.ts";

type App = { id: string; slug: string };

/** The recorded tables after an app's plan, with unchanged migrations. */
export function advanceState(state: PushState, app: App, { steps }: Plan): PushState {
  const tables = new Map(state.tables.map((table) => [table.name, table]));
  for (const step of steps) {
    if (step.kind === "rename") {
      const before = tables.get(step.before.name);
      if (before === undefined) throw new Error("The change has no table");
      tables.delete(before.name);
      tables.set(step.table.name, { ...before, name: step.table.name });
    }
    if (step.kind === "drop_table") tables.delete(step.table.name);
    if (step.kind === "record_table") {
      const before = tables.get(step.table.name) ?? makeTable(app, step.table);
      tables.set(step.table.name, { ...before, definition: step.table });
    }
    if (step.kind === "register") {
      const found = tables.get(step.table.name);
      if (found === undefined) throw new Error("The registration has no table");
      tables.set(found.name, { ...found, ...register(found, app, step.table) });
    }
  }
  for (const step of steps) {
    if (step.kind !== "create_views" && step.kind !== "drop_views") continue;
    // The views of a table that was renamed or dropped are dropped under its former name.
    const found = tables.get(step.table);
    if (found !== undefined)
      tables.set(found.name, { ...found, views: changeViews(found, app, step) });
  }
  return { ...state, tables: [...tables.values()] };
}

type ViewStep = Extract<Step, { kind: "create_views" | "drop_views" }>;

function changeViews({ views }: TableState, { id: appId }: App, step: ViewStep): RecordedView[] {
  if (step.kind === "drop_views")
    return views.filter((view) => view.appId !== appId || !step.hashes.includes(view.hash));
  return [...views, ...step.sets.map((set) => ({ appId, hash: hashColumnSet(set), set }))];
}

function makeTable({ id, slug }: App, definition: TableDefinition): TableState {
  return {
    name: definition.name,
    ownerAppId: id,
    ownerSlug: slug,
    definition,
    stamp: 0,
    isLarge: false,
    references: { own: 0, foreign: 0 },
    retype: null,
    uses: [],
    sets: [],
    views: [],
  };
}

/** Records the app's use. Marks its old column set as expired: a real push can wait until the set expires. */
function register({ uses, sets }: TableState, { id, slug }: App, definition: TableDefinition) {
  const hash = hashColumnSet(definition);
  const others = sets.filter((set) => set.appId !== id || set.hash !== hash);
  const left = others.map((set) =>
    set.appId === id ? { ...set, unusedS: UNUSED_SET_LIFE_S } : set,
  );
  return {
    uses: [...uses.filter(({ appId }) => appId !== id), { appId: id, slug, definition }],
    sets: [...left, { appId: id, hash, unusedS: null, columns: toColumnSet(definition) }],
  };
}
