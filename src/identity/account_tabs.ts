/** The tabs of the account pages and of the list of apps. @module */

import { type Html, renderTabs } from "../pages/mod.ts";
import type { PageDeps } from "./page_deps.tsx";
import { PATHS } from "./paths.ts";

/** An account page needs a line here and a line in page_routes.ts. */
const TABS = [
  { name: "Apps", path: PATHS.login },
  { name: "Profile", path: PATHS.account },
  { name: "Password", path: PATHS.password },
  { name: "Security", path: PATHS.security },
  { name: "Linked", path: PATHS.linked },
  { name: "Sessions", path: PATHS.sessions },
] as const;
export type TabName = (typeof TABS)[number]["name"];

export type TabDeps = Pick<PageDeps, "providers">;

export function renderAccountTabs({ providers }: TabDeps, chosen: TabName): Html {
  // Hide the tab if no provider is set up.
  const hasProviders = providers.list.length > 0;
  const tabs = TABS.filter(({ path }) => path !== PATHS.linked || hasProviders);
  return renderTabs("Your account", tabs, chosen);
}
