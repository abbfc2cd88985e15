/** `rowhouse admin` commands for accounts. A password link is printed once and not stored. @module */
import { flag, nothing, oneOf, orNull, rejectFor, text } from "../../accounts/actions/mod.ts";
import {
  CONSOLE_ROLES,
  type ConsoleRole,
  changeEmail,
  createUser,
  DISPLAY_NAME,
  findNewUserIssues,
  makePasswordLink,
  readEmail,
  runOnPerson,
  setDisabled,
} from "../../accounts/people/mod.ts";
import { toDurationText } from "../../std/duration.ts";
import { FACTOR_GRACE_S, LINK_LIFE_S } from "../../std/limits.ts";
import { RejectedError, UsageError } from "../cli/command.ts";
import { command, typed } from "./command.ts";
import { LINK, makeLinkCommand, showLink } from "./links.ts";
import { listNextSteps } from "./next_steps.ts";
import { CONSOLE_ROLE_NAMES, readConsoleRole } from "./roles.ts";
import { type AdminDeps, makeAdminCommands, readIdentitySecrets } from "./task.ts";

/** The same command for both directions. */
function makeDisableCommand(disabled: boolean, about?: string) {
  return command({
    example: `rowhouse admin ${disabled ? "disable" : "enable"} ada@example.org`,
    ...(about !== undefined && { about }),
    args: { email: readEmail },
    json: { email: text(), disabled: flag() },
    run: async (deps, { email }) => {
      await setDisabled(deps, email, disabled);
      const state = disabled ? "is disabled and signed out everywhere" : "can sign in again";
      return { document: { email, disabled }, lines: [`${email} ${state}`] };
    },
  });
}

export const adminPeopleCommands = makeAdminCommands({
  "create-user": command({
    example: `rowhouse admin create-user ada@example.org --name 'Ada Lovelace'
rowhouse admin create-user grace@example.org --role super_admin`,
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
  "password-link": makeLinkCommand(makePasswordLink, {
    example: "rowhouse admin password-link ada@example.org",
    about: `The link works once, for ${toDurationText(LINK_LIFE_S)}. With MAIL_URL it is also mailed. Using it ends all sessions.`,
  }),
  "change-email": command({
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
  disable: makeDisableCommand(true, "The last super_admin cannot be removed."),
  enable: makeDisableCommand(false),
  "reset-second-factor": command({
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
