/** The signed-in administrator, and the apps on the Console's pages. @module */

import * as v from "valibot";
import { APP_SWITCH_NAMES, type AppSwitchName } from "../../app_switch.ts";
import { type ConsoleActor, callConsole } from "../actions/action.ts";
import {
  type Checked,
  type Column,
  count,
  flag,
  many,
  oneOf,
  orNull,
  record,
  shaped,
  text,
  time,
} from "../actions/columns.ts";
import { keyList } from "../apps/keys.ts";
import { CONSOLE_ROLES } from "../people/people.ts";
import { AXIS, STEP } from "./activity.ts";
import { ROWS_WAIT_MS } from "./tables.ts";

/** The signed-in administrator. */
export const VISITOR = record({
  id: text(),
  email: text(),
  displayName: orNull(text()),
  role: oneOf(CONSOLE_ROLES),
  /** Whether the sign-in is recent enough for a sensitive action. */
  isFresh: flag(),
  /** The deadline for a second factor; null if none is required or the person has one. */
  factorDueAt: orNull(time()),
  counts: record({ Apps: count(), People: count(), Tables: count() }),
});
export type ConsoleVisitor = Checked<typeof VISITOR>;
export type PageView<Content> = Content & { me: ConsoleVisitor };

/** Whether each setting is on. */
const SWITCHES = record(
  // The compiler does not connect the names of the entries with their type.
  Object.fromEntries(APP_SWITCH_NAMES.map((name) => [name, flag()])) as Record<
    AppSwitchName,
    Column<boolean>
  >,
);

const APP_VIEW = record({
  slug: text(),
  id: text(),
  createdAt: time(),
  disabledAt: orNull(time()),
  ...{ origins: many(text()), redirects: many(text()) },
  switches: SWITCHES,
  /** Max requests a minute; null for the default. */
  perMinute: orNull(count()),
  /** Max requests a minute of each key; null for the limit of the app. */
  perMinuteOfKey: orNull(count()),
  tables: many(text()),
  /** The number of people with a role on the app. */
  people: count(),
  pushedAt: orNull(time()),
});
export type AppView = Checked<typeof APP_VIEW>;

export const APP_PAGE = record({
  app: APP_VIEW,
  /** Null without a requested span. */
  axis: orNull(AXIS),
  keys: many(record(keyList.columns)),
});

/** The spans of time that numbers cover. */
export const SPANS = ["hour", "day", "week"] as const;
export type Span = (typeof SPANS)[number];

/** Requests within a span. */
export const NUMBERS = record({
  requests: count(),
  /** Failures of the service. */
  errors: count(),
  rejections: count(),
  /** The number of requests in each bucket of `std/latency.ts`. */
  latencies: many(count()),
  /** Steps with requests. */
  counted: shaped(v.array(v.tuple(STEP))),
});
export type Numbers = Checked<typeof NUMBERS>;

// Deletes an app in the Console, whose login never touches rows: the data service deletes the rows.

/**
 * Deletes an app in steps until it is deleted or `isOverdue` is true. Returns whether it is deleted. A repeated call continues.
 *
 * @throws {Problem} unknown_app; invalid_request — another app uses a table that it owns; push_busy
 */
export async function deleteAppByConsole(
  deps: ConsoleActor & { isOverdue: () => boolean },
  slug: string,
): Promise<boolean> {
  while (!deps.isOverdue()) {
    const values = { app_slug: slug };
    const [step] = await callConsole(deps, "console_delete_app_step", values);
    if (step === undefined) throw new Error("A step of an app's deletion returned no row");
    if (step.is_done) return true;
    if (step.is_waiting) await Bun.sleep(ROWS_WAIT_MS);
  }
  return false;
}
