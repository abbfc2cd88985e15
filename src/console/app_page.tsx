/** @jsxImportSource #html @jsxRuntime automatic */
/** Common parts of an app's pages: heading, breadcrumbs and tabs. @module */

import type { FormFields, NoFields, Part } from "../pages/mod.ts";
import { type ConsoleVisitor, readConsole, type Span } from "../records/console/mod.ts";
import type { Visit } from "./enter.tsx";
import { type FormPage, makeFormPage } from "./form_page.tsx";
import { type Crumbs, respondWithConsolePage } from "./frame.tsx";
import { renderLink, renderPill, renderTabs } from "./parts.tsx";
import {
  APPS,
  NEW_PERSON,
  toAppPath,
  toAppRulesPath,
  toAppTablesPath,
  toKeysPath,
  toNewTablePath,
  toPushesPath,
} from "./paths.ts";

type AppPage = {
  visit: Visit;
  me: ConsoleVisitor;
  isDisabled: boolean;
  tab: "Overview" | "Keys" | "People" | "Activity" | "Settings" | "Tables" | "Rules" | "Pushes";
  body: Part;
  status?: number;
};

/** A page of the app in the address. */
export function respondWithAppPage({
  visit,
  me,
  isDisabled,
  tab,
  body,
  status = 200,
}: AppPage): Response {
  const { app: slug = "" } = visit.context.params;
  return respondWithConsolePage({
    me,
    title: slug,
    part: tab,
    crumbs: [{ name: "Apps", path: APPS }],
    actions: [
      isDisabled && renderPill("disabled", "warn"),
      (tab === "Keys" || tab === "Overview") &&
        renderLink("New key", `${toAppPath(slug)}/new-key`, "primary", { keys: "n" }),
      tab === "Tables" && renderLink("New table", toNewTablePath(slug), "quiet", { keys: "n" }),
      tab === "People" &&
        renderLink("Add a person", `${toAppPath(slug)}/add-person`, "primary", { keys: "n" }),
    ],
    tabs: renderTabs("App", listTabs(slug, visit.deps), tab),
    ...{ body, status },
  });
}

type Tab = { readonly name: string; readonly path: string };

function listTabs(slug: string, { previews }: Visit["deps"]): Tab[] {
  return [
    { name: "Overview", path: toAppPath(slug) },
    { name: "Keys", path: toKeysPath(slug) },
    { name: "People", path: `${toAppPath(slug)}/people` },
    { name: "Tables", path: toAppTablesPath(slug) },
    ...(previews.includes("browser") ? [{ name: "Rules", path: toAppRulesPath(slug) }] : []),
    { name: "Pushes", path: toPushesPath(slug) },
    { name: "Activity", path: `${toAppPath(slug)}/activity` },
    { name: "Settings", path: `${toAppPath(slug)}/settings` },
  ];
}

/** The pages that act on an app. */
export function listAppActions(slug: string): Tab[] {
  return [
    { name: "New key", path: `${toAppPath(slug)}/new-key` },
    { name: "New table", path: toNewTablePath(slug) },
    { name: "Add a person", path: `${toAppPath(slug)}/add-person` },
    { name: "Invite people", path: `${NEW_PERSON}?${new URLSearchParams({ app: slug })}` },
  ];
}

/** Every page of an app that has no other name in its address. */
export function listAppPages(slug: string, deps: Visit["deps"]): Tab[] {
  return [...listTabs(slug, deps), ...listAppActions(slug)];
}

/** The app in the address, with its requests over the requested span. @throws {Problem} unknown_app */
export async function readApp({ deps, context }: Visit, span: Span | "" = "") {
  const { app: slug = "" } = context.params;
  return { ...(await readConsole(deps, "show_app", { app_slug: slug, wanted_span: span })), slug };
}

type AppAction<Fields extends FormFields> = Omit<
  FormPage<Awaited<ReturnType<typeof readApp>>, Fields>,
  "read" | "crumbs"
>;

/** The page of an action on the app in the address, and the handler of its form. */
export function makeAppAction<Fields extends FormFields = NoFields>(action: AppAction<Fields>) {
  return makeFormPage({ ...action, read: readApp, crumbs: toAppCrumbs });
}

/** The parent pages of a page about an app. */
export function toAppCrumbs({ slug }: { me: ConsoleVisitor; slug: string }): Crumbs {
  return [
    { name: "Apps", path: APPS },
    { name: slug, path: toAppPath(slug) },
  ];
}
