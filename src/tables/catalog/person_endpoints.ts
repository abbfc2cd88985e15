/** The endpoints that people can use, by their views. @module */
import type { ColumnSet } from "./catalog.ts";
import { type Endpoint, endpointsOf, type FunctionSite, hasPreview } from "./functions.ts";
import type { View } from "./views.ts";

type PersonEndpoint = {
  /** Whether people can use it. A new endpoint is closed until its body applies the rules. */
  readonly isOpen: boolean;
  /** Whether the view allows what the endpoint does. */
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

/** The endpoints that have functions for a view at this site. */
export function endpointsOfView(view: View, site: FunctionSite): Endpoint[] {
  if (!hasPreview(site, "browser")) return [];
  return endpointsOf(site).filter((endpoint) => allowsEndpoint(view, endpoint));
}

/** The endpoints that have functions for a column set at this site. */
export function endpointsOfSet({ view }: ColumnSet, site: FunctionSite): readonly Endpoint[] {
  return view === undefined ? endpointsOf(site) : endpointsOfView(view, site);
}

/** Whether people with these roles can use the endpoint. */
export function allowsEndpoint(view: View, endpoint: Endpoint): boolean {
  const { isOpen, isAllowed } = PERSON_ENDPOINTS[endpoint];
  return isOpen && isAllowed(view);
}
