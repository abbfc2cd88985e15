/**
 * Acts of administrators from a browser, on the Console's own login: each proves in the call that acts who asks for it.
 *
 * @module
 */
import { type Database, SERVICE_QUEUE, SIGNALS, SignalError } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import { readEmail } from "./email.ts";
import { checkRole, type GrantOptions } from "./grants.ts";
import { unknownApp } from "./keys.ts";
import type { PageCookies } from "./sessions.ts";
import { unknownUser } from "./users.ts";

export type ConsoleDeps = { consoleDb: Database; sessionIdleS: number };

/**
 * Gives a role on an app, in place of the one before, in the name of who presents these cookies.
 *
 * @throws {Problem} forbidden — they are of no administrator, or the sign-in is older than ten minutes; invalid_request —
 * the role is none, or nobody has this address; unknown_app
 */
export async function grantRoleByConsole(
  deps: ConsoleDeps,
  cookies: PageCookies,
  { email: text, slug, role }: GrantOptions,
): Promise<void> {
  const email = readEmail(text);
  checkRole(role);
  try {
    await deps.consoleDb.query(
      "select rowhouse.console_grant_role($1, $2, $3, $4, $5, $6)",
      [cookies.session, cookies.identity, deps.sessionIdleS, email, slug, role],
      { retry: "unsafe", queue: SERVICE_QUEUE },
    );
  } catch (error) {
    throw toRefusal(error, { email, slug });
  }
}

function toRefusal(error: unknown, { email, slug }: { email: string; slug: string }): unknown {
  if (!(error instanceof SignalError)) return error;
  if (error.signal === SIGNALS.consoleRefused) return new Problem("forbidden");
  if (error.signal === SIGNALS.signInTooOld)
    return new Problem("forbidden", {
      message: "Sign in again: this was more than 10 minutes ago",
    });
  if (error.signal === SIGNALS.unknownUser) return unknownUser(email);
  return error.signal === SIGNALS.unknownApp ? unknownApp(slug) : error;
}
