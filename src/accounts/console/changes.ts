/** What the Console shows of a selected time: what changed, and which errors rose. @module */
import { type ConsoleDeps, callConsole, type ShownCookies } from "../actions/action.ts";
import type { Shown } from "./apps.ts";
import type { Change } from "./axis.ts";

/** An error code of a table, with its counts in a span and in as long a time before it. */
export type RisenCode = {
  app: string | null;
  table: string | null;
  code: string;
  now: number;
  before: number;
  /** Of the requests that are kept; each may have several. */
  fields: { field: string; requests: number }[];
  keys: { keyId: string; name: string | null; requests: number }[];
};

/** What a push declared, as JSON, and what the one before it did. */
export type PushedDefinition = {
  app: string;
  seq: number;
  at: string;
  definition: string;
  before: string | null;
};

export type ShownChanges = Shown<{
  requests: number;
  requestsBefore: number;
  /** Those first that rose most. */
  codes: RisenCode[];
  changes: Change[];
  /** The latest ones before the end of the span. */
  pushes: PushedDefinition[];
}>;

export type ChangesQuery = {
  /** Empty: all apps. */
  slug: string;
  /** Which counts are read: minutes are kept for a day. */
  unit: "minute" | "hour";
  from: Date;
  until: Date;
  maxRows: number;
};

/** @throws {Problem} unknown_app */
export async function showConsoleChanges(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { slug, unit, from, until, maxRows }: ChangesQuery,
): Promise<ShownChanges> {
  const values = { app_slug: slug, unit, from_at: from, until_at: until, max_rows: maxRows };
  const shown = await callConsole(deps, cookies, "console_show_changes", values);
  return shown as ShownChanges;
}
