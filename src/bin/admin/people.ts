/** `rowhouse admin` commands for accounts, roles and sessions. A password link is printed once and not stored. @module */

import { rejectFor } from "../../accounts/actions/mod.ts";
import { findLinkMail } from "../../accounts/mails/mod.ts";
import {
  CONSOLE_ROLES,
  type ConsoleRole,
  changeEmail,
  createUser,
  DISPLAY_NAME,
  endSessionsOf,
  endSessionsOfApp,
  findNewUserIssues,
  giveConsoleRole,
  grantRole,
  LINK_LIFE_S,
  listSessions,
  makePasswordLink,
  readEmail,
  removeConsoleRole,
  resetSecondFactor,
  revokeRole,
  setDisabled,
} from "../../accounts/people/mod.ts";
import type { IdentitySecrets } from "../../accounts/secrets/mod.ts";
import { toDurationText } from "../../std/duration.ts";
import { quote } from "../../std/quote.ts";
import { RejectedError, UsageError } from "../cli/command.ts";
import { revokeByProvider } from "./claimed_roles.ts";
import { YES } from "./confirm.ts";
import { describeLink, toLink } from "./links.ts";
import { listNextSteps } from "./next_steps.ts";
import {
  type AdminDeps,
  type AdminTask,
  makeAdminCommand,
  readIdentitySecrets,
  toFlag,
} from "./task.ts";

const ROLES = CONSOLE_ROLES.join(", ");

const createUserTask: AdminTask = async (deps, args) => {
  const role = args.text("role");
  const identitySecrets = readIdentitySecrets(deps.config);
  const named = { email: args.positionals[0] ?? "", displayName: args.text("name") };
  const consoleRole = role === undefined ? undefined : await readNewRole(deps, role, named);
  const user = await createUser({ ...deps, identitySecrets }, { ...named, consoleRole });
  const link = toLink(deps.config, user.linkText);
  const mail = await findLinkMail({ ...deps, identitySecrets }, user.linkText);
  return {
    document: {
      ...{ id: user.id, email: user.email, consoleRole: role ?? null },
      ...{ passwordLink: link, isMailed: mail === "mailed" },
    },
    lines: [
      `Created user ${user.email} (${user.id})`,
      ...describeLink(link, mail),
      ...(role === "super_admin" ? await listNextSteps(deps) : []),
    ],
  };
};

const passwordLinkTask: AdminTask = async (deps, args) => {
  const identitySecrets = readIdentitySecrets(deps.config);
  const who = args.positionals[0] ?? "";
  const { email, linkText } = await makePasswordLink({ ...deps, identitySecrets }, who);
  const link = toLink(deps.config, linkText);
  const mail = await findLinkMail({ ...deps, identitySecrets }, linkText);
  return {
    document: { email, passwordLink: link, isMailed: mail === "mailed" },
    lines: describeLink(link, mail),
  };
};

const setRoleTask: AdminTask = async (deps, args) => {
  const [text = "", word = ""] = args.positionals;
  const email = readEmail(text);
  const role = word === "none" ? undefined : readConsoleRole(word, [...CONSOLE_ROLES, "none"]);
  if (role === undefined) await removeConsoleRole(deps, email);
  else await giveConsoleRole({ ...deps, identitySecrets: readRoleSecrets(deps) }, email, role);
  return {
    document: { email, consoleRole: role ?? null },
    lines: [`${email} ${role === undefined ? "now has no Console role" : `is now ${role}`}`],
  };
};

function readRoleSecrets({ config }: AdminDeps): IdentitySecrets {
  return readIdentitySecrets(
    config,
    "Cannot verify the address: set IDENTITY_SECRET to the secret of the service that the person signs in to",
  );
}

const changeEmailTask: AdminTask = async (deps, args) => {
  const [email = "", newEmail = ""] = args.positionals;
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

const grantTask: AdminTask = async (deps, args) => {
  const [text = "", slug = "", role = ""] = args.positionals;
  await grantRole(deps, { email: text, slug, role });
  const email = readEmail(text);
  return { document: { email, app: slug, role }, lines: [`${email} is now ${role} on ${slug}`] };
};

const revokeTask: AdminTask = async (deps, args) => {
  const provider = args.text("provider");
  if (provider !== undefined) return await revokeByProvider(deps, args, provider);
  const [text = "", slug = ""] = args.positionals;
  const email = readEmail(text);
  if (!(await revokeRole(deps, { email, slug })))
    throw new RejectedError(`Nothing to revoke: ${email} has no role on ${slug}`);
  return {
    document: { email, app: slug, role: null },
    lines: [`${email} now has no role on ${slug}`],
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
  await resetSecondFactor(deps, email);
  return {
    document: { email, secondFactor: null },
    lines: [`Removed the second factor of ${email} and signed the person out everywhere`],
  };
};

const sessionsTask: AdminTask = async (deps, args) => {
  const email = readEmail(args.positionals[0] ?? "");
  if (args.has("end")) {
    const ended = await endSessionsOf(deps, email);
    return {
      document: { email, ended },
      lines: [`Ended ${ended} ${ended === 1 ? "session" : "sessions"} of ${email}`],
    };
  }
  const sessions = await listSessions(deps, email);
  const lines = sessions.map(
    ({ id, createdAt, lastSeenAt, expiresAt }) =>
      `${id}  since ${createdAt}  seen ${lastSeenAt}  until ${expiresAt}`,
  );
  return {
    document: { email, sessions },
    lines: lines.length === 0 ? [`${email} is not signed in anywhere`] : lines,
  };
};

const endSessionsTask: AdminTask = async (deps, args) => {
  const app = args.text("app");
  if (app === undefined) throw new UsageError("Name the app: --app <slug>");
  const ended = await endSessionsOfApp(deps, app);
  return {
    document: { app, ended },
    lines: [`Ended ${ended} sessions of people with a role on ${app}`],
  };
};

export const adminPeopleCommands = [
  makeAdminCommand(
    {
      name: "admin create-user",
      example: `rowhouse admin create-user ada@example.org --name 'Ada Lovelace'
rowhouse admin create-user grace@example.org --role super_admin`,
      about: `A person without a role can sign in but not open an app: see rowhouse admin grant.
The link works once, for ${toDurationText(LINK_LIFE_S)}. With MAIL_URL it is also mailed.
Prints { id, email, consoleRole, passwordLink, isMailed } with --json.`,
      positionals: ["email"],
      flags: {
        name: toFlag(DISPLAY_NAME),
        role: { value: "role", about: `a Console role, admin on every app: ${ROLES}` },
      },
    },
    createUserTask,
  ),
  makeAdminCommand(
    {
      name: "admin password-link",
      example: "rowhouse admin password-link ada@example.org",
      about: `The link works once, for ${toDurationText(LINK_LIFE_S)}. With MAIL_URL it is also mailed. Using it ends all sessions.
Prints { email, passwordLink, isMailed } with --json.`,
      positionals: ["email"],
    },
    passwordLinkTask,
  ),
  makeAdminCommand(
    {
      name: "admin set-role",
      example:
        "rowhouse admin set-role ada@example.org admin\nrowhouse admin set-role ada@example.org none",
      about: `The role is one of ${ROLES}, or none. The last super_admin cannot be removed.
A role requires an account whose address this service has set: delete any other account and invite the person again.
Granting a role invalidates an unused password link of the account: create a new one with admin password-link.
Prints { email, consoleRole } with --json.`,
      positionals: ["email", "role"],
    },
    setRoleTask,
  ),
  makeAdminCommand(
    {
      name: "admin change-email",
      example: "rowhouse admin change-email ada@example.org ada.lovelace@example.org",
      about: `Password, roles and sessions stay. Password links stop working; resend an open invitation. With MAIL_URL both addresses
get a mail. Prints { email, before } with --json.`,
      positionals: ["email", "new-email"],
    },
    changeEmailTask,
  ),
  makeAdminCommand(
    {
      name: "admin grant",
      example: "rowhouse admin grant ada@example.org wiki editor",
      about: `A person has one role per app: a new role replaces the previous role. Prints { email, app, role } with --json.`,
      positionals: ["email", "app", "role"],
    },
    grantTask,
  ),
  makeAdminCommand(
    {
      name: "admin revoke",
      example: "rowhouse admin revoke ada@example.org wiki\nrowhouse admin revoke --provider corp",
      about: `Takes effect immediately. With --provider it lists the roles and asks for confirmation: no sign-in revokes the roles of a
removed provider. Prints { email, app, role: null } or { provider, revoked: [{ email, app, role }] } with --json.`,
      positionals: ["email", "app"],
      flags: {
        provider: {
          value: "name",
          isInPlace: true,
          about: "revokes every role from claims of this provider; replaces <email> <app>",
        },
        ...YES,
      },
    },
    revokeTask,
  ),
  makeAdminCommand(
    {
      name: "admin disable",
      example: "rowhouse admin disable ada@example.org",
      about: "The last super_admin cannot be removed. Prints { email, disabled } with --json.",
      positionals: ["email"],
    },
    makeDisableTask(true),
  ),
  makeAdminCommand(
    {
      name: "admin enable",
      example: "rowhouse admin enable ada@example.org",
      about: "Prints { email, disabled } with --json.",
      positionals: ["email"],
    },
    makeDisableTask(false),
  ),
  makeAdminCommand(
    {
      name: "admin reset-second-factor",
      example: "rowhouse admin reset-second-factor ada@example.org",
      about: `Removes the authenticator app, recovery codes and passkeys, and signs the person out everywhere. Verify the identity of the
person first: anyone who knows the password can then sign in. A person who must have a second factor has 7 days to add one.
Prints { email, secondFactor: null } with --json.`,
      positionals: ["email"],
    },
    resetFactorTask,
  ),
  makeAdminCommand(
    {
      name: "admin sessions",
      example:
        "rowhouse admin sessions ada@example.org\nrowhouse admin sessions ada@example.org --end",
      about: "Prints { email, sessions } or { email, ended } with --json.",
      positionals: ["email"],
      flags: { end: { about: "ends all sessions" } },
    },
    sessionsTask,
  ),
  makeAdminCommand(
    {
      name: "admin end-sessions",
      example: "rowhouse admin end-sessions --app wiki",
      about: "Signs these people out of all apps. Prints { app, ended } with --json.",
      positionals: [],
      flags: { app: { value: "slug", about: "the app that the people have a role on" } },
    },
    endSessionsTask,
  ),
];

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

function readConsoleRole(text: string, expected: readonly string[] = CONSOLE_ROLES): ConsoleRole {
  const role = CONSOLE_ROLES.find((role) => role === text);
  if (role !== undefined) return role;
  throw new UsageError(
    `Unknown Console role ${quote(text)}: expected one of ${expected.join(", ")}`,
  );
}
