/** `rowhouse admin` commands that rename, disable and enable an app. @module */
import { renameApp, setAppDisabled, setAppLive, setPeopleList } from "../../accounts/apps/mod.ts";
import { quote } from "../../std/quote.ts";
import { RejectedError, UsageError } from "../cli/command.ts";
import { type AdminTask, makeAdminCommands } from "./task.ts";

const renameAppTask: AdminTask = async (deps, { positionals: [slug = "", newSlug = ""] }) => {
  await renameApp(deps, { slug, newSlug });
  return {
    document: { app: newSlug, from: slug },
    lines: [
      `Renamed app ${slug} to ${newSlug}; its rows, keys and grants stay`,
      `Sign-in accepts only ${newSlug}: change app: "${slug}" in its pages`,
    ],
  };
};

/** The same task for both directions. */
function makeDisableAppTask(disabled: boolean): AdminTask {
  return async (deps, { positionals: [slug = ""] }) => {
    if (!(await setAppDisabled(deps, slug, disabled)))
      throw new RejectedError(`App ${slug} is ${disabled ? "already disabled" : "not disabled"}`);
    const state = disabled
      ? "is disabled: its keys are rejected, and no one can sign in to it; its rows stay"
      : "is enabled: its keys and its sign-in work again";
    return { document: { app: slug, disabled }, lines: [`App ${slug} ${state}`] };
  };
}

/** A task that turns a setting of an app on or off. `field` is its name in the output, `subject` how a sentence starts. */
function makeSwitchTask(
  set: typeof setAppLive,
  { field, subject }: { field: string; subject: string },
): AdminTask {
  return async (deps, { positionals: [slug = "", state] }) => {
    if (state !== "on" && state !== "off")
      throw new UsageError(`Cannot read ${quote(state ?? "")}: must be on or off`);
    const isOn = state === "on";
    if (!(await set(deps, slug, isOn)))
      throw new RejectedError(`${subject} of app ${slug} are already ${state}`);
    return {
      document: { app: slug, [field]: isOn },
      lines: [`${subject} of app ${slug} are ${state}`],
    };
  };
}

export const adminAppLifeCommands = makeAdminCommands({
  "rename-app": {
    example: "rowhouse admin rename-app wiki handbook",
    about: `The app keeps its id, rows, keys, grants, origins and migrations. Pages that sign people in name the app by its slug:
change the slug there too. Prints { app, from } with --json.`,
    positionals: ["slug", "new_slug"],
    task: renameAppTask,
  },
  "disable-app": {
    example: "rowhouse admin disable-app wiki",
    about: `Its keys get a 401 response, and its sign-in behaves like that of an unknown app. Rows, keys, grants and tables stay,
and other apps can still use the tables that it owns. Prints { app, disabled } with --json.`,
    positionals: ["slug"],
    task: makeDisableAppTask(true),
  },
  "enable-app": {
    example: "rowhouse admin enable-app wiki",
    about:
      "Revoked and expired keys stay revoked and expired. Prints { app, disabled } with --json.",
    positionals: ["slug"],
    task: makeDisableAppTask(false),
  },
  "set-live": {
    example: "rowhouse admin set-live wiki on",
    about: `Requires PREVIEW=live. Each write of a live app also records the ids of its rows for 10 to 20 minutes. Turning live
updates off ends open streams. Prints { app, live } with --json.`,
    positionals: ["slug", "state"],
    task: makeSwitchTask(setAppLive, { field: "live", subject: "Live updates" }),
  },
  "set-people-list": {
    example: "rowhouse admin set-people-list wiki on",
    about: `People with a role on the app can then list the others (GET /v1/auth/people): id, name, picture and role, never
addresses. Off by default. Prints { app, peopleList } with --json.`,
    positionals: ["slug", "state"],
    task: makeSwitchTask(setPeopleList, { field: "peopleList", subject: "Lists of the people" }),
  },
});
