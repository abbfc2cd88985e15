/** The Console's pages as a table. A page and its form have the same path, so that a sign-in can return to it. @module */
import { compressResponse, type Route } from "../http/mod.ts";
import { CONSOLE_PATH, PATHS } from "../identity/mod.ts";
import { redirect } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import { readConsole } from "../records/console/mod.ts";
import { activityCsv, handleActivity, handleAppActivity } from "./activity/activity.tsx";
import { handleChanges } from "./activity/changes.tsx";
import { handlePush, handlePushes, pushesCsv } from "./activity/pushes.tsx";
import { handleRequest } from "./activity/request.tsx";
import { handleRequests } from "./activity/requests.tsx";
import { appsCsv, deleteAppPage, handleApps, newAppPage } from "./apps/apps.tsx";
import { handleKeys, keysCsv } from "./apps/keys.tsx";
import { KEY_PAGES, newKeyPage } from "./apps/new_key.tsx";
import { handleOverview } from "./apps/overview.tsx";
import { SETTINGS_PAGES } from "./apps/settings.tsx";
import {
  type ConsolePageDeps,
  enter,
  handleConsoleSignIn,
  handleConsoleSignInForm,
  type Notices,
  type Visit,
} from "./enter.tsx";
import { handleFind } from "./find.tsx";
import type { FormAction } from "./form_page.tsx";
import { handleHome } from "./home.tsx";
import { toApiUrl } from "./parts.tsx";
import { DOCS, FIND } from "./paths.ts";
import { APP_PEOPLE_PAGES, appPeopleCsv, handleAppPeople } from "./people/app_people.tsx";
import { handleInvitations, invitationsCsv } from "./people/invitations.tsx";
import { newPersonPage } from "./people/new_person.tsx";
import { handlePeople, peopleCsv, sessionsCsv } from "./people/people.tsx";
import { handlePerson } from "./people/person.tsx";
import { PERSON_PAGES } from "./people/person_actions.ts";
import { ROLE_PAGES } from "./people/person_roles.tsx";
import { gridRoutes } from "./rows/data.ts";
import { handleRowDeletion, handleRowDeletionForm } from "./rows/deletion.tsx";
import { handleRow, handleRowForm } from "./rows/edit.tsx";
import { handleCsv, handleJsonFile } from "./rows/export.ts";
import { handleRowHistory, handleTableHistory } from "./rows/history.tsx";
import { handleRestore, handleRestoreForm } from "./rows/history_restore.tsx";
import { handleImport } from "./rows/import.tsx";
import { handleImportPage, handleUndo } from "./rows/import_page.tsx";
import { handleNewRow, handleNewRowForm } from "./rows/new.ts";
import { handleRows } from "./rows/page.tsx";
import { makeRowsPage } from "./rows/table.tsx";
import { newColumnPage, newTablePage } from "./tables/new_table.tsx";
import { handleAppRules, handleTableRules } from "./tables/rules.tsx";
import { handleTable } from "./tables/table.tsx";
import { endUsePage, TABLE_PAGES } from "./tables/table_actions.tsx";
import { appTablesCsv, handleAppTables, handleTables, tablesCsv } from "./tables/tables.tsx";

const APP = `${CONSOLE_PATH}/apps/:app`;
const TABLE = `${APP}/tables/:table`;
const SHARED_TABLE = `${CONSOLE_PATH}/tables/:table`;
const KEY = `${APP}/keys/:key`;
const PERSON = `${CONSOLE_PATH}/people/:person`;
const ROLE = `${APP}/people/:person`;

type Handle = Parameters<typeof enter>[1];
type Page = { show: Handle; submit?: Handle; done?: Notices; action?: FormAction; isOfDev?: true };
/** Only forms of rows, and those that only `rowhouse dev` accepts, have no action. */
type ConsoleRoute = Route<ConsolePageDeps> & {
  action?: FormAction | undefined;
  isOfDev?: true | undefined;
};
type Pages = Readonly<Record<string, Page>>;

function below(parent: string, pages: Pages): Pages {
  return Object.fromEntries(
    Object.entries(pages).map(([path, of]) => [path === "" ? parent : `${parent}/${path}`, of]),
  );
}

/** By the path of the list. */
const CSV_LISTS: Readonly<Record<string, Handle>> = {
  [`${CONSOLE_PATH}/apps`]: appsCsv,
  [`${APP}/keys`]: keysCsv,
  [`${APP}/people`]: appPeopleCsv,
  [`${APP}/tables`]: appTablesCsv,
  [`${APP}/pushes`]: pushesCsv,
  [`${APP}/activity`]: activityCsv,
  [`${CONSOLE_PATH}/people`]: peopleCsv,
  [`${PERSON}/sessions`]: sessionsCsv,
  [`${CONSOLE_PATH}/invitations`]: invitationsCsv,
  [`${CONSOLE_PATH}/tables`]: tablesCsv,
  [`${CONSOLE_PATH}/activity`]: activityCsv,
};

/** By path. */
const PAGES: Pages = {
  [CONSOLE_PATH]: { show: handleHome },
  [`${CONSOLE_PATH}/apps`]: { show: handleApps },
  [`${CONSOLE_PATH}/new-app`]: newAppPage,
  [FIND]: { show: handleFind },
  [APP]: { show: handleOverview },
  [`${APP}/keys`]: { show: handleKeys },
  [`${APP}/new-key`]: newKeyPage,
  ...below(KEY, KEY_PAGES),
  ...below(APP, SETTINGS_PAGES),
  [`${APP}/delete`]: deleteAppPage,
  [`${APP}/people`]: { show: handleAppPeople },
  ...below(APP, APP_PEOPLE_PAGES),
  ...below(ROLE, ROLE_PAGES),
  [`${CONSOLE_PATH}/people`]: { show: handlePeople },
  [`${CONSOLE_PATH}/invitations`]: { show: handleInvitations },
  [`${CONSOLE_PATH}/new-person`]: newPersonPage,
  [PERSON]: { show: handlePerson },
  ...below(PERSON, PERSON_PAGES),
  [`${CONSOLE_PATH}/requests`]: { show: handleRequests },
  [`${CONSOLE_PATH}/requests/:request`]: { show: handleRequest },
  [TABLE]: makeRowsPage(handleRows),
  [`${TABLE}/new`]: makeRowsPage(handleNewRow, handleNewRowForm),
  [`${TABLE}/rows/:row`]: makeRowsPage(handleRow, handleRowForm),
  [`${TABLE}/rows/:row/delete`]: makeRowsPage(handleRowDeletion, handleRowDeletionForm),
  [`${TABLE}/rows/:row/history`]: makeRowsPage(handleRowHistory),
  [`${TABLE}/history`]: makeRowsPage(handleTableHistory),
  [`${TABLE}/restore`]: makeRowsPage(handleRestore, handleRestoreForm),
  [`${TABLE}/import`]: makeRowsPage(handleImport),
  [`${TABLE}/imports/:act`]: makeRowsPage(handleImportPage, handleUndo),
  [`${TABLE}/export/csv`]: makeRowsPage(handleCsv),
  [`${TABLE}/export/json`]: makeRowsPage(handleJsonFile),
  [`${APP}/tables`]: { show: handleAppTables },
  [`${APP}/new-table`]: newTablePage,
  [`${TABLE}/new-column`]: newColumnPage,
  [`${TABLE}/end`]: endUsePage,
  [`${APP}/rules`]: { show: handleAppRules },
  [`${APP}/pushes`]: { show: handlePushes },
  [`${APP}/pushes/:seq`]: { show: handlePush },
  [`${CONSOLE_PATH}/tables`]: { show: handleTables },
  [SHARED_TABLE]: { show: handleTable },
  [`${SHARED_TABLE}/rules`]: { show: handleTableRules },
  ...below(SHARED_TABLE, TABLE_PAGES),
  [`${CONSOLE_PATH}/changes`]: { show: handleChanges },
  [`${APP}/activity`]: { show: handleAppActivity },
  [`${CONSOLE_PATH}/activity`]: { show: handleActivity },
  ...Object.fromEntries(Object.entries(CSV_LISTS).map(([path, show]) => [`${path}.csv`, { show }])),
};

/** The notices after all forms. */
const NOTICES: Notices = Object.assign({}, ...Object.values(PAGES).map(({ done }) => done));

export const consoleRoutes: readonly ConsoleRoute[] = [
  ...Object.entries(PAGES).flatMap(toRoutes),
  ...gridRoutes,
  {
    method: "GET",
    path: DOCS,
    access: "open",
    // On the API's host.
    handle: (deps, context) => redirect(`${toApiUrl({ deps, context })}/docs`),
  },
  { method: "GET", path: PATHS.consoleSignIn, access: "open", handle: handleConsoleSignIn },
  { method: "POST", path: PATHS.consoleSignIn, access: "open", handle: handleConsoleSignInForm },
];

/** Paths without a page: only an administrator learns that the page does not exist. */
export const unknownConsoleRoute: Route<ConsolePageDeps> = {
  method: "GET",
  path: `${CONSOLE_PATH}/*`,
  access: "open",
  handle: enter(`${CONSOLE_PATH}/*`, handleUnknown, {}),
};

/** @throws {Problem} unknown_route — to an administrator */
async function handleUnknown({ deps }: Visit): Promise<Response> {
  await readConsole(deps, "list_apps", { search: "", after_slug: "", max_rows: 0 });
  throw new Problem("unknown_route");
}

/** Compresses pages, but not files, which are streams. */
function compressed(show: Handle): Handle {
  return async (visit) => {
    const response = await show(visit);
    const isPage = response.headers.get("content-type")?.startsWith("text/html") === true;
    return isPage ? await compressResponse(response, visit.context.request) : response;
  };
}

function toRoutes([path, { show, submit, action, isOfDev }]: [string, Page]): ConsoleRoute[] {
  const toRoute = (method: "GET" | "POST", handle: Handle) =>
    ({ method, path, access: "open", handle: enter(path, handle, NOTICES) }) as const;
  // The size of a compressed page would leak information about its form's token.
  if (submit === undefined) return [toRoute("GET", compressed(show))];
  return [toRoute("GET", show), { ...toRoute("POST", submit), action, isOfDev }];
}
