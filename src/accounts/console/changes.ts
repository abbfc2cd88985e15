/** What the Console shows of requests over time, of what changed, and of errors that rose then. @module */
import { type ConsoleDeps, callConsole, type ShownCookies } from "../actions/action.ts";
import type { Shown, Span } from "./apps.ts";
import type { PageApp } from "./tables.ts";

/** A push, an entry of the audit log, or a key that expired. */
export type Change = {
  at: string;
  /** `push`, `expire_key`, or the action of the entry. */
  action: string;
  app: string | null;
  /** A person's id, a key's id, or a word such as `operator`; empty for a key that expired. */
  actor: string;
  actorEmail: string | null;
  /** Of the person whom the entry is about. */
  email: string | null;
  /** Of an entry, as JSON, cut; of a push or a key, its name. */
  details: string;
  /** Of a push. */
  seq: number | null;
  /** Of the key that pushed or expired. */
  keyId: string | null;
};

export type Axis = {
  /** When step 0 begins. */
  since: string;
  stepS: number;
  steps: number;
  /** By the number of each step that has any; those of the span before have negative numbers. */
  counted: [
    step: number,
    requests: number,
    errors: number,
    rejections: number,
    latencies: number[][],
  ][];
  /** Newest first. */
  changes: Change[];
};

/** The axis of one app. @throws {Problem} unknown_app */
export async function showConsoleAxis(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { slug, span }: { slug: string; span: Span },
): Promise<Shown<{ app: PageApp; axis: Axis }>> {
  const values = { app_slug: slug, shown_span: span };
  const shown = await callConsole(deps, cookies, "console_show_axis", values);
  return shown as Shown<{ app: PageApp; axis: Axis }>;
}

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
