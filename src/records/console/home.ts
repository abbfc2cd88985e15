/** The content of Home: numbers of requests by app, and apps that need attention. @module */
import {
  type Checked,
  count,
  flag,
  many,
  oneOf,
  orNull,
  record,
  text,
  time,
} from "../actions/columns.ts";
import { appList } from "../apps/apps.ts";
import { DEV_LEFTOVERS } from "../people/people_lists.ts";
import { AXIS } from "./activity.ts";
import { NUMBERS } from "./apps.ts";

export const HOME = record({
  hasKeys: flag(),
  hasTables: flag(),
  appCount: count(),
  /** Starts with the apps that need attention. */
  apps: many(record({ ...appList.columns, numbers: NUMBERS })),
  /** Requests without an app: pages, and requests that were rejected or failed before their key was checked. */
  withoutApp: NUMBERS,
  /** Requests of the Console: its pages, and its reads and writes of rows. */
  ofConsole: NUMBERS,
  /** The totals of all apps, of requests without an app, and of the Console. */
  axis: AXIS,
  processes: record({
    running: count(),
    /** The oldest of the processes' last isolation checks. */
    isolationAt: orNull(time()),
    issues: many(text()),
    /** The running processes by version; null for an earlier release, which does not report it. */
    versions: many(record({ version: orNull(text()), processes: count(), since: time() })),
    /** Processes that no longer report, although no one stopped or replaced them. */
    silent: many(record({ role: text(), seenAt: time() })),
  }),
  /** Null in a database of `rowhouse dev`. */
  devLeftovers: orNull(DEV_LEFTOVERS),
  lastPush: orNull(record({ app: text(), at: time() })),
  endingKeys: many(record({ app: text(), keyId: text(), name: text(), expiresAt: time() })),
  builds: many(
    record({
      app: text(),
      table: text(),
      kind: oneOf(["index", "reference"]),
      name: text(),
      state: text(),
    }),
  ),
});
export type ConsoleHome = Checked<typeof HOME>;
