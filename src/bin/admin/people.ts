/** `rowhouse admin` commands for accounts. A password link is printed once and not stored. @module */
import { rejectFor } from "../../accounts/actions/mod.ts";
import {
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
import { makeLinkTask, showLink } from "./links.ts";
import { listNextSteps } from "./next_steps.ts";
import { CONSOLE_ROLE_NAMES, readConsoleRole } from "./roles.ts";
import {
  type AdminDeps,
  type AdminTask,
  makeAdminCommands,
  readIdentitySecrets,
  toFlag,
} from "./task.ts";

const createUserTask: AdminTask = async (deps, args) => {
  const role = args.text("role");
  const identitySecrets = readIdentitySecrets(deps.config);
  const named = { email: args.positionals[0] ?? "", displayName: args.text("name") };
  const consoleRole = role === undefined ? undefined : await readNewRole(deps, role, named);
  const user = await createUser({ ...deps, identitySecrets }, { ...named, consoleRole });
  const link = await showLink(deps, user.linkText);
  return {
    document: { id: user.id, email: user.email, consoleRole: role ?? null, ...link.document },
    lines: [
      `Created user ${user.email} (${user.id})`,
      ...link.lines,
      ...(role === "super_admin" ? await listNextSteps(deps) : []),
    ],
  };
};

const changeEmailTask: AdminTask = async (deps, { positionals: [email = "", newEmail = ""] }) => {
  const identitySecrets = readIdentitySecrets(
    deps.config,
    "Cannot confirm the new address: set IDENTITY_SECRET to the secret of the service that mails links",
  );
  const changed = await changeEmail({ ...deps, identitySecrets }, { email, newEmail });
  return {
    document: changed,
    lines: [`${changed.before} is now ${changed.email}; password links no longer work`],
  };
};

/** The same task for both directions. */
function makeDisableTask(disabled: boolean): AdminTask {
  return async (deps, args) => {
    const email = readEmail(args.positionals[0] ?? "");
    await setDisabled(deps, email, disabled);
    const state = disabled ? "is disabled and signed out everywhere" : "can sign in again";
    return { document: { email, disabled }, lines: [`${email} ${state}`] };
  };
}

const resetFactorTask: AdminTask = async (deps, args) => {
  const email = readEmail(args.positionals[0] ?? "");
  if (!(await runOnPerson(deps, "reset_second_factor", email)))
    throw new RejectedError(`${email} has no second factor`);
  return {
    document: { email, secondFactor: null },
    lines: [`Removed the second factor of ${email} and signed the person out everywhere`],
  };
};

export const adminPeopleCommands = makeAdminCommands({
  "create-user": {
    example: `rowhouse admin create-user ada@example.org --name 'Ada Lovelace'
rowhouse admin create-user grace@example.org --role super_admin`,
    about: `A person without a role can sign in but not open an app: see rowhouse admin grant.
The link works once, for ${toDurationText(LINK_LIFE_S)}. With MAIL_URL it is also mailed.
Prints { id, email, consoleRole, passwordLink, isMailed } with --json.`,
    positionals: ["email"],
    flags: {
      name: toFlag(DISPLAY_NAME),
      role: { value: "role", about: `a Console role, admin on every app: ${CONSOLE_ROLE_NAMES}` },
    },
    task: createUserTask,
  },
  "password-link": {
    example: "rowhouse admin password-link ada@example.org",
    about: `The link works once, for ${toDurationText(LINK_LIFE_S)}. With MAIL_URL it is also mailed. Using it ends all sessions.
Prints { email, passwordLink, isMailed } with --json.`,
    positionals: ["email"],
    task: makeLinkTask(makePasswordLink),
  },
  "change-email": {
    example: "rowhouse admin change-email ada@example.org ada.lovelace@example.org",
    about: `Password, roles and sessions stay. Password links stop working; resend a pending invitation. With MAIL_URL both addresses
get a mail. Prints { email, before } with --json.`,
    positionals: ["email", "new-email"],
    task: changeEmailTask,
  },
  disable: {
    example: "rowhouse admin disable ada@example.org",
    about: "The last super_admin cannot be removed. Prints { email, disabled } with --json.",
    positionals: ["email"],
    task: makeDisableTask(true),
  },
  enable: {
    example: "rowhouse admin enable ada@example.org",
    about: "Prints { email, disabled } with --json.",
    positionals: ["email"],
    task: makeDisableTask(false),
  },
  "reset-second-factor": {
    example: "rowhouse admin reset-second-factor ada@example.org",
    about: `Removes the authenticator app, recovery codes and passkeys, and signs the person out everywhere. Verify the identity of the
person first: anyone who knows the password can then sign in. A person who must have a second factor has ${toDurationText(FACTOR_GRACE_S)} to add one.
Prints { email, secondFactor: null } with --json.`,
    positionals: ["email"],
    task: resetFactorTask,
  },
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
