/** `rowhouse admin` commands for roles on apps. @module */

import {
  type ClaimedGrant,
  listClaimedGrants,
  ROLE_ACTIONS,
  revokeClaimedRoles,
} from "../../records/people/mod.ts";
import { showCount } from "../../std/count.ts";
import { quote } from "../../std/quote.ts";
import { type Arguments, type Flag, RejectedError, UsageError } from "../command.ts";
import { confirm, YES } from "../terminal.ts";
import { makeActionCommand, makeActionCommands, ON_ROLE } from "./action_command.ts";
import { type AdminDeps, makeAdminCommands } from "./task.ts";

/** Max roles in the message. */
const MAX_NAMED = 20;

/** @throws {RejectedError} no such roles, or the operator does not confirm */
async function revokeByProvider(deps: AdminDeps, args: Arguments) {
  const provider = args.text("provider") ?? "";
  if (args.has("file")) throw new UsageError("Flag --provider replaces the people of a file");
  const found = await listClaimedGrants(deps, provider);
  if (found.length === 0)
    throw new RejectedError(
      `Nothing to revoke: no one has a role from claims of ${quote(provider)}`,
    );
  const isSetUp = deps.config.providers.some(({ name }) => name === provider);
  await confirm(deps, args.has("yes"), {
    message: `${describeClaimed(found, provider)}${isSetUp ? ` This provider is set up here: its rules grant their roles again at the next sign-in.` : ""}`,
  });
  const revoked = await revokeClaimedRoles(deps, provider);
  return {
    document: { provider, revoked },
    lines: [`Revoked ${showCount(revoked.length, "role")} from claims of ${provider}`],
  };
}

function describeClaimed(found: readonly ClaimedGrant[], provider: string): string {
  const named = found
    .slice(0, MAX_NAMED)
    .map(({ email, app, role }) => `${email} as ${role} on ${app}`);
  const more = found.length - named.length;
  return `${showCount(found.length, "role")} from claims of ${provider} will be revoked: ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}. Accounts and roles granted by a person stay.`;
}

const PROVIDER = {
  value: "name",
  replaces: ["email", "app"],
  about: "revokes every role from claims of this provider; replaces <email> <app>",
} as const satisfies Flag;

const revoke = makeActionCommand(ON_ROLE, ROLE_ACTIONS.revoke);

export const adminRoleCommands = makeAdminCommands({
  ...makeActionCommands(ON_ROLE, ROLE_ACTIONS),
  revoke: {
    ...revoke,
    flags: { ...revoke.flags, provider: PROVIDER, ...YES },
    task: (deps, args) => (args.has("provider") ? revokeByProvider : revoke.task)(deps, args),
  },
});
