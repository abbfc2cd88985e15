/** The read of each Console page: one call on the Console's login, which returns no secret. @module */
import { APP_SWITCH_NAMES } from "../../app_switch.ts";
import type { Arguments } from "../../db/mod.ts";
import { isUuid } from "../../std/patterns.ts";
import { type ConsoleActor, callConsole } from "../actions/action.ts";
import { auditList } from "../actions/audit.ts";
import {
  type Checked,
  type Column,
  check,
  count,
  flag,
  many,
  oneOf,
  orNull,
  record,
  text,
  time,
} from "../actions/columns.ts";
import { unknownPerson } from "../actions/rejections.ts";
import { APP_END } from "../apps/app_life.ts";
import { appList } from "../apps/apps.ts";
import { keyList } from "../apps/keys.ts";
import { isConfirmed } from "../people/addresses.ts";
import { invitationList } from "../people/invitations.ts";
import {
  APP_ROLES,
  appPeopleList,
  DEV_LEFTOVERS,
  PERSON_PAGE,
  type PersonPage,
  peopleList,
  sessionList,
} from "../people/people_lists.ts";
import type { IdentitySecrets } from "../secrets/identity_secrets.ts";
import {
  AXIS,
  CHANGES_PAGE,
  HISTORY_READ,
  REQUEST_PAGE,
  REQUESTS_PAGE,
  TAKEN_READ,
} from "./activity.ts";
import { APP_PAGE, NUMBERS, type PageView, VISITOR } from "./apps.ts";
import { IMPORT_READ, IMPORTS_READ } from "./imports.ts";
import {
  BUILD_STATE,
  PUSH_PAGE,
  pushList,
  ROWS_PAGE,
  RULES_PAGE,
  TABLE_RULES_PAGE,
  TABLE_VIEW,
  tableList,
} from "./tables.ts";

export const HOME = record({
  hasKeys: flag(),
  hasTables: flag(),
  appCount: count(),
  /** Starts with the apps that need attention. */
  apps: many(record({ ...appList.columns, numbers: NUMBERS })),
  /** Requests without an app: pages, and requests that were rejected or failed before their key was checked. */
  withoutApp: NUMBERS,
  /** Requests of the Console: its pages, and its reads and writes of rows. */
  ofConsole: NUMBERS,
  /** The totals of all apps, of requests without an app, and of the Console. */
  axis: AXIS,
  processes: record({
    running: count(),
    /** The oldest of the processes' last isolation checks. */
    isolationAt: orNull(time()),
    issues: many(text()),
    /** The running processes by version. */
    versions: many(record({ version: text(), processes: count(), since: time() })),
    /** Processes that no longer report, although no one stopped or replaced them. */
    silent: many(record({ role: text(), seenAt: time() })),
  }),
  /** Switches of apps that no running process serves. */
  unserved: many(record({ app: text(), name: oneOf(APP_SWITCH_NAMES) })),
  /** Whether the upgrade from an earlier release can be finished. */
  canContract: flag(),
  /** Null in a database of `rowhouse dev`. */
  devLeftovers: orNull(DEV_LEFTOVERS),
  lastPush: orNull(record({ app: text(), at: time() })),
  endingKeys: many(record({ app: text(), keyId: text(), name: text(), expiresAt: time() })),
  builds: many(
    record({
      app: text(),
      table: text(),
      kind: oneOf(["index", "reference"]),
      name: text(),
      state: BUILD_STATE,
    }),
  ),
});
export type ConsoleHome = Checked<typeof HOME>;

/** The results of a search. */
const MATCHES = record({
  apps: many(record({ slug: text(), disabledAt: orNull(text()) })),
  people: many(record({ id: text(), email: text(), displayName: orNull(text()) })),
  tables: many(record({ name: text(), owner: text() })),
  keys: many(
    record({
      ...{ keyId: text(), name: text(), app: text() },
      ...{ revokedAt: orNull(text()), isExpired: flag() },
    }),
  ),
});
export type ConsoleMatches = Checked<typeof MATCHES>;

const CHECKS = {
  describe_app: APP_END,
  find: MATCHES,
  home: HOME,
  list_apps: appList.result,
  list_audit: auditList.result,
  list_app_people: appPeopleList.result,
  list_imports: IMPORTS_READ,
  list_invitations: invitationList.result,
  list_issued_keys: record({
    keys: many(record({ keyId: text(), name: text(), app: text(), lastUsedAt: orNull(time()) })),
  }),
  list_keys: keyList.result,
  list_app_roles: APP_ROLES,
  list_people: peopleList.result,
  list_pushes: pushList.result,
  list_requests: REQUESTS_PAGE,
  list_sessions: sessionList.result,
  list_tables: tableList.result,
  /** Beside the rows of the list. */
  sort_list: record({ isWhole: flag() }),
  show_app: APP_PAGE,
  show_changes: CHANGES_PAGE,
  show_history: HISTORY_READ,
  show_import: IMPORT_READ,
  show_taken: TAKEN_READ,
  show_push: PUSH_PAGE,
  show_request: REQUEST_PAGE,
  show_rows: ROWS_PAGE,
  show_rules: RULES_PAGE,
  show_table_rules: TABLE_RULES_PAGE,
  show_table: record({ table: TABLE_VIEW }),
  show_person: record(PERSON_PAGE),
};

export type ConsoleReads = {
  [Name in keyof typeof CHECKS]: Checked<(typeof CHECKS)[Name]>;
};

export const CONSOLE_READS = Object.keys(CHECKS) as (keyof ConsoleReads)[];

const PAGE = record({ me: VISITOR });

/** The content of a page, and its viewer. @throws {Problem} as `actions/rejections.ts` lists them, such as unknown_app */
export async function readConsole<Name extends keyof ConsoleReads>(
  actor: ConsoleActor,
  name: Name,
  values: Arguments<`console_${Name}`>,
): Promise<PageView<ConsoleReads[Name]>> {
  const page = await callConsole(actor, `console_${name}`, values);
  // The compiler does not connect the check of a name with its type.
  const content = check(CHECKS[name] as Column<ConsoleReads[Name]>, page, name);
  return { ...content, ...check(PAGE, page, name) };
}

/** A page of the list that `name` reads, in the order of a column. */
export async function readSorted<Name extends keyof ConsoleReads>(
  actor: ConsoleActor,
  name: Name,
  values: Arguments<"console_sort_list">,
): Promise<PageView<ConsoleReads[Name]> & { isWhole: boolean }> {
  const page = await callConsole(actor, "console_sort_list", values);
  const content = check(CHECKS[name] as Column<ConsoleReads[Name]>, page, name);
  return { ...content, ...check(CHECKS.sort_list, page, name), ...check(PAGE, page, name) };
}

export type PersonView = PageView<PersonPage>;

/** A person, and a page of their roles on apps: the roles after a slug, or only the role on `app`. @throws {Problem} not_found */
export async function showConsolePerson(
  deps: ConsoleActor & { identitySecrets: IdentitySecrets },
  { id, app, after = "", maxRows }: { id: string; app?: string; after?: string; maxRows: number },
): Promise<PersonView> {
  // A malformed id belongs to no person.
  if (!isUuid(id)) throw unknownPerson();
  const values = { person: id, app_slug: app, after_slug: after, max_rows: maxRows };
  const page = await readConsole(deps, "show_person", values);
  const { addressDigest: digest, addressSecretId: secretId, ...person } = page.person;
  const stored = { userId: person.id, email: person.email, digest, secretId };
  const isAddressConfirmed = isConfirmed(deps.identitySecrets, stored);
  return { ...page, person: { ...person, isConfirmed: isAddressConfirmed } };
}
