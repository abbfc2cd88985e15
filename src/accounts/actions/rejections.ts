/**
 * What an error of an SQL function means to the caller: one table by signal, SQLSTATE or constraint, and one for functions
 * where it means something else. Never passes on what PostgreSQL says.
 *
 * @module
 */
import { readSqlState, SIGNALS, SignalError, ViolationError } from "../../db/mod.ts";
import { Problem, type ProblemCode } from "../../problem.ts";
import { quote } from "../../std/quote.ts";

/** No administrator is signed in with these cookies. */
export class ConsoleRefused extends Problem {
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

/** The session was proven too long ago for such an action, or not by the second factor of its owner. */
export class SignInTooOld extends Problem {
  constructor() {
    super("forbidden", { message: "Sign in again: this was more than 10 minutes ago" });
  }
}

/** An administrator asks for what only a super_admin may do. */
export class SuperAdminNeeded extends Problem {
  constructor() {
    super("forbidden", {
      message: "Only a super_admin gives or takes a Console role, or changes somebody who has one",
    });
  }
}

/** No live session is presented with both its cookies. */
export class NotSignedIn extends Problem {
  constructor() {
    super("unauthenticated");
  }
}

/** The call that failed: its arguments by name, which messages quote, and whether a browser's visitor made it. */
export type FailedCall = {
  name: string;
  values: Readonly<Record<string, unknown>>;
  isInBrowser?: boolean;
};
type Rejection = (failed: FailedCall) => Problem;

/** What to throw for an error of a call: the problem that it means, or the error itself. */
export function toRejection(error: unknown, failed: FailedCall): unknown {
  const ofFunction = OF_FUNCTIONS[failed.name.replace(/^console_/, "")];
  for (const state of readStates(error)) {
    const rejection = ofFunction?.[state] ?? REJECTIONS[state];
    if (rejection === undefined) continue;
    const problem = rejection(failed);
    // A signal is all that there is to know.
    return error instanceof SignalError ? problem : Object.assign(problem, { cause: error });
  }
  return error;
}

/** By what the error can be found in the table: the name of the constraint, then the code. */
function readStates(error: unknown): string[] {
  if (error instanceof SignalError) return [error.signal];
  if (error instanceof ViolationError) return [error.violation.constraint ?? "", error.sqlState];
  return [readSqlState(error) ?? ""];
}

const PUSH_BUSY = reject(
  "push_busy",
  "A push of that table is under way, or has just ended: try again",
);
const REFERENCED = reject(
  "invalid_request",
  "Another table refers to that one: the other must go first",
);

const REJECTIONS: Readonly<Record<string, Rejection>> = {
  [SIGNALS.notSignedIn]: () => new NotSignedIn(),
  [SIGNALS.consoleRefused]: () => new ConsoleRefused(),
  [SIGNALS.signInTooOld]: () => new SignInTooOld(),
  [SIGNALS.secondFactorNeeded]: () => new SecondFactorNeeded(),
  [SIGNALS.superAdminNeeded]: () => new SuperAdminNeeded(),
  [SIGNALS.unknownApp]: ({ values }) => {
    const slug = values["app_slug"] ?? values["wanted_slug"] ?? values["new_slug"];
    return typeof slug === "string" ? unknownApp(slug) : new Problem("unknown_app");
  },
  [SIGNALS.unknownUser]: ({ values }) => unknownUser(String(values["mail"])),
  [SIGNALS.lastSuperAdmin]: reject(
    "invalid_request",
    ({ values }) =>
      `Cannot disable, demote or delete ${values["mail"]}: this is the last super_admin; appoint another one first`,
  ),
  [SIGNALS.addressUnconfirmed]: reject(
    "invalid_request",
    ({ values }) =>
      `Cannot change the address or give a Console role: this service has not set ${values["mail"]} with its IDENTITY_SECRET, so the account can be another person's; delete the account and invite the person again, or confirm the address with rowhouse admin confirm-addresses`,
  ),
  [SIGNALS.pushBusy]: PUSH_BUSY,
  [SIGNALS.unknownTable]: reject(
    "unknown_table",
    "No table has that name: rowhouse db status --app <slug> lists those that an app uses",
    "No table has that name.",
  ),
  [SIGNALS.notItsTable]: reject(
    "invalid_request",
    "That app does not use the table: it has not pushed a declaration of it",
  ),
  [SIGNALS.tableInUse]: reject(
    "invalid_request",
    "Apps use the table, and rowhouse db status --app <slug> of one of them names all: end each one's use with rowhouse admin end-registration, the owner's last",
    "Apps use the table: under Tables of each app, end its use first, that of the owner last.",
  ),
  [SIGNALS.previewOff]: reject(
    "invalid_request",
    "PREVIEW does not name live: set PREVIEW=live, run rowhouse migrate with it, and restart",
    "Live updates are not enabled for this service.",
  ),
  [SIGNALS.tableReferredTo]: REFERENCED,
  [SIGNALS.unknownJob]: REFERENCED,
  [SIGNALS.isolationBroken]: reject(
    "unavailable",
    "The database does not keep apps apart: run rowhouse doctor, and fix what it reports",
    "The database does not keep apps apart. The operator must run rowhouse doctor.",
  ),
  users_pkey: reject(
    "invalid_request",
    ({ values }) =>
      `This form was sent before: ${values["mail"]} was invited then, and the link is not shown again. Send it again on their page`,
  ),
  users_email_key: reject("invalid_request", ({ values }) => toTakenText(String(values["mail"]))),
  api_keys_pkey: reject(
    "invalid_request",
    "This form was sent before: it created a key, which is not shown again. Create another key, and revoke the first one if it was not copied",
  ),
  apps_slug_key: reject(
    "invalid_request",
    ({ values }) => `Cannot create app "${values["app_slug"]}": it already exists`,
  ),
};

/** Rows of a table that its app no longer declares may still refer to rows that would go. */
const OF_TABLES = {
  "55P03": reject("push_busy", "The table is locked: try again"),
  "23503": REFERENCED,
  "23001": REFERENCED,
};
const NEEDED = reject(
  "invalid_request",
  "Another app has begun to use a table that it owns: the app is disabled now, and deleting it again says which table that is",
);
const BUSY = reject(
  "push_busy",
  "A push of one of its tables is under way: delete it again, which goes on from there",
);
const OF_DELETION = {
  [SIGNALS.tableInUse]: NEEDED,
  [SIGNALS.tableReferredTo]: NEEDED,
  [SIGNALS.pushBusy]: BUSY,
  "55P03": BUSY,
};

/** By function, without the prefix of the Console's. */
const OF_FUNCTIONS: Readonly<Record<string, Readonly<Record<string, Rejection>>>> = {
  begin_end_registration: OF_TABLES,
  drop_table: OF_TABLES,
  transfer_table: OF_TABLES,
  describe_app: OF_DELETION,
  delete_app_step: OF_DELETION,
  rename_app: {
    [SIGNALS.unknownApp]: ({ values }) => unknownApp(String(values["old_slug"])),
    apps_slug_key: reject(
      "invalid_request",
      ({ values }) =>
        `Cannot rename app "${values["old_slug"]}": "${values["new_slug"]}" already exists`,
    ),
  },
  change_email: {
    users_email_key: ({ values }) => takenEmail(String(values["new_mail"])),
  },
  show_person: {
    [SIGNALS.unknownUser]: unknownPerson,
  },
};

type Text = string | ((failed: FailedCall) => string);

function reject(code: ProblemCode, text: Text, inBrowser: Text = text): Rejection {
  return (failed) => {
    const chosen = failed.isInBrowser === true ? inBrowser : text;
    return new Problem(code, { message: typeof chosen === "string" ? chosen : chosen(failed) });
  };
}

export function unknownApp(slug: string): Problem {
  return new Problem("unknown_app", {
    message: `No app has the slug ${quote(slug)}: rowhouse admin list-apps lists those there are`,
  });
}

export function unknownUser(email: string): Problem {
  return new Problem("invalid_request", { message: `Nobody has the address ${quote(email)}` });
}

export function unknownPerson(): Problem {
  return new Problem("not_found", { message: "There is no such person, or no longer" });
}

export function takenEmail(email: string): Problem {
  return new Problem("invalid_request", {
    message: `Cannot use the address ${email}: somebody has it`,
  });
}

export function toTakenText(email: string): string {
  return `Cannot create the user ${email}: the address is taken`;
}
