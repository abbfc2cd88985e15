/**
 * Reads values of requests and files with one reader per column kind. Finds all errors: PostgreSQL would report only the
 * first.
 *
 * @module
 */
import { isJsonNumber, JSON_NUMBERS, type Json, type Kind, type NamedColumn } from "../dsl/mod.ts";
import { isDecimal } from "../std/decimal.ts";
import { INEXACT } from "../std/exact_json.ts";
import { isStorableText } from "../std/is_storable_text.ts";
import { isUuid } from "../std/is_uuid.ts";
import { readTimestamp } from "../std/timestamp.ts";

/** The error for null in a required column, found here or by the database. */
export const REQUIRED = "Must not be null: the column is required";

/** A value for the database, or an error. */
export type Read = { value: Json } | { issue: string };

const INEXACT_ISSUE = "A JavaScript number cannot hold this value exactly: use t.decimal()";
const INEXACT_JSON_ISSUE =
  "A JavaScript number cannot hold this value exactly: send it as a string";
const SIZE_ISSUE = `Must be 0, or at least ${JSON_NUMBERS.least} and less than ${JSON_NUMBERS.below.toExponential()}, with either sign: send it as a string`;
const TEXT_ISSUE = "Must not contain U+0000 or a lone surrogate";

const READERS: Readonly<Record<Kind, (value: unknown, column: NamedColumn) => Read>> = {
  string: readString,
  number: readNumber,
  decimal: (value) =>
    typeof value === "string" && isDecimal(value)
      ? { value }
      : {
          issue: 'Must be a decimal number as a string, such as "12.50", of at most 400 characters',
        },
  boolean: (value) => (typeof value === "boolean" ? { value } : { issue: "Must be true or false" }),
  uuid: readUuid,
  ref: readUuid,
  timestamp: readTime,
  json: readJson,
  enum: (value, column) =>
    typeof value === "string" && column.values?.includes(value) === true
      ? { value }
      : {
          issue: `Must be one of ${(column.values ?? []).map((value) => JSON.stringify(value)).join(", ")}`,
        },
};

/** Reads one value of a column; `null` clears an optional column. */
export function readValue(value: unknown, column: NamedColumn): Read {
  if (value !== null) return READERS[column.kind](value, column);
  return column.required ? { issue: REQUIRED } : { value };
}

function readString(value: unknown): Read {
  if (typeof value !== "string") return { issue: "Must be a string" };
  return isStorableText(value) ? { value } : { issue: TEXT_ISSUE };
}

function readNumber(value: unknown): Read {
  if (value === INEXACT) return { issue: INEXACT_ISSUE };
  return typeof value === "number" ? { value } : { issue: "Must be a number" };
}

function readUuid(value: unknown): Read {
  return typeof value === "string" && isUuid(value)
    ? { value: value.toLowerCase() }
    : { issue: "Must be a uuid" };
}

function readTime(value: unknown): Read {
  const text = typeof value === "string" ? readTimestamp(value) : undefined;
  if (text !== undefined) return { value: text };
  return {
    issue:
      'Must be an existing date and time with seconds, max 9 fraction digits, and Z or an offset below 16:00, such as "2026-01-02T03:04:05.123456Z"',
  };
}

function readJson(value: unknown): Read {
  const issue = findJsonIssue(value);
  // Without INEXACT markers, parsed JSON is valid JSON.
  return issue === undefined ? { value: value as Json } : { issue };
}

function findJsonIssue(value: unknown): string | undefined {
  if (value === INEXACT) return INEXACT_JSON_ISSUE;
  if (typeof value === "string") return isStorableText(value) ? undefined : TEXT_ISSUE;
  if (typeof value === "number") return isJsonNumber(value) ? undefined : SIZE_ISSUE;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const issue = isStorableText(key) ? findJsonIssue(inner) : TEXT_ISSUE;
    if (issue !== undefined) return issue;
  }
  return undefined;
}
