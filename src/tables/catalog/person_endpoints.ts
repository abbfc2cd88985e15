/** What people can use, by their views: endpoints, and the columns of tables, on which functions depend. Pure. @module */

import type { TableDefinition } from "../../schema/mod.ts";
import { type ColumnSet, toColumnSet } from "./catalog.ts";
import {
  type Endpoint,
  type FunctionSite,
  functionsAt,
  isOneServer,
  type SetFunction,
} from "./functions.ts";
import { type View, viewsOf } from "./views.ts";

const reads = ({ read }: View) => read !== undefined;
const creates = ({ create }: View) => create !== undefined;
const updates = (view: View) => reads(view) && view.update !== undefined;
const deletes = (view: View) => reads(view) && view.delete !== undefined;

/** Whether a view allows what an endpoint does. */
const PERSON_ENDPOINTS: Readonly<Record<Endpoint, (view: View) => boolean>> = {
  list: reads,
  get: reads,
  create: creates,
  // Processes of 0.1 also update rows with it.
  create_many: (view) => creates(view) || updates(view),
  create_group: creates,
  update: updates,
  update_many: updates,
  delete: deletes,
  find: reads,
  find_groups: reads,
  walk: reads,
  upsert: (view) => creates(view) && updates(view),
  update_keyed: updates,
  update_found: updates,
  delete_found: deletes,
  changes: reads,
};

export function functionsOfView(view: View, site: FunctionSite): SetFunction[] {
  return functionsAt(site).filter((name) => {
    // Nodes find the pages of a person by the function of all tables.
    if (name === "list" && !isOneServer(site)) return false;
    return name === "terms" || allowsEndpoint(view, name);
  });
}

export function functionsOfSet({ view }: ColumnSet, site: FunctionSite): readonly SetFunction[] {
  return view === undefined ? functionsAt(site) : functionsOfView(view, site);
}

/** Whether people with these roles can use the endpoint. */
export function allowsEndpoint(view: View, endpoint: Endpoint): boolean {
  return PERSON_ENDPOINTS[endpoint](view);
}

/** The columns of a table as its app is served them, with a view. */
export type ViewSet = ColumnSet & { readonly view: View };

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
