/** The Console's pages as a table. A page with a form is read and sent at one path, so that a sign-in can return to it. @module */
import type { Route } from "../http/mod.ts";
import { CONSOLE_PATH, CONSOLE_SIGN_IN_PATH } from "../identity/mod.ts";
import { answerActivity, answerAppActivity } from "./activity.ts";
import { answerActivityCsv } from "./activity_csv.ts";
import { answerAddPerson, answerAddPersonForm, answerAppPeople } from "./app_people.ts";
import { answerAppTables } from "./app_tables.ts";
import { answerApps } from "./apps.ts";
import { answerDeletion, answerDeletionForm } from "./delete_app.ts";
import { answerDrop, answerDropForm } from "./drop_table.ts";
import { answerEndUse, answerEndUseForm } from "./end_use.ts";
import { type ConsolePageDeps, enter } from "./enter.ts";
import { answerHome } from "./home.ts";
import { resendInvitationAct, withdrawInvitationAct } from "./invitation_acts.ts";
import { answerInvitations } from "./invitations.ts";
import { answerKeys } from "./keys.ts";
import { answerLimits, answerLimitsForm } from "./limits.ts";
import { answerNewApp, answerNewAppForm } from "./new_app.ts";
import { answerNewKey, answerNewKeyForm } from "./new_key.ts";
import { answerNewPerson, answerNewPersonForm } from "./new_person.ts";
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
import { answerRequests } from "./requests.ts";
import { answerRevocation, answerRevocationForm } from "./revoke_key.ts";
import { answerRoll, answerRollForm } from "./roll_key.ts";
import { ROWS_PAGES } from "./rows_pages.ts";
import { answerSettings, answerSettingsForm } from "./settings.ts";
import { answerConsoleSignIn, answerConsoleSignInForm } from "./sign_in.ts";
import { answerState, answerStateForm } from "./state.ts";
import { answerTable } from "./table.ts";
import { answerTables } from "./tables.ts";
import { answerTransfer, answerTransferForm } from "./transfer_table.ts";

const APP = `${CONSOLE_PATH}/apps/:app`;
const TABLE = `${APP}/tables/:table`;
const SHARED_TABLE = `${CONSOLE_PATH}/tables/:table`;
const KEY = `${APP}/keys/:key`;
const PERSON = `${CONSOLE_PATH}/people/:person`;
const ROLE = `${APP}/people/:person`;

export const consoleRoutes: readonly Route<ConsolePageDeps>[] = [
  ...page(CONSOLE_PATH, { show: answerHome }),
  ...page(`${CONSOLE_PATH}/apps`, { show: answerApps }),
  ...page(`${CONSOLE_PATH}/new-app`, { show: answerNewApp, take: answerNewAppForm }),
  ...page(APP, { show: answerKeys }),
  ...page(`${APP}/new-key`, { show: answerNewKey, take: answerNewKeyForm }),
  ...page(`${KEY}/roll`, { show: answerRoll, take: answerRollForm }),
  ...page(`${KEY}/revoke`, { show: answerRevocation, take: answerRevocationForm }),
  ...page(`${APP}/settings`, { show: answerSettings, take: answerSettingsForm }),
  ...page(`${APP}/limits`, { show: answerLimits, take: answerLimitsForm }),
  ...page(`${APP}/state`, { show: answerState, take: answerStateForm }),
  ...page(`${APP}/delete`, { show: answerDeletion, take: answerDeletionForm }),
  ...page(`${APP}/people`, { show: answerAppPeople }),
  ...page(`${APP}/add-person`, { show: answerAddPerson, take: answerAddPersonForm }),
  ...page(ROLE, changeRoleAct),
  ...page(`${ROLE}/revoke`, revokeRoleAct),
  ...page(`${CONSOLE_PATH}/people`, { show: answerPeople }),
  ...page(`${CONSOLE_PATH}/invitations`, { show: answerInvitations }),
  ...page(`${CONSOLE_PATH}/new-person`, { show: answerNewPerson, take: answerNewPersonForm }),
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
  ...ROWS_PAGES.flatMap(({ path, ...handles }) => page(TABLE + path, handles)),
  ...page(`${APP}/tables`, { show: answerAppTables }),
  ...page(`${TABLE}/end`, { show: answerEndUse, take: answerEndUseForm }),
  ...page(`${APP}/pushes`, { show: answerPushes }),
  ...page(`${APP}/pushes/:seq`, { show: answerPush }),
  ...page(`${CONSOLE_PATH}/tables`, { show: answerTables }),
  ...page(SHARED_TABLE, { show: answerTable }),
  ...page(`${SHARED_TABLE}/transfer`, { show: answerTransfer, take: answerTransferForm }),
  ...page(`${SHARED_TABLE}/drop`, { show: answerDrop, take: answerDropForm }),
  ...page(`${APP}/activity`, { show: answerAppActivity }),
  ...page(`${CONSOLE_PATH}/activity`, { show: answerActivity }),
  ...page(`${CONSOLE_PATH}/activity/csv`, { show: answerActivityCsv }),
  { method: "GET", path: CONSOLE_SIGN_IN_PATH, access: "open", handle: answerConsoleSignIn },
  { method: "POST", path: CONSOLE_SIGN_IN_PATH, access: "open", handle: answerConsoleSignInForm },
];

type Handle = Parameters<typeof enter>[0];

function page(
  path: string,
  { show, take }: { show: Handle; take?: Handle },
): Route<ConsolePageDeps>[] {
  const shown = { method: "GET", path, access: "open", handle: enter(show) } as const;
  if (take === undefined) return [shown];
  return [shown, { method: "POST", path, access: "open", handle: enter(take) }];
}
