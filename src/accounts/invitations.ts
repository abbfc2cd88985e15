/** Invitations, as operators make, list, send again and withdraw them. @module */
import { call, type Database } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import { toAddressValues } from "./addresses.ts";
import { OPERATOR } from "./audit.ts";
import { checkDisplayName } from "./display_name.ts";
import { readEmail } from "./email.ts";
import { findFaults, refuseFor } from "./faults.ts";
import { checkRole, type GrantOptions } from "./grants.ts";
import { refuseUnknownApp, unknownApp } from "./keys.ts";
import { type LinkDeps, makeLink, toLinkValues } from "./password_links.ts";
import { type ConsoleRole, toUserRefusal } from "./users.ts";

/** Until when it can be accepted; what has expired can be sent again. */
export type InvitationState = "pending" | "expired";

export type Invitation = {
  state: InvitationState;
  /** As in the audit log: a user's id, or `operator`. */
  invitedBy: string;
  /** Of somebody who is there still. */
  invitedByEmail: string | null;
  invitedAt: string;
  /** Of the latest link; null if it was ended. */
  linkMadeAt: string | null;
  linkEndsAt: string | null;
  /** What became of the mail with the latest link; null if none was to be sent. */
  mail: "sent" | "waiting" | "failed" | null;
  mailedAt: string | null;
};

export type ListedInvitation = Invitation & {
  id: string;
  email: string;
  displayName: string | null;
  consoleRole: ConsoleRole | null;
  disabledAt: string | null;
  /** The first ones, by app. */
  roles: { app: string; role: string }[];
  roleCount: number;
};

/**
 * What became of it: a new invitation is `mailed`, or `made` where its link is passed on; somebody who was there got the role alone,
 * `added` to an invitation or `granted`.
 */
export type InvitationOutcome = "mailed" | "made" | "added" | "granted";

type MakeDeps = LinkDeps & { admin: Database; makeId: () => string };
export type InviteOptions = GrantOptions & { displayName: string | undefined };
export type MadeInvitation = {
  email: string;
  outcome: InvitationOutcome;
  /** Of a new invitation: what its address is made of. */
  linkText: string | undefined;
};

/**
 * Invites somebody to an app in a role.
 *
 * @throws {Problem} invalid_request — what is malformed, all at once; unknown_app
 */
export async function invite(deps: MakeDeps, options: InviteOptions): Promise<MadeInvitation> {
  const { slug, role, displayName } = options;
  const email = await readInvitation(deps, options);
  const [id, link] = [deps.makeId(), makeLink(deps)];
  const { mail_digest } = toAddressValues(deps.identitySecrets, id, email);
  const made = await call(
    deps.admin,
    "invite",
    {
      new_id: id,
      mail: email,
      mail_digest,
      new_name: displayName,
      new_console_role: null,
      ...toLinkValues(link),
      app_slug: slug,
      new_role: role,
      actor: OPERATOR,
    },
    { reject: (error) => refuseUnknownApp(toUserRefusal(error, email), slug) },
  );
  const outcome = made as InvitationOutcome;
  return { email, outcome, linkText: isNew(outcome) ? link.text : undefined };
}

export function isNew(outcome: InvitationOutcome): boolean {
  return outcome === "mailed" || outcome === "made";
}

/** The address. @throws {Problem} invalid_request — with every fault; of an app that alone is unknown the invitation says so */
async function readInvitation(
  { admin }: { admin: Database },
  { email, slug, role, displayName = "" }: InviteOptions,
): Promise<string> {
  const checks = [
    () => readEmail(email),
    () => checkDisplayName(displayName),
    () => checkRole(role),
  ];
  const faults = checks.flatMap((check) => findFaults(check, ""));
  if (faults.length === 0) return readEmail(email);
  const known = await call(admin, "find_app_id", { app_slug: slug });
  const unknown = known !== null ? [] : [{ path: "", message: unknownApp(slug).message }];
  throw refuseFor([...faults, ...unknown]);
}

/** Those after an address, by address; at most `limit`. */
export async function listInvitations(
  deps: { admin: Database },
  { after = "", limit }: { after?: string; limit: number },
): Promise<{ invitations: ListedInvitation[]; hasMore: boolean }> {
  const values = { search: "", after_email: after.toLowerCase(), most: limit + 1 };
  const found = (await call(deps.admin, "list_invitations", values)) as ListedInvitation[];
  return { invitations: found.slice(0, limit), hasMore: found.length > limit };
}

/**
 * The text of a new link; the one before ends.
 *
 * @throws {Problem} invalid_request — nobody has this address, or nobody waits for it
 */
export async function resendInvitation(
  deps: LinkDeps & { admin: Database },
  text: string,
): Promise<{ email: string; isMailed: boolean; linkText: string }> {
  const email = readEmail(text);
  const link = makeLink(deps);
  const values = { mail: email, ...toLinkValues(link), actor: OPERATOR };
  const outcome = await call(deps.admin, "resend_invitation", values, {
    reject: (error) => toUserRefusal(error, email),
  });
  if (outcome === null) throw noInvitation(email);
  return { email, isMailed: outcome === "mailed", linkText: link.text };
}

/**
 * Removes whoever was invited and has not accepted it, with the roles; returns the address.
 *
 * @throws {Problem} invalid_request — nobody has this address, or nobody waits for it
 */
export async function withdrawInvitation(deps: { admin: Database }, text: string): Promise<string> {
  const email = readEmail(text);
  const values = { mail: email, actor: OPERATOR };
  const wasThere = await call(deps.admin, "withdraw_invitation", values, {
    reject: (error) => toUserRefusal(error, email),
  });
  if (!wasThere) throw noInvitation(email);
  return email;
}

/** The refusal of sending again and of withdrawing. */
export function noInvitation(email: string): Problem {
  return new Problem("invalid_request", {
    message: `No invitation of ${email} is open: it was accepted, or the account is disabled`,
  });
}
