/** People: created, changed and exported, for operators and for administrators in the Console. @module */

import type { Database, Result } from "../../db/mod.ts";
import { type Field, type Input, oneOfChoices } from "../../field.ts";
import { type Detail, Problem } from "../../problem.ts";
import { EMAIL_MAX_CHARS } from "../../std/patterns.ts";
import { type Actor, callAsOperator, runAction } from "../actions/action.ts";
import { findIssues, rejectFor, toDuplicateText } from "../actions/rejections.ts";
import type { IdentitySecrets } from "../secrets/identity_secrets.ts";
import { proveByEach, readEmail, toAddressValues } from "./addresses.ts";
import { type LinkDeps, makeLink, toLinkValues } from "./password_links.ts";

// Display names of people.

export const NAME_MAX_CHARS = 200;
/** Rejects lone surrogates and characters that break a line or change the direction of adjacent text. */
const NAME = new RegExp(`^[^\\p{Cc}\\p{Surrogate}\\p{Bidi_Control}]{0,${NAME_MAX_CHARS}}$`, "u");
const VISIBLE = /[^\s\p{Default_Ignorable_Code_Point}]/u;

/** Whether the name is empty, or is visible on one line. */
export function isDisplayName(name: string): boolean {
  return NAME.test(name) && (name === "" || VISIBLE.test(name));
}

/** @throws {Problem} invalid_request — it is too long or invisible, or has control characters */
export function checkDisplayName(name: string): void {
  if (isDisplayName(name)) return;
  throw new Problem("invalid_request", {
    message: `The name must have at most ${NAME_MAX_CHARS} visible characters on one line, without control characters`,
  });
}

export const CONSOLE_ROLES = ["admin", "super_admin"] as const;
export type ConsoleRole = (typeof CONSOLE_ROLES)[number];

type MakeDeps = LinkDeps & { admin: Database; makeId: () => string };

type CreateUserOptions = {
  email: string;
  displayName: string | undefined;
  consoleRole: ConsoleRole | undefined;
};

/**
 * Creates a person without a password. Returns the text of the link that sets a password: the database stores only a digest.
 *
 * @throws {Problem} invalid_request — the address is malformed or in use, or the name is invalid; lists all issues
 */
export async function createUser(
  deps: MakeDeps,
  options: CreateUserOptions,
): Promise<{ id: string; email: string; linkText: string }> {
  const issues = await findNewUserIssues(deps, options);
  if (issues.length > 0) throw rejectFor(issues);
  const email = readEmail(options.email);
  const [id, link] = [deps.makeId(), makeLink(deps)];
  const { mail_digest } = toAddressValues(deps.identitySecrets, id, email);
  const values = {
    new_id: id,
    email,
    mail_digest,
    new_name: options.displayName,
    new_role: options.consoleRole,
    ...toLinkValues(link),
  };
  await callAsOperator(deps, "create_user", values);
  return { id, email, linkText: link.text };
}

export async function findNewUserIssues(
  deps: { admin: Database },
  { email: text, displayName = "" }: Omit<CreateUserOptions, "consoleRole">,
): Promise<Detail[]> {
  const ofEmail = findIssues(() => readEmail(text));
  const ofName = findIssues(() => checkDisplayName(displayName));
  return [...ofEmail, ...ofName, ...(await findUsedIssues(deps, text))];
}

/** An issue if a person has the address. No issue for an invalid address. */
export async function findUsedIssues(actor: Actor, text: string): Promise<Detail[]> {
  if (findIssues(() => readEmail(text)).length > 0) return [];
  const email = readEmail(text);
  const found = await runAction(actor, "find_addresses", { mails: [email] });
  return found.map(() => ({ path: "", message: toDuplicateText(email) }));
}

/** A person: the address that an operator typed, or the id and the address from a page of the Console. */
export type PersonRef = string | { id: string; email: string };

/**
 * The arguments that name a person, for an operator and in the Console.
 *
 * @throws {Problem} invalid_request — malformed address
 */
export function namePerson(ref: PersonRef): { email: string; person: string | undefined } {
  if (typeof ref === "string") return { email: readEmail(ref), person: undefined };
  return { email: ref.email, person: ref.id };
}

export type CreatedLink = { email: string; linkText: string; isMailed: boolean };

/** A new set-password link; an older link ends. */
export async function makePasswordLink(
  deps: LinkDeps & Actor,
  person: PersonRef,
): Promise<CreatedLink> {
  const [named, link] = [namePerson(person), makeLink(deps)];
  const values = { ...named, ...toLinkValues(link) };
  const isMailed = await runAction(deps, "make_password_link", values);
  return { email: named.email, linkText: link.text, isMailed };
}

/**
 * Gives a Console role to a person whose address this service has set.
 *
 * @throws {Problem} invalid_request — also if this service did not set the address: the account can belong to another person
 */
export async function giveConsoleRole(
  actor: Actor & { identitySecrets: IdentitySecrets },
  person: PersonRef,
  role: ConsoleRole,
): Promise<void> {
  const named = namePerson(person);
  const [found] = await runAction(actor, "find_addresses", { mails: [named.email] });
  const proofs = found && proveByEach(actor.identitySecrets, found.id, named.email);
  await runAction(actor, "set_console_role", { ...named, new_role: role, proofs });
}

export async function removeConsoleRole(actor: Actor, person: PersonRef): Promise<void> {
  const values = { ...namePerson(person), new_role: undefined, proofs: undefined };
  await runAction(actor, "set_console_role", values);
}

/** Disables a person, which ends all their sessions, or enables them again. */
export async function setDisabled(
  actor: Actor,
  person: PersonRef,
  disabled: boolean,
): Promise<void> {
  await runAction(actor, "set_disabled", { ...namePerson(person), disabled });
}

type PersonAction = "delete_user" | "end_sessions" | "reset_second_factor";

/**
 * Runs an action on a person; returns the result of its SQL function.
 *
 * @throws {Problem} invalid_request — no one has this address, or this is the last super_admin; forbidden — only a super_admin
 *   can run this action
 */
export async function runOnPerson(
  actor: Actor,
  name: PersonAction,
  person: PersonRef,
): Promise<Result<PersonAction>> {
  return await runAction(actor, name, namePerson(person));
}

// The inputs of actions on people.

const ADDRESS = { placeholder: "email", maxLength: EMAIL_MAX_CHARS, inputMode: "email" } as const;
export const EMAIL: Field = { ...ADDRESS, label: "Address" };
export const NEW_EMAIL: Field = { ...ADDRESS, label: "New address" };

export const DISPLAY_NAME: Field = {
  label: "Name (optional)",
  hint: "Shown in apps.",
  placeholder: "text",
  maxLength: NAME_MAX_CHARS,
  isOptional: true,
};

export const APP_ROLE: Field = {
  label: "Role",
  hint: "`admin`, or a name that the app defines: lowercase letters, digits, `-` and `_`.",
  placeholder: "role",
  maxLength: 32,
  suggestions: ["member", "reader", "editor", "admin"],
};

export const CONSOLE_ROLE: Input<ConsoleRole | "none"> = {
  label: "Console role",
  hint: "With a Console role, a person is an administrator here and admin on every app.",
  placeholder: "role",
  maxLength: 20,
  ...oneOfChoices({ none: "none", admin: "admin", super_admin: "super admin" }),
};

// Exports all stored data of a person, for that person. Omits the proofs of sessions, links and
// passwords: a reader of the file must not gain access.

/** The person's rows by table, with the column names of the database. */
type UserExport = {
  user: Record<string, unknown>;
  grants: Record<string, unknown>[];
  sessions: Record<string, unknown>[];
  /** One invitation until it is accepted. */
  invitations: Record<string, unknown>[];
  passwordLinks: Record<string, unknown>[];
  providerLinks: Record<string, unknown>[];
  /** When the authenticator app was added, without its secret. */
  totpFactors: Record<string, unknown>[];
  recoveryCodes: Record<string, unknown>[];
  /** Names and last uses of factors, without the data that verifies them. */
  passkeys: Record<string, unknown>[];
  /** Sign-ins that wait for the second factor. */
  pendingSignIns: Record<string, unknown>[];
  /** One row if there were wrong passwords since the last correct password. */
  failedSignIns: Record<string, unknown>[];
  /** Keys of pages and of the Console that have not ended, without the data that verifies them. */
  personKeys: Record<string, unknown>[];
  /** The last day on which a session opened an app in a browser. */
  openedApps: Record<string, unknown>[];
  /** Emails that wait, or were sent in the last hour. */
  mails: Record<string, unknown>[];
  /** Audit entries by this person, or about them. */
  audit: Record<string, unknown>[];
};

/** @throws {Problem} invalid_request — no one has this address */
export async function exportUser(deps: { admin: Database }, text: string): Promise<UserExport> {
  return (await callAsOperator(deps, "export_user", { email: readEmail(text) })) as UserExport;
}
