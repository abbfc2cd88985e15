/** `rowhouse admin` commands for sessions. @module */
import { count, runAction, text } from "../../accounts/actions/mod.ts";
import { readEmail, runOnPerson, sessionList } from "../../accounts/people/mod.ts";
import { UsageError } from "../cli/command.ts";
import { showCount } from "../cli/terminal.ts";
import { command } from "./command.ts";
import { makeListCommand } from "./list_command.ts";
import { makeAdminCommands } from "./task.ts";

const sessionsCommand = makeListCommand(sessionList, {
  example: "rowhouse admin sessions ada@example.org\nrowhouse admin sessions ada@example.org --end",
  about: "With --end: { email, ended }.",
  none: (email) => `${email} is not signed in anywhere`,
});

const endCommand = command({
  example: sessionsCommand.example,
  args: { email: readEmail },
  run: async (deps, { email }) => {
    const ended = Number(await runOnPerson(deps, "end_sessions", email));
    return {
      document: { email, ended },
      lines: [`Ended ${showCount(ended, "session")} of ${email}`],
    };
  },
});

export const adminSessionCommands = makeAdminCommands({
  sessions: {
    ...sessionsCommand,
    flags: { ...sessionsCommand.flags, end: { about: "ends all sessions" } },
    task: (deps, args) => (args.has("end") ? endCommand : sessionsCommand).task(deps, args),
  },
  "end-sessions": command({
    example: "rowhouse admin end-sessions --app wiki",
    about: "Signs these people out of all apps.",
    flags: { app: { value: "slug", about: "the app that the people have a role on" } },
    json: { app: text(), ended: count() },
    run: async (deps, { app }) => {
      if (app === undefined) throw new UsageError("Name the app: --app <slug>");
      const ended = await runAction(deps, "end_app_sessions", { app_slug: app });
      return {
        document: { app, ended },
        lines: [`Ended ${ended} sessions of people with a role on ${app}`],
      };
    },
  }),
});
