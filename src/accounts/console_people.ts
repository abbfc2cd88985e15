/**
 * What administrators do with people from a browser, by the same rules and in the same words as the commands. A page names
 * the person before a form is sent, so that a form that is sent twice makes one.
 *
 * @module
 */
import { SIGNALS, SignalError, ViolationError } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import { type ConsoleDeps, callConsole } from "./console_call.ts";
import { readEmail } from "./email.ts";
import { findFaults } from "./faults.ts";
import { checkRole } from "./grants.ts";
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

type MakeDeps = ConsoleDeps & Omit<LinkDeps, "now"> & { now: () => number };

export type NewPerson = {
  id: string;
  email: string;
  /** Empty: none. */
  displayName: string;
  consoleRole: ConsoleRole | undefined;
  /** A role on an app, given at once. */
  grant: { slug: string; role: string } | undefined;
};

/**
 * A new person without a password; the text of the link that sets one.
 *
 * @throws {Problem} invalid_request — what is malformed, all at once; the address is taken, or the form was sent before;
 * forbidden — a Console role is for a super_admin to give; unknown_app
 */
export async function createPersonByConsole(
  deps: MakeDeps,
  cookies: ShownCookies,
  options: NewPerson,
): Promise<string> {
  const { id, displayName, consoleRole, grant } = options;
  checkPerson(options);
  const email = readEmail(options.email);
  const { text, values } = toLinkValues(deps);
  await run(deps, cookies, {
    email,
    slug: grant?.slug ?? "",
    name: "console_create_person",
    passed: `$5, $6, $7, $8, ${passLink(9)}, $13, $14`,
    values: [
      id,
      email,
      displayName === "" ? null : displayName,
      consoleRole ?? null,
      ...values,
      grant?.slug ?? null,
      grant?.role ?? null,
    ],
  });
  return text;
}

/** @throws {Problem} invalid_request — with every fault */
function checkPerson({ email, displayName, grant }: NewPerson): void {
  const faults = [
    () => readEmail(email),
    () => checkName(displayName),
    () => grant !== undefined && checkRole(grant.role),
  ].flatMap((check) => findFaults(check, ""));
  if (faults.length > 0) throw new Problem("invalid_request", { details: faults });
}

function checkName(name: string): void {
  if (/^[^\p{Cc}\p{Cf}]{0,200}$/u.test(name)) return;
  throw new Problem("invalid_request", {
    message: "The name must have at most 200 characters on one line",
  });
}

/** Somebody as a page shows them. */
export type PersonRef = { id: string; email: string };

/** The text of a new link that sets the password; an older one ends. @throws {Problem} forbidden — it is for a super_admin */
export async function makePasswordLinkByConsole(
  deps: MakeDeps,
  cookies: ShownCookies,
  { id, email }: PersonRef,
): Promise<string> {
  const { text, values } = toLinkValues(deps);
  await run(deps, cookies, {
    email,
    name: "console_make_password_link",
    passed: `$5, ${passLink(6)}`,
    values: [id, ...values],
  });
  return text;
}

function toLinkValues({ now, ...deps }: MakeDeps) {
  const link = makeLink({ ...deps, now: () => new Date(now()) });
  return { text: link.text, values: [link.id, link.proof, link.secretId, link.expiresAtS] };
}

function passLink(first: number): string {
  return `$${first}, decode($${first + 1}, 'hex'), $${first + 2}, to_timestamp($${first + 3})`;
}

/** @throws {Problem} forbidden — it is for a super_admin; invalid_request — it is the last one */
export async function setConsoleRoleByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { id, email, role }: PersonRef & { role: ConsoleRole | undefined },
): Promise<void> {
  await run(deps, cookies, { email, name: "console_set_console_role", values: [id, role ?? null] });
}

/** @throws {Problem} forbidden — it is for a super_admin; invalid_request — it is the last one */
export async function setPersonDisabledByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { id, email, disabled }: PersonRef & { disabled: boolean },
): Promise<void> {
  await run(deps, cookies, { email, name: "console_set_person_disabled", values: [id, disabled] });
}

/** Takes away the role on an app; nothing, if there is none. @throws {Problem} unknown_app */
export async function revokeRoleByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { id, email, slug }: PersonRef & { slug: string },
): Promise<void> {
  await run(deps, cookies, { email, slug, name: "console_revoke_role", values: [id, slug] });
}

/** Ends all sessions of a person, or one; how many there were. @throws {Problem} forbidden — it is for a super_admin */
export async function endSessionsByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { id, email, sessionId }: PersonRef & { sessionId?: string },
): Promise<number> {
  const [row] = await run<{ result: number }>(deps, cookies, {
    email,
    name: "console_end_sessions",
    values: [id, sessionId ?? null],
  });
  return row?.result ?? 0;
}

/** With roles, sessions and password. @throws {Problem} forbidden — it is for a super_admin; invalid_request — it is the last one */
export async function deletePersonByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { id, email }: PersonRef,
): Promise<void> {
  await run(deps, cookies, { email, name: "console_delete_person", values: [id] });
}

type PersonCall = Omit<ShownCall, "retry"> & { email: string; slug?: string };

async function run<Row>(
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
      message: `This form was sent before: ${email} was created then, and the link is not shown again. Make a new link on their page`,
    });
  return refuseUnknownApp(toUserRefusal(error, email), slug);
}
