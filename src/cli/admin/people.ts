/** `rowhouse admin` commands for accounts and their addresses. A password link is printed once and not stored. @module */

import {
  count,
  flag,
  many,
  nothing,
  oneOf,
  orNull,
  rejectFor,
  text,
} from "../../records/actions/mod.ts";
import {
  type AddressState,
  CONSOLE_ROLES,
  type ConsoleRole,
  changeEmail,
  confirmAddresses,
  createUser,
  createUsers,
  DISPLAY_NAME,
  findNewUserIssues,
  makePasswordLink,
  readAddresses,
  readEmail,
  runOnPerson,
  setAllDisabled,
  setDisabled,
  showUser,
} from "../../records/people/mod.ts";
import { showCount } from "../../std/count.ts";
import { toDurationText } from "../../std/duration.ts";
import { FACTOR_GRACE_S, LINK_LIFE_S } from "../../std/limits.ts";
import { quote } from "../../std/quote.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { RejectedError, UsageError } from "../command.ts";
import { confirm, YES } from "../terminal.ts";
import { command, typed } from "./command.ts";
import { LINK, makeLinkCommand, showLink, toLink } from "./links.ts";
import { listNextSteps } from "./next_steps.ts";
import { CONSOLE_ROLE_NAMES, readConsoleRole } from "./roles.ts";
import { forSeveral } from "./several.ts";
import { type AdminDeps, makeAdminCommands, readIdentitySecrets } from "./task.ts";

/** The same command for both directions. */
function makeDisableCommand(summary: string, disabled: boolean, about = "") {
  const state = disabled ? "is disabled and signed out everywhere" : "can sign in again";
  const single = command(summary, {
    example: `rowhouse admin ${disabled ? "disable" : "enable"} ada@example.org`,
    about,
    args: { email: readEmail },
    json: { email: text(), disabled: flag() },
    run: async (deps, { email }) => {
      await setDisabled(deps, email, disabled);
      return { document: { email, disabled }, lines: [`${email} ${state}`] };
    },
  });
  return forSeveral(single, {
    people: "known",
    canDryRun: false,
    json: { email: text(), disabled: flag() },
    run: async (deps, { people }) => {
      await setAllDisabled(deps, people, disabled);
      return {
        people: people.map(({ email }) => ({ email, disabled })),
        lines: people.map(({ email }) => `${email} ${state}`),
      };
    },
  });
}

/** Max addresses in the message. */
const MAX_NAMED = 20;

function describeUnconfirmed({ unconfirmed }: AddressState): string {
  const named = unconfirmed.slice(0, MAX_NAMED).map(({ email }) => quote(email));
  const more = unconfirmed.length - named.length;
  return `These addresses were not set by this service with its IDENTITY_SECRET: ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}. Check that they are correct, then confirm one with --only, or all with --yes. This removes every session, password, second factor and provider link of these accounts`;
}

export const adminPeopleCommands = makeAdminCommands({
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
        role: { value: "role", about: `a Console role, admin on every app: ${CONSOLE_ROLE_NAMES}` },
      },
      json: { id: text(), email: text(), consoleRole: orNull(oneOf(CONSOLE_ROLES)), ...LINK },
      run: async (deps, { email, name: displayName, role }) => {
        const identitySecrets = readIdentitySecrets(deps.config);
        const named = { email, displayName };
        const consoleRole = role === undefined ? undefined : await readNewRole(deps, role, named);
        const user = await createUser({ ...deps, identitySecrets }, { ...named, consoleRole });
        const link = await showLink(deps, user.linkText);
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
        const identitySecrets = readIdentitySecrets(deps.config);
        const created = await createUsers({ ...deps, identitySecrets }, people);
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
  "password-link": makeLinkCommand(makePasswordLink, {
    summary: "prints a new password link for a person; older links stop working",
    example: "rowhouse admin password-link ada@example.org",
    about: `The link works once, for ${toDurationText(LINK_LIFE_S)}. With MAIL_URL it is also mailed. Using it ends all sessions.`,
  }),
  "change-email": command("changes the address that a person signs in with", {
    example: "rowhouse admin change-email ada@example.org ada.lovelace@example.org",
    about: `Password, roles and sessions stay. Password links stop working; resend a pending invitation. With MAIL_URL both addresses
get a mail.`,
    args: { email: typed, "new-email": typed },
    json: { email: text(), before: text() },
    run: async (deps, { email, "new-email": newEmail }) => {
      const identitySecrets = readIdentitySecrets(
        deps.config,
        "Cannot confirm the new address: set IDENTITY_SECRET to the secret of the service that mails links",
      );
      const changed = await changeEmail({ ...deps, identitySecrets }, { email, newEmail });
      return {
        document: changed,
        lines: [`${changed.before} is now ${changed.email}; password links no longer work`],
      };
    },
  }),
  disable: makeDisableCommand(
    "signs a person out everywhere and locks the account",
    true,
    "The last super_admin cannot be removed.",
  ),
  enable: makeDisableCommand("lets a disabled person sign in again", false),
  "reset-second-factor": command("removes the second factor of a person who has lost it", {
    example: "rowhouse admin reset-second-factor ada@example.org",
    about: `Removes the authenticator app, recovery codes and passkeys, and signs the person out everywhere. Verify the identity of the
person first: anyone who knows the password can then sign in. A person who must have a second factor has ${toDurationText(FACTOR_GRACE_S)} to add one.`,
    args: { email: readEmail },
    json: { email: text(), secondFactor: nothing() },
    run: async (deps, { email }) => {
      if (!(await runOnPerson(deps, "reset_second_factor", email)))
        throw new RejectedError(`${email} has no second factor`);
      return {
        document: { email, secondFactor: null },
        lines: [`Removed the second factor of ${email} and signed the person out everywhere`],
      };
    },
  }),
  "delete-user": command("deletes a person's account with its roles and sessions", {
    example: "rowhouse admin delete-user ada@example.org",
    about: `Shows what will be deleted and what stays, and asks for the address. The last super_admin cannot be removed.`,
    args: { email: readEmail },
    flags: YES,
    json: { id: text(), email: text(), deleted: flag() },
    run: async (deps, { email, yes }) => {
      const { grants, sessions } = await showUser(deps, email);
      await confirm(deps, yes, {
        message: `The account ${email} will be deleted with its password, ${showCount(grants.length, "role")} and ${showCount(sessions.length, "session")}. Apps keep the rows that they store about this person; the audit log keeps the id, without the address. To lock the account instead: rowhouse admin disable ${quoteForShell(email)}.`,
        question: "Type the address to continue:",
        isYes: (reply) => reply.toLowerCase() === email,
      });
      const id = String(await runOnPerson(deps, "delete_user", email));
      return { document: { id, email, deleted: true }, lines: [`Deleted ${email} (${id})`] };
    },
  }),
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
      run: async ({ admin, config }, { only, yes }) => {
        const identitySecrets = readIdentitySecrets(config);
        const deps = { admin, identitySecrets };
        const email = only === undefined ? undefined : readEmail(only);
        const found = await readAddresses({ db: admin }, identitySecrets);
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
