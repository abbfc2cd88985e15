/** `rowhouse admin` commands that create, list, change and delete apps. @module */

import {
  APP_SWITCH_NAMES,
  type AppSwitchName,
  describeSwitch,
  findSwitch,
  toCamel,
  toDashed,
} from "../../app_switch.ts";
import type { Database } from "../../db/mod.ts";
import { count, many, text } from "../../records/actions/mod.ts";
import {
  type AppContents,
  appList,
  createApp,
  DEFAULT_PER_MINUTE,
  deleteApp,
  findAppContents,
  HISTORY_AGE,
  PER_MINUTE,
  PER_MINUTE_OF_KEY,
  renameApp,
  setAppSwitch,
  setHistoryDays,
  setLimit,
  setTargets,
  settleAppSwitch,
  type Writer,
} from "../../records/apps/mod.ts";
import { showCount } from "../../std/count.ts";
import { HISTORY_BYTES, HISTORY_DAYS } from "../../std/limits.ts";
import { quote } from "../../std/quote.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { RejectedError, UsageError } from "../command.ts";
import { checkIsolation } from "../database.ts";
import { confirm, YES } from "../terminal.ts";
import { command, makeListCommand, typed } from "./command.ts";
import { listNextSteps } from "./next_steps.ts";
import { type AdminDeps, makeAdminCommands } from "./task.ts";

const KINDS = ["origin", "redirect"] as const;
type Kind = (typeof KINDS)[number];
type Typed = Readonly<Record<Kind | `add-${Kind}` | `remove-${Kind}`, readonly string[]>>;

/** @throws {UsageError} nothing to do, or a list that is both replaced and changed */
function checkFlags(flags: Typed): void {
  const isChanged = (kind: Kind) =>
    flags[`add-${kind}`].length > 0 || flags[`remove-${kind}`].length > 0;
  const both = KINDS.find((kind) => flags[kind].length > 0 && isChanged(kind));
  if (both !== undefined)
    throw new UsageError(
      `Cannot use --${both} with --add-${both} or --remove-${both}: it replaces the whole list`,
    );
  if (KINDS.every((kind) => flags[kind].length === 0 && !isChanged(kind)))
    throw new UsageError(
      "Nothing to change: add --add-origin, --remove-origin, --add-redirect or --remove-redirect, or replace all with --origin and --redirect",
    );
}

function show(urls: readonly string[]): string {
  return urls.length === 0 ? "none" : urls.join(", ");
}

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

/** @throws {RejectedError} transactions that began before writes were stopped have not ended */
async function settle(deps: AdminDeps, slug: string, setting: AppSwitchName): Promise<void> {
  const { title, stops } = describeSwitch(setting);
  const left = await settleAppSwitch(deps, slug, {
    setting,
    onWait: (writers) =>
      deps.report(
        `Waiting for transactions that began before: ${writers.map(showWriter).join(", ")}`,
      ),
  });
  if (left.length === 0) return;
  if (stops === undefined)
    return deps.report(
      `Warning: ${title} is on for app ${slug}, but writes that began before are not recorded, and can still commit: transactions of logins that can write have not ended: ${left.map(showWriter).join(", ")}. A backup with pg_dump is one, too, and does not matter. Otherwise run the command again after they have ended`,
    );
  throw new RejectedError(
    `${title} is on for app ${slug}, but writes that began before can still commit: transactions of logins that can write have not ended: ${left.map(showWriter).join(", ")}. A backup with pg_dump is one, too. Wait until they end, or end a process with select pg_terminate_backend(<process>), then run the command again`,
  );
}

function showWriter({ pid, login, began_at }: Writer): string {
  return `process ${pid} of login ${login}${began_at ? ` since ${began_at}` : ""}`;
}

const SETTINGS = APP_SWITCH_NAMES.map((name) => {
  const { title, on, off } = describeSwitch(name);
  return `  ${toDashed(name)}: ${title}\n    on: ${on}\n    off: ${off}`;
}).join("\n");

async function deleteAppOverRows(
  deps: AdminDeps & { rows: Database },
  isConfirmed: boolean,
  slug: string,
) {
  const contents = await findAppContents(deps, slug);
  await confirm(deps, isConfirmed, {
    message: describeApp(slug, contents),
    question: "Type the name of the app to continue:",
    isYes: (reply) => reply === slug,
  });
  const rows = await deleteApp(deps, slug);
  const tables = contents.tables.flatMap(({ name, isOwned }) => (isOwned ? [name] : []));
  return {
    document: { app: slug, id: contents.id, rows, tables },
    lines: [
      `Deleted app ${slug} with ${showCount(rows, "row")} and ${showCount(tables.length, "table")}`,
    ],
  };
}

/** The parts that are deleted and the parts that stay. */
function describeApp(slug: string, { id, tables, ...contents }: AppContents): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const list = (isOwned: boolean) =>
    tables.flatMap((table) =>
      table.isOwned === isOwned ? [`${table.name} (${showCount(table.rows, "row")})`] : [],
    );
  const [owned, others] = [list(true), list(false)];
  return [
    `The app ${slug} (${id}) will be deleted with ${showCount(contents.keys, "key")}, ${showCount(contents.grants, "grant")}, ${showCount(contents.targets, "origin or redirect", "origins and redirects")}, ${showCount(contents.migrations, "migration")} and ${showCount(rows, "row")}.`,
    ...(owned.length === 0
      ? []
      : [
          `It owns ${owned.join(", ")}, which no other app uses: these tables will be dropped, and any app can then use their names.`,
        ]),
    ...(others.length === 0
      ? []
      : [
          `Its rows in ${others.join(", ")} will be deleted; these tables and other apps' rows stay.`,
        ]),
    `People's accounts and the audit log stay. To keep the app and reject its keys instead: rowhouse admin set-app ${quoteForShell(slug)} disabled on.`,
  ].join(" ");
}

const urls = (about: string) => ({ value: "url", many: true, about }) as const;

export const adminAppCommands = makeAdminCommands({
  "create-app": command("creates an app with its origins and redirects", {
    example: `rowhouse admin create-app wiki --origin https://wiki.example.org
rowhouse admin create-app shop --redirect https://shop.example.org/callback`,
    about: `A slug has 2 to 40 characters of a-z, 0-9 and -, and begins with a letter. Origins and redirects require COOKIE_DOMAIN.`,
    args: { slug: typed },
    flags: {
      origin: urls("an origin: sign-in can redirect to any path of it"),
      redirect: urls("a URL: sign-in can redirect to exactly this URL"),
    },
    json: { id: text(), slug: text() },
    run: async (deps, { slug, origin: origins, redirect: redirects }) => {
      const cookieDomain = deps.config.COOKIE_DOMAIN;
      const app = await createApp(deps, { slug, origins, redirects, cookieDomain });
      return {
        document: app,
        lines: [`Created app ${app.slug} (${app.id})`, ...(await listNextSteps(deps, app.slug))],
      };
    },
  }),
  "list-apps": makeListCommand(appList, {
    summary: "lists the apps with their origins and redirects",
    example: "rowhouse admin list-apps --json",
    none: () => "No apps yet",
  }),
  "set-limit": command("sets the requests per minute that an app and its keys can send", {
    example: `rowhouse admin set-limit wiki --per-minute 6000
rowhouse admin set-limit wiki --per-minute 6000 --per-key 600`,
    about: `Limits apply to all serving processes together. An omitted limit is reset to its default: ${DEFAULT_PER_MINUTE} for the app,
and the app's limit for each key.`,
    args: { slug: typed },
    flags: { "per-minute": PER_MINUTE, "per-key": PER_MINUTE_OF_KEY },
    json: { app: text(), perMinute: count(), perMinuteOfKey: count() },
    run: async (deps, { slug, "per-minute": perMinute, "per-key": perMinuteOfKey }) => {
      await setLimit(deps, { slug, perMinute, perMinuteOfKey });
      const app = perMinute ?? DEFAULT_PER_MINUTE;
      const key = perMinuteOfKey ?? app;
      return {
        document: { app: slug, perMinute: app, perMinuteOfKey: key },
        lines: [
          `App ${slug} can send ${showCount(app, "request")} per minute, each of its keys ${key}`,
        ],
      };
    },
  }),
  "set-history": command("sets how many days the history of an app's rows goes back", {
    example: "rowhouse admin set-history wiki --days 90",
    about: `The history must be on: rowhouse admin set-app wiki history on. Older changes are deleted within minutes; without --days,
after ${HISTORY_DAYS} days. The history of an app has at most ${HISTORY_BYTES / 2 ** 20} MiB: then the oldest changes of the people and keys with the most go first.`,
    args: { slug: typed },
    flags: { days: HISTORY_AGE },
    json: { app: text(), days: count() },
    run: async (deps, { slug, days }) => {
      await setHistoryDays(deps, { slug, days });
      const kept = days ?? HISTORY_DAYS;
      return {
        document: { app: slug, days: kept },
        lines: [`The history of ${slug} goes back ${showCount(kept, "day")}`],
      };
    },
  }),
  "set-origins": command("adds, removes or replaces the origins and redirects of an app", {
    example: `rowhouse admin set-origins wiki --add-origin https://wiki.example.org
rowhouse admin set-origins wiki --remove-redirect https://old.example.org/callback
rowhouse admin set-origins wiki --origin https://wiki.example.org --origin https://docs.example.org`,
    about: `Every process applies the change within seconds. Adding requires COOKIE_DOMAIN. Removing the last origin and redirect
ends the app's sign-in; its keys still work.`,
    args: { slug: typed },
    flags: {
      origin: urls("replaces all origins"),
      redirect: urls("replaces all redirects"),
      "add-origin": urls("sign-in can redirect to any path of it"),
      "remove-origin": urls("exactly as registered"),
      "add-redirect": urls("sign-in can redirect to exactly this URL"),
      "remove-redirect": urls("exactly as registered"),
    },
    json: { app: text(), origins: many(text()), redirects: many(text()) },
    run: async (deps, { slug, ...flags }) => {
      checkFlags(flags);
      const { origins, redirects } = await setTargets(deps, {
        slug,
        replaced: KINDS.filter((kind) => flags[kind].length > 0),
        add: {
          origins: [...flags.origin, ...flags["add-origin"]],
          redirects: [...flags.redirect, ...flags["add-redirect"]],
        },
        remove: { origins: flags["remove-origin"], redirects: flags["remove-redirect"] },
        cookieDomain: deps.config.COOKIE_DOMAIN,
      });
      return {
        document: { app: slug, origins, redirects },
        lines: [
          `Origins of ${slug}: ${show(origins)}`,
          `Redirects of ${slug}: ${show(redirects)}`,
          ...(await listNextSteps(deps, slug)),
        ],
      };
    },
  }),
  "rename-app": command("changes the slug of an app", {
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
  "set-app": command("turns a setting of an app on or off, such as live updates", {
    example: `rowhouse admin set-app wiki people-list on
rowhouse admin set-app wiki disabled on`,
    about: `Settings:\n${SETTINGS}\n\nPrints { app } with the setting as true or false with --json.`,
    args: { slug: typed, setting: readSwitch, state: readState },
    run: async (deps, { slug, setting, state }) => {
      const isOn = state === "on";
      const described = describeSwitch(setting);
      const isChanged = await setAppSwitch(deps, slug, [setting, isOn]);
      // Also if it was on: an earlier command, or the Console, can have stopped waiting.
      const isAwaited = isOn && described.isAwaited === true;
      if (isAwaited) await settle(deps, slug, setting);
      if (!isChanged && !isAwaited)
        throw new RejectedError(`${described.title} is already ${state} for app ${slug}`);
      return {
        document: { app: slug, [toCamel(setting)]: isOn },
        lines: [`${described.title} is ${state} for app ${slug}: ${described[state]}`],
      };
    },
  }),
  "delete-app": command("deletes an app with its rows, keys and tables", {
    example: "rowhouse admin delete-app wiki",
    about: `Shows what will be deleted and what stays, and asks for the app's name. Fails while another app uses a table that this
app owns: transfer the table first with admin transfer-table. Deletion has several steps, and the first one disables the
app. If a step fails, repeat the command to continue.`,
    args: { slug: typed },
    flags: YES,
    json: { app: text(), id: text(), rows: count(), tables: many(text()) },
    run: async (deps, { slug, yes }) => {
      await checkIsolation(deps.admin);
      return await deps.withRows((rows) => deleteAppOverRows({ ...deps, rows }, yes, slug));
    },
  }),
});
