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
import { type LinkDeps, makeLink } from "./password_links.ts";
import type { ShownCall, ShownCookies } from "./shown_call.ts";
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
  const { text, values } = toLinkValues(deps);
  const [row] = await runOnPerson<{ result: boolean }>(deps, cookies, {
    email,
    name: "console_make_password_link",
    passed: `$5, ${passLink(6)}`,
    values: [id, ...values],
  });
  return { text, isMailed: row?.result === true };
}

/** A new link, and what the database gets of it. */
export function toLinkValues({ now, ...deps }: LinkMakeDeps) {
  const link = makeLink({ ...deps, now: () => new Date(now()) });
  return { text: link.text, values: [link.id, link.proof, link.secretId, link.expiresAtS] };
}

/** The values of a link as SQL, from a place on. */
export function passLink(first: number): string {
  return `$${first}, decode($${first + 1}, 'hex'), $${first + 2}, to_timestamp($${first + 3})`;
}

/** @throws {Problem} forbidden — it is for a super_admin; invalid_request — it is the last one */
export async function setConsoleRoleByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { id, email, role }: PersonRef & { role: ConsoleRole | undefined },
): Promise<void> {
  await runOnPerson(deps, cookies, {
    email,
    name: "console_set_console_role",
    values: [id, role ?? null],
  });
}

/** @throws {Problem} forbidden — it is for a super_admin; invalid_request — it is the last one */
export async function setPersonDisabledByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { id, email, disabled }: PersonRef & { disabled: boolean },
): Promise<void> {
  await runOnPerson(deps, cookies, {
    email,
    name: "console_set_person_disabled",
    values: [id, disabled],
  });
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
  try {
    await callConsole(deps, cookies, {
      name: "console_change_email",
      passed: "$5, $6, decode($7, 'hex'), $8",
      values: [id, newEmail, ...toAddressValues(deps.identitySecrets, id, newEmail)],
      retry: "unsafe",
    });
  } catch (error) {
    throw toRefusal(toAddressRefusal(error, { email, newEmail }), { email, slug: "" });
  }
}

/** Takes away the role on an app; nothing, if there is none. @throws {Problem} unknown_app */
export async function revokeRoleByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { id, email, slug }: PersonRef & { slug: string },
): Promise<void> {
  await runOnPerson(deps, cookies, {
    email,
    slug,
    name: "console_revoke_role",
    values: [id, slug],
  });
}

/** Ends all sessions of a person, or one; how many there were. @throws {Problem} forbidden — it is for a super_admin */
export async function endSessionsByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { id, email, sessionId }: PersonRef & { sessionId?: string },
): Promise<number> {
  const [row] = await runOnPerson<{ result: number }>(deps, cookies, {
    email,
    name: "console_end_sessions",
    values: [id, sessionId ?? null],
  });
  return row?.result ?? 0;
}

/** Takes away every second factor, and ends all sessions. @throws {Problem} forbidden — it is for a super_admin */
export async function resetSecondFactorByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { id, email }: PersonRef,
): Promise<void> {
  await runOnPerson(deps, cookies, { email, name: "console_reset_second_factor", values: [id] });
}

/** With roles, sessions and password. @throws {Problem} forbidden — it is for a super_admin; invalid_request — it is the last one */
export async function deletePersonByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { id, email }: PersonRef,
): Promise<void> {
  await runOnPerson(deps, cookies, { email, name: "console_delete_person", values: [id] });
}

type PersonCall = Omit<ShownCall, "retry"> & { email: string; slug?: string };

/** A call about somebody. @throws what a page says of it */
export async function runOnPerson<Row>(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { email, slug = "", ...call }: PersonCall,
): Promise<Row[]> {
  try {
    return await callConsole<Row>(deps, cookies, { ...call, retry: "unsafe" });
  } catch (error) {
    throw toRefusal(error, { email, slug });
  }
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
