/** People, as operators create and change them. Each change is noted in the audit log in the same statement. @module */
import { call, type Database, SIGNALS, SignalError, ViolationError } from "../db/mod.ts";
import { type Detail, Problem } from "../problem.ts";
import { quote } from "../std/quote.ts";
import { toAddressValues } from "./addresses.ts";
import { OPERATOR } from "./audit.ts";
import { checkDisplayName } from "./display_name.ts";
import { readEmail } from "./email.ts";
import { findFaults, refuseFor } from "./faults.ts";
import { type LinkDeps, makeLink, toLinkValues } from "./password_links.ts";

export const CONSOLE_ROLES = ["admin", "super_admin"] as const;
export type ConsoleRole = (typeof CONSOLE_ROLES)[number];

type MakeDeps = LinkDeps & { admin: Database; makeId: () => string };

export type CreateUserOptions = {
  email: string;
  displayName: string | undefined;
  consoleRole: ConsoleRole | undefined;
};

/**
 * A new person without a password, and the text of the link that sets one: shown once, stored as a digest.
 *
 * @throws {Problem} invalid_request — the address is malformed or taken, and the name is none, all at once
 */
export async function createUser(
  deps: MakeDeps,
  options: CreateUserOptions,
): Promise<{ id: string; email: string; linkText: string }> {
  const faults = await findNewUserFaults(deps, options);
  if (faults.length > 0) throw refuseFor(faults);
  const email = readEmail(options.email);
  const [id, link] = [deps.makeId(), makeLink(deps)];
  const { mail_digest } = toAddressValues(deps.identitySecrets, id, email);
  const values = {
    new_id: id,
    mail: email,
    mail_digest,
    new_name: options.displayName,
    new_role: options.consoleRole,
    ...toLinkValues(link),
    actor: OPERATOR,
  };
  await call(deps.admin, "create_user", values, { reject: rejectFor(email) });
  return { id, email, linkText: link.text };
}

/** What is wrong with the address and the name of somebody who is not there yet, all at once. */
export async function findNewUserFaults(
  { admin }: { admin: Database },
  { email: text, displayName = "" }: Omit<CreateUserOptions, "consoleRole">,
): Promise<Detail[]> {
  const ofEmail = findFaults(() => readEmail(text), "");
  const ofName = findFaults(() => checkDisplayName(displayName), "");
  // What is no address is nobody's, and the database could not even read some.
  if (ofEmail.length > 0) return [...ofEmail, ...ofName];
  const email = readEmail(text);
  const found = await call(admin, "find_addresses", { mails: [email] });
  return [...ofName, ...found.map(() => ({ path: "", message: takenAddress(email) }))];
}

/**
 * The text of a new set-password link; an older link ends.
 *
 * @throws {Problem} invalid_request — nobody has this address
 */
export async function makePasswordLink(
  deps: Omit<MakeDeps, "makeId">,
  text: string,
): Promise<{ email: string; linkText: string }> {
  const email = readEmail(text);
  const link = makeLink(deps);
  const values = { mail: email, ...toLinkValues(link), actor: OPERATOR };
  await call(deps.admin, "make_password_link", values, { reject: rejectFor(email) });
  return { email, linkText: link.text };
}

/**
 * Gives or takes away a Console role.
 *
 * @throws {Problem} invalid_request — nobody has this address, or it is the last super_admin
 */
export async function setConsoleRole(
  deps: { admin: Database },
  text: string,
  role: ConsoleRole | undefined,
): Promise<void> {
  const email = readEmail(text);
  const values = { mail: email, new_role: role, who: OPERATOR };
  await call(deps.admin, "set_console_role", values, { reject: rejectFor(email) });
}

/**
 * Disables a person, which ends all their sessions, or enables them again.
 *
 * @throws {Problem} invalid_request — nobody has this address, or it is the last super_admin
 */
export async function setDisabled(
  deps: { admin: Database },
  text: string,
  disabled: boolean,
): Promise<void> {
  const email = readEmail(text);
  const values = { mail: email, disabled, who: OPERATOR };
  await call(deps.admin, "set_disabled", values, { reject: rejectFor(email) });
}

/**
 * Deletes a person with grants, sessions and password; returns the id, which the audit log keeps.
 *
 * @throws {Problem} invalid_request — nobody has this address, or it is the last super_admin
 */
export async function deleteUser(deps: { admin: Database }, text: string): Promise<string> {
  const email = readEmail(text);
  const values = { mail: email, who: OPERATOR };
  return await call(deps.admin, "delete_user", values, { reject: rejectFor(email) });
}

/**
 * Ends all sessions of a person; returns how many there were.
 *
 * @throws {Problem} invalid_request — nobody has this address
 */
export async function endSessionsOf(deps: { admin: Database }, text: string): Promise<number> {
  const email = readEmail(text);
  const values = { mail: email, actor: OPERATOR };
  return await call(deps.admin, "end_sessions", values, { reject: rejectFor(email) });
}

/**
 * Takes away every second factor of a person who has lost it, which ends all their sessions.
 *
 * @throws {Problem} invalid_request — nobody has this address
 */
export async function resetSecondFactor(deps: { admin: Database }, text: string): Promise<void> {
  const email = readEmail(text);
  const values = { mail: email, who: OPERATOR };
  await call(deps.admin, "reset_second_factor", values, { reject: rejectFor(email) });
}

function rejectFor(email: string): (error: unknown) => unknown {
  return (error) => toUserRefusal(error, email);
}

const REFUSALS: Readonly<Record<string, (email: string) => Problem>> = {
  [SIGNALS.lastSuperAdmin]: (email) =>
    refusal(
      `Cannot disable, demote or delete ${email}: this is the last super_admin; appoint another one first`,
    ),
  [SIGNALS.unknownUser]: unknownUser,
};

/** What a person is told whose act on somebody else's account failed. */
export function toUserRefusal(error: unknown, email: string): unknown {
  if (error instanceof SignalError) return REFUSALS[error.signal]?.(email) ?? error;
  if (error instanceof ViolationError && error.violation.kind === "unique")
    return refusal(takenAddress(email));
  return error;
}

/** What is said where somebody has the address. */
export function takenAddress(email: string): string {
  return `Cannot create the user ${email}: the address is taken`;
}

/** The refusal where nobody has this address. */
export function unknownUser(email: string): Problem {
  return refusal(`Nobody has the address ${quote(email)}`);
}

function refusal(message: string): Problem {
  return new Problem("invalid_request", { message });
}
