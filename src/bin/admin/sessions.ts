/** `rowhouse admin` commands for sessions. @module */
import { runAction } from "../../accounts/actions/mod.ts";
import { readEmail, runOnPerson, sessionList } from "../../accounts/people/mod.ts";
import { UsageError } from "../cli/command.ts";
import { showCount } from "../cli/terminal.ts";
import { makeListCommand } from "./list_command.ts";
import { type AdminTask, makeAdminCommands } from "./task.ts";

const sessionsCommand = makeListCommand(sessionList, {
  example: "rowhouse admin sessions ada@example.org\nrowhouse admin sessions ada@example.org --end",
  about: "With --end: { email, ended }.",
  none: (email) => `${email} is not signed in anywhere`,
});

const endSessionsOfPersonTask: AdminTask = async (deps, args) => {
  const email = readEmail(args.positionals[0] ?? "");
  const ended = await runOnPerson(deps, "end_sessions", email);
  return {
    document: { email, ended },
    lines: [`Ended ${showCount(Number(ended), "session")} of ${email}`],
  };
};

const endSessionsTask: AdminTask = async (deps, args) => {
  const app = args.text("app");
  if (app === undefined) throw new UsageError("Name the app: --app <slug>");
  const ended = await runAction(deps, "end_app_sessions", { app_slug: app });
  return {
    document: { app, ended },
    lines: [`Ended ${ended} sessions of people with a role on ${app}`],
  };
};

export const adminSessionCommands = makeAdminCommands({
  sessions: {
    ...sessionsCommand,
    flags: { ...sessionsCommand.flags, end: { about: "ends all sessions" } },
    task: (deps, args) =>
      (args.has("end") ? endSessionsOfPersonTask : sessionsCommand.task)(deps, args),
  },
  "end-sessions": {
    example: "rowhouse admin end-sessions --app wiki",
    about: "Signs these people out of all apps. Prints { app, ended } with --json.",
    flags: { app: { value: "slug", about: "the app that the people have a role on" } },
    task: endSessionsTask,
  },
});
