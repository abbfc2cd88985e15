/** Pushes of an app. @module */
import { type Checked, count, flag, many, orNull, record, text, time } from "../actions/columns.ts";
import { list, type RowsOf } from "../actions/list.ts";
import { BUILD, PAGE_APP } from "./tables.ts";

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
