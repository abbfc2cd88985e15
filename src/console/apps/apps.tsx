/** @jsxImportSource #html @jsxRuntime automatic */
/** Apps: the list by slug, with search and pages; the creation of an app; its deletion. @module */

import type { Html, Part } from "../../pages/mod.ts";
import { Problem } from "../../problem.ts";
import { type App, appList, createApp, SLUG } from "../../records/apps/mod.ts";
import { type AppEnd, deleteAppByConsole, readConsole } from "../../records/console/mod.ts";
import { showCount } from "../../std/count.ts";
import { toAppCrumbs } from "../app_page.tsx";
import type { Visit } from "../enter.tsx";
import { makeFormPage, typedName } from "../form_page.tsx";
import { respondWithConsolePage } from "../frame.tsx";
import {
  type ListQuery,
  makeCsv,
  readListed,
  readListQuery,
  renderListLinks,
  renderListTable,
  toListLinks,
  toPage,
} from "../list.tsx";
import { renderAppName, renderEmpty, renderError, renderLink, renderText } from "../parts.tsx";
import { APPS, NEW_APP, redirectWithNotice, renderDone, toAppPath, toTablePath } from "../paths.ts";
import { makeTargetFields, readTargetFields } from "./settings.tsx";

const SLUG_MAX = 40;

export async function handleApps(visit: Visit): Promise<Response> {
  const query = readSlugQuery(visit);
  const { search, after, sort } = query;
  const { me, apps, isWhole } = await readListed(visit, appList, {
    ...{ after, sort, filter: { search } },
  });
  const { page, last } = toPage(apps);
  return respondWithConsolePage({
    me,
    title: "Apps",
    actions: renderLink("New app", NEW_APP, "primary", { keys: "n" }),
    body: [
      renderDone(visit),
      search !== "" && renderSearched(search),
      page.length === 0
        ? renderNone(search, after)
        : renderAppList(page, { query, now: visit.deps.now() }),
      page.length > 0 &&
        renderListLinks({ path: APPS, isWhole, ...toListLinks(query, last?.slug) }),
    ],
  });
}

export const appsCsv = makeCsv(appList, (visit) => ({ search: readSlugQuery(visit).search }));

function readSlugQuery({ context }: Visit): ListQuery {
  return readListQuery(context.query, { maxLength: SLUG_MAX }, appList);
}

function renderSearched(search: string): Html {
  return (
    <p class="quiet">
      Apps whose name contains {renderText(search)}. <a href={APPS}>All apps</a>
    </p>
  );
}

function renderNone(search: string, after: string): Html {
  if (search !== "") return renderEmpty("No matching apps.");
  if (after !== "") return renderEmpty("No more apps.");
  return renderEmpty(
    "No apps yet. Each app has its own rows, keys and people.",
    renderLink("Create an app", NEW_APP, "primary"),
  );
}

function renderAppList(
  apps: readonly App[],
  { query, now }: { query: ListQuery; now: number },
): Html {
  return renderListTable(appList, apps, {
    label: "Apps",
    now,
    sorted: { path: APPS, query },
    cells: {
      slug: ({ slug, disabledAt }) => renderAppName(slug, disabledAt !== null),
      origin: ({ origin }) =>
        origin === null ? <span class="quiet">none yet</span> : renderText(new URL(origin).host),
    },
  });
}

export const newAppPage = makeFormPage({
  action: "create_app",
  read: ({ deps }) => readConsole(deps, "list_apps", { search: "", after_slug: "", max_rows: 0 }),
  title: () => "New app",
  fields: (_content, visit) => ({ slug: SLUG, ...makeTargetFields(visit) }),
  form: () => ({ button: "Create the app", isFocused: true }),
  run: async (visit, _content, { slug, ...targets }) => {
    await createApp(visit.deps, { slug, ...readTargetFields(visit, targets) });
    return redirectWithNotice(toAppPath(slug), "created");
  },
  done: { created: "App created." },
  back: () => APPS,
  crumbs: () => [{ name: "Apps", path: APPS }],
  failed: "No app was created.",
});

/** Max time per request; the next request continues. */
const WORK_MS = 15_000;

/** Lists the effects, requires the typed name, then deletes in bounded steps. */
export const deleteAppPage = makeFormPage({
  action: "console_delete_app_step",
  read: async ({ deps, context }) => {
    const { app: slug = "" } = context.params;
    return { ...(await readConsole(deps, "describe_app", { app_slug: slug })), slug };
  },
  title: ({ slug }) => `Delete ${slug}`,
  fields: ({ slug }) => ({ typed_name: typedName(slug, "delete it") }),
  form: (content) => {
    const { slug } = content;
    const blockers = renderBlockers(content);
    if (blockers.length > 0)
      return {
        instead: renderError(`Cannot delete ${slug}: other apps need its tables.`, blockers),
      };
    return {
      intro: renderContents(content),
      button: "Delete permanently",
      tone: "danger",
    };
  },
  run: async (visit, { slug }) => {
    const end = performance.now() + WORK_MS;
    const isOverdue = () => performance.now() > end;
    if (await deleteAppByConsole({ ...visit.deps, isOverdue }, slug))
      return redirectWithNotice(APPS, "app-deleted");
    const message =
      "The app has many rows and is not fully deleted yet. Delete it again to continue";
    throw new Problem("invalid_request", { message });
  },
  done: { "app-deleted": "App deleted. Any app can now use its name." },
  back: ({ slug }) => `${toAppPath(slug)}/settings`,
  crumbs: toAppCrumbs,
  failed: "The app was not deleted.",
});

/** Tables that other apps need, each with a link to resolve it. */
function renderBlockers({ used, referredTo }: AppEnd): Html[] {
  return [
    ...used.map(({ table, by }) => (
      <>
        <b>{table}</b> is used by {by.join(", ")}.{" "}
        <a href={`${toTablePath(table)}/transfer`}>Transfer ownership of {table}</a>
      </>
    )),
    ...referredTo.map(({ table, by }) => (
      <>
        The table <b>{by}</b> of another app references {table}.{" "}
        <a href={toTablePath(by)}>Open {by}</a>
      </>
    )),
  ];
}

function renderContents({ keys, grants, tables, migrations }: AppEnd): Part {
  const owned = tables.filter(({ isOwned }) => isOwned).map(({ name }) => name);
  return (
    <>
      <p>This cannot be undone. Deleted with the app:</p>
      <ul class="plain">
        {tables.length > 0 && <li>its rows in {tables.map(({ name }) => name).join(", ")}</li>}
        {owned.length > 0 && <li>the tables that it owns: {owned.join(", ")}</li>}
        <li>
          {showCount(keys, "key")}, {showCount(grants, "role")} of people,{" "}
          {showCount(migrations, "migration")}
        </li>
      </ul>
    </>
  );
}
