/** The Console's pages as a table. A page with a form is read and sent at one path, so that a sign-in can return to it. @module */
import { compressAnswer, type RequestContext, type Route } from "../http/mod.ts";
import { CONSOLE_PATH, CONSOLE_SIGN_IN_PATH } from "../identity/mod.ts";
import { answerSeeOther } from "../pages/mod.ts";
import { answerActivity, answerAppActivity } from "./activity.ts";
import { answerActivityCsv } from "./activity_csv.ts";
import { addPersonPage, answerAppPeople, endAppSessionsPage } from "./app_people.ts";
import { listPeoplePage, livePage } from "./app_switches.ts";
import { answerAppTables } from "./app_tables.ts";
import { answerApps } from "./apps.ts";
import { answerChanges } from "./changes.ts";
import { deleteAppPage } from "./delete_app.ts";
import { dropTablePage } from "./drop_table.ts";
import { endUsePage } from "./end_use.ts";
import { type ConsolePageDeps, enter } from "./enter.ts";
import { answerFind } from "./find.ts";
import { answerHome } from "./home.ts";
import { resendInvitationAct, withdrawInvitationAct } from "./invitation_acts.ts";
import { answerInvitations } from "./invitations.ts";
import { answerKeys, revokeKeyPage } from "./keys.ts";
import { newAppPage } from "./new_app.ts";
import { newKeyPage } from "./new_key.ts";
import { newPersonPage } from "./new_person.ts";
import { answerOverview } from "./overview.ts";
import { DOCS, FIND } from "./paths.ts";
import { answerPeople } from "./people.ts";
import { answerPerson } from "./person.ts";
import {
  changeEmailAct,
  consoleRoleAct,
  deletePersonAct,
  endSessionAct,
  endSessionsAct,
  passwordLinkAct,
  personStateAct,
  resetFactorAct,
} from "./person_acts.ts";
import { changeRoleAct, newRoleAct, revokeRoleAct } from "./person_roles.ts";
import { answerPush } from "./push.ts";
import { answerPushes } from "./pushes.ts";
import { answerRequest } from "./request.ts";
import { answerRequests } from "./requests.ts";
import { rollKeyPage } from "./roll_key.ts";
import { ROWS_PAGES } from "./rows_pages.ts";
import { limitsPage, settingsPage, statePage } from "./settings.ts";
import { answerConsoleSignIn, answerConsoleSignInForm } from "./sign_in.ts";
import { toApiUrl } from "./snippets.ts";
import { answerTable } from "./table.ts";
import { answerTables } from "./tables.ts";
import { transferTablePage } from "./transfer_table.ts";

const APP = `${CONSOLE_PATH}/apps/:app`;
const TABLE = `${APP}/tables/:table`;
const SHARED_TABLE = `${CONSOLE_PATH}/tables/:table`;
const KEY = `${APP}/keys/:key`;
const PERSON = `${CONSOLE_PATH}/people/:person`;
const ROLE = `${APP}/people/:person`;

export const consoleRoutes: readonly Route<ConsolePageDeps>[] = [
  ...page(CONSOLE_PATH, { show: answerHome }),
  ...page(`${CONSOLE_PATH}/apps`, { show: answerApps }),
  ...page(`${CONSOLE_PATH}/new-app`, newAppPage),
  ...page(FIND, { show: answerFind }),
  ...page(APP, { show: answerOverview }),
  ...page(`${APP}/keys`, { show: answerKeys }),
  ...page(`${APP}/new-key`, newKeyPage),
  ...page(`${KEY}/roll`, rollKeyPage),
  ...page(`${KEY}/revoke`, revokeKeyPage),
  ...page(`${APP}/settings`, settingsPage),
  ...page(`${APP}/limits`, limitsPage),
  ...page(`${APP}/state`, statePage),
  ...page(`${APP}/live`, livePage),
  ...page(`${APP}/people-list`, listPeoplePage),
  ...page(`${APP}/delete`, deleteAppPage),
  ...page(`${APP}/people`, { show: answerAppPeople }),
  ...page(`${APP}/add-person`, addPersonPage),
  ...page(`${APP}/end-sessions`, endAppSessionsPage),
  ...page(ROLE, changeRoleAct),
  ...page(`${ROLE}/revoke`, revokeRoleAct),
  ...page(`${CONSOLE_PATH}/people`, { show: answerPeople }),
  ...page(`${CONSOLE_PATH}/invitations`, { show: answerInvitations }),
  ...page(`${CONSOLE_PATH}/new-person`, newPersonPage),
  ...page(PERSON, { show: answerPerson }),
  ...page(`${PERSON}/password-link`, passwordLinkAct),
  ...page(`${PERSON}/resend-invitation`, resendInvitationAct),
  ...page(`${PERSON}/withdraw-invitation`, withdrawInvitationAct),
  ...page(`${PERSON}/address`, changeEmailAct),
  ...page(`${PERSON}/console-role`, consoleRoleAct),
  ...page(`${PERSON}/second-factor`, resetFactorAct),
  ...page(`${PERSON}/state`, personStateAct),
  ...page(`${PERSON}/new-role`, newRoleAct),
  ...page(`${PERSON}/end-sessions`, endSessionsAct),
  ...page(`${PERSON}/sessions/:session`, endSessionAct),
  ...page(`${PERSON}/delete`, deletePersonAct),
  ...page(`${CONSOLE_PATH}/requests`, { show: answerRequests }),
  ...page(`${CONSOLE_PATH}/requests/:request`, { show: answerRequest }),
  ...ROWS_PAGES.flatMap(({ path, ...handles }) => page(TABLE + path, handles)),
  ...page(`${APP}/tables`, { show: answerAppTables }),
  ...page(`${TABLE}/end`, endUsePage),
  ...page(`${APP}/pushes`, { show: answerPushes }),
  ...page(`${APP}/pushes/:seq`, { show: answerPush }),
  ...page(`${CONSOLE_PATH}/tables`, { show: answerTables }),
  ...page(SHARED_TABLE, { show: answerTable }),
  ...page(`${SHARED_TABLE}/transfer`, transferTablePage),
  ...page(`${SHARED_TABLE}/drop`, dropTablePage),
  ...page(`${CONSOLE_PATH}/changes`, { show: answerChanges }),
  ...page(`${APP}/activity`, { show: answerAppActivity }),
  ...page(`${CONSOLE_PATH}/activity`, { show: answerActivity }),
  ...page(`${CONSOLE_PATH}/activity/csv`, { show: answerActivityCsv }),
  { method: "GET", path: DOCS, access: "open", handle: answerDocs },
  { method: "GET", path: CONSOLE_SIGN_IN_PATH, access: "open", handle: answerConsoleSignIn },
  { method: "POST", path: CONSOLE_SIGN_IN_PATH, access: "open", handle: answerConsoleSignInForm },
];

/** Compresses pages, but not files, which are streams. */
function compressed(show: Handle): Handle {
  return async (visit) => {
    const answer = await show(visit);
    const isPage = answer.headers.get("content-type")?.startsWith("text/html") === true;
    return isPage ? await compressAnswer(answer, visit.context.request) : answer;
  };
}

/** Redirects to the docs on the API's host. */
function answerDocs(deps: ConsolePageDeps, context: RequestContext): Response {
  return answerSeeOther(`${toApiUrl({ deps, context })}/docs`);
}

type Handle = Parameters<typeof enter>[0];

function page(
  path: string,
  { show, take }: { show: Handle; take?: Handle },
): Route<ConsolePageDeps>[] {
  const shown = { method: "GET", path, access: "open", handle: enter(show) } as const;
  // The size of a compressed page would leak information about its form's token.
  if (take === undefined) return [{ ...shown, handle: enter(compressed(show)) }];
  return [shown, { method: "POST", path, access: "open", handle: enter(take) }];
}
