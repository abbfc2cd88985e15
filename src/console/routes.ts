/** The Console's pages as a table. A page and its form have the same path, so that a sign-in can return to it. @module */
import { compressResponse, type RequestContext, type Route } from "../http/mod.ts";
import { CONSOLE_PATH, CONSOLE_SIGN_IN_PATH } from "../identity/mod.ts";
import { redirect } from "../pages/mod.ts";
import { handleActivity, handleActivityCsv, handleAppActivity } from "./activity.ts";
import { addPersonPage, endAppSessionsPage, handleAppPeople } from "./app_people.ts";
import { deleteAppPage, handleApps, newAppPage } from "./apps.ts";
import { handleChanges } from "./changes.ts";
import { type ConsolePageDeps, enter } from "./enter.ts";
import { handleFind } from "./find.ts";
import { handleHome } from "./home.ts";
import { handleInvitations } from "./invitations.ts";
import { handleKeys, revokeKeyPage } from "./keys.ts";
import { newKeyPage, rollKeyPage } from "./new_key.ts";
import { newPersonPage } from "./new_person.ts";
import { handleOverview } from "./overview.ts";
import { DOCS, FIND } from "./paths.ts";
import { handlePeople } from "./people.ts";
import { handlePerson } from "./person.ts";
import {
  changeEmailAction,
  consoleRoleAction,
  deletePersonAction,
  endSessionAction,
  endSessionsAction,
  passwordLinkAction,
  personStateAction,
  resendInvitationAction,
  resetFactorAction,
  withdrawInvitationAction,
} from "./person_actions.ts";
import { changeRoleAction, newRoleAction, revokeRoleAction } from "./person_roles.ts";
import { handlePush, handlePushes } from "./pushes.ts";
import { handleRequest } from "./request.ts";
import { handleRequests } from "./requests.ts";
import { handleChange, handleChangeForm } from "./rows_change.ts";
import { streamRowsChanges } from "./rows_changes.ts";
import { handleRowDeletion, handleRowDeletionForm } from "./rows_delete.ts";
import { handleRow, handleRowForm } from "./rows_edit.ts";
import { handleCsv, handleJsonFile } from "./rows_export.ts";
import { handleImport, handleImportForm } from "./rows_import.ts";
import { handleRowsJson } from "./rows_json.ts";
import { handleNewRow, handleNewRowForm } from "./rows_new.ts";
import { handleRows } from "./rows_page.ts";
import { makeRowsPage } from "./rows_table.ts";
import { limitsPage, SWITCH_PAGES, settingsPage } from "./settings.ts";
import { handleConsoleSignIn, handleConsoleSignInForm } from "./sign_in.ts";
import { toApiUrl } from "./snippets.ts";
import { handleTable } from "./table.ts";
import { dropTablePage, endUsePage, transferTablePage } from "./table_actions.ts";
import { handleAppTables, handleTables } from "./tables.ts";

const APP = `${CONSOLE_PATH}/apps/:app`;
const TABLE = `${APP}/tables/:table`;
const SHARED_TABLE = `${CONSOLE_PATH}/tables/:table`;
const KEY = `${APP}/keys/:key`;
const PERSON = `${CONSOLE_PATH}/people/:person`;
const ROLE = `${APP}/people/:person`;

export const consoleRoutes: readonly Route<ConsolePageDeps>[] = [
  ...page(CONSOLE_PATH, { show: handleHome }),
  ...page(`${CONSOLE_PATH}/apps`, { show: handleApps }),
  ...page(`${CONSOLE_PATH}/new-app`, newAppPage),
  ...page(FIND, { show: handleFind }),
  ...page(APP, { show: handleOverview }),
  ...page(`${APP}/keys`, { show: handleKeys }),
  ...page(`${APP}/new-key`, newKeyPage),
  ...page(`${KEY}/roll`, rollKeyPage),
  ...page(`${KEY}/revoke`, revokeKeyPage),
  ...page(`${APP}/settings`, settingsPage),
  ...page(`${APP}/limits`, limitsPage),
  ...SWITCH_PAGES.flatMap(({ path, page: of }) => page(`${APP}/${path}`, of)),
  ...page(`${APP}/delete`, deleteAppPage),
  ...page(`${APP}/people`, { show: handleAppPeople }),
  ...page(`${APP}/add-person`, addPersonPage),
  ...page(`${APP}/end-sessions`, endAppSessionsPage),
  ...page(ROLE, changeRoleAction),
  ...page(`${ROLE}/revoke`, revokeRoleAction),
  ...page(`${CONSOLE_PATH}/people`, { show: handlePeople }),
  ...page(`${CONSOLE_PATH}/invitations`, { show: handleInvitations }),
  ...page(`${CONSOLE_PATH}/new-person`, newPersonPage),
  ...page(PERSON, { show: handlePerson }),
  ...page(`${PERSON}/password-link`, passwordLinkAction),
  ...page(`${PERSON}/resend-invitation`, resendInvitationAction),
  ...page(`${PERSON}/withdraw-invitation`, withdrawInvitationAction),
  ...page(`${PERSON}/address`, changeEmailAction),
  ...page(`${PERSON}/console-role`, consoleRoleAction),
  ...page(`${PERSON}/second-factor`, resetFactorAction),
  ...page(`${PERSON}/state`, personStateAction),
  ...page(`${PERSON}/new-role`, newRoleAction),
  ...page(`${PERSON}/end-sessions`, endSessionsAction),
  ...page(`${PERSON}/sessions/:session`, endSessionAction),
  ...page(`${PERSON}/delete`, deletePersonAction),
  ...page(`${CONSOLE_PATH}/requests`, { show: handleRequests }),
  ...page(`${CONSOLE_PATH}/requests/:request`, { show: handleRequest }),
  ...page(TABLE, makeRowsPage(handleRows)),
  ...page(`${TABLE}/new`, makeRowsPage(handleNewRow, handleNewRowForm)),
  ...page(`${TABLE}/rows/:row`, makeRowsPage(handleRow, handleRowForm)),
  ...page(`${TABLE}/rows/:row/delete`, makeRowsPage(handleRowDeletion, handleRowDeletionForm)),
  ...page(`${TABLE}/import`, makeRowsPage(handleImport, handleImportForm)),
  ...page(`${TABLE}/change`, makeRowsPage(handleChange, handleChangeForm)),
  ...page(`${TABLE}/list`, { show: handleRowsJson }),
  ...page(`${TABLE}/changes`, { show: streamRowsChanges }),
  ...page(`${TABLE}/export/csv`, makeRowsPage(handleCsv)),
  ...page(`${TABLE}/export/json`, makeRowsPage(handleJsonFile)),
  ...page(`${APP}/tables`, { show: handleAppTables }),
  ...page(`${TABLE}/end`, endUsePage),
  ...page(`${APP}/pushes`, { show: handlePushes }),
  ...page(`${APP}/pushes/:seq`, { show: handlePush }),
  ...page(`${CONSOLE_PATH}/tables`, { show: handleTables }),
  ...page(SHARED_TABLE, { show: handleTable }),
  ...page(`${SHARED_TABLE}/transfer`, transferTablePage),
  ...page(`${SHARED_TABLE}/drop`, dropTablePage),
  ...page(`${CONSOLE_PATH}/changes`, { show: handleChanges }),
  ...page(`${APP}/activity`, { show: handleAppActivity }),
  ...page(`${CONSOLE_PATH}/activity`, { show: handleActivity }),
  ...page(`${CONSOLE_PATH}/activity/csv`, { show: handleActivityCsv }),
  { method: "GET", path: DOCS, access: "open", handle: handleDocs },
  { method: "GET", path: CONSOLE_SIGN_IN_PATH, access: "open", handle: handleConsoleSignIn },
  { method: "POST", path: CONSOLE_SIGN_IN_PATH, access: "open", handle: handleConsoleSignInForm },
];

/** Compresses pages, but not files, which are streams. */
function compressed(show: Handle): Handle {
  return async (visit) => {
    const response = await show(visit);
    const isPage = response.headers.get("content-type")?.startsWith("text/html") === true;
    return isPage ? await compressResponse(response, visit.context.request) : response;
  };
}

/** Redirects to the docs on the API's host. */
function handleDocs(deps: ConsolePageDeps, context: RequestContext): Response {
  return redirect(`${toApiUrl({ deps, context })}/docs`);
}

type Handle = Parameters<typeof enter>[1];

function page(
  path: string,
  { show, submit }: { show: Handle; submit?: Handle },
): Route<ConsolePageDeps>[] {
  const page = { method: "GET", path, access: "open", handle: enter(path, show) } as const;
  // The size of a compressed page would leak information about its form's token.
  if (submit === undefined) return [{ ...page, handle: enter(path, compressed(show)) }];
  return [page, { method: "POST", path, access: "open", handle: enter(path, submit) }];
}
