/** Columns of one of several strings, which sort in their declared order. @module */
import { describe, quoteLiteral } from "../std/quote.ts";
import { isStorableText, utf8Length } from "../std/text.ts";
import type { Compare, DetailsReport, FieldKind, SqlKind, Types, ValueKind } from "./kind.ts";
import { ORDERED, SEARCHED_BY_ORDER } from "./operators.ts";

export type EnumTypes<Value> = { enum: Types<Value> };

export const ENUM_LIMITS = { enumValues: 100, enumValueBytes: 63 } as const;

const DROPPED = "dropped by migration ";

/** The new label of a dropped enum value: PostgreSQL cannot delete labels. */
export function toDroppedValue(seq: number): string {
  return `${DROPPED}${seq}`;
}

export function isDroppedValue(label: string): boolean {
  return label.startsWith(DROPPED);
}

export const enumValue: ValueKind = {
  details: {
    keys: ["values"],
    read: (fields, report) => ({ values: readValues(fields.get("values"), report) }),
  },
  compared: "values",
  default: { wanted: "must be one of the column's values" },
  read: (value, { values = [] }) =>
    typeof value === "string" && values.includes(value)
      ? { value }
      : { issue: `Must be one of ${values.map((known) => JSON.stringify(known)).join(", ")}` },
  hasEmpty: ({ values = [] }) => values.includes(""),
  schema: ({ values = [] }) => ({ type: "string", enum: [...values] }),
  sample: ({ values = [] }) => values[0],
  operators: ORDERED,
};

function readValues(list: unknown, { add }: DetailsReport): readonly string[] {
  const issue = findListIssue(list);
  if (issue !== undefined) add(issue);
  const values: string[] = [];
  for (const item of Array.isArray(list) && issue === undefined ? list : []) {
    const issue = findValueIssue(item, values);
    if (issue === undefined) values.push(item);
    else add(`Cannot use enum value ${describe(item)}: ${issue}`);
  }
  return values;
}

function findListIssue(list: unknown): string | undefined {
  if (!Array.isArray(list)) return `Cannot read enum values: must be a list, not ${describe(list)}`;
  if (list.length > ENUM_LIMITS.enumValues)
    return `Cannot use ${list.length} enum values: at most ${ENUM_LIMITS.enumValues} are allowed`;
  return list.length === 0
    ? "Cannot use an enum without values: must have at least one"
    : undefined;
}

function findValueIssue(value: unknown, earlier: readonly string[]): string | undefined {
  if (typeof value !== "string") return "must be a string";
  if (!isStorableText(value)) return "must not contain U+0000 or lone surrogates";
  const bytes = utf8Length(value);
  if (bytes < 1 || bytes > ENUM_LIMITS.enumValueBytes) {
    return `must be 1 to ${ENUM_LIMITS.enumValueBytes} bytes of UTF-8, not ${bytes}`;
  }
  if (isDroppedValue(value)) return "the name is reserved for values that were dropped";
  return earlier.includes(value) ? "it is listed twice" : undefined;
}

export const enumCompare: Compare = (a, b, { values = [] }) =>
  values.indexOf(`${a}`) - values.indexOf(`${b}`);

export const enumSql: SqlKind = {
  type: undefined,
  comparedAs: "in the order in which the values are declared",
  width: 8,
  storedBytes: () => 4,
  isPrintedAsGiven: true,
  placeholders: (_, value = "value") => ({ values: [value as string] }),
  fromText: {
    check: (text, { column: { values = [] } }) =>
      `${text} in (${values.map(quoteLiteral).join(", ")})`,
    toValue: (text, { type }) => `${text}::${type}`,
  },
  reversible: ["string", "json"],
};

export const enumField: FieldKind = {
  label: "choice",
  sign: "a|b",
  expected: ({ values = [] }) => `one of ${values.join(", ")}`,
  control: "choice",
  choices: ({ values = [] }) => values,
  cell: "pill",
  search: { operators: SEARCHED_BY_ORDER },
};
