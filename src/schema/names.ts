/** Rules for the names of tables and columns. Reports why a name is invalid; never corrects a name. @module */

import { TABLE_PATTERN } from "../std/patterns.ts";
import { quote } from "../std/quote.ts";

/** Tables that are reserved organization-wide. */
export const RESERVED_TABLES = ["users", "files", "notifications", "audit_log"] as const;
/** Columns of every table. Schemas do not declare them. */
export const AUTOMATIC_COLUMNS = ["id", "app_id"] as const;
/** Columns that PostgreSQL adds to every table. @see https://www.postgresql.org/docs/current/ddl-system-columns.html */
export const SYSTEM_COLUMNS = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid", "oid"] as const;
/** Keys with a meaning on every JavaScript object, or that make it a promise. */
export const TRAP_COLUMNS = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "valueOf",
  "hasOwnProperty",
  "toJSON",
  "then",
] as const;

const TABLE = new RegExp(TABLE_PATTERN);
const COLUMN = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;

type Rule = { readonly rejects: (name: string) => boolean; readonly reason: string };

const TABLE_RULES: readonly Rule[] = [
  {
    rejects: (name) => !TABLE.test(name),
    reason: "must be 1 to 48 lowercase letters, digits or underscores, starting with a letter",
  },
  { rejects: (name) => name.includes("__"), reason: "must not contain two underscores in a row" },
  { rejects: isReservedTable, reason: "the name is reserved organization-wide; choose another" },
];

// The rules for PostgreSQL's names ignore case: SQL without quotes folds names. JavaScript names are special only in their
// exact spelling.
const COLUMN_RULES: readonly Rule[] = [
  {
    rejects: (name) => isOneOf(AUTOMATIC_COLUMNS, foldName(name)),
    reason: "every table already has it; leave it out",
  },
  {
    rejects: (name) => isOneOf(SYSTEM_COLUMNS, foldName(name)),
    reason: "the name is reserved by PostgreSQL; choose another",
  },
  {
    rejects: (name) => isOneOf(TRAP_COLUMNS, name),
    reason: "the name has a special meaning in JavaScript; choose another",
  },
  {
    rejects: (name) => !COLUMN.test(name),
    reason: "must be 1 to 63 letters, digits or underscores, not starting with a digit",
  },
];

export function findTableNameIssue(name: string): string | undefined {
  return findIssue("table", TABLE_RULES, name);
}

export function findColumnNameIssue(name: string): string | undefined {
  return findIssue("column", COLUMN_RULES, name);
}

export function isReservedTable(name: string): boolean {
  return isOneOf(RESERVED_TABLES, name);
}

export function foldName(name: string): string {
  return name.toLowerCase();
}

function findIssue(thing: string, rules: readonly Rule[], name: string): string | undefined {
  const broken = rules.find((rule) => rule.rejects(name));
  return broken && `Cannot name a ${thing} ${quote(name)}: ${broken.reason}`;
}

function isOneOf(names: readonly string[], name: string): boolean {
  return names.includes(name);
}
