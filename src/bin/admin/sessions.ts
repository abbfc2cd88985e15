/** `rowhouse admin` commands for sessions. @module */
import {
  endSessionsOf,
  endSessionsOfApp,
  listSessions,
  readEmail,
  type SessionRecord,
} from "../../accounts/people/mod.ts";
import { UsageError } from "../cli/command.ts";
import { showCount } from "../cli/terminal.ts";
import { type AdminTask, makeAdminCommands } from "./task.ts";

const sessionsTask: AdminTask = async (deps, args) => {
  const email = readEmail(args.positionals[0] ?? "");
  if (args.has("end")) {
    const ended = await endSessionsOf(deps, email);
    return {
      document: { email, ended },
      lines: [`Ended ${showCount(ended, "session")} of ${email}`],
    };
  }
  const sessions = await listSessions(deps, email);
  const lines = sessions.map(describeSession);
  return {
    document: { email, sessions },
    lines: lines.length === 0 ? [`${email} is not signed in anywhere`] : lines,
  };
};

export function describeSession({ id, createdAt, lastSeenAt, expiresAt }: SessionRecord): string {
  return `${id}  since ${createdAt}  seen ${lastSeenAt}  until ${expiresAt}`;
}

const endSessionsTask: AdminTask = async (deps, args) => {
  const app = args.text("app");
  if (app === undefined) throw new UsageError("Name the app: --app <slug>");
  const ended = await endSessionsOfApp(deps, app);
  return {
    document: { app, ended },
    lines: [`Ended ${ended} sessions of people with a role on ${app}`],
  };
};

export const adminSessionCommands = makeAdminCommands({
  sessions: {
    example:
      "rowhouse admin sessions ada@example.org\nrowhouse admin sessions ada@example.org --end",
    about: "Prints { email, sessions } or { email, ended } with --json.",
    positionals: ["email"],
    flags: { end: { about: "ends all sessions" } },
    task: sessionsTask,
  },
  "end-sessions": {
    example: "rowhouse admin end-sessions --app wiki",
    about: "Signs these people out of all apps. Prints { app, ended } with --json.",
    flags: { app: { value: "slug", about: "the app that the people have a role on" } },
    task: endSessionsTask,
  },
});
