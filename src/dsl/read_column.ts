/** Reads one column of a definition from a value of any type, independently of other columns. @module */
import { isStorableText } from "../std/is_storable_text.ts";
import { quote } from "../std/quote.ts";
import { utf8Length } from "../std/utf8_length.ts";
import { KINDS, type Kind, type NamedColumn, QUOTAS } from "./definition.ts";
import type { IssueLocation, Issues } from "./issues.ts";
import { findColumnNameIssue, isDroppedValue, isReservedTable } from "./names.ts";
import { readDefault } from "./read_default.ts";
import { describe, type Fields, readFields, readList } from "./read_parts.ts";

const COMMON_KEYS = ["name", "kind", "required", "unique", "index", "default"];
/** The parts of a column that only its kind has: their keys, and how they are read. */
type KindParts = {
  readonly keys: readonly string[];
  readonly read: (fields: Fields, report: Report) => Details;
};
type Details = Pick<NamedColumn, "values" | "table" | "onDelete">;
const PLAIN: KindParts = { keys: [], read: () => ({}) };
const PARTS: Readonly<Record<Kind, KindParts>> = {
  string: PLAIN,
  number: PLAIN,
  decimal: PLAIN,
  boolean: PLAIN,
  uuid: PLAIN,
  timestamp: PLAIN,
  json: PLAIN,
  enum: {
    keys: ["values"],
    read: (fields, report) => ({ values: readValues(fields.get("values"), report) }),
  },
  ref: {
    keys: ["table", "onDelete"],
    read: (fields, report) => ({ ...readTarget(fields, report), ...readOnDelete(fields, report) }),
  },
};
const KEYS_BY_KIND = Object.entries(PARTS).flatMap(([kind, { keys }]) =>
  keys.map((key) => [kind, key] as const),
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
  if (typeof name !== "string") {
    issues.add(
      table,
      `Cannot read the name of column ${nth}: must be a string, not ${describe(name)}`,
    );
    return undefined;
  }
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
  if (kind === "json" && (flags.unique || flags.index)) {
    report.issues.add(report.at, "Cannot index a json column: an index cannot search inside JSON");
  }
  const details = PARTS[kind].read(fields, report);
  const { values = [] } = details;
  // The default of an enum without values would only cause a second error.
  if (kind === "enum" && values.length === 0) return { name, kind, ...flags, ...details };
  return { name, kind, ...flags, ...details, ...readDefaultOf({ kind, values }, fields, report) };
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

function readValues(value: unknown, { at, issues }: Report): readonly string[] {
  const list = readList(value, { what: "enum values", max: QUOTAS.enumValues, at }, issues);
  if (list?.length === 0)
    issues.add(at, "Cannot use an enum without values: must have at least one");
  const values: string[] = [];
  for (const item of list ?? []) {
    const issue = findValueIssue(item, values);
    if (issue === undefined && typeof item === "string") values.push(item);
    else issues.add(at, `Cannot use enum value ${describe(item)}: ${issue}`);
  }
  return values;
}

function findValueIssue(value: unknown, earlier: readonly string[]): string | undefined {
  if (typeof value !== "string") return "must be a string";
  if (!isStorableText(value)) return "must not contain U+0000 or lone surrogates";
  const bytes = utf8Length(value);
  if (bytes < 1 || bytes > QUOTAS.enumValueBytes) {
    return `must be 1 to ${QUOTAS.enumValueBytes} bytes of UTF-8, not ${bytes}`;
  }
  if (isDroppedValue(value)) return "the name is reserved for values that were dropped";
  return earlier.includes(value) ? "it is listed twice" : undefined;
}

function readTarget(fields: Fields, { at, issues }: Report): Details {
  const table = fields.get("table");
  if (typeof table !== "string") {
    issues.add(at, `Cannot refer to ${describe(table)}: must be the name of a table`);
    return {};
  }
  if (isReservedTable(table)) {
    issues.add(at, `Cannot refer to ${quote(table)}: the name is reserved organization-wide`);
    return {};
  }
  return { table };
}

function readOnDelete(fields: Fields, { at, issues }: Report): Details {
  if (!fields.has("onDelete")) return {};
  const onDelete = fields.get("onDelete");
  if (onDelete === "cascade") return { onDelete };
  issues.add(at, `Cannot read onDelete ${describe(onDelete)}: must be "cascade" or left out`);
  return {};
}

function readDefaultOf(
  column: { kind: Kind; values: readonly string[] },
  fields: Fields,
  { at, issues }: Report,
): Pick<NamedColumn, "default"> {
  if (!fields.has("default")) return {};
  const read = readDefault(fields.get("default"), column);
  if ("value" in read) return { default: read.value };
  issues.add(at, read.issue);
  return {};
}
