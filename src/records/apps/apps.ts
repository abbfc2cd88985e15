/** Apps: their slugs, ids, targets and limits. @module */

import { call, type Database } from "../../db/mod.ts";
import { type Field, type Input, oneOfChoices } from "../../field.ts";
import { Problem } from "../../problem.ts";
import { HISTORY_DAYS, MAX_HISTORY_DAYS } from "../../std/limits.ts";
import { SLUG_PATTERN, SLUG_TEXTS } from "../../std/patterns.ts";
import { quote } from "../../std/quote.ts";
import { type Actor, runAction } from "../actions/action.ts";
import { count, many, orNull, text, time } from "../actions/columns.ts";
import { list, type RowsOf } from "../actions/list.ts";
import { findIssues, rejectFor } from "../actions/rejections.ts";
import type { Grace } from "./keys.ts";
import { readTarget, readTargets, type Target } from "./targets.ts";

/** 10,000 per second for a whole minute: only a runaway program reaches it. */
export const DEFAULT_PER_MINUTE = 600_000;
export const MAX_PER_MINUTE = 100_000_000;

export const APP_SLUG = new RegExp(SLUG_PATTERN);

export const appList = list({
  read: "list_apps",
  name: "apps",
  columns: {
    slug: text({ title: "App" }),
    id: text(),
    createdAt: time(),
    disabledAt: orNull(time({ label: "disabled" })),
    /** The first origin. */
    origin: orNull(text({ title: "Address", label: false })),
    tables: count({ title: "Tables", label: "tables" }),
    keys: count({ title: "Keys", label: "keys" }),
    pushedAt: orNull(time({ title: "Last push", label: "pushed" })),
    /** Origins and redirects. */
    targets: many(text()),
  },
  key: "slug",
  sorts: ["slug", "origin", "tables", "keys", "pushedAt"],
  ask: ({ after, limit }) => ({ search: "", after_slug: after, max_rows: limit }),
});
export type App = RowsOf<typeof appList>;

type CreateAppOptions = {
  slug: string;
  /** URLs as typed: `--origin` and `--redirect`. */
  origins: readonly string[];
  redirects: readonly string[];
  cookieDomain: string | undefined;
};

/**
 * A new app with its targets, in one statement.
 *
 * @throws {Problem} invalid_request — the slug or a target is malformed, or the slug is already in use
 */
export async function createApp(
  deps: Actor & { makeId: () => string },
  options: CreateAppOptions,
): Promise<{ id: string; slug: string }> {
  const { slug } = options;
  const [id, added] = [deps.makeId(), readNewApp(options)];
  await runAction(deps, "create_app", { new_id: id, app_slug: slug, added });
  return { id, slug };
}

/** @throws {Problem} invalid_request — with every issue of the slug and of the URLs */
function readNewApp(options: CreateAppOptions): Target[] {
  const readAll = () => readTargets(options, options.cookieDomain);
  const ofSlug = findIssues(() => checkSlug(options.slug));
  if (ofSlug.length === 0) return readAll();
  throw rejectFor([...ofSlug, ...findIssues(readAll)]);
}

/** @throws {Problem} invalid_request */
export function checkSlug(slug: string): void {
  if (!APP_SLUG.test(slug))
    throw new Problem("invalid_request", {
      message: `Cannot name an app ${quote(slug)}: must be ${SLUG_TEXTS}`,
    });
}

/**
 * Registers an origin of an app, unless it is already registered.
 *
 * @throws {Problem} invalid_request
 */
export async function addOrigin(
  deps: { admin: Database },
  options: { slug: string; origin: string; cookieDomain: string | undefined },
): Promise<void> {
  const target = readTarget("origin", options.origin, options.cookieDomain);
  await call(deps.admin, "add_origin", {
    app_slug: options.slug,
    new_url: target.url,
    new_origin: target.origin,
  });
}

export async function findAppId(
  deps: { admin: Database },
  slug: string,
): Promise<string | undefined> {
  return (await call(deps.admin, "find_app_id", { app_slug: slug })) ?? undefined;
}

export type Setup = {
  slug: string;
  hasTargets: boolean;
  hasKeys: boolean;
};
type SetupState = {
  /** The app with the slug; without a slug, the newest app without a key. */
  app: Setup | undefined;
  hasApps: boolean;
  /** Whether any person can administer apps in a browser. */
  hasAdministrator: boolean;
};

export async function readSetup(deps: { admin: Database }, slug?: string): Promise<SetupState> {
  const state = await call(deps.admin, "read_setup", { app_slug: slug });
  const { app, ...rest } = state as SetupState & { app: Setup | null };
  return { app: app ?? undefined, ...rest };
}

/** Whether any person can use the Console; the serving login can call this. */
export async function hasAdministrator(deps: { db: Database }): Promise<boolean> {
  return await call(deps.db, "has_administrator", {});
}

// The inputs of actions on apps, their keys and limits.

export const SLUG: Field = {
  label: "Name",
  hint: `${SLUG_TEXTS}. Addresses and commands use it.`,
  placeholder: "slug",
  maxLength: 40,
};

const LIMIT = {
  placeholder: "number",
  maxLength: 20,
  isOptional: true,
  rule: "a number of requests in digits",
  read: (text: string) =>
    /^[\d,]+$/.test(text) ? checkLimit(Number(text.replaceAll(",", ""))) : undefined,
};
export const PER_MINUTE: Input<number> = {
  ...LIMIT,
  label: "Requests per minute",
  hint: `For all keys of the app together. Defaults to ${DEFAULT_PER_MINUTE.toLocaleString("en")}.`,
};
export const PER_MINUTE_OF_KEY: Input<number> = {
  ...LIMIT,
  label: "Requests per minute of each key",
  hint: "Keeps one program from using the whole limit. Defaults to the limit of the app.",
};

export const HISTORY_AGE: Input<number> = {
  label: "Days",
  hint: `1 to ${MAX_HISTORY_DAYS}. Defaults to ${HISTORY_DAYS}.`,
  placeholder: "number",
  maxLength: 3,
  isOptional: true,
  rule: `a whole number from 1 to ${MAX_HISTORY_DAYS}`,
  read: (text) => {
    const days = /^\d{1,3}$/.test(text) ? Number(text) : 0;
    return days >= 1 && days <= MAX_HISTORY_DAYS ? days : undefined;
  },
};

export const KEY_NAME: Input<string> = {
  label: "Name",
  hint: "The purpose of the key, such as “web server”.",
  placeholder: "text",
  maxLength: 100,
  rule: "1 to 100 characters on one line, without control characters",
  read: (text) => (/^[^\p{Cc}\p{Cf}]{1,100}$/u.test(text) ? text : undefined),
};

export const GRACE: Input<Grace> = {
  label: "Old key expires",
  hint: "Never later than its own expiry.",
  placeholder: "time",
  maxLength: 3,
  ...oneOfChoices<Grace>({
    "0": "immediately",
    "1h": "in an hour",
    "24h": "in a day",
    "7d": "in a week",
  }),
};

/** Requests per minute of the whole app, and of each key. */
type Limit = { readonly app: number; readonly key: number };

export type Limits = {
  readonly of: (appId: string) => Limit;
  /** Reads again if the version of apps has changed. */
  readonly refresh: (version: number) => Promise<void>;
};

const DEFAULT_LIMIT: Limit = { app: DEFAULT_PER_MINUTE, key: DEFAULT_PER_MINUTE };

/** Every app has the default before the first `refresh`. */
export function makeLimits(db: Database): Limits {
  let byApp = new Map<string, Limit>();
  let seen = 0;
  return {
    of: (appId) => byApp.get(appId) ?? DEFAULT_LIMIT,
    refresh: async (version) => {
      if (version === seen) return;
      byApp = await readLimits(db);
      seen = version;
    },
  };
}

async function readLimits(db: Database): Promise<Map<string, Limit>> {
  const rows = await call(db, "read_limits", { default_per_minute: DEFAULT_PER_MINUTE });
  return new Map(
    rows.map((row) => [row.app_id, { app: row.per_minute, key: row.per_minute_of_key }]),
  );
}

/** The operator's values. `undefined` means the default; a key defaults to its app's limit. */
type SetLimitOptions = {
  slug: string;
  perMinute?: number | undefined;
  perMinuteOfKey?: number | undefined;
};

/**
 * Sets an app's limits; every process applies them within seconds.
 *
 * @throws {Problem} unknown_app; invalid_request — a limit is not a whole number of at least 1
 */
export async function setLimit(
  actor: Actor,
  { slug, perMinute, perMinuteOfKey }: SetLimitOptions,
): Promise<void> {
  for (const limit of [perMinute, perMinuteOfKey]) if (limit !== undefined) checkLimit(limit);
  const values = { app_slug: slug, per_minute: perMinute, key_per_minute: perMinuteOfKey };
  await runAction(actor, "set_limit", values);
}

/** @throws {Problem} invalid_request — it is not a whole number of at least 1 */
function checkLimit(limit: number): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_PER_MINUTE) return limit;
  throw new Problem("invalid_request", {
    message: `Cannot set a limit of ${limit} requests per minute: must be a whole number from 1 to ${MAX_PER_MINUTE}`,
  });
}
