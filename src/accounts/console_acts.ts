/**
 * Acts of administrators from a browser, on the Console's own login: each proves in the call that acts who asks for it.
 *
 * @module
 */
import { SIGNALS, SignalError } from "../db/mod.ts";
import { type ConsoleDeps, callConsole } from "./console_call.ts";
import { readEmail } from "./email.ts";
import { checkRole, type GrantOptions } from "./grants.ts";
import { unknownApp } from "./keys.ts";
import type { ShownCookies } from "./shown_call.ts";
import { unknownUser } from "./users.ts";

/**
 * Gives a role on an app, in place of the one before, in the name of who presents these cookies.
 *
 * @throws {Problem} forbidden — they are of no administrator, or the sign-in is older than ten minutes; invalid_request —
 * the role is none, or nobody has this address; unknown_app
 */
export async function grantRoleByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { email: text, slug, role }: GrantOptions,
): Promise<void> {
  const email = readEmail(text);
  checkRole(role);
  try {
    await callConsole(deps, cookies, {
      name: "console_grant_role",
      values: [email, slug, role],
      retry: "unsafe",
    });
  } catch (error) {
    throw toRefusal(error, { email, slug });
  }
}

function toRefusal(error: unknown, { email, slug }: { email: string; slug: string }): unknown {
  if (!(error instanceof SignalError)) return error;
  if (error.signal === SIGNALS.unknownUser) return unknownUser(email);
  return error.signal === SIGNALS.unknownApp ? unknownApp(slug) : error;
}
