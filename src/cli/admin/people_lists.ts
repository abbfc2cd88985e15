/** `rowhouse admin` commands that list people and their sessions, show one person, and list the people of an app. @module */

import {
  count,
  flag,
  many,
  orNull,
  type Row,
  record,
  runAction,
  text,
} from "../../records/actions/mod.ts";
import {
  appPeopleList,
  exportUser,
  type FailedSignIns,
  type Grant,
  type ListedUser,
  PERSON,
  PERSON_ACTIONS,
  PERSON_GRANTS,
  peopleList,
  sessionList,
  showUser,
  USER_DETAILS,
} from "../../records/people/mod.ts";
import { showCount } from "../../std/count.ts";
import { UsageError } from "../command.ts";
import { toDocument } from "../terminal.ts";
import { makeActionCommand, ON_PERSON } from "./action_command.ts";
import { command, makeListCommand, toLine, typed } from "./command.ts";
import { type AdminDeps, makeAdminCommands } from "./task.ts";

const sessionsCommand = makeListCommand(sessionList, {
  summary: "lists a person's sessions, or ends them all",
  example: "rowhouse admin sessions ada@example.org\nrowhouse admin sessions ada@example.org --end",
  about: "With --end: { email, ended }.",
  none: (email) => `${email} is not signed in anywhere`,
});

const endCommand = makeActionCommand(ON_PERSON, PERSON_ACTIONS.endSessions);

const OF_CLAIMS = `provider is the name of the provider whose claims granted the role. The role counts only while the service has that provider.
isProviderSetUp depends on OIDC_<NAME>_… in this environment: run the command with the settings of the service.`;

function describeFailures({ attempts, lastAt, lastFrom }: FailedSignIns): string {
  return `wrong passwords  ${attempts} since the last correct one  last ${lastAt}  from ${lastFrom ?? "an unknown address"}`;
}

type Giver = Pick<Grant, "provider"> & Row<typeof OF_PROVIDER>;

/** Whether the provider whose claim granted a role is set up in this environment; null for a person. */
const OF_PROVIDER = { isProviderSetUp: orNull(flag()) };
const GRANT_COLUMNS = { ...PERSON_GRANTS, ...OF_PROVIDER };

function readProvider({ config }: AdminDeps, { provider }: Pick<Grant, "provider">) {
  const isSetUp = config.providers.some(({ name }) => name === provider);
  return { isProviderSetUp: provider === null ? null : isSetUp };
}

const OF_GRANT = {
  provider: ({ provider, isProviderSetUp }: Giver) =>
    provider === null
      ? ""
      : `by claim of ${provider}${isProviderSetUp === true ? "" : ", which is not set up here"}`,
};

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

const OF_PERSON = {
  /** How the person can sign in. */
  invitationState: ({ hasPassword, hasProvider, invitationState }: ListedUser) => {
    if (invitationState !== null) return `invitation ${invitationState}`;
    if (hasProvider) return "signs in with a provider";
    return hasPassword ? "" : "no password yet";
  },
};

const NEVER_SIGNED_IN = "never signed in";

export const adminPeopleListCommands = makeAdminCommands({
  sessions: {
    ...sessionsCommand,
    flags: { ...sessionsCommand.flags, end: { about: "ends all sessions" } },
    task: (deps, args) => (args.has("end") ? endCommand : sessionsCommand).task(deps, args),
  },
  "end-sessions": command("ends all sessions of the people with a role on an app", {
    example: "rowhouse admin end-sessions --app wiki",
    about: "Signs these people out of all apps.",
    flags: { app: { value: "slug", about: "the app that the people have a role on" } },
    json: { app: text(), ended: count() },
    run: async (deps, { app }) => {
      if (app === undefined) throw new UsageError("Name the app: --app <slug>");
      const ended = await runAction(deps, "end_app_sessions", { app_slug: app });
      return {
        document: { app, ended },
        lines: [`Ended ${showCount(ended, "session")} of people with a role on ${app}`],
      };
    },
  }),
  "list-users": makeListCommand(peopleList, {
    summary: "lists people by address",
    example: "rowhouse admin list-users\nrowhouse admin list-users --after ada@example.org --json",
    limit: 100,
    lines: {
      ...OF_PERSON,
      lastSeenAt: ({ lastSeenAt }) =>
        lastSeenAt === null ? NEVER_SIGNED_IN : `seen ${lastSeenAt}`,
    },
    none: () => "No users",
  }),
  "show-user": command("shows a person with their roles and sessions", {
    example: "rowhouse admin show-user ada@example.org --json",
    about: OF_CLAIMS,
    args: { email: typed },
    json: { ...PERSON, grants: many(record(GRANT_COLUMNS)), ...USER_DETAILS },
    run: async (deps, { email }) => {
      const user = await showUser(deps, email);
      const { sessions, failedSignIns } = user;
      const grants = user.grants.map((grant) => ({ ...grant, ...readProvider(deps, grant) }));
      return {
        document: { ...user, grants },
        lines: [
          toLine(PERSON, user, {
            ...OF_PERSON,
            lastSignInAt: ({ lastSignInAt }) =>
              lastSignInAt === null ? NEVER_SIGNED_IN : `last sign-in ${lastSignInAt}`,
          }),
          ...(grants.length === 0 ? ["No role on an app"] : []),
          ...grants.map((grant) => `role  ${toLine(GRANT_COLUMNS, grant, OF_GRANT)}`),
          ...(sessions.length === 0 ? ["Not signed in anywhere"] : []),
          ...sessions.map((session) => `session  ${toLine(sessionList.columns, session)}`),
          ...(failedSignIns === null ? [] : [describeFailures(failedSignIns)]),
        ],
        notes: listRemoved(grants),
      };
    },
  }),
  "export-user": command("prints all stored data about a person as JSON", {
    example: "rowhouse admin export-user ada@example.org > ada.json",
    about: `Prints { user, grants, sessions, invitations, passwordLinks, providerLinks, totpFactors, recoveryCodes, passkeys,
pendingSignIns, failedSignIns, personKeys, openedApps, mails, audit }, with or without --json: the stored columns, and the audit log entries about or by this
person, but no secret or hash of a session, link or password. Apps store their own data about people in their rows.`,
    args: { email: typed },
    run: async (deps, { email }) => {
      const stored = await exportUser(deps, email);
      return { document: stored, lines: [toDocument(stored)] };
    },
  }),
  "list-grants": makeListCommand(appPeopleList, {
    summary: "lists the people who can open an app, with their roles",
    example: "rowhouse admin list-grants wiki --json",
    about: `A Console role is admin on every app.\n${OF_CLAIMS}`,
    own: { columns: OF_PROVIDER, read: readProvider },
    lines: { ...OF_PERSON, ...OF_GRANT },
    more: {
      names: ["administrators"],
      toLines: ({ administrators }) =>
        administrators.map(
          ({ email, consoleRole, disabledAt }) =>
            `${email}  admin on every app, as ${consoleRole}${disabledAt === null ? "" : "  disabled"}`,
        ),
    },
    none: (slug) => `No one can open ${slug} yet`,
    notes: listRemoved,
  }),
});
