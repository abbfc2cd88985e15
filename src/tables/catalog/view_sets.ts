/** The views of apps with the columns of their tables: what their functions depend on, except for indexes. Pure. @module */
import type { TableDefinition } from "../../schema/mod.ts";
import { type ColumnSet, toColumnSet } from "./catalog.ts";
import { type View, viewsOf } from "./views.ts";

/** The columns of a table as its app is served them, with a view. */
export type ViewSet = ColumnSet & { readonly view: View };

/** The use of a table by an app, with the app's rules. */
export type TableUse = { readonly appId: string; readonly definition: TableDefinition };

/** The views of a table for an app with these tables; none if the app does not use the table. */
export function viewSetsOf(
  appId: string,
  tables: readonly TableDefinition[],
  name: string,
): ViewSet[] {
  const table = tables.find((declared) => declared.name === name);
  if (table === undefined) return [];
  return viewsOf(appId, tables, table).map((view) => ({ ...toColumnSet(table), view }));
}

/** The views of all apps, by table. `uses`: everything that the apps use. */
export function listViewSets(uses: readonly TableUse[]): ReadonlyMap<string, readonly ViewSet[]> {
  const byApp = Map.groupBy(uses, ({ appId }) => appId);
  const sets = [...byApp].flatMap(([appId, used]) => {
    const tables = used.map(({ definition }) => definition);
    return tables.flatMap(({ name }) => viewSetsOf(appId, tables, name));
  });
  return Map.groupBy(sets, ({ name }) => name);
}
