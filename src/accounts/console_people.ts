/**
 * What administrators do with people from a browser, by the same rules and in the same words as the commands.
 *
 * @module
 */
import { SIGNALS, SignalError, ViolationError } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import { toAddressRefusal } from "./address_change.ts";
import { toAddressValues } from "./addresses.ts";
import { type ConsoleDeps, callConsole } from "./console_call.ts";
import { readEmail } from "./email.ts";
import type { IdentitySecrets } from "./identity_secrets.ts";
import { refuseUnknownApp } from "./keys.ts";
import { type LinkDeps, makeLink, toLinkValues } from "./password_links.ts";
import type { Reject, ShownCookies } from "./shown_call.ts";
import { type ConsoleRole, toUserRefusal } from "./users.ts";

/** An administrator asks for what only a super_admin may do. */
export class SuperAdminNeeded extends Problem {
  constructor() {
    super("forbidden", {
      message: "Only a super_admin gives or takes a Console role, or changes somebody who has one",
    });
  }
}

/** What a link is made with, on a page. */
export type LinkMakeDeps = ConsoleDeps & Omit<LinkDeps, "now"> & { now: () => number };

/** Somebody as a page shows them. */
export type PersonRef = { id: string; email: string };

/** The text of a new link, and whether it is mailed. */
export type MadeLink = { text: string; isMailed: boolean };

/** A new link that sets the password; an older one ends. @throws {Problem} forbidden — it is for a super_admin */
export async function makePasswordLinkByConsole(
  deps: LinkMakeDeps,
  cookies: ShownCookies,
  { id, email }: PersonRef,
): Promise<MadeLink> {
  const { text, values } = makeLinkByConsole(deps);
  const all = { person: id, ...values };
  const name = "console_make_password_link";
  const isMailed = await callConsole(deps, cookies, name, all, rejectFor({ email }));
  return { text, isMailed };
}

/** A new link, and what the database gets of it. */
export function makeLinkByConsole({ now, ...deps }: LinkMakeDeps) {
  const link = makeLink({ ...deps, now: () => new Date(now()) });
  return { text: link.text, values: toLinkValues(link) };
}

/** @throws {Problem} forbidden — it is for a super_admin; invalid_request — it is the last one */
export async function setConsoleRoleByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { id, email, role }: PersonRef & { role: ConsoleRole | undefined },
): Promise<void> {
  const values = { person: id, new_role: role };
  await callConsole(deps, cookies, "console_set_console_role", values, rejectFor({ email }));
}

/** @throws {Problem} forbidden — it is for a super_admin; invalid_request — it is the last one */
export async function setPersonDisabledByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { id, email, disabled }: PersonRef & { disabled: boolean },
): Promise<void> {
  const values = { person: id, disabled };
  await callConsole(deps, cookies, "console_set_person_disabled", values, rejectFor({ email }));
}

/**
 * Gives a person another address; links that set the password end, an invitation's too.
 *
 * @throws {Problem} forbidden — it is for a super_admin; invalid_request — it is malformed, or somebody has it
 */
export async function changeEmailByConsole(
  deps: ConsoleDeps & { identitySecrets: IdentitySecrets },
  cookies: ShownCookies,
  { id, email, newEmail: text }: PersonRef & { newEmail: string },
): Promise<void> {
  const newEmail = readEmail(text);
  const reject = rejectFor({ email });
  await callConsole(
    deps,
    cookies,
    "console_change_email",
    { person: id, new_mail: newEmail, ...toAddressValues(deps.identitySecrets, id, newEmail) },
    (error) => reject(toAddressRefusal(error, { email, newEmail })),
  );
}

/** Takes away the role on an app; nothing, if there is none. @throws {Problem} unknown_app */
export async function revokeRoleByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { id, email, slug }: PersonRef & { slug: string },
): Promise<void> {
  const values = { person: id, app_slug: slug };
  await callConsole(deps, cookies, "console_revoke_role", values, rejectFor({ email, slug }));
}

/** Ends all sessions of a person, or one; how many there were. @throws {Problem} forbidden — it is for a super_admin */
export async function endSessionsByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { id, email, sessionId }: PersonRef & { sessionId?: string },
): Promise<number> {
  const values = { person: id, session_id: sessionId };
  return await callConsole(deps, cookies, "console_end_sessions", values, rejectFor({ email }));
}

/** Takes away every second factor, and ends all sessions. @throws {Problem} forbidden — it is for a super_admin */
export async function resetSecondFactorByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { id, email }: PersonRef,
): Promise<void> {
  const values = { person: id };
  await callConsole(deps, cookies, "console_reset_second_factor", values, rejectFor({ email }));
}

/** With roles, sessions and password. @throws {Problem} forbidden — it is for a super_admin; invalid_request — it is the last one */
export async function deletePersonByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { id, email }: PersonRef,
): Promise<void> {
  const values = { person: id };
  await callConsole(deps, cookies, "console_delete_person", values, rejectFor({ email }));
}

/** What a page says of the error of a call about somebody. */
export function rejectFor({ email, slug = "" }: { email: string; slug?: string }): Reject {
  return (error) => toRefusal(error, { email, slug });
}

function toRefusal(error: unknown, { email, slug }: { email: string; slug: string }): unknown {
  if (error instanceof SignalError && error.signal === SIGNALS.superAdminNeeded)
    return new SuperAdminNeeded();
  if (error instanceof ViolationError && error.violation.constraint === "users_pkey")
    return new Problem("invalid_request", {
      message: `This form was sent before: ${email} was invited then, and the link is not shown again. Send it again on their page`,
    });
  return refuseUnknownApp(toUserRefusal(error, email), slug);
}
