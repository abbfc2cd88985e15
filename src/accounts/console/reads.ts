/** The read of each Console page: one call on the Console's login, which returns no secret. @module */
import type { Arguments } from "../../db/mod.ts";
import { type ConsoleActor, callConsole } from "../actions/action.ts";
import { auditList } from "../actions/audit.ts";
import {
  type Checked,
  type Column,
  check,
  count,
  flag,
  many,
  orNull,
  record,
  text,
  time,
} from "../actions/columns.ts";
import { appList } from "../apps/apps.ts";
import { INVITATION, invitationList } from "../people/invitations.ts";
import {
  appPeopleList,
  FAILED_SIGN_INS,
  PERSON,
  PERSON_GRANTS,
  peopleList,
  sessionList,
} from "../people/people_lists.ts";
import type { AppEnd } from "./app_end.ts";
import type { AppContent, PageView } from "./apps.ts";
import type { ChangesView } from "./changes.ts";
import type { ConsoleHome } from "./home.ts";
import type { ConsolePush, PushView } from "./pushes.ts";
import type { RequestContent, StoredRequest } from "./requests.ts";
import type { RowsContent } from "./rows.ts";
import type { ConsoleAppTable, ConsoleBuild, ConsoleTable, PageApp, TableView } from "./tables.ts";

/** The results of a search. */
export type ConsoleMatches = {
  apps: { slug: string; disabledAt: string | null }[];
  people: { id: string; email: string; displayName: string | null }[];
  tables: { name: string; owner: string }[];
  keys: { keyId: string; name: string; app: string; revokedAt: string | null }[];
};

/** The result of each SQL function `console_<name>`. */
type Unchecked = {
  describe_app: AppEnd;
  find: ConsoleMatches;
  home: ConsoleHome;
  list_app_roles: { roles: string[] };
  list_app_tables: { app: PageApp; tables: ConsoleAppTable[] };
  list_pushes: { app: PageApp; builds: ConsoleBuild[]; pushes: ConsolePush[] };
  list_requests: { requests: StoredRequest[] };
  list_tables: { tables: ConsoleTable[] };
  show_app: AppContent;
  show_changes: ChangesView;
  show_push: { app: PageApp; builds: ConsoleBuild[]; push: PushView | null };
  show_request: RequestContent;
  show_rows: RowsContent;
  show_table: { table: TableView };
};

const CHECKS = {
  list_apps: appList.result,
  list_audit: auditList.result,
  list_app_people: appPeopleList.result,
  list_invitations: invitationList.result,
  list_people: peopleList.result,
  show_person: record({
    person: record({
      ...PERSON,
      /** When the unused password link expires. */
      linkEndsAt: orNull(time()),
      invitation: orNull(record(INVITATION)),
      /** Whether the person has an authenticator app. */
      hasTotp: flag(),
      passkeys: count(),
      /** Remaining codes. */
      recoveryCodes: count(),
      failedSignIns: orNull(FAILED_SIGN_INS),
      /** Whether the person is the only super_admin who can sign in. */
      isLast: flag(),
      addressDigest: orNull(text()),
      addressSecretId: orNull(text()),
    }),
    grants: many(record(PERSON_GRANTS)),
    /** The latest 100 live sessions. */
    sessions: many(record(sessionList.columns)),
  }),
};

export type ConsoleReads = Unchecked & {
  [Name in keyof typeof CHECKS]: Checked<(typeof CHECKS)[Name]>;
};

/** The content of a page, and its viewer. @throws {Problem} as `actions/rejections.ts` lists them, such as unknown_app */
export async function readConsole<Name extends keyof ConsoleReads>(
  actor: ConsoleActor,
  name: Name,
  values: Arguments<`console_${Name}`>,
): Promise<PageView<ConsoleReads[Name]>> {
  const page = await callConsole(actor, `console_${name}`, values);
  const column = new Map<string, Column>(Object.entries(CHECKS)).get(name);
  const checked = column === undefined ? {} : check(column, page, name);
  return Object.assign({}, page, checked) as unknown as PageView<ConsoleReads[Name]>;
}
