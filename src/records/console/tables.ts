/**
 * Reads of pages about tables, each one call on the Console's login. They read records and PostgreSQL's catalogs, never a row.
 *
 * @module
 */

import * as v from "valibot";
import { DIALECT_NAMES } from "../../db/mod.ts";
import type { Scope } from "../../principal.ts";
import { Problem } from "../../problem.ts";
import { type Json, KINDS, type Match, type TableDefinition } from "../../schema/mod.ts";
import { anyNames } from "../../std/any_names.ts";
import type { RandomBytes } from "../../std/random_text.ts";
import { type ConsoleActor, callConsole } from "../actions/action.ts";
import {
  type Checked,
  count,
  flag,
  hidden,
  many,
  oneOf,
  orNull,
  record,
  shaped,
  text,
  time,
} from "../actions/columns.ts";
import { list, type RowsOf } from "../actions/list.ts";
import { makeKeyText, toProof, toProofDigest } from "../apps/key_text.ts";
import { beginEndRegistration } from "../apps/tables.ts";

const DEFINED = v.object({
  name: v.string(),
  columns: v.array(
    // A kind can have other keys, too.
    v.looseObject({
      ...{ name: v.string(), kind: v.picklist(KINDS) },
      ...{ required: v.boolean(), unique: v.boolean(), index: v.boolean() },
      default: v.exactOptional(v.custom<Json>(() => true)),
      values: v.exactOptional(v.array(v.string())),
      table: v.exactOptional(v.string()),
      onUpdate: v.exactOptional(v.literal("now")),
      onDelete: v.exactOptional(v.picklist(["cascade", "set null"])),
    }),
  ),
  indexes: v.array(v.array(v.string())),
  uniques: v.array(v.array(v.string())),
});
export const DEFINITION = shaped<TableDefinition>(DEFINED);

/** A reader of schemas checked the rules at the push. */
const RULE = v.array(anyNames(v.custom<Match>((match) => match !== undefined)));
const ROLES = anyNames(v.array(v.string()));
/** An app's declaration of a table, with its rules. */
const RULED = shaped<TableDefinition>(
  v.object({
    ...DEFINED.entries,
    rules: v.exactOptional(
      v.object({
        allow: anyNames(
          v.object({
            ...{ read: v.exactOptional(RULE), create: v.exactOptional(RULE) },
            update: v.exactOptional(v.object({ from: RULE, to: RULE })),
            delete: v.exactOptional(RULE),
          }),
        ),
        owner: v.exactOptional(v.array(v.string())),
        ...{ only: v.exactOptional(ROLES), setBy: v.exactOptional(ROLES) },
      }),
    ),
  }),
);

/** A table in PostgreSQL, without its expressions. */
const FOUND = shaped(
  v.object({
    ...{ owner: v.string(), rowSecurity: v.string() },
    /** Name, type, and whether it is required. */
    columns: v.array(v.tuple([v.string(), v.string(), v.boolean()])),
    dialect: v.picklist(DIALECT_NAMES),
    /** Whether no process before 0.2.0 can use the database any more. */
    isContracted: v.boolean(),
    /** The values of each enum, by type. */
    types: anyNames(v.array(v.string())),
    /** Constraints, indexes, policies, triggers and rules, such as `index todos__title__idx`, with their validity. */
    parts: anyNames(v.picklist(["there", "invalid", "not valid"])),
  }),
);
export type FoundTable = Checked<typeof FOUND>;

export const BUILD_STATE = oneOf(["waiting", "running", "done", "failed"]);

/** A build that a push deferred. */
export const BUILD = record({
  table: text(),
  kind: oneOf(["index", "reference"]),
  name: text(),
  columns: many(text()),
  state: BUILD_STATE,
  issue: orNull(text()),
  attempts: count(),
  /** The last recorded progress of a running index build. */
  progress: orNull(
    record({ phase: text(), done: count(), total: count(), unit: oneOf(["blocks", "rows"]) }),
  ),
  createdAt: text(),
  finishedAt: orNull(text()),
});
export type ConsoleBuild = Checked<typeof BUILD>;

const PAGE_APP = record({ slug: text(), disabledAt: orNull(text()) });

const NAMES = {
  name: text({ title: "Table" }),
  owner: text({ title: "Owner", label: "owned by" }),
  /** The number of apps that use the table. */
  apps: { ...count({ title: "Used by", label: "apps" }), kind: "text" as const },
  firstApps: many(text(), { label: false, csv: false }),
};
/** Estimates: rows of all apps, and bytes of the table and its indexes; null before the first ANALYZE. */
const SIZE = {
  rows: orNull(count({ title: "Rows", label: "rows" })),
  bytes: orNull(count({ title: "Size", label: "bytes" })),
};
const STATE = {
  builds: hidden(many(BUILD, { title: "State" })),
  definition: hidden(DEFINITION),
  /** Null if PostgreSQL lacks the table. */
  found: hidden(orNull(FOUND)),
};

/** Tables by name: of all apps, or as one app uses them. */
export const tableList = list({
  read: "list_tables",
  name: "tables",
  columns: {
    ...NAMES,
    /** The columns that the app declares; without an app, all columns. */
    columns: { ...many(text(), { title: "Columns" }), kind: "count" as const },
    ...SIZE,
    ...STATE,
  },
  more: { app: orNull(PAGE_APP) },
  of: "app",
  isOfAll: true,
  key: "name",
  sorts: ["name", "owner", "columns", "rows", "bytes"],
  ask: ({ of, after, limit }) => ({
    ...{ app_slug: of, search: "", after_name: after, max_rows: limit },
  }),
});
export type ConsoleTable = Omit<RowsOf<typeof tableList>, "columns">;

export const TABLE_VIEW = record({
  ...{ ...NAMES, ...SIZE, ...STATE },
  /** Apps that declare the same columns: their number, and the first 100. */
  uses: many(record({ columns: many(text()), count: count(), apps: many(text()) })),
  referredToBy: many(text()),
});
export type TableView = Checked<typeof TABLE_VIEW>;

/** `isOn`: people can use the app's rules. */
export const RULES_PAGE = record({ app: PAGE_APP, isOn: flag(), tables: many(RULED) });
export const TABLE_RULES_PAGE = record({
  uses: many(record({ app: text(), definition: RULED })),
});

/** The progress when an app's use of a table ends. `rejected` if rows of another table reference its rows. */
type EndState = "waiting" | "done" | "rejected";

/**
 * Ends an app's use of the `expected` tables. Waits until the data service has deleted the rows, or until `isOverdue` is true;
 * the deletion then continues in the background.
 *
 * @throws {Problem} as `findEndedUse`
 */
export async function endRegistrationByConsole(
  deps: ConsoleActor & { isOverdue: () => boolean },
  { table, slug, expected }: { table: string; slug: string; expected: readonly string[] },
): Promise<EndState> {
  await beginEndRegistration(deps, { table, slug, expected });
  const values = { app_slug: slug, wanted: table };
  for (;;) {
    const state = await callConsole(deps, "console_find_end", values);
    if (state !== "waiting" || deps.isOverdue()) return state as EndState;
    await Bun.sleep(ROWS_WAIT_MS);
  }
}

// Keys for the Console to read and write rows of an app. They expire after `ROWS_KEY_LIFE_S`, or
// with the session that requested them. The same login reads the app's declaration of a table.

export const ROWS_PAGE = record({
  appId: text(),
  isDisabled: flag(),
  /** Whether deleted rows and changed values are stored, also without a process that shows them. */
  hasHistory: flag(),
  /** The current position of the app's changes, and the key for its cursors; `null` if live updates are off. */
  position: orNull(text()),
  cursorKey: orNull(text()),
  /** The app's current declaration of the table, or the last one. */
  definition: DEFINITION,
  /** The names of the app's tables, at most 100. */
  tableNames: many(text()),
  /** The tables that this table references, and the tables that reference it. */
  related: many(DEFINITION),
});

export type RowsKey = { text: string; endsAt: number };

type RowsUse = {
  appId: string;
  scopes: readonly Scope[];
  usedFor: string;
  /** The id of an act of several requests, which the history of rows names. */
  act?: string | undefined;
};

/** @throws {Problem} unknown_app; forbidden — the app is disabled */
export async function openRows(
  deps: ConsoleActor & { randomBytes: RandomBytes; keyPrefix: string },
  { appId, scopes, usedFor, act }: RowsUse,
): Promise<RowsKey> {
  const key = makeKeyText(deps.keyPrefix, deps.randomBytes);
  const wanted = {
    wanted: appId,
    new_key_id: key.keyId,
    new_digest: toProofDigest(toProof(key.secret)),
    key_scopes: scopes,
    used_for: usedFor,
  };
  const endsAt = await (act === undefined
    ? callConsole(deps, "console_open_rows", wanted)
    : callConsole(deps, "console_open_act", { ...wanted, of_act: act }));
  if (endsAt === null)
    throw new Problem("forbidden", {
      message: "This app is disabled: enable it to see and change its rows",
    });
  return { text: key.text, endsAt };
}

/** The key that pushed; null for an operator. */
const KEY = orNull(record({ keyId: text(), name: text() }, { title: "By" }));

/** The pushes of an app, newest first. */
export const pushList = list({
  read: "list_pushes",
  name: "pushes",
  columns: {
    seq: { ...count({ title: "Push" }), kind: "text" },
    name: text(),
    /** The comment at the top of its file. */
    head: text({ title: "Changes", label: false, csv: false }),
    statements: count({ title: "Statements", label: "statements" }),
    appliedAt: time({ title: "When", label: "applied" }),
    key: KEY,
    checksum: text({ title: "Checksum", label: false }),
  },
  more: { app: PAGE_APP, builds: many(BUILD) },
  of: "app",
  key: "seq",
  ask: ({ of, after, limit }) => ({
    ...{ app_slug: of, before_seq: after === "" ? null : Number(after), max_rows: limit },
  }),
});
export type ConsolePush = RowsOf<typeof pushList>;

/** A push with its declaration as JSON, and the declaration of the push before. */
const PUSH = record({
  seq: count(),
  name: text(),
  checksum: text(),
  appliedAt: text(),
  key: KEY,
  sql: text(),
  definition: text(),
  before: orNull(text()),
  isLast: flag(),
});
export type PushView = Checked<typeof PUSH>;

export const PUSH_PAGE = record({ app: PAGE_APP, builds: many(BUILD), push: orNull(PUSH) });

/** The pause between checks while the data service deletes rows. */
export const ROWS_WAIT_MS = 200;
