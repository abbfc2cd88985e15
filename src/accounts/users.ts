/** People, as operators create and change them. Each change is noted in the audit log in the same statement. @module */
import { type Database, SERVICE_QUEUE, SIGNALS, SignalError, ViolationError } from "../db/mod.ts";
import { type Detail, Problem } from "../problem.ts";
import { quote } from "../std/quote.ts";
import { makeAddressDigest } from "./addresses.ts";
import { OPERATOR } from "./audit.ts";
import { checkDisplayName } from "./display_name.ts";
import { readEmail } from "./email.ts";
import { findFaults, refuseFor } from "./faults.ts";
import { type LinkDeps, makeLink } from "./password_links.ts";
import { type Act, runAct } from "./run_act.ts";

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
  try {
    await deps.admin.query(
      "select rowhouse.create_user($1, $2, decode($10, 'hex'), $3, $4, $5, decode($6, 'hex'), $7, to_timestamp($8), $9)",
      [
        id,
        email,
        options.displayName ?? null,
        options.consoleRole ?? null,
        link.id,
        link.proof,
        link.secretId,
        link.expiresAtS,
        OPERATOR,
        makeAddressDigest(deps.identitySecrets, id, email),
      ],
      { retry: "unsafe", queue: SERVICE_QUEUE },
    );
  } catch (error) {
    throw toUserRefusal(error, email);
  }
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
  const found = await admin.query("select from rowhouse.users where email = $1", [email], {
    retry: "safe",
    queue: SERVICE_QUEUE,
  });
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
  await run(deps.admin, email, {
    text: "select rowhouse.make_password_link($1, $2, decode($3, 'hex'), $4, to_timestamp($5), $6)",
    values: [email, link.id, link.proof, link.secretId, link.expiresAtS, OPERATOR],
  });
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
  await run(deps.admin, email, {
    text: "select rowhouse.set_console_role($1, $2, $3)",
    values: [email, role ?? null, OPERATOR],
  });
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
  await run(deps.admin, email, {
    text: "select rowhouse.set_disabled($1, $2, $3)",
    values: [email, disabled, OPERATOR],
  });
}

/**
 * Deletes a person with grants, sessions and password; returns the id, which the audit log keeps.
 *
 * @throws {Problem} invalid_request — nobody has this address, or it is the last super_admin
 */
export async function deleteUser(deps: { admin: Database }, text: string): Promise<string> {
  const email = readEmail(text);
  const [row] = await run<{ id: string }>(deps.admin, email, {
    text: "select rowhouse.delete_user($1, $2)::text as id",
    values: [email, OPERATOR],
  });
  if (row === undefined) throw new Error("The deletion of a person gave no row");
  return row.id;
}

/**
 * Ends all sessions of a person; returns how many there were.
 *
 * @throws {Problem} invalid_request — nobody has this address
 */
export async function endSessionsOf(deps: { admin: Database }, text: string): Promise<number> {
  const email = readEmail(text);
  const [row] = await run<{ ended: number }>(deps.admin, email, {
    text: "select rowhouse.end_sessions($1, $2) as ended",
    values: [email, OPERATOR],
  });
  return row?.ended ?? 0;
}

/**
 * Takes away every second factor of a person who has lost it, which ends all their sessions.
 *
 * @throws {Problem} invalid_request — nobody has this address
 */
export async function resetSecondFactor(deps: { admin: Database }, text: string): Promise<void> {
  const email = readEmail(text);
  await run(deps.admin, email, {
    text: "select rowhouse.reset_second_factor($1, $2)",
    values: [email, OPERATOR],
  });
}

function run<Row>(admin: Database, email: string, act: Act): Promise<Row[]> {
  return runAct(admin, act, (error) => toUserRefusal(error, email));
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
