/**
 * Acts of administrators from a browser, on the Console's own login: each proves in the call that acts who asks for it.
 *
 * @module
 */
import { type ConsoleDeps, callConsole } from "./console_call.ts";
import { type GrantOptions, passGrant } from "./grants.ts";
import type { ShownCookies } from "./shown_call.ts";

/**
 * Gives a role on an app, in place of the one before, in the name of who presents these cookies.
 *
 * @throws {Problem} forbidden — they are of no administrator, or the sign-in is older than ten minutes; invalid_request —
 * the role is none, and nobody has this address, all at once; unknown_app
 */
export async function grantRoleByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  grant: GrantOptions,
): Promise<void> {
  await passGrant(grant, async ({ email, slug, role }) => {
    const values = { mail: email, app_slug: slug, new_role: role };
    await callConsole(deps, cookies, "console_grant_role", values);
  });
}
