/** `rowhouse admin` to look people up: all of them, one of them, those of an app. @module */
import {
  exportUser,
  type FailedSignIns,
  type ListedUser,
  listGrants,
  listUsers,
  showUser,
} from "../../accounts/people/mod.ts";
import { readWhole } from "../cli/settings.ts";
import { toDocument, toPrintableLine } from "../cli/terminal.ts";
import { type AdminDeps, type AdminTask, makeAdminCommand } from "./task.ts";

const DEFAULT_LIMIT = "100";
const MOST = 10_000;
const OF_CLAIMS = `A provider is named where its claims gave the role, which counts only while the service has that provider. Whether it is
set up is read of OIDC_<NAME>_… here: give this command the settings of the service.`;

const listUsersTask: AdminTask = async (deps, args) => {
  const limit = readWhole("--limit", args.text("limit") ?? DEFAULT_LIMIT, [1, MOST]);
  const after = args.text("after");
  const found = await listUsers(deps, { limit, ...(after === undefined ? {} : { after }) });
  const last = found.users.at(-1)?.email;
  return {
    document: found,
    lines: [
      ...found.users.map(toLine),
      ...(found.users.length === 0 ? ["There is nobody"] : []),
      ...(found.hasMore ? [`There are more: rowhouse admin list-users --after ${last}`] : []),
    ],
  };
};

const showUserTask: AdminTask = async (deps, args) => {
  const user = await showUser(deps, args.positionals[0] ?? "");
  const { sessions, failedSignIns } = user;
  const grants = user.grants.map((grant) => addGiver(deps, grant));
  return {
    document: { ...user, grants },
    lines: [
      toLine(user),
      ...(grants.length === 0 ? ["No role on any app of its own"] : []),
      ...grants.map(
        ({ app, role, grantedAt, ...giver }) =>
          `role  ${app}  ${role}  since ${grantedAt}${toGiver(giver)}`,
      ),
      ...(sessions.length === 0 ? ["Not signed in anywhere"] : []),
      ...sessions.map(
        ({ id, createdAt, lastSeenAt, expiresAt }) =>
          `session  ${id}  since ${createdAt}  seen ${lastSeenAt}  until ${expiresAt}`,
      ),
      ...(failedSignIns === null ? [] : [describeFailures(failedSignIns)]),
    ],
    notes: listGone(grants),
  };
};

function describeFailures({ attempts, lastAt, lastFrom }: FailedSignIns): string {
  return `wrong passwords  ${attempts} since the last correct one  last ${lastAt}  from ${lastFrom ?? "an unknown address"}`;
}

const exportUserTask: AdminTask = async (deps, args) => {
  const stored = await exportUser(deps, args.positionals[0] ?? "");
  return { document: stored, lines: [toDocument(stored)] };
};

const listGrantsTask: AdminTask = async (deps, args) => {
  const [slug = ""] = args.positionals;
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
    lines: lines.length === 0 ? [`Nobody may open ${slug} yet`] : lines,
    notes: listGone(grants),
  };
};

type Giver = {
  /** Whose claim gave the role; null: a person did. */
  provider: string | null;
  /** Whether there are settings of it here. */
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

/** What the settings here tell of each provider that they lack: those of the service may be others. */
function listGone(givers: readonly Giver[]): string[] {
  const gone = givers.flatMap(({ provider, isProviderSetUp }) =>
    provider !== null && isProviderSetUp === false ? [provider] : [],
  );
  return [...new Set(gone)]
    .sort()
    .map(
      (provider) =>
        `No provider ${provider} is set up here. Unless the service has one, the roles that its claims gave do not count`,
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

export const adminPeopleListCommands = [
  makeAdminCommand(
    {
      name: "admin list-users",
      example:
        "rowhouse admin list-users\nrowhouse admin list-users --after ada@example.org --json",
      about: `Prints { users: [{ id, email, displayName, consoleRole, hasPassword, hasProvider, invitationState, createdAt,
disabledAt }], hasMore } with --json.`,
      positionals: [],
      flags: {
        limit: { value: "count", about: `1 to ${MOST}; default ${DEFAULT_LIMIT}` },
        after: { value: "email", about: "those after this address" },
      },
    },
    listUsersTask,
  ),
  makeAdminCommand(
    {
      name: "admin show-user",
      example: "rowhouse admin show-user ada@example.org --json",
      about: `Prints what list-users does of a person with --json, and
grants: [{ app, role, grantedAt, provider, isProviderSetUp }], sessions: [{ id, createdAt, lastSeenAt, expiresAt }],
failedSignIns: null or { attempts, lastAt, lastFrom }, the wrong passwords since the last correct one.
${OF_CLAIMS}`,
      positionals: ["email"],
    },
    showUserTask,
  ),
  makeAdminCommand(
    {
      name: "admin export-user",
      example: "rowhouse admin export-user ada@example.org > ada.json",
      about: `Prints { user, grants, sessions, invitations, passwordLinks, providerLinks, totpFactors, recoveryCodes, passkeys,
pendingSignIns, failedSignIns, mails, audit }, with or without --json: the columns as they are stored, and what the audit log says of or
by this person; never what proves a session, a link or a password. What apps store of people is in their rows.`,
      positionals: ["email"],
    },
    exportUserTask,
  ),
  makeAdminCommand(
    {
      name: "admin list-grants",
      example: "rowhouse admin list-grants wiki --json",
      about: `Prints { app, grants: [{ userId, email, role, grantedAt, provider, isProviderSetUp, disabledAt }],
administrators: [{ userId, email, consoleRole, disabledAt }] } with --json: who has a Console role is admin on every app.
${OF_CLAIMS}`,
      positionals: ["slug"],
    },
    listGrantsTask,
  ),
];
