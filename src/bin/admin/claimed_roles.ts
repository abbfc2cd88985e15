/** `rowhouse admin revoke --provider`: revokes all roles that a provider's claims granted, on every app. @module */
import {
  type ClaimedGrant,
  listClaimedGrants,
  revokeClaimedRoles,
} from "../../accounts/people/mod.ts";
import { quote } from "../../std/quote.ts";
import { type Arguments, RejectedError } from "../cli/command.ts";
import { showCount } from "../cli/terminal.ts";
import { confirm } from "./confirm.ts";
import type { AdminDeps, AdminResult } from "./task.ts";

/** Max roles in the message. */
const MAX_NAMED = 20;

/** @throws {RejectedError} no such roles, or the operator does not confirm */
export async function revokeByProvider(
  deps: AdminDeps,
  args: Arguments,
  provider: string,
): Promise<AdminResult> {
  const found = await listClaimedGrants(deps, provider);
  if (found.length === 0)
    throw new RejectedError(
      `Nothing to revoke: no one has a role from claims of ${quote(provider)}`,
    );
  const isSetUp = deps.config.providers.some(({ name }) => name === provider);
  await confirm(deps, args, {
    message: `${describe(found, provider)}${isSetUp ? ` This provider is set up here: its rules grant their roles again at the next sign-in.` : ""}`,
  });
  const revoked = await revokeClaimedRoles(deps, provider);
  return {
    document: { provider, revoked },
    lines: [`Revoked ${showCount(revoked.length, "role")} from claims of ${provider}`],
  };
}

function describe(found: readonly ClaimedGrant[], provider: string): string {
  const named = found
    .slice(0, MAX_NAMED)
    .map(({ email, app, role }) => `${email} as ${role} on ${app}`);
  const more = found.length - named.length;
  return `${showCount(found.length, "role")} from claims of ${provider} will be revoked: ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}. Accounts and roles granted by a person stay.`;
}
