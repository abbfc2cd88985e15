/**
 * Maps errors of SQL functions to the caller's errors: one table by signal, SQLSTATE or constraint, and one with exceptions by
 * function. Never returns PostgreSQL's messages.
 *
 * @module
 */

import { APP_SWITCH_NAMES, describeSwitch } from "../../app_switch.ts";
import { readSqlState, SIGNALS, SignalError, ViolationError } from "../../db/mod.ts";
import { type Detail, Problem, type ProblemCode } from "../../problem.ts";
import { RECENT_SIGN_IN } from "../../std/limits.ts";
import { quote } from "../../std/quote.ts";

/** No administrator is signed in with these cookies. */
export class ConsoleRejected extends Problem {
  constructor() {
    super("forbidden");
  }
}

/** The administrator has to add a second factor first. */
export class SecondFactorNeeded extends Problem {
  constructor() {
    super("forbidden", { message: "Add a second factor first" });
  }
}

/** The session's last authentication is too old for the action, or did not include the owner's second factor. */
export class SignInTooOld extends Problem {
  constructor() {
    super("forbidden", {
      message: `Sign in again: the last sign-in was more than ${RECENT_SIGN_IN} ago`,
    });
  }
}

/** An administrator calls an action that requires a super_admin. */
export class SuperAdminNeeded extends Problem {
  constructor() {
    super("forbidden", {
      message: "Only a super_admin can change Console roles and accounts that have a Console role",
    });
  }
}

/** The request has no live session with both cookies. */
export class NotSignedIn extends Problem {
  constructor() {
    super("unauthenticated");
  }
}

/** Why the Console rejected an action of a signed-in person. `rowhouse.console_log_rejection` accepts only these. */
export type RejectionReason =
  | "no_role"
  | "no_second_factor"
  | "not_super_admin"
  | "old_sign_in"
  | "form_token"
  | "other_site";

/** The reason if the error rejects the person. The view of a page with an old sign-in is no rejection: it asks for a new one. */
export function toRejectionReason(
  error: unknown,
  { isForm }: { isForm: boolean },
): RejectionReason | undefined {
  if (error instanceof ConsoleRejected) return "no_role";
  if (error instanceof SecondFactorNeeded) return "no_second_factor";
  if (error instanceof SuperAdminNeeded) return "not_super_admin";
  return error instanceof SignInTooOld && isForm ? "old_sign_in" : undefined;
}

/** The failed call: its arguments by name, which messages quote, and whether it came from a browser. */
export type FailedCall = {
  name: string;
  values: Readonly<Record<string, unknown>>;
  isInBrowser?: boolean;
};
type Rejection = (failed: FailedCall) => Problem;

/** The error to throw for a failed call: a problem from the tables, or the error itself. */
export function toRejection(error: unknown, failed: FailedCall): unknown {
  const ofFunction = OF_FUNCTIONS[failed.name.replace(/^console_/, "")];
  for (const state of readStates(error)) {
    const rejection = ofFunction?.[state] ?? REJECTIONS[state];
    if (rejection === undefined) continue;
    const problem = rejection(failed);
    // A signal has no more information than the problem.
    return error instanceof SignalError ? problem : Object.assign(problem, { cause: error });
  }
  return error;
}

/** The keys of an error in the table: the constraint's name, then the code. */
function readStates(error: unknown): string[] {
  if (error instanceof SignalError) return [error.signal];
  if (error instanceof ViolationError) return [error.violation.constraint ?? "", error.sqlState];
  return [readSqlState(error) ?? ""];
}

const PUSH_BUSY = reject(
  "push_busy",
  "A push of this table is running or has just ended: try again",
);
const REFERENCED = invalid(
  ({ values }) =>
    `Another table references ${values["wanted_table"] ?? "this table"}: remove the other table first`,
);

const REJECTIONS: Readonly<Record<string, Rejection>> = {
  [SIGNALS.notSignedIn]: () => new NotSignedIn(),
  [SIGNALS.consoleRejected]: () => new ConsoleRejected(),
  [SIGNALS.signInTooOld]: () => new SignInTooOld(),
  [SIGNALS.secondFactorNeeded]: () => new SecondFactorNeeded(),
  [SIGNALS.superAdminNeeded]: () => new SuperAdminNeeded(),
  [SIGNALS.unknownApp]: ({ values, isInBrowser }) => {
    const slug = values["app_slug"] ?? values["new_slug"];
    return typeof slug === "string"
      ? unknownApp(slug, { isInBrowser })
      : new Problem("unknown_app");
  },
  [SIGNALS.unknownUser]: ({ values, isInBrowser }) =>
    unknownUser(String(values["email"]), { isInBrowser }),
  [SIGNALS.lastSuperAdmin]: invalid(
    ({ values }) =>
      `Cannot disable, demote or delete ${values["email"]}: this is the last super_admin; appoint another super_admin first`,
  ),
  [SIGNALS.addressUnconfirmed]: invalid(
    ({ values }) =>
      `Cannot change the address or grant a Console role: this service has not set ${values["email"]} with its IDENTITY_SECRET, so the account can belong to another person; delete the account and invite the person again, or confirm the address with rowhouse admin confirm-addresses`,
  ),
  [SIGNALS.pushBusy]: PUSH_BUSY,
  [SIGNALS.unknownTable]: reject(
    "unknown_table",
    ({ values }) =>
      `No table has the name ${quote(String(values["wanted_table"]))}: rowhouse admin list-tables lists the tables of all apps`,
    "Table not found.",
  ),
  [SIGNALS.notItsTable]: invalid(
    ({ values }) =>
      `The app ${values["app_slug"] ?? values["new_slug"]} does not use the table ${values["wanted_table"]}: it has not pushed a declaration of the table`,
  ),
  [SIGNALS.tableInUse]: invalid(
    ({ values }) =>
      `Apps use the table ${values["wanted_table"]}: run rowhouse admin end-registration for each app, the owner last. rowhouse db status --app <slug> lists the apps`,
    "Apps use the table: first end its use under Tables of each app, the owner last.",
  ),
  [SIGNALS.notOnCluster]: invalid(
    (failed) => `${toSwitchRejection(failed)}: ${findSwitchOf(failed)?.notOnCluster}`,
  ),
  [SIGNALS.tableReferredTo]: REFERENCED,
  [SIGNALS.tableHasRules]: invalid(
    ({ values }) =>
      `The app ${values["app_slug"]} declares rules for the table ${values["wanted_table"]}: first push its schema without the table`,
    "The app declares rules for the table: first push its schema without the table.",
  ),
  [SIGNALS.unknownJob]: REFERENCED,
  [SIGNALS.isolationBroken]: reject(
    "unavailable",
    "The database does not isolate apps: run rowhouse doctor and fix the errors that it reports",
    "The database does not isolate apps. The operator must run rowhouse doctor.",
  ),
  users_pkey: invalid(
    "This form was already sent, and its first address was invited. The link is not shown again: resend the invitation on the person's page. To invite another person, open this page again",
  ),
  users_email_key: invalid(({ values }) => toDuplicateText(String(values["email"]))),
  api_keys_pkey: invalid(
    "This form was already sent and created a key, which is not shown again. Create another key, and revoke the first key if you did not copy it",
  ),
  apps_slug_key: invalid(
    ({ values }) =>
      `Cannot create app "${values["app_slug"]}": it already exists; choose another name`,
  ),
};

/** Rows of a table that its app no longer declares can still reference the rows to delete. */
const OF_TABLES = {
  "55P03": reject("push_busy", "The table is locked: try again"),
  "23503": REFERENCED,
  "23001": REFERENCED,
};
const NEEDED = invalid(
  "Another app now uses a table that this app owns. This app is now disabled: delete it again to see the table",
);
const BUSY = reject(
  "push_busy",
  "A push of one of its tables is running: delete the app again to continue",
);
/** The Console names people by their id. */
const OF_PERSON: Readonly<Record<string, Rejection>> = {
  [SIGNALS.unknownUser]: ({ values, isInBrowser }) =>
    isInBrowser ? unknownPerson() : unknownUser(String(values["email"])),
};
/** The lists of people were checked before. */
const OF_LIST = {
  [SIGNALS.unknownUser]: invalid("One of these people was deleted just now: run the command again"),
  [SIGNALS.lastSuperAdmin]: invalid(
    "Cannot disable all of these people: no super_admin would be left; appoint another super_admin first",
  ),
  users_email_key: invalid("One of these people was created just now: run the command again"),
};
const OF_DELETION = {
  [SIGNALS.tableInUse]: NEEDED,
  [SIGNALS.tableReferredTo]: NEEDED,
  [SIGNALS.pushBusy]: BUSY,
  "55P03": BUSY,
};

/** By function, without the Console's prefix. */
const OF_FUNCTIONS: Readonly<Record<string, Readonly<Record<string, Rejection>>>> = {
  begin_end_registration: OF_TABLES,
  drop_table: OF_TABLES,
  transfer_table: OF_TABLES,
  set_app_switch: {
    "55P03": reject(
      "push_busy",
      "Nothing was changed: a table of the app is in use by a long write, an index build, a vacuum or a push; try again",
    ),
  },
  describe_app: OF_DELETION,
  delete_app_step: OF_DELETION,
  grant_app_roles: Object.fromEntries(
    [SIGNALS.unknownUser, SIGNALS.unknownApp].map((signal) => [
      signal,
      invalid("Nothing was granted: the person or one of these apps was deleted just now"),
    ]),
  ),
  create_users: OF_LIST,
  grant_roles: OF_LIST,
  revoke_roles: OF_LIST,
  set_all_disabled: OF_LIST,
  rename_app: {
    [SIGNALS.unknownApp]: ({ values, isInBrowser }) =>
      unknownApp(String(values["old_slug"]), { isInBrowser }),
    apps_slug_key: invalid(
      ({ values }) =>
        `Cannot rename app "${values["old_slug"]}": "${values["new_slug"]}" already exists`,
    ),
  },
  change_email: {
    users_email_key: ({ values }) => usedEmail(String(values["new_email"])),
  },
  show_person: OF_PERSON,
  list_sessions: OF_PERSON,
};

function findSwitchOf({ values }: FailedCall) {
  const name = APP_SWITCH_NAMES.find((known) => known === values["setting"]);
  return name && describeSwitch(name);
}

function toSwitchRejection(failed: FailedCall): string {
  return `Cannot turn on ${findSwitchOf(failed)?.title.toLowerCase()}`;
}

type Text = string | ((failed: FailedCall) => string);

function invalid(text: Text, inBrowser?: Text): Rejection {
  return reject("invalid_request", text, inBrowser);
}

function reject(code: ProblemCode, text: Text, inBrowser: Text = text): Rejection {
  return (failed) => {
    const chosen = failed.isInBrowser === true ? inBrowser : text;
    return new Problem(code, { message: typeof chosen === "string" ? chosen : chosen(failed) });
  };
}

export function unknownApp(
  slug: string,
  { isInBrowser = false }: { isInBrowser?: boolean | undefined } = {},
): Problem {
  const hint = isInBrowser ? "" : ": rowhouse admin list-apps lists all apps";
  return new Problem("unknown_app", { message: `No app has the slug ${quote(slug)}${hint}` });
}

export function unknownUser(
  email: string,
  { isInBrowser = false }: { isInBrowser?: boolean | undefined } = {},
): Problem {
  const hint = isInBrowser ? "" : ": rowhouse admin list-users lists all people";
  const message = `No user has the address ${quote(email)}${hint}`;
  return new Problem("invalid_request", { message });
}

export function unknownPerson(): Problem {
  return new Problem("not_found", { message: "Person not found" });
}

export function usedEmail(email: string): Problem {
  return new Problem("invalid_request", {
    message: `Address ${email} is already in use`,
  });
}

export function toDuplicateText(email: string): string {
  return `Cannot create the user ${email}: the address is already in use`;
}

// Collects the issues of several checks, so that a form shows all of them together.

/** The details of a failed check; if it has none, its message. */
export function findIssues(check: () => unknown): readonly Detail[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.details ?? [{ path: "", message: error.message }];
  }
}

/** A problem with these issues, and without the code's default message, which is about HTTP requests. */
export function rejectFor(details: Detail[]): Problem {
  const [only] = details;
  if (only?.path === "" && details.length === 1)
    return new Problem("invalid_request", { message: only.message });
  return new Problem("invalid_request", { message: "Nothing was changed", details });
}
