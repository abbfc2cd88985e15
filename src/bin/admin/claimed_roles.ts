/** `rowhouse admin revoke --provider`: takes the roles that a provider's claims gave, of everyone and on every app. @module */
import {
  type ClaimedGrant,
  listClaimedGrants,
  revokeClaimedRoles,
} from "../../accounts/people/mod.ts";
import { quote } from "../../std/quote.ts";
import { type Arguments, RefusedError } from "../cli/command.ts";
import { confirm } from "./confirm.ts";
import type { AdminDeps, AdminResult } from "./task.ts";

/** How many roles are named where there are more. */
const MAX_NAMED = 20;

/** @throws {RefusedError} there is none, or it is not agreed to */
export async function revokeByProvider(
  deps: AdminDeps,
  args: Arguments,
  provider: string,
): Promise<AdminResult> {
  const found = await listClaimedGrants(deps, provider);
  if (found.length === 0)
    throw new RefusedError(`Nothing to revoke: nobody has a role by claims of ${quote(provider)}`);
  const isSetUp = deps.config.providers.some(({ name }) => name === provider);
  await confirm(deps, args, {
    says: `${describe(found, provider)}${isSetUp ? ` This provider is set up here: what its rules give comes back at the next sign-in.` : ""}`,
    question: "Continue? [y/N]",
    isYes: (answer) => /^y(es)?$/i.test(answer),
  });
  const revoked = await revokeClaimedRoles(deps, provider);
  return {
    document: { provider, revoked },
    lines: [`Took ${show(revoked)} that claims of ${provider} gave`],
  };
}

function describe(found: readonly ClaimedGrant[], provider: string): string {
  const named = found
    .slice(0, MAX_NAMED)
    .map(({ email, app, role }) => `${email} as ${role} on ${app}`);
  const more = found.length - named.length;
  return `${show(found)} that claims of ${provider} gave will be taken: ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}. Accounts stay, and so do roles that a person gave.`;
}

function show(grants: readonly ClaimedGrant[]): string {
  return `${grants.length} ${grants.length === 1 ? "role" : "roles"}`;
}
