/** `rowhouse admin` commands for accounts, invitations and addresses. A password link is printed once and not stored. @module */

import { count, flag, many, oneOf, orNull, rejectFor, text } from "../../records/actions/mod.ts";
import {
  type AddressState,
  CONSOLE_ROLES,
  type ConsoleRole,
  confirmAddresses,
  createUser,
  createUsers,
  DISPLAY_NAME,
  findNewUserIssues,
  LINK,
  PERSON_ACTIONS,
  readAddresses,
  readEmail,
} from "../../records/people/mod.ts";
import { showCount } from "../../std/count.ts";
import { toDurationText } from "../../std/duration.ts";
import { LINK_LIFE_S } from "../../std/limits.ts";
import { quote } from "../../std/quote.ts";
import { RejectedError, UsageError } from "../command.ts";
import { makeActionCommands, ON_PERSON } from "./action_command.ts";
import { command, typed } from "./command.ts";
import { showLink, toLink } from "./links.ts";
import { listNextSteps } from "./next_steps.ts";
import { forSeveral } from "./several.ts";
import { type AdminDeps, makeAdminCommands } from "./task.ts";

/** Max addresses in the message. */
const MAX_NAMED = 20;

function describeUnconfirmed({ unconfirmed }: AddressState): string {
  const named = unconfirmed.slice(0, MAX_NAMED).map(({ email }) => quote(email));
  const more = unconfirmed.length - named.length;
  return `These addresses were not set by this service with its IDENTITY_SECRET: ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}. Check that they are correct, then confirm one with --only, or all with --yes. This removes every session, password, second factor and provider link of these accounts`;
}

const { sessions: _, ...PERSON_COMMANDS } = makeActionCommands(ON_PERSON, PERSON_ACTIONS, {
  passwordLink: showLink,
  resendInvitation: showLink,
});

export const adminPeopleCommands = makeAdminCommands({
  ...PERSON_COMMANDS,
  "create-user": forSeveral(
    command("creates accounts and prints the links that set their passwords", {
      example: `rowhouse admin create-user ada@example.org --name 'Ada Lovelace'
rowhouse admin create-user grace@example.org --role super_admin
rowhouse admin create-user --file people.csv --dry-run`,
      about: `A person without a role can sign in but not open an app: see rowhouse admin grant.
The link works once, for ${toDurationText(LINK_LIFE_S)}. With MAIL_URL it is also mailed.`,
      args: { email: typed },
      flags: {
        name: DISPLAY_NAME,
        role: {
          value: "role",
          about: `a Console role, admin on every app: ${CONSOLE_ROLES.join(", ")}`,
        },
      },
      json: { id: text(), email: text(), consoleRole: orNull(oneOf(CONSOLE_ROLES)), ...LINK },
      run: async (deps, { email, name: displayName, role }) => {
        const named = { email, displayName };
        const consoleRole = role === undefined ? undefined : await readNewRole(deps, role, named);
        const user = await createUser(deps, { ...named, consoleRole });
        const link = await showLink(deps, user);
        return {
          document: {
            ...{ id: user.id, email: user.email, consoleRole: consoleRole ?? null },
            ...link.document,
          },
          lines: [
            `Created user ${user.email} (${user.id})`,
            ...link.lines,
            ...(role === "super_admin" ? await listNextSteps(deps) : []),
          ],
        };
      },
    }),
    {
      people: "new",
      onlyForOne: ["name", "role"],
      json: { id: orNull(text()), email: text(), passwordLink: orNull(text()), isMailed: flag() },
      run: async (deps, { people, isDryRun }) => {
        if (isDryRun)
          return {
            people: people.map(({ email }) => ({
              ...{ id: null, email },
              ...{ passwordLink: null, isMailed: false },
            })),
            lines: people.map(({ email }) => `Would create user ${email}`),
          };
        const created = await createUsers(deps, people);
        const listed = created.map(({ linkText, ...person }) => ({
          ...person,
          passwordLink: toLink(deps.config, linkText),
        }));
        return {
          people: listed,
          lines: listed.flatMap(({ id, email, passwordLink, isMailed }) => [
            `Created user ${email} (${id})`,
            isMailed ? "  A link to set the password is sent by mail" : `  ${passwordLink}`,
          ]),
        };
      },
    },
  ),
  "confirm-addresses": command(
    "confirms people's addresses after a restore with another IDENTITY_SECRET",
    {
      example:
        "rowhouse admin confirm-addresses --only ada@example.org\nrowhouse admin confirm-addresses --yes",
      about: `The service mails links, and links accounts at a provider, only for addresses that it has set itself: an address written
directly into the database could let an attacker sign in as another person. Confirm only addresses that you know to be
correct, and delete accounts that you do not know. Confirming removes every session, password, second factor and provider
link of the account, because they can belong to an attacker: create a new link with rowhouse admin password-link.
Addresses confirmed with an older secret in IDENTITY_SECRET are renewed automatically.`,
      flags: {
        only: { value: "email", about: "confirms only this address" },
        yes: { about: "confirms all addresses" },
      },
      json: { renewed: count(), confirmed: many(text()) },
      run: async (deps, { only, yes }) => {
        const email = only === undefined ? undefined : readEmail(only);
        const found = await readAddresses({ db: deps.admin }, deps.identitySecrets);
        const renewed = await confirmAddresses(deps, found.outdated, { isRenewal: true });
        const chosen = found.unconfirmed.filter(
          (user) => email === undefined || user.email === email,
        );
        if (email !== undefined && chosen.length === 0)
          throw new RejectedError(
            `Nothing to confirm: ${email} is already confirmed, or no account has this address`,
          );
        if (chosen.length > 0 && email === undefined && !yes)
          throw new RejectedError(describeUnconfirmed(found));
        const confirmed = await confirmAddresses(deps, chosen, { isRenewal: false });
        return {
          document: { renewed, confirmed: chosen.map((user) => user.email) },
          lines: [
            `Confirmed ${showCount(confirmed, "address", "addresses")}`,
            ...(confirmed === 0
              ? []
              : [
                  "No one can sign in to these accounts now: create a link for each person with rowhouse admin password-link",
                ]),
            ...(renewed === 0
              ? []
              : [`Renewed ${renewed} confirmed with an older IDENTITY_SECRET`]),
          ],
        };
      },
    },
  ),
});

type Named = { email: string; displayName: string | undefined };

/** @throws {UsageError} unknown role */
function readConsoleRole(text: string): ConsoleRole {
  const role = CONSOLE_ROLES.find((role) => role === text);
  if (role !== undefined) return role;
  throw new UsageError(
    `Unknown Console role ${quote(text)}: expected one of ${CONSOLE_ROLES.join(", ")}`,
  );
}

/** @throws {UsageError} unknown role @throws {Problem} invalid_request — unknown role and other errors */
async function readNewRole(deps: AdminDeps, text: string, named: Named): Promise<ConsoleRole> {
  try {
    return readConsoleRole(text);
  } catch (error) {
    const others = error instanceof UsageError ? await findNewUserIssues(deps, named) : [];
    if (!(error instanceof UsageError) || others.length === 0) throw error;
    throw rejectFor([...others, { path: "", message: error.message }]);
  }
}
