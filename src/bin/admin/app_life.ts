/** `rowhouse admin` commands that rename an app, and turn its settings on and off. @module */
import { text } from "../../accounts/actions/mod.ts";
import { renameApp, setAppSwitch, type Writer, waitForWriters } from "../../accounts/apps/mod.ts";
import {
  APP_SWITCH_NAMES,
  type AppSwitchName,
  describeSwitch,
  findSwitch,
  toCamel,
  toDashed,
} from "../../app_switch.ts";
import { quote } from "../../std/quote.ts";
import { RejectedError, UsageError } from "../cli/command.ts";
import { command, typed } from "./command.ts";
import { type AdminDeps, makeAdminCommands } from "./task.ts";

function readSwitch(text: string): AppSwitchName {
  const setting = findSwitch(text);
  if (setting !== undefined) return setting;
  const names = APP_SWITCH_NAMES.map(toDashed).join(", ");
  throw new UsageError(`Unknown setting ${quote(text)}: must be ${names}`);
}

function readState(text: string): "on" | "off" {
  if (text === "on" || text === "off") return text;
  throw new UsageError(`Cannot read ${quote(text)}: must be on or off`);
}

/** @throws {RejectedError} earlier transactions have not ended */
async function waitForEnd(deps: AdminDeps, slug: string, title: string): Promise<void> {
  const left = await waitForWriters(deps, {
    onWait: (writers) =>
      deps.report(
        `Waiting for transactions that began before: ${writers.map(showWriter).join(", ")}`,
      ),
  });
  if (left.length === 0) return;
  throw new RejectedError(
    `${title} is on for app ${slug}, but writes that began before can still commit, because these transactions have not ended: ${left.map(showWriter).join(", ")}. End them, or run the command again to wait longer`,
  );
}

function showWriter({ pid, login, began_at }: Writer): string {
  return `process ${pid} of login ${login}${began_at === null ? "" : ` since ${began_at}`}`;
}

const SETTINGS = APP_SWITCH_NAMES.map((name) => {
  const { title, on, off } = describeSwitch(name);
  return `  ${toDashed(name)}: ${title}\n    on: ${on}\n    off: ${off}`;
}).join("\n");

export const adminAppLifeCommands = makeAdminCommands({
  "rename-app": command({
    example: "rowhouse admin rename-app wiki handbook",
    about: `The app keeps its id, rows, keys, grants, origins and migrations. Pages that sign people in name the app by its slug:
change the slug there too.`,
    args: { slug: typed, new_slug: typed },
    json: { app: text(), from: text() },
    run: async (deps, { slug, new_slug: newSlug }) => {
      await renameApp(deps, { slug, newSlug });
      return {
        document: { app: newSlug, from: slug },
        lines: [
          `Renamed app ${slug} to ${newSlug}; its rows, keys and grants stay`,
          `Sign-in accepts only ${newSlug}: change app: "${slug}" in its pages`,
        ],
      };
    },
  }),
  "set-app": command({
    example: `rowhouse admin set-app wiki people-list on
rowhouse admin set-app wiki disabled on`,
    about: `Settings:\n${SETTINGS}\n\nPrints { app } with the setting as true or false with --json.`,
    args: { slug: typed, setting: readSwitch, state: readState },
    run: async (deps, { slug, setting, state }) => {
      const isOn = state === "on";
      const described = describeSwitch(setting);
      const isChanged = await setAppSwitch(deps, slug, [setting, isOn]);
      // Also if it was on: an earlier command can have stopped waiting, and the Console does not wait.
      const isStop = isOn && described.stops !== undefined;
      if (isStop) await waitForEnd(deps, slug, described.title);
      if (!isChanged && !isStop)
        throw new RejectedError(`${described.title} is already ${state} for app ${slug}`);
      return {
        document: { app: slug, [toCamel(setting)]: isOn },
        lines: [`${described.title} is ${state} for app ${slug}: ${described[state]}`],
      };
    },
  }),
});
