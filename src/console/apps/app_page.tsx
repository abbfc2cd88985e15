/** @jsxImportSource #html @jsxRuntime automatic */
/** Common parts of an app's pages: heading, breadcrumbs and tabs. @module */

import type { FormFields, Html, NoFields, Part } from "../../pages/mod.ts";
import { type ConsoleVisitor, readConsole, type Span } from "../../records/console/mod.ts";
import type { Visit } from "../enter.tsx";
import { type FormPage, makeFormPage } from "../form_page.tsx";
import { type Crumbs, respondWithConsolePage } from "../frame.tsx";
import { renderLink, renderPill } from "../parts.tsx";
import { APPS, toAppPath, toAppTablesPath, toKeysPath, toPushesPath } from "../paths.ts";

type AppPage = {
  me: ConsoleVisitor;
  slug: string;
  isDisabled: boolean;
  tab: "Overview" | "Keys" | "People" | "Activity" | "Settings" | "Tables" | "Pushes";
  body: Part;
  status?: number;
};

export function respondWithAppPage({ me, slug, isDisabled, tab, body, status }: AppPage): Response {
  return respondWithConsolePage({
    me,
    title: slug,
    part: tab,
    crumbs: [{ name: "Apps", path: APPS }],
    actions: [
      isDisabled && renderPill("disabled", "warn"),
      (tab === "Keys" || tab === "Overview") &&
        renderLink("New key", `${toAppPath(slug)}/new-key`, "primary", { keys: "n" }),
      tab === "People" &&
        renderLink("Add a person", `${toAppPath(slug)}/add-person`, "primary", { keys: "n" }),
    ],
    tabs: renderTabs(slug, tab),
    body,
    ...(status === undefined ? {} : { status }),
  });
}

function renderTabs(slug: string, tab: string): Html {
  const tabs = [
    { name: "Overview", path: toAppPath(slug) },
    { name: "Keys", path: toKeysPath(slug) },
    { name: "People", path: `${toAppPath(slug)}/people` },
    { name: "Tables", path: toAppTablesPath(slug) },
    { name: "Pushes", path: toPushesPath(slug) },
    { name: "Activity", path: `${toAppPath(slug)}/activity` },
    { name: "Settings", path: `${toAppPath(slug)}/settings` },
  ];
  return (
    <nav class="tabs" aria-label="App">
      {tabs.map(({ name, path }) => (
        <a href={path} aria-current={name === tab && "page"}>
          {name}
        </a>
      ))}
    </nav>
  );
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
