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
import { PUSH_PAGE, pushList } from "./pushes.ts";
import type { RequestContent, StoredRequest } from "./requests.ts";
import type { RowsContent } from "./rows.ts";
import { TABLE_VIEW, tableList } from "./tables.ts";

/** The results of a search. */
const MATCHES = record({
  apps: many(record({ slug: text(), disabledAt: orNull(text()) })),
  people: many(record({ id: text(), email: text(), displayName: orNull(text()) })),
  tables: many(record({ name: text(), owner: text() })),
  keys: many(record({ keyId: text(), name: text(), app: text(), revokedAt: orNull(text()) })),
});
export type ConsoleMatches = Checked<typeof MATCHES>;

/** The results that are not checked yet. */
type Unchecked = {
  describe_app: AppEnd;
  home: ConsoleHome;
  list_requests: { requests: StoredRequest[] };
  show_app: AppContent;
  show_changes: ChangesView;
  show_request: RequestContent;
  show_rows: RowsContent;
};

const CHECKS = {
  find: MATCHES,
  list_apps: appList.result,
  list_audit: auditList.result,
  list_app_people: appPeopleList.result,
  list_invitations: invitationList.result,
  list_app_roles: record({ roles: many(text()) }),
  list_people: peopleList.result,
  list_pushes: pushList.result,
  list_tables: tableList.result,
  show_push: PUSH_PAGE,
  show_table: record({ table: TABLE_VIEW }),
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
