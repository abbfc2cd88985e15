/** Grants: one role per person and app, given and taken by an operator. Nothing but the row grants access. @module */
import { type Database, SIGNALS, SignalError } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import { quote } from "../std/quote.ts";
import { ROLE_PATTERN, ROLE_WORDS } from "../std/stored_text.ts";
import { OPERATOR } from "./audit.ts";
import { readEmail } from "./email.ts";
import { refuseUnknownApp } from "./keys.ts";
import { type Act, runAct } from "./run_act.ts";
import { unknownUser } from "./users.ts";

export const ROLE = new RegExp(ROLE_PATTERN);

export type GrantOptions = { email: string; slug: string; role: string };

/**
 * Gives a role on an app, replacing the one before.
 *
 * @throws {Problem} invalid_request — the role is malformed, or nobody has this address; unknown_app
 */
export async function grantRole(deps: { admin: Database }, options: GrantOptions): Promise<void> {
  const email = readEmail(options.email);
  checkRole(options.role);
  const { role, slug } = options;
  await run(
    deps.admin,
    { email, slug },
    {
      text: "select rowhouse.grant_role($1, $2, $3, $4)",
      values: [email, slug, role, OPERATOR],
    },
  );
}

/** @throws {Problem} invalid_request — the text is no role on an app */
export function checkRole(role: string): void {
  if (ROLE.test(role) && role !== "super_admin") return;
  throw new Problem("invalid_request", {
    message: `Cannot grant the role ${quote(role)}: must be ${ROLE_WORDS}, and super_admin is a Console role`,
  });
}

/**
 * Takes away the role on an app; returns whether there was one.
 *
 * @throws {Problem} invalid_request — nobody has this address; unknown_app
 */
export async function revokeRole(
  deps: { admin: Database },
  options: Omit<GrantOptions, "role">,
): Promise<boolean> {
  const email = readEmail(options.email);
  const { slug } = options;
  const [row] = await run<{ is_done: boolean }>(
    deps.admin,
    { email, slug },
    {
      text: "select rowhouse.revoke_role($1, $2, $3) as is_done",
      values: [email, slug, OPERATOR],
    },
  );
  return row?.is_done === true;
}

type Of = { email: string; slug: string };

function run<Row>(admin: Database, { email, slug }: Of, act: Act): Promise<Row[]> {
  return runAct(admin, act, (error) => {
    const isUser = error instanceof SignalError && error.signal === SIGNALS.unknownUser;
    return isUser ? unknownUser(email) : refuseUnknownApp(error, slug);
  });
}
