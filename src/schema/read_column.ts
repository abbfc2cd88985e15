/** Reads one column of a definition from a value of any type, independently of other columns. @module */

import { DEFAULT_LIMITS, type Details, type Json, KINDS, type Kind, VALUES } from "../kinds/mod.ts";
import { describe, quote } from "../std/quote.ts";
import { utf8Length } from "../std/text.ts";
import type { NamedColumn } from "./definition.ts";
import { type Fields, readFields } from "./fields.ts";
import type { IssueLocation, Issues } from "./issues.ts";
import { findColumnNameIssue, isReservedTable } from "./names.ts";

// Reads defaults of columns: values of the column's kind, in one notation.

type Column = { readonly kind: Kind } & Details;

/** The recorded default, or an error message. */
function readDefault(value: unknown, column: Column): { value: Json } | { issue: string } {
  const start = `Cannot use ${describe(value)} as the default of this ${column.kind} column`;
  if (value === null) return { issue: `${start}: leave out .default()` };
  const read = readOwn(value, column);
  if (read === undefined) return { issue: `${start}: ${VALUES[column.kind].default.wanted}` };
  const text = JSON.stringify(read);
  if (utf8Length(text) > DEFAULT_LIMITS.defaultBytes) {
    return { issue: `${start}: must be at most ${DEFAULT_LIMITS.defaultBytes} bytes of JSON` };
  }
  // A copy cannot change later, and turns -0 into 0, as JSON does.
  return { value: JSON.parse(text) };
}

function readOwn(value: unknown, column: Column): Json | undefined {
  const { default: rule, read } = VALUES[column.kind];
  if (rule.read !== undefined) return rule.read(value);
  if (typeof value === "string" && Object.hasOwn(rule.computed ?? {}, value)) return value;
  const result = read(value, column);
  return "value" in result ? result.value : undefined;
}

export function sumDefaults(columns: readonly { readonly default?: Json }[]): number {
  return columns.reduce(
    (sum, column) =>
      sum + (column.default === undefined ? 0 : utf8Length(JSON.stringify(column.default))),
    0,
  );
}

const COMMON_KEYS = ["name", "kind", "required", "unique", "index", "default"];
const KEYS_BY_KIND = KINDS.flatMap((kind) =>
  (VALUES[kind].details?.keys ?? []).map((key) => [kind, key] as const),
);
const ALL_KEYS = [...COMMON_KEYS, ...KEYS_BY_KIND.map(([, key]) => key)];

/** A column, or `undefined` if its name is unreadable. Adds all other errors to the list. */
export function readColumn(
  value: unknown,
  position: IssueLocation & { nth: number },
  issues: Issues,
): NamedColumn | undefined {
  const { nth, ...table } = position;
  const fields = readFields(value, { what: `column ${nth}`, allowed: ALL_KEYS, at: table }, issues);
  if (fields === undefined) return undefined;
  const name = fields.get("name");
  if (typeof name !== "string")
    return issues.add(
      table,
      `Cannot read the name of column ${nth}: must be a string, not ${describe(name)}`,
    );
  const at = { ...table, column: name };
  const nameIssue = findColumnNameIssue(name);
  if (nameIssue !== undefined) issues.add(at, nameIssue);
  return readNamedColumn(name, fields, { at, issues });
}

type Report = { readonly at: IssueLocation; readonly issues: Issues };

function readNamedColumn(name: string, fields: Fields, report: Report): NamedColumn {
  const kind = readKind(fields, report);
  if (kind === undefined) return toPlaceholder(name);
  rejectKeysOfOtherKinds(kind, fields, report);
  const flags = {
    required: readFlag("required", fields, report),
    unique: readFlag("unique", fields, report),
    index: readFlag("index", fields, report),
  };
  const { unindexed } = VALUES[kind];
  if (unindexed !== undefined && (flags.unique || flags.index))
    report.issues.add(report.at, `Cannot index a ${kind} column: ${unindexed}`);
  const add = (message: string) => report.issues.add(report.at, message);
  const details = VALUES[kind].details?.read(fields, { add, isReservedTable }) ?? {};
  const { values } = details;
  // The default of an enum without values would only cause a second error.
  if (values?.length === 0) return { name, kind, ...flags, ...details };
  return {
    name,
    kind,
    ...flags,
    ...details,
    ...readDefaultOf({ kind, ...details }, fields, report),
  };
}

/** Replaces an unreadable column, so that an index on it is not reported too. */
export function toPlaceholder(name: string): NamedColumn {
  return { name, kind: "string", required: false, unique: false, index: false };
}

function readKind(fields: Fields, { at, issues }: Report): Kind | undefined {
  const value = fields.get("kind");
  const kind = KINDS.find((kind) => kind === value);
  if (kind === undefined) {
    issues.add(at, `Cannot read kind ${describe(value)}: must be one of ${KINDS.join(", ")}`);
  }
  return kind;
}

function rejectKeysOfOtherKinds(kind: Kind, fields: Fields, { at, issues }: Report): void {
  for (const [owner, key] of KEYS_BY_KIND) {
    if (owner === kind || !fields.has(key)) continue;
    issues.add(
      at,
      `Cannot give this ${kind} column the key ${quote(key)}: only ${owner} columns have it`,
    );
  }
}

function readFlag(key: string, fields: Fields, { at, issues }: Report): boolean {
  const value = fields.get(key);
  if (typeof value === "boolean") return value;
  issues.add(at, `Cannot read ${quote(key)} ${describe(value)}: must be true or false`);
  return false;
}

function readDefaultOf(
  column: Column,
  fields: Fields,
  { at, issues }: Report,
): Pick<NamedColumn, "default"> {
  if (!fields.has("default")) return {};
  const read = readDefault(fields.get("default"), column);
  if ("value" in read) return { default: read.value };
  issues.add(at, read.issue);
  return {};
}
