/** `rowhouse admin` commands for Console roles and roles on apps. @module */

import { nothing, oneOf, orNull, text } from "../../records/actions/mod.ts";
import {
  type ClaimedGrant,
  CONSOLE_ROLES,
  type ConsoleRole,
  giveConsoleRole,
  grantRole,
  grantRoles,
  listClaimedGrants,
  readEmail,
  removeConsoleRole,
  revokeClaimedRoles,
  revokeRole,
  revokeRoles,
} from "../../records/people/mod.ts";
import type { IdentitySecrets } from "../../records/secrets/mod.ts";
import { showCount } from "../../std/count.ts";
import { quote } from "../../std/quote.ts";
import { RejectedError, UsageError } from "../command.ts";
import { confirm, YES } from "../terminal.ts";
import { command, typed } from "./command.ts";
import { forSeveral } from "./several.ts";
import {
  type AdminDeps,
  confirmNewRole,
  makeAdminCommands,
  NEW_ROLE,
  readIdentitySecrets,
} from "./task.ts";

export const CONSOLE_ROLE_NAMES = CONSOLE_ROLES.join(", ");

function readRoleSecrets({ config }: AdminDeps): IdentitySecrets {
  return readIdentitySecrets(
    config,
    "Cannot verify the address: set IDENTITY_SECRET to the secret of the service that the person signs in to",
  );
}

/** Max roles in the message. */
const MAX_NAMED = 20;

/** @throws {RejectedError} no such roles, or the operator does not confirm */
async function revokeByProvider(deps: AdminDeps, isConfirmed: boolean, provider: string) {
  const found = await listClaimedGrants(deps, provider);
  if (found.length === 0)
    throw new RejectedError(
      `Nothing to revoke: no one has a role from claims of ${quote(provider)}`,
    );
  const isSetUp = deps.config.providers.some(({ name }) => name === provider);
  await confirm(deps, isConfirmed, {
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

export const adminRoleCommands = makeAdminCommands({
  "set-role": command("sets or removes a Console role: admin on every app", {
    example:
      "rowhouse admin set-role ada@example.org admin\nrowhouse admin set-role ada@example.org none",
    about: `The role is one of ${CONSOLE_ROLE_NAMES}, or none. The last super_admin cannot be removed.
A role requires an account whose address this service has set: delete any other account and invite the person again.
Granting a role invalidates an unused password link of the account: create a new one with admin password-link.`,
    args: { email: readEmail, role: readRoleOrNone },
    json: { email: text(), consoleRole: orNull(oneOf(CONSOLE_ROLES)) },
    run: async (deps, { email, role }) => {
      if (role === null) await removeConsoleRole(deps, email);
      else await giveConsoleRole({ ...deps, identitySecrets: readRoleSecrets(deps) }, email, role);
      return {
        document: { email, consoleRole: role },
        lines: [`${email} ${role === null ? "now has no Console role" : `is now ${role}`}`],
      };
    },
  }),
  grant: forSeveral(
    command("grants people a role on an app", {
      example: `rowhouse admin grant ada@example.org wiki editor
rowhouse admin grant wiki editor --file people.csv --dry-run`,
      about: `A person has one role per app: a new role replaces the previous role. A role that no one has on the app, and no claim of
a provider gives, needs a confirmation; the first role of an app does not.`,
      args: { email: typed, app: typed, role: typed },
      flags: NEW_ROLE,
      json: { email: text(), app: text(), role: text() },
      run: async (deps, { email: address, app, role, "new-role": isConfirmed }) => {
        await confirmNewRole(deps, isConfirmed, { slug: app, role });
        await grantRole(deps, { email: address, slug: app, role });
        const email = readEmail(address);
        return { document: { email, app, role }, lines: [`${email} is now ${role} on ${app}`] };
      },
    }),
    {
      people: "known",
      json: { email: text(), app: text(), role: text() },
      run: async (deps, { people, args, terms: [app = "", role = ""], isDryRun }) => {
        if (!isDryRun) {
          await confirmNewRole(deps, args.has("new-role"), { slug: app, role });
          await grantRoles(deps, people, { slug: app, role });
        }
        const will = isDryRun ? "would be" : "is now";
        return {
          people: people.map(({ email }) => ({ email, app, role })),
          lines: people.map(({ email }) => `${email} ${will} ${role} on ${app}`),
        };
      },
    },
  ),
  revoke: forSeveral(
    command("revokes people's role on an app, or all roles from a provider's claims", {
      example: `rowhouse admin revoke ada@example.org wiki
rowhouse admin revoke wiki --file people.csv
rowhouse admin revoke --provider corp`,
      about: `Takes effect immediately. With --provider it lists the roles and asks for confirmation: no sign-in revokes the roles of a
removed provider. Prints { email, app, role: null } or { provider, revoked: [{ email, app, role }] } with --json.`,
      args: { email: typed, app: typed },
      flags: {
        provider: {
          value: "name",
          replaces: ["email", "app"],
          about: "revokes every role from claims of this provider; replaces <email> <app>",
        },
        ...YES,
      },
      run: async (deps, { email: address, app, provider, yes }) => {
        if (provider !== undefined) return await revokeByProvider(deps, yes, provider);
        const email = readEmail(address);
        if (!(await revokeRole(deps, { email, slug: app })))
          throw new RejectedError(`Nothing to revoke: ${email} has no role on ${app}`);
        return {
          document: { email, app, role: null },
          lines: [`${email} now has no role on ${app}`],
        };
      },
    }),
    {
      people: "known",
      onlyForOne: ["provider"],
      json: { email: text(), app: text(), role: nothing() },
      run: async (deps, { people, terms: [app = ""], isDryRun, reject }) => {
        const lacking = await revokeRoles(deps, people, { slug: app, isDryRun });
        reject(lacking, (email) => `${email} has no role on ${app}`);
        const will = isDryRun ? "would have" : "now has";
        return {
          people: people.map(({ email }) => ({ email, app, role: null })),
          lines: people.map(({ email }) => `${email} ${will} no role on ${app}`),
        };
      },
    },
  ),
});

/** @throws {UsageError} unknown role */
function readRoleOrNone(text: string): ConsoleRole | null {
  return text === "none" ? null : readConsoleRole(text, [...CONSOLE_ROLES, "none"]);
}

/** @throws {UsageError} unknown role */
export function readConsoleRole(
  text: string,
  expected: readonly string[] = CONSOLE_ROLES,
): ConsoleRole {
  const role = CONSOLE_ROLES.find((role) => role === text);
  if (role !== undefined) return role;
  throw new UsageError(
    `Unknown Console role ${quote(text)}: expected one of ${expected.join(", ")}`,
  );
}
