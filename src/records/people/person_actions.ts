/** The actions on an account: their pages and commands. @module */
import type { Database } from "../../db/mod.ts";
import { type Said, say, sayQuietly } from "../../said.ts";
import { showCount } from "../../std/count.ts";
import { toDurationText } from "../../std/duration.ts";
import { FACTOR_GRACE_S, LINK_LIFE_S } from "../../std/limits.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { runAction } from "../actions/action.ts";
import { count, fixed, flag, nothing, oneOf, orNull, text } from "../actions/columns.ts";
import { actionOn, type PageContext } from "../actions/declaration.ts";
import { changeEmail } from "./addresses.ts";
import { resendInvitation, withdrawInvitation } from "./invitations.ts";
import {
  APP_ROLE,
  CONSOLE_ROLE,
  CONSOLE_ROLES,
  giveConsoleRole,
  makePasswordLink,
  NEW_EMAIL,
  namePerson,
  type PersonRef,
  removeConsoleRole,
  runOnPerson,
  setDisabled,
} from "./people.ts";
import { type PersonPage, showUser } from "./people_lists.ts";
import { ROLE_SAVED } from "./role_actions.ts";
import { grantAppRoles } from "./roles.ts";
import { setAllDisabled } from "./several.ts";

export type PersonSubject = { ref: PersonRef; page: PersonPage; named: { email: string } };
const onPerson = actionOn<PersonSubject>();

const LIFE = toDurationText(LINK_LIFE_S);
/** A new link in a document. */
export const LINK = { passwordLink: text(), isMailed: flag() };

/** The reason why an administrator cannot change an account, if any. */
export function findBlocker({ me, person }: PersonPage): Said | undefined {
  if (person.consoleRole === null || me.role === "super_admin") return undefined;
  return person.id === me.id
    ? say`This is your account. Change profile, password and sessions on ${{ link: "your account page", to: "/account" }}.`
    : say`${{ value: person.email }} has a Console role: only a super_admin can change the account.`;
}

/** The reason why an account cannot lose its Console role, if any. */
export function findLastBlocker(page: PersonPage): Said | undefined {
  if (!page.person.isLast) return findBlocker(page);
  return say`${{ value: page.person.email }} is the last super_admin. Make another person a super_admin first.`;
}

/** An invitation that was accepted cannot change: the person can sign in. */
function findAccepted({ person }: PersonPage): Said | undefined {
  if (person.invitation !== null) return undefined;
  return say`${{ value: person.email }} has no pending invitation: it was accepted.`;
}

function findDisabled({ person }: PersonPage): Said | undefined {
  if (person.disabledAt === null) return undefined;
  return say`The account of ${{ value: person.email }} is disabled: enable it first.`;
}

/** Whether there is a second factor that can be reset. */
export function hasFactor({ hasTotp, passkeys }: PersonPage["person"]): boolean {
  return hasTotp || passkeys > 0;
}

function warnOwn({ me, person }: PersonPage, effect = ""): Said | false {
  return me.id === person.id && say`This is your account${effect}.`;
}
const SIGNED_OUT = ": you are signed out too";

/** Neither disabling nor deletion revokes a key: the page that ends the access lists those that the person issued. */
const ISSUED_KEYS = sayQuietly`API keys belong to apps and keep working, also ${{ link: "those that this person issued", to: "end-access" }}.`;

function isMailed({ person }: PersonPage, { hasMail }: PageContext): boolean {
  return hasMail && person.isConfirmed;
}

/** The audit log filtered by action and person. */
function linkActions(link: string, action: string, { person }: PersonPage) {
  return { link, to: `/activity?${new URLSearchParams({ action, person: person.id })}` };
}

export const PERSON_ACTIONS = {
  grantRoles: onPerson({
    name: "grant_app_roles",
    inputs: { apps: { label: "Apps", placeholder: "slug", maxLength: 400 }, role: APP_ROLE },
    run: (deps, person, { apps, role }) =>
      grantAppRoles(deps, {
        ...{ email: namePerson(person).email, role },
        // `crm=editor` has a role of its own.
        slugs: apps.split(" ").map((app) => app.replace("=", " ")),
      }),
    says: { title: "Grant a role", button: "Grant role", done: ROLE_SAVED },
    page: { path: "new-role" },
  }),
  passwordLink: onPerson({
    name: "make_password_link",
    run: makePasswordLink,
    says: {
      title: "New password link",
      effect: ({ person }) => [
        say`Anyone who has the link can set the password of ${{ name: person.email }}, once. Send it only to this person.`,
        sayQuietly`${person.linkEndsAt === null ? "" : "The previous link stops working. "}Sessions end when the new password is set.`,
        person.disabledAt !== null &&
          say`The account is disabled: the link works once you enable it.`,
      ],
      button: "Create link",
    },
    page: { path: "password-link", blocker: findBlocker },
    command: "password-link",
    summary: "prints a new password link for a person; older links stop working",
    about: `The link works once, for ${LIFE}. With MAIL_URL it is also mailed. Using it ends all sessions.`,
    json: LINK,
  }),
  resendInvitation: onPerson({
    name: "resend_invitation",
    run: resendInvitation,
    says: {
      title: "Resend the invitation",
      effect: (page, context) =>
        say`${isMailed(page, context) ? "This emails a new link to" : "This creates a new link for"} ${{ name: page.person.email }}. It works for ${LIFE}. The previous link stops working. Roles do not change.`,
      button: (page, context) => (isMailed(page, context) ? "Resend" : "Create link"),
    },
    page: {
      path: "resend-invitation",
      blocker: (page) => findAccepted(page) ?? findDisabled(page) ?? findBlocker(page),
    },
    command: "resend-invitation",
    summary: "creates a new link for a pending invitation; the previous link stops working",
    about: "Works for expired invitations too.",
    json: LINK,
  }),
  withdrawInvitation: onPerson({
    name: "withdraw_invitation",
    run: withdrawInvitation,
    says: {
      effect: ({ person }) =>
        say`The invitation link of ${{ name: person.email }} stops working immediately. The account, which was never used, is deleted with its roles. You can invite the address again.`,
      button: "Withdraw the invitation",
      done: { withdrawn: "Invitation withdrawn. The link no longer works." },
      line: ({ email }) =>
        `Withdrew the invitation of ${email}: the link no longer works, and the roles are removed`,
    },
    page: {
      tone: "danger",
      path: "withdraw-invitation",
      blocker: (page) => findAccepted(page) ?? findLastBlocker(page),
      next: "/invitations",
    },
    command: "withdraw-invitation",
    summary: "withdraws a pending invitation and removes its account and roles",
    about: "Fails if the invitation was accepted: use rowhouse admin disable or delete-user.",
    json: { withdrawn: fixed(true) },
  }),
  changeEmail: onPerson({
    name: "change_email",
    inputs: {
      new_email: { ...NEW_EMAIL, argument: "new-email", example: "ada.lovelace@example.org" },
    },
    run: (deps, person, { new_email: newEmail }) =>
      changeEmail(deps, { ...(typeof person === "string" ? { email: person } : person), newEmail }),
    says: {
      effect: ({ person }, { hasMail }) => [
        say`${{ name: person.email }} signs in with the new address from now on. Password, roles and sessions do not change. ${
          person.invitation === null
            ? `An unused password link stops working.${hasMail ? " Both addresses are notified by email." : ""}`
            : "You need to resend the invitation."
        }`,
      ],
      button: "Change the address",
      done: { address: "Address changed. The person signs in with the new address." },
      line: ({ before, email }) => `${before} is now ${email}; password links no longer work`,
    },
    page: { path: "address", blocker: findBlocker },
    command: "change-email",
    summary: "changes the address that a person signs in with",
    about: `Password, roles and sessions stay. Password links stop working; resend a pending invitation. With MAIL_URL both addresses
get a mail.`,
    json: { before: text() },
  }),
  setConsoleRole: onPerson({
    name: "set_console_role",
    inputs: { console_role: { ...CONSOLE_ROLE, argument: "role" } },
    run: async (deps, person, { console_role: role }) => {
      if (role === "none") await removeConsoleRole(deps, person);
      else await giveConsoleRole(deps, person, role);
      return { consoleRole: role === "none" ? null : role };
    },
    says: {
      title: "Console role",
      effect: describeConsoleRole,
      button: "Save",
      done: { console: "Console role saved. Takes effect on the next request." },
      line: ({ email, consoleRole }) =>
        `${email} ${consoleRole === null ? "now has no Console role" : `is now ${consoleRole}`}`,
    },
    page: {
      path: "console-role",
      blocker: (page) =>
        page.me.role === "super_admin"
          ? findLastBlocker(page)
          : say`Only a super_admin can change a Console role.`,
      fields: ({ person: { consoleRole } }) => ({
        console_role: { hint: undefined, value: consoleRole ?? "none" },
      }),
    },
    command: "set-role",
    summary: "sets or removes a Console role: admin on every app",
    example:
      "rowhouse admin set-role ada@example.org admin\nrowhouse admin set-role ada@example.org none",
    about: `The role is one of ${CONSOLE_ROLES.join(", ")}, or none. The last super_admin cannot be removed.
A role requires an account whose address this service has set: delete any other account and invite the person again.
Granting a role invalidates an unused password link of the account: create a new one with admin password-link.`,
    json: { consoleRole: orNull(oneOf(CONSOLE_ROLES)) },
  }),
  resetSecondFactor: onPerson({
    name: "reset_second_factor",
    run: (deps, person) => runOnPerson(deps, "reset_second_factor", person),
    says: {
      effect: (page) => [
        say`Use this if ${{ name: page.person.email }} has lost the phone and the recovery codes. First verify that the request comes from this person. Anyone who knows the password can then sign in without a second factor.`,
        say`The authenticator app, recovery codes and passkeys stop working, and all sessions end immediately. The person is notified if email is configured.`,
        warnOwn(page, SIGNED_OUT),
      ],
      button: "Reset the second factor",
      done: { reset: "Second factor reset. All sessions have ended." },
      line: ({ email }) =>
        `Removed the second factor of ${email} and signed the person out everywhere`,
      none: ({ email }) => `${email} has no second factor`,
    },
    page: {
      tone: "danger",
      path: "second-factor",
      blocker: (page) =>
        hasFactor(page.person) ? findBlocker(page) : say`There is no second factor to reset.`,
    },
    command: "reset-second-factor",
    summary: "removes the second factor of a person who has lost it",
    about: `Removes the authenticator app, recovery codes and passkeys, and signs the person out everywhere. Verify the identity of the
person first: anyone who knows the password can then sign in. A person who must have a second factor has ${toDurationText(FACTOR_GRACE_S)} to add one.`,
    json: { secondFactor: nothing() },
  }),
  disable: onPerson({
    name: "set_disabled",
    run: (deps, person) => setDisabled(deps, person, true),
    says: {
      effect: (page) => [
        say`${{ name: page.person.email }} is signed out everywhere immediately and cannot sign in. Roles are retained. An unused password link stops working.`,
        ISSUED_KEYS,
        warnOwn(page),
      ],
      button: "Disable",
      done: { disabled: "Account disabled. All sessions have ended." },
      line: ({ email }) => `${email} is disabled and signed out everywhere`,
    },
    page: {
      tone: "danger",
      path: "state",
      blocker: findLastBlocker,
      isNext: ({ person }) => person.disabledAt === null,
    },
    command: "disable",
    summary: "signs a person out everywhere and locks the account",
    about: "The last super_admin cannot be removed.",
    json: { disabled: fixed(true) },
    several: (deps, emails) => setAllDisabled(deps, emails, true),
    canDryRun: false,
  }),
  enable: onPerson({
    name: "set_disabled",
    run: (deps, person) => setDisabled(deps, person, false),
    says: {
      effect: (page) => [
        say`${{ name: page.person.email }} can sign in again, with the same roles.`,
        warnOwn(page),
      ],
      button: "Enable",
      done: { enabled: "Account enabled. The person can sign in again." },
      line: ({ email }) => `${email} can sign in again`,
    },
    page: {
      path: "state",
      blocker: findLastBlocker,
      isNext: ({ person }) => person.disabledAt !== null,
    },
    command: "enable",
    summary: "lets a disabled person sign in again",
    json: { disabled: fixed(false) },
    several: (deps, emails) => setAllDisabled(deps, emails, false),
    canDryRun: false,
  }),
  endAccess: onPerson({
    name: "end_access",
    inputs: { keys: { label: "API keys to revoke", placeholder: "key_id", maxLength: 16 } },
    run: async (deps, person, { keys }) =>
      await runAction(deps, "end_access", { ...namePerson(person), old_key_ids: keys.split(" ") }),
    says: {
      effect: (page) => [
        say`${{ name: page.person.email }} is signed out everywhere immediately and cannot sign in. All roles are revoked, on apps and in the Console. The account and its rows remain.`,
        warnOwn(page),
      ],
      button: "End access",
      done: { left: "All access has ended: sessions, roles and the chosen keys." },
    },
    page: { path: "end-access", tone: "danger", blocker: findLastBlocker },
  }),
  endSessions: onPerson({
    name: "end_sessions",
    run: async (deps, person) => ({
      ended: Number(await runOnPerson(deps, "end_sessions", person)),
    }),
    says: {
      effect: (page) => [
        say`${{ name: page.person.email }} is signed out of all apps immediately, on every device: ${showCount(page.sessions.length, "session")}.`,
        warnOwn(page, SIGNED_OUT),
      ],
      button: "End all sessions",
      done: { ended: "Sessions ended." },
      line: ({ email, ended }) => `Ended ${showCount(ended, "session")} of ${email}`,
    },
    page: { tone: "danger", path: "end-sessions", blocker: findBlocker },
    command: "sessions",
    summary: "lists a person's sessions, or ends them all",
    example: "rowhouse admin sessions ada@example.org --end",
    json: { ended: count() },
  }),
  endSession: onPerson({
    name: "end_session",
    inputs: { session: { label: "Session", placeholder: "id", maxLength: 16 } },
    // A session that has already ended counts as success.
    run: async (deps, person, { session }) => {
      await runAction(deps, "end_session", { ...namePerson(person), session_id: session });
    },
    says: {
      title: "End a session",
      effect: ({ person }, { params }) =>
        say`This ends the session ${{ code: params["session"] ?? "" }} of ${{ name: person.email }} immediately. Other sessions continue.`,
      button: "End the session",
      done: { ended: "Sessions ended." },
    },
    page: { tone: "danger", path: "sessions/:session", blocker: findBlocker },
  }),
  deleteUser: onPerson({
    name: "delete_user",
    run: async (deps, person) => ({ id: String(await runOnPerson(deps, "delete_user", person)) }),
    says: {
      title: "Delete a person",
      effect: (page) => [
        say`This deletes the account with its roles, sessions and password. It cannot be undone. Rows that name the person do not change. The audit log keeps only the id.`,
        ISSUED_KEYS,
        sayQuietly`To keep the roles, disable the account instead.`,
        warnOwn(page),
      ],
      button: "Delete permanently",
      done: { deleted: "Account deleted. The audit log keeps only its id." },
      line: ({ email, id }) => `Deleted ${email} (${id})`,
    },
    page: {
      tone: "danger",
      path: "delete",
      blocker: findLastBlocker,
      typed: ({ person }) => [person.email, "delete it"],
      next: "/people",
    },
    command: "delete-user",
    summary: "deletes a person's account with its roles and sessions",
    about: `Shows what will be deleted and what stays, and asks for the address. The last super_admin cannot be removed.`,
    json: { id: text(), deleted: fixed(true) },
    confirm: describeDeletion,
  }),
};

async function describeDeletion(deps: { admin: Database }, person: PersonRef) {
  const { email, grants, sessions } = await showUser(deps, namePerson(person).email);
  return {
    message: `The account ${email} will be deleted with its password, ${showCount(grants.length, "role")} and ${showCount(sessions.length, "session")}. Apps keep the rows that they store about this person; the audit log keeps the id, without the address. To lock the account instead: rowhouse admin disable ${quoteForShell(email)}.`,
    what: "the address",
    typed: email,
  };
}

function describeConsoleRole(page: PersonPage): (Said | false)[] {
  const { person } = page;
  const isNew = person.consoleRole === null;
  return [
    say`With a Console role, ${{ name: person.email }} can use this Console and is ${{ code: "admin" }} on every app. Only a super admin can change the role.`,
    isNew &&
      sayQuietly`Anyone who knows the password gets the role too. Check who created ${linkActions("password links", "make_password_link", page)} and ${linkActions("resent invitations", "resend_invitation", page)}.`,
    isNew &&
      person.hasProvider &&
      sayQuietly`Anyone who can sign in with the linked provider account gets it too. Check ${linkActions("when and from where it was linked", "link_provider", page)}.`,
    isNew &&
      person.passkeys > 0 &&
      sayQuietly`Anyone who has a passkey of this account gets it too. Check ${linkActions("when and from where it was added", "add_passkey", page)}.`,
    person.linkEndsAt !== null &&
      sayQuietly`The unused password link stops working. Create a new link afterwards.`,
  ];
}
