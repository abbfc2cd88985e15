/** Creates, lists, resends and withdraws invitations, for operators and for administrators in the Console. @module */
import { Problem } from "../../problem.ts";
import { type Actor, runAction } from "../actions/action.ts";
import { count, many, oneOf, orNull, type Row, record, text, time } from "../actions/columns.ts";
import { list, type RowsOf } from "../actions/list.ts";
import { findIssues, rejectFor } from "../actions/rejections.ts";
import { toAskedSlug } from "../apps/keys.ts";
import { readEmail, toAddressValues } from "./addresses.ts";
import { type LinkDeps, makeLink, toLinkValues } from "./password_links.ts";
import {
  CONSOLE_ROLES,
  type ConsoleRole,
  type CreatedLink,
  checkDisplayName,
  findUsedIssues,
  namePerson,
  type PersonRef,
} from "./people.ts";
import { checkRole, findAppIssues } from "./roles.ts";
import { makeNewPerson } from "./several.ts";

/** Whether the invitation can still be accepted. An expired invitation can be resent. */
export const INVITATION_STATES = ["pending", "expired"] as const;

export const INVITATION = {
  invitedAt: time({ title: "Invited", label: false }),
  /** As in the audit log: a user's id, or `operator`. */
  invitedBy: text({ label: "by" }),
  /** Null if that person was deleted. */
  invitedByEmail: orNull(text({ label: false })),
  state: oneOf(INVITATION_STATES, { title: "State" }),
  /** When the latest link was created; null if it was ended. */
  linkMadeAt: orNull(time({ label: false })),
  linkEndsAt: orNull(time({ label: "link until" })),
  /** The outcome of the email with the latest link; null if no email was requested. */
  mail: orNull(oneOf(["sent", "waiting", "failed"])),
  mailedAt: orNull(time({ label: false })),
};
export type Invitation = Row<typeof INVITATION>;

export const invitationList = list({
  read: "list_invitations",
  name: "invitations",
  columns: {
    email: text({ title: "Person" }),
    id: text({ label: false }),
    displayName: orNull(text()),
    /** The first roles, by app. */
    roles: many(record({ app: text(), role: text() }), { title: "To" }),
    roleCount: count({ label: false }),
    consoleRole: orNull(oneOf(CONSOLE_ROLES)),
    ...INVITATION,
    disabledAt: orNull(time({ label: "disabled" })),
  },
  more: { invited: count() },
  key: "email",
  ask: ({ after, limit }) => ({ search: "", after_email: after.toLowerCase(), max_rows: limit }),
});
export type ListedInvitation = RowsOf<typeof invitationList>;

/**
 * A new invitation is `mailed`, or `made` if the caller passes on its link. An existing person gets only the role: `added` to a
 * pending invitation, or `granted`.
 */
export const INVITATION_OUTCOMES = ["mailed", "made", "added", "granted"] as const;
export type InvitationOutcome = (typeof INVITATION_OUTCOMES)[number];

type InviteOptions = {
  email: string;
  /** Empty or undefined: the person has no name yet. */
  displayName: string | undefined;
  /** A role on an app, granted immediately. A person with an account gets nothing else. */
  slug?: string;
  role?: string;
  consoleRole?: ConsoleRole | undefined;
  /** Chosen in advance, so that a form that is sent twice invites one person. */
  id?: string;
};
type CreatedInvitation = {
  email: string;
  outcome: InvitationOutcome;
  linkText: string | undefined;
};

/**
 * Invites a person, optionally with a role on an app.
 *
 * @throws {Problem} invalid_request — lists all malformed values; or the address is in use and there is no role to grant, or the
 * form was sent before; forbidden — only a super_admin can grant a Console role; unknown_app
 */
export async function invite(
  deps: LinkDeps & Actor & { makeId: () => string },
  options: InviteOptions,
): Promise<CreatedInvitation> {
  await checkInvitation(deps, options);
  const { displayName, consoleRole, slug, role, id = deps.makeId() } = options;
  const [email, link] = [readEmail(options.email), makeLink(deps)];
  const { mail_digest } = toAddressValues(deps.identitySecrets, id, email);
  const values = {
    new_id: id,
    email,
    mail_digest,
    new_name: displayName === "" ? undefined : displayName,
    new_console_role: consoleRole,
    ...toLinkValues(link),
    app_slug: slug && toAskedSlug(slug),
    new_role: role,
  };
  const outcome = (await runAction(deps, "invite", values).catch(async (error: unknown) => {
    // The database rejects an address in use before it reads the app.
    if (!(error instanceof Problem) || error.code !== "invalid_request") throw error;
    throw rejectFor([{ path: "", message: error.message }, ...(await findAppIssues(deps, slug))]);
  })) as InvitationOutcome;
  const isNew = outcome === "mailed" || outcome === "made";
  return { email, outcome, linkText: isNew ? link.text : undefined };
}

type InviteSeveralOptions = {
  /** The form carries the ids, so a form that is sent twice does not invite a person twice. */
  people: readonly { id: string; email: string; displayName?: string | undefined }[];
  slug?: string;
  role?: string;
};
export type InvitedPerson = {
  id: string;
  email: string;
  /** `taken`: the account exists, and there was no role to grant. `repeated`: the id was used before. */
  outcome: InvitationOutcome | "taken" | "repeated";
  linkText: string | undefined;
};

/**
 * Invites several people, optionally with a role on an app; returns the result for each person.
 *
 * @throws {Problem} invalid_request — with every issue of every address, and no one is invited; unknown_app
 */
export async function inviteSeveral(
  deps: LinkDeps & Actor,
  { people, slug, role }: InviteSeveralOptions,
): Promise<InvitedPerson[]> {
  const issues = [
    ...people.map(
      ({ email }) =>
        () =>
          readEmail(email),
    ),
    () => checkWhole(slug, role),
    () => role !== undefined && role !== "" && checkRole(role),
  ].flatMap((check) => findIssues(check));
  if (issues.length > 0) throw rejectFor(issues);
  const invited = people.map(({ id, email, displayName }) =>
    makeNewPerson(deps, { id, email: readEmail(email), displayName }),
  );
  const [first] = invited;
  if (first === undefined) return [];
  const outcomes = (await runAction(deps, "invite_people", {
    people: invited.map(({ value }) => value),
    ...first.ofLinks,
    app_slug: slug && toAskedSlug(slug),
    new_role: role,
  })) as InvitedPerson["outcome"][];
  return invited.map(({ value: { id, email }, linkText }, position) => {
    const outcome = outcomes[position] ?? "taken";
    const isNew = outcome === "mailed" || outcome === "made";
    return { id, email, outcome, linkText: isNew ? linkText : undefined };
  });
}

/**
 * Reports an unknown app and an address in use only together with other issues: otherwise the invitation reports them.
 *
 * @throws {Problem} invalid_request — with every issue
 */
async function checkInvitation(actor: Actor, options: InviteOptions): Promise<void> {
  const { email, displayName = "", consoleRole, slug, role } = options;
  const issues = [
    () => readEmail(email),
    () => checkDisplayName(displayName),
    () => checkWhole(slug, role),
    () => role !== undefined && role !== "" && checkRole(role),
  ].flatMap((check) => findIssues(check));
  if (issues.length === 0) return;
  const isNew = slug === undefined || consoleRole !== undefined;
  throw rejectFor([
    ...issues,
    ...(isNew ? await findUsedIssues(actor, email) : []),
    ...(await findAppIssues(actor, slug)),
  ]);
}

function checkWhole(slug: string | undefined, role: string | undefined): void {
  if (slug !== "" && role !== "") return;
  throw new Problem("invalid_request", {
    message: "For a role on an app, name both the app and the role",
  });
}

/** Replaces the link. @throws {Problem} invalid_request — no pending invitation; and as {@linkcode namePerson} */
export async function resendInvitation(
  deps: LinkDeps & Actor,
  person: PersonRef,
): Promise<CreatedLink> {
  const [named, link] = [namePerson(person), makeLink(deps)];
  const values = { ...named, ...toLinkValues(link) };
  const outcome = await runAction(deps, "resend_invitation", values);
  if (outcome === null) throw noInvitation(named.email);
  return { email: named.email, isMailed: outcome === "mailed", linkText: link.text };
}

/** Deletes an invited person who has not accepted, and their roles. @throws {Problem} as {@linkcode resendInvitation} */
export async function withdrawInvitation(actor: Actor, person: PersonRef): Promise<void> {
  const named = namePerson(person);
  if (!(await runAction(actor, "withdraw_invitation", named))) throw noInvitation(named.email);
}

function noInvitation(email: string): Problem {
  return new Problem("invalid_request", {
    message: `${email} has no pending invitation: it was accepted, or the account is disabled`,
  });
}
