/** `rowhouse admin` commands that list people, show one person, and list the people of an app. @module */
import {
  exportUser,
  type FailedSignIns,
  type ListedUser,
  listGrants,
  peopleList,
  showUser,
} from "../../accounts/people/mod.ts";
import { toDocument, toPrintableLine } from "../cli/terminal.ts";
import { makeListCommand } from "./list_command.ts";
import { describeSession } from "./sessions.ts";
import { type AdminDeps, type AdminTask, makeAdminCommands } from "./task.ts";

const OF_CLAIMS = `provider is the name of the provider whose claims granted the role. The role counts only while the service has that provider.
isProviderSetUp depends on OIDC_<NAME>_… in this environment: run the command with the settings of the service.`;

const showUserTask: AdminTask = async (deps, args) => {
  const user = await showUser(deps, args.positionals[0] ?? "");
  const { sessions, failedSignIns } = user;
  const grants = user.grants.map((grant) => addGiver(deps, grant));
  return {
    document: { ...user, grants },
    lines: [
      toLine(user),
      ...(grants.length === 0 ? ["No role on an app"] : []),
      ...grants.map(
        ({ app, role, grantedAt, ...giver }) =>
          `role  ${app}  ${role}  since ${grantedAt}${toGiver(giver)}`,
      ),
      ...(sessions.length === 0 ? ["Not signed in anywhere"] : []),
      ...sessions.map((session) => `session  ${describeSession(session)}`),
      ...(failedSignIns === null ? [] : [describeFailures(failedSignIns)]),
    ],
    notes: listRemoved(grants),
  };
};

function describeFailures({ attempts, lastAt, lastFrom }: FailedSignIns): string {
  return `wrong passwords  ${attempts} since the last correct one  last ${lastAt}  from ${lastFrom ?? "an unknown address"}`;
}

const exportUserTask: AdminTask = async (deps, args) => {
  const stored = await exportUser(deps, args.positionals[0] ?? "");
  return { document: stored, lines: [toDocument(stored)] };
};

const listGrantsTask: AdminTask = async (deps, { positionals: [slug = ""] }) => {
  const { grants: found, administrators } = await listGrants(deps, slug);
  const grants = found.map((grant) => addGiver(deps, grant));
  const state = (disabledAt: string | null) => (disabledAt === null ? "" : "  disabled");
  const lines = [
    ...grants.map(
      ({ email, role, grantedAt, disabledAt, ...giver }) =>
        `${email}  ${role}  since ${grantedAt}${toGiver(giver)}${state(disabledAt)}`,
    ),
    ...administrators.map(
      ({ email, consoleRole, disabledAt }) =>
        `${email}  admin on every app, as ${consoleRole}${state(disabledAt)}`,
    ),
  ];
  return {
    document: { app: slug, grants, administrators },
    lines: lines.length === 0 ? [`No one can open ${slug} yet`] : lines,
    notes: listRemoved(grants),
  };
};

type Giver = {
  /** The provider whose claim granted the role; null if a person did. */
  provider: string | null;
  /** Whether the provider is set up in this environment. */
  isProviderSetUp: boolean | null;
};

function addGiver<Grant extends Pick<Giver, "provider">>(
  { config: { providers } }: AdminDeps,
  grant: Grant,
): Grant & Giver {
  const { provider } = grant;
  const isSetUp = provider === null ? null : providers.some(({ name }) => name === provider);
  return { ...grant, isProviderSetUp: isSetUp };
}

function toGiver({ provider, isProviderSetUp }: Giver): string {
  if (provider === null) return "";
  return `  by claim of ${provider}${isProviderSetUp === true ? "" : ", which is not set up here"}`;
}

/** A notice for each provider that is not set up here: the service can have other settings. */
function listRemoved(givers: readonly Giver[]): string[] {
  const removed = givers.flatMap(({ provider, isProviderSetUp }) =>
    provider !== null && isProviderSetUp === false ? [provider] : [],
  );
  return [...new Set(removed)]
    .sort()
    .map(
      (provider) =>
        `Provider ${provider} is not set up here. Unless the service has it, roles from its claims do not count`,
    );
}

function toSignIn({ hasPassword, hasProvider, invitationState }: ListedUser): string {
  if (invitationState !== null) return `invitation ${invitationState}`;
  if (hasProvider) return "signs in with a provider";
  return hasPassword ? "" : "no password yet";
}

function toLine(user: ListedUser): string {
  const { email, id, displayName, consoleRole, createdAt, disabledAt } = user;
  const parts = [
    email,
    id,
    toPrintableLine(displayName ?? ""),
    consoleRole ?? "",
    toSignIn(user),
    disabledAt === null ? "" : `disabled ${disabledAt}`,
    `since ${createdAt}`,
  ];
  return parts.filter((part) => part !== "").join("  ");
}

export const adminPeopleListCommands = makeAdminCommands({
  ...makeListCommand(peopleList, {
    name: "list-users",
    example: "rowhouse admin list-users\nrowhouse admin list-users --after ada@example.org --json",
    limit: 100,
    none: "No users",
  }),
  "show-user": {
    example: "rowhouse admin show-user ada@example.org --json",
    about: `Prints the fields of list-users with --json, and
grants: [{ app, role, grantedAt, provider, isProviderSetUp }], sessions: [{ id, createdAt, lastSeenAt, expiresAt }],
failedSignIns: null or { attempts, lastAt, lastFrom }, the wrong passwords since the last correct one.
${OF_CLAIMS}`,
    positionals: ["email"],
    task: showUserTask,
  },
  "export-user": {
    example: "rowhouse admin export-user ada@example.org > ada.json",
    about: `Prints { user, grants, sessions, invitations, passwordLinks, providerLinks, totpFactors, recoveryCodes, passkeys,
pendingSignIns, failedSignIns, mails, audit }, with or without --json: the stored columns, and the audit log entries about or by this
person, but no secret or hash of a session, link or password. Apps store their own data about people in their rows.`,
    positionals: ["email"],
    task: exportUserTask,
  },
  "list-grants": {
    example: "rowhouse admin list-grants wiki --json",
    about: `Prints { app, grants: [{ userId, email, role, grantedAt, provider, isProviderSetUp, disabledAt }],
administrators: [{ userId, email, consoleRole, disabledAt }] } with --json: a Console role is admin on every app.
${OF_CLAIMS}`,
    positionals: ["slug"],
    task: listGrantsTask,
  },
});
