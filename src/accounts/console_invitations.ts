/** Invitations in the Console, by the same rules and in the same words as the commands. @module */
import { type Detail, Problem } from "../problem.ts";
import { toAddressValues } from "./addresses.ts";
import { type ConsoleDeps, callConsole } from "./console_call.ts";
import {
  type LinkMakeDeps,
  type MadeLink,
  makeLinkByConsole,
  type PersonRef,
  rejectFor,
} from "./console_people.ts";
import { listAppPeople, listConsolePeople, type PeopleFilter } from "./console_people_reads.ts";
import type { Shown } from "./console_reads.ts";
import { checkDisplayName } from "./display_name.ts";
import { readEmail } from "./email.ts";
import { findFaults, refuseFor } from "./faults.ts";
import { checkRole } from "./grants.ts";
import {
  type InvitationOutcome,
  isNew,
  type ListedInvitation,
  type MadeInvitation,
  noInvitation,
} from "./invitations.ts";
import { toAskedSlug, unknownApp } from "./keys.ts";
import type { ShownCookies } from "./shown_call.ts";
import { type ConsoleRole, takenAddress } from "./users.ts";

/** Longer addresses and names may contain the one that is looked for. */
const MOST_FOUND = 200;

/** By address, as people are listed. */
export async function listConsoleInvitations(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { search, after, most }: PeopleFilter,
): Promise<Shown<{ invitations: ListedInvitation[]; invited: number }>> {
  const values = { search, after_email: after, most };
  const shown = await callConsole(deps, cookies, "console_list_invitations", values);
  return shown as Shown<{ invitations: ListedInvitation[]; invited: number }>;
}

/** A page names the person before its form is sent, so that a form that is sent twice makes one. */
export type NewPerson = {
  id: string;
  email: string;
  /** Empty: none. */
  displayName: string;
  consoleRole: ConsoleRole | undefined;
  /** A role on an app, given at once; an app without a role, or a role without an app, is refused. */
  grant: { slug: string; role: string } | undefined;
};

/**
 * Invites somebody; a person who is there already gets the role alone.
 *
 * @throws {Problem} invalid_request — what is malformed, all at once; the address is taken and no role is to be given, or the
 * form was sent before; forbidden — a Console role is for a super_admin to give; unknown_app
 */
export async function inviteByConsole(
  deps: LinkMakeDeps,
  cookies: ShownCookies,
  options: NewPerson,
): Promise<MadeInvitation> {
  const { id, displayName, consoleRole, grant } = options;
  await checkPerson(deps, cookies, options);
  const email = readEmail(options.email);
  const { text, values } = makeLinkByConsole(deps);
  const { mail_digest } = toAddressValues(deps.identitySecrets, id, email);
  const slug = grant?.slug ?? "";
  const invited = callConsole(
    deps,
    cookies,
    "console_invite",
    {
      new_id: id,
      mail: email,
      mail_digest,
      new_name: displayName === "" ? null : displayName,
      new_console_role: consoleRole,
      ...values,
      app_slug: grant && toAskedSlug(slug),
      new_role: grant?.role,
    },
    rejectFor({ email, slug }),
  );
  const outcome = await invited.catch(async (error: unknown) => {
    // Of an address that is taken the database says so before it looks for the app.
    if (!(error instanceof Problem) || error.code !== "invalid_request") throw error;
    const ofApp = await findAppFaults(deps, cookies, grant?.slug ?? "");
    throw refuseFor([{ path: "", message: error.message }, ...ofApp]);
  });
  const made = outcome as InvitationOutcome;
  return { email, outcome: made, linkText: isNew(made) ? text : undefined };
}

/** @throws {Problem} invalid_request — with every fault; of an app or an address that alone is one the invitation says so */
async function checkPerson(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { email, displayName, consoleRole, grant }: NewPerson,
): Promise<void> {
  const faults = [
    () => readEmail(email),
    () => checkDisplayName(displayName),
    () => checkWhole(grant),
    () => grant !== undefined && grant.role !== "" && checkRole(grant.role),
  ].flatMap((check) => findFaults(check, ""));
  if (faults.length === 0) return;
  const isNew = grant === undefined || consoleRole !== undefined;
  throw refuseFor([
    ...faults,
    ...(isNew ? await findTakenFaults(deps, cookies, email) : []),
    ...(await findAppFaults(deps, cookies, grant?.slug ?? "")),
  ]);
}

/** Of somebody who is there: only a role on an app can be given besides. What is no address is nobody's. */
async function findTakenFaults(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  text: string,
): Promise<readonly Detail[]> {
  if (findFaults(() => readEmail(text), "").length > 0) return [];
  const email = readEmail(text);
  const asked = { search: email, after: "", most: MOST_FOUND };
  const { people } = await listConsolePeople(deps, cookies, asked);
  const isTaken = people.some((one) => one.email === email);
  return isTaken ? [{ path: "", message: takenAddress(email) }] : [];
}

function checkWhole(grant: NewPerson["grant"]): void {
  if (grant === undefined || (grant.slug !== "" && grant.role !== "")) return;
  throw new Problem("invalid_request", {
    message: "For a role on an app, name both the app and the role",
  });
}

async function findAppFaults(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  slug: string,
): Promise<readonly Detail[]> {
  if (slug === "") return [];
  try {
    const asked = { slug: toAskedSlug(slug), search: "", after: "", most: 0 };
    await listAppPeople(deps, cookies, asked);
    return [];
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "unknown_app") throw error;
    return [{ path: "", message: unknownApp(slug).message }];
  }
}

/** A new link; the one before ends. @throws {Problem} forbidden — it is for a super_admin; invalid_request — nobody waits for it */
export async function resendInvitationByConsole(
  deps: LinkMakeDeps,
  cookies: ShownCookies,
  { id, email }: PersonRef,
): Promise<MadeLink> {
  const { text, values } = makeLinkByConsole(deps);
  const all = { person: id, ...values };
  const name = "console_resend_invitation";
  const outcome = await callConsole(deps, cookies, name, all, rejectFor({ email }));
  if (outcome === null) throw noInvitation(email);
  return { text, isMailed: outcome === "mailed" };
}

/** With the person and the roles. @throws {Problem} forbidden — it is for a super_admin; invalid_request — nobody waits for it */
export async function withdrawInvitationByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { id, email }: PersonRef,
): Promise<void> {
  const name = "console_withdraw_invitation";
  const wasThere = await callConsole(deps, cookies, name, { person: id }, rejectFor({ email }));
  if (!wasThere) throw noInvitation(email);
}
