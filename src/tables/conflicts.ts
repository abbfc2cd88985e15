/**
 * The sentences about declarations and changes that do not fit, each whole, so that a user's message can be found by its
 * text. Pure.
 *
 * @module
 */

import { QUOTAS } from "../schema/mod.ts";
import { showCount } from "../std/count.ts";
import { quote } from "../std/quote.ts";
import { quoteForShell } from "../std/quote_shell.ts";
import { type Change, showChange } from "./plan/change.ts";

/** A part of a declaration that does not fit. The remedy is printed once per table. */
export type Conflict = Sentence & { table: string; column?: string };
type Sentence = { message: string; remedy: string };

/** The declared part and the actual part, each with its article. */
export type Compared = { wanted: string; found: string };

export const RULES = {
  previewOff: {
    message: "The schema declares rules for people, but this service does not have the preview",
    remedy: "the operator must set PREVIEW=browser and restart; or remove the rules",
  },
  broken: (issue: string) => ({
    message: issue,
    remedy: "correct the rules",
  }),
};

/** Conflicts of a declaration by the owner of the table. */
export const OWN = {
  leftOut: {
    message:
      "The schema declares no such column, but the table has a required column without a default, which every create must fill",
    remedy:
      "declare it again, or first push it with a default or as optional, or run rowhouse db rename or rowhouse db drop",
  },
  unfillable: {
    message:
      "The schema declares a new required column without a default, but the table has no value for it in existing rows",
    remedy: "give it a default, or make it optional",
  },
  otherReference: ({ wanted, found }: Compared) => ({
    message: `The schema declares ${wanted}, but the table has ${found}`,
    remedy: "keep it as it is, and add a column under another name",
  }),
  sharedOnDelete: ({ wanted, found }: Compared) => ({
    message: `The schema declares ${wanted}, but the table has ${found}, and other apps use the table`,
    remedy: "onDelete can change only while no other app uses the table",
  }),
  largeOnDelete: ({ wanted, found }: Compared) => ({
    message: `The schema declares ${wanted}, but the table has ${found}, and is too large to validate another reference in a push`,
    remedy: "keep it as it is, and add a column under another name",
  }),
  otherType: ({ wanted, found }: Compared) => ({
    message: `The schema declares ${wanted}, but the table has ${found}`,
    remedy:
      "keep it as it is, and add a column under another name; or convert it with rowhouse db retype",
  }),
  otherValues: ({ wanted, found }: Compared) => ({
    message: `The schema declares ${wanted}, but the table has ${found}`,
    remedy:
      "keep all existing values in their order; new values can go anywhere; or drop values with rowhouse db drop-value",
  }),
  droppedValues: ({
    table,
    column,
    values,
  }: {
    table: string;
    column: string;
    values: readonly string[];
  }) => ({
    message: `The schema does not declare ${values.map((value) => JSON.stringify(value)).join(", ")}, which the enum of the table has`,
    remedy: `declare ${values.length === 1 ? "it" : "them"} again, or drop each value that no row has: ${values.map((value) => `rowhouse db drop-value ${quoteForShell(`${table}.${column}`)} ${quoteForShell(value)}`).join("; ")}`,
  }),
  newValueAsDefault: (now: string, before: string) => ({
    message: `The schema declares ${now}, but the table has an enum without that value`,
    // The same advice for a join: diverged histories reject pushes, and the join adds the value.
    remedy: `declare ${before} first, and ${now} in a later push`,
  }),
  sharedRequired: {
    message:
      "The schema declares a required column, but the table has an optional column, and other apps use the table",
    remedy: "an optional column can become required only while no other app uses the table",
  },
  overgrown: (wanted: string, max: number) => ({
    message: `The schema declares ${wanted}, but the table has a limit of ${max}, including those no longer declared`,
    remedy:
      "pushed columns and indexes count toward the limit even if no longer declared: use another table",
  }),
  sameFolded: (other: string) => ({
    message: `The schema declares this column, but the table has the column ${other}, which differs only in case`,
    remedy: `declare ${other} instead, or use another name`,
  }),
  deferredDefaults: (bytes: number) => ({
    message: `The schema declares defaults of ${bytes} stored bytes in columns added while other apps use the table, but the table has a limit of ${QUOTAS.deferredDefaultBytes}, including those no longer declared`,
    remedy: "use shorter defaults, or leave them out and make the columns optional",
  }),
  sharedUnique: (columns: string) => ({
    message: `The schema declares a unique constraint on (${columns}), but the table has other apps that use it`,
    remedy: "a unique constraint can be added only while no other app uses the table",
  }),
  sharedDefault: (wanted: string) => ({
    message: `The schema declares ${wanted}, but the table has a unique constraint on this column, and other apps use the table`,
    remedy:
      "the default of a column in a unique constraint can change only while no other app uses the table",
  }),
  declaredByOther: ({ wanted, found }: Compared) => ({
    message: `The schema declares ${wanted}, but the table has ${found}`,
    remedy: "keep it, because another app declares it",
  }),
};

/** Conflicts of a declaration for a table of another app. A part that the app never declared is not shown. */
export const FOREIGN = {
  different: (owner: string, { wanted, found }: Compared) => ({
    message: `The schema declares ${wanted}, but the table has ${found}`,
    remedy: declareAs(owner),
  }),
  hidden: (owner: string, wanted: string) => ({
    message: `The schema declares ${wanted}, which does not fit the table`,
    remedy: declareAs(owner),
  }),
  fewerValues: (owner: string, wanted: string) => ({
    message: `The schema declares ${wanted}, which are not all values of the column`,
    remedy: `declare all values, as its owner "${owner}" does, because rows of this app can have any of them`,
  }),
  undeclared: (owner: string, wanted: string) => ({
    message: `The schema declares ${wanted}, which the table's owner "${owner}" does not declare`,
    remedy: `leave it out, ask "${owner}" to declare it, or choose another table name`,
  }),
  unshared: {
    message:
      "The schema declares this table for this app only, which is not possible: another app of this service owns the name",
    remedy:
      'choose another table name, or share the table: push without --no-share, and without "share": false in rowhouse.json',
  },
};

function declareAs(owner: string): string {
  return `declare it as its owner "${owner}" does, ask "${owner}" to change it, or choose another table name`;
}

/** Conflicts with the limits of an app. */
export const TOO_MANY = {
  tables: (count: number) => ({
    message: `The schema declares ${count} tables, but an app has at most ${QUOTAS.tables}, including those no longer declared`,
    remedy: "use fewer tables",
  }),
  references: (count: number, target: string) => ({
    message: `The schema declares ${count} references to ${target}, but an app has at most ${QUOTAS.referencesPerTarget} to one table, including those no longer declared`,
    remedy: FEWER,
  }),
  foreignReferences: (count: number, target: string) => ({
    message: `The schema declares ${count} references to ${target}, but an app has at most ${QUOTAS.referencesToForeignTable} to a table of another app`,
    remedy: FEWER,
  }),
  referencesOfOthers: (added: number, target: string) => ({
    message: `The schema declares ${showCount(added, "more reference")} to ${target}, but that table has at most ${QUOTAS.referencesPerTarget} from tables of other apps than its owner`,
    remedy: FEWER,
  }),
};
const FEWER = "refer to it from fewer columns";

/** Conflicts of a join: the service has a part that the project does not declare. */
export const SURPLUS = {
  part: (wanted: string) => ({
    message: `The schema declares ${wanted}, but the service has one`,
    remedy: DECLARE,
  }),
  values: ({ wanted, found }: Compared) => ({
    message: `The schema declares ${wanted}, but the service has ${found}`,
    remedy: DECLARE,
  }),
};
const DECLARE = "declare it in the schema, or remove it at the service first";

/** Why an explicit change is not possible. No reason names another app. */
export const REASONS = {
  noTable: ({ table }: Change) => `this app owns no table ${table}`,
  retypeBegun: (table: string, begun: Change) =>
    `a retype in ${table} is not finished: ${showChange(begun)}; run it again, or retype the column to its current type`,
  retypeCanceled: "another request has canceled it",
  noColumn: ({ table, column }: OfColumn) => `${table} has no column ${column}`,
  nameUsed: (to: string) => `the name ${to} is in use`,
  sameType: ({ table, column }: OfColumn, kind: string) =>
    `${table}.${column} already has the type ${kind}`,
  isDeclared: (name: string) => `the migration's definition declares ${name}; restore the file`,
  isReference: ({ table, column }: OfColumn) =>
    `${table}.${column} is a reference; add a column, copy the values, and drop ${table}.${column}`,
  unindexed: ({ table, column }: OfColumn, kind: string) =>
    `${table}.${column} is in an index or unique constraint, which cannot contain ${kind}`,
  inUnique: ({ table, column }: OfColumn) =>
    `${table}.${column} is in a unique constraint of a large or shared table; add a column, copy the values, and drop ${table}.${column}`,
  defaultBytes: ({ table }: OfColumn, bytes: number) =>
    `the defaults of ${table} would have ${bytes} bytes; the max is ${QUOTAS.tableDefaultBytes}`,
  requiredByOthers: ({ table }: OfColumn) =>
    `other apps use ${table} without this required column; give it a default`,
  deferredDefaults: (bytes: number) =>
    `defaults of ${bytes} stored bytes in columns added while other apps use the table, but there is a limit of ${QUOTAS.deferredDefaultBytes}, including those no longer declared`,
  sameName: ({ table, column }: OfColumn) => `${table}.${column} already has this name`,
  columnExists: ({ table }: OfColumn, column: string) => `${table} already has a column ${column}`,
  indexName: ({ table }: OfColumn) => `an index of ${table} would get the name of another index`,
  // Also an app that no longer declares it: its use ends by rowhouse admin end-registration.
  tableUsed: (table: string) => `another app uses ${table}, or has not ended its use`,
  columnUsed: ({ table, column }: OfColumn) =>
    `another app uses ${table}.${column}, or has not ended its use of ${table}`,
  referred: (reference: string) => `${reference} refers to it; drop ${reference} first`,
  noValue: ({ table, column }: OfColumn, value: string) =>
    `${table}.${column} has no value ${quote(value)}`,
  isDefault: "it is the default; push another default first",
  onlyValue: "it is the only value; drop the column instead",
  valueUsed: (counts: RowCounts) => `${showAffected(counts)} this value; store another value first`,
  unconverted: (counts: RowCounts) =>
    `${showAffected(counts)} a value that does not convert; change these values first`,
};
type OfColumn = { table: string; column: string };
/** The beginning of a sentence about the affected rows, up to its verb. */
export function showAffected({ rows, values }: RowCounts, place = ""): string {
  const all = [`this app's ${showCount(rows, "row")}`, place].filter((part) => part !== "");
  return `${values} of ${all.join(" ")} ${values === 1 ? "has" : "have"}`;
}

/** The app's rows in a table, and the number of rows that a change affects. */
export type RowCounts = { rows: number; values: number };

/** Why existing rows block a push. */
export const BROKEN = {
  unique: {
    message: "existing rows share values that a new unique constraint would forbid",
    remedy: "change or delete the duplicates, or leave the constraint out",
  },
  required: {
    message: "existing rows lack a value that would become required",
    remedy: "give every row a value first, or leave the column optional",
  },
  reference: {
    message: "existing rows refer to rows that do not exist",
    remedy: "leave the reference out",
  },
  value: {
    message: "existing rows violate a rule of this push",
    remedy: "leave the column as it was",
  },
} satisfies Record<string, Sentence>;

/** Why a push is not possible as a whole. */
export const REJECTIONS = {
  declarations: (count: number) =>
    `Cannot push: ${count} ${count === 1 ? "declaration does" : "declarations do"} not fit the tables; nothing was written`,
  differences: (count: number) =>
    `Cannot join the histories: ${count} ${count === 1 ? "difference" : "differences"} would remain between the service and the project; nothing was written`,
  change: (change: Change, reason: string) =>
    `Cannot ${showChange(change)}: ${reason}; nothing was written`,
  rows: ({ message, remedy }: Sentence) =>
    `Cannot push: ${message}; nothing was written. To continue, ${remedy}`,
  valueInUse:
    "Cannot drop this value: rows of this app or another app have it; nothing was written. Give them another value first",
  valueUnconverted:
    "Cannot retype this column: a new row has a value that does not convert; nothing was written",
  drifted:
    "Cannot push: the database differs from the record of pushes; nothing was written. An operator can list the differences with rowhouse db status",
  moved:
    "Cannot join the histories: the service has changed since the comparison; nothing was written. Run the command again",
};
