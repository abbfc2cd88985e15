/** What people can use, by their views: endpoints, and the columns of tables, on which functions depend. Pure. @module */

import type { TableDefinition } from "../../schema/mod.ts";
import { type ColumnSet, toColumnSet } from "./catalog.ts";
import { type Endpoint, endpointsOf, type FunctionSite, hasPreview } from "./functions.ts";
import { type View, viewsOf } from "./views.ts";

type PersonEndpoint = {
  /** Whether people can use it. A new endpoint is closed until its body applies the rules. */
  readonly isOpen: boolean;
  readonly isAllowed: (view: View) => boolean;
};

const reads = ({ read }: View) => read !== undefined;
const creates = ({ create }: View) => create !== undefined;
const updates = (view: View) => reads(view) && view.update !== undefined;
const deletes = (view: View) => reads(view) && view.delete !== undefined;

export const PERSON_ENDPOINTS: Readonly<Record<Endpoint, PersonEndpoint>> = {
  list: { isOpen: true, isAllowed: reads },
  get: { isOpen: true, isAllowed: reads },
  create: { isOpen: true, isAllowed: creates },
  // It also updates rows by their ids.
  create_many: { isOpen: true, isAllowed: (view) => creates(view) || updates(view) },
  create_group: { isOpen: true, isAllowed: creates },
  update: { isOpen: true, isAllowed: updates },
  delete: { isOpen: true, isAllowed: deletes },
  query: { isOpen: true, isAllowed: reads },
  groups: { isOpen: true, isAllowed: reads },
  related: { isOpen: true, isAllowed: reads },
  children: { isOpen: true, isAllowed: reads },
  walk: { isOpen: true, isAllowed: reads },
  upsert: { isOpen: true, isAllowed: (view) => creates(view) && updates(view) },
  update_where: { isOpen: true, isAllowed: updates },
  delete_where: { isOpen: true, isAllowed: deletes },
  changes: { isOpen: true, isAllowed: reads },
};

export function endpointsOfView(view: View, site: FunctionSite): Endpoint[] {
  if (!hasPreview(site, "browser")) return [];
  return endpointsOf(site).filter((endpoint) => allowsEndpoint(view, endpoint));
}

export function endpointsOfSet({ view }: ColumnSet, site: FunctionSite): readonly Endpoint[] {
  return view === undefined ? endpointsOf(site) : endpointsOfView(view, site);
}

/** Whether people with these roles can use the endpoint. */
export function allowsEndpoint(view: View, endpoint: Endpoint): boolean {
  const { isOpen, isAllowed } = PERSON_ENDPOINTS[endpoint];
  return isOpen && isAllowed(view);
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
