/** Columns of JSON values. @module */

import { canonicalJson, isObject, tryParseJson } from "../std/json.ts";
import { jsonDepth, MAX_BODY_DEPTH } from "../std/json_depth.ts";
import { INEXACT, indentJson, parseExactJson } from "../std/json_text.ts";
import { isStorableText } from "../std/text.ts";
import type { FieldKind, Json, SqlKind, Types, Unread, ValueKind } from "./kind.ts";
import { toTextTests } from "./text_search.ts";

export type JsonTypes<Shape> = { json: Types<Shape, Shape, never> };

/** Bounds of numbers inside JSON: jsonb stores `1e131071` in a few bytes but prints all its digits. */
const JSON_NUMBERS = { least: 1e-39, below: 1e40 } as const;

/** Returns whether a number inside JSON is 0 or within the bounds. */
function isJsonNumber(value: number): boolean {
  const size = Math.abs(value);
  return size === 0 || (size >= JSON_NUMBERS.least && size < JSON_NUMBERS.below);
}

export const DEFAULT_LIMITS = {
  defaultBytes: 1024,
  /** Six levels of a request surround the default. */
  defaultDepth: (MAX_BODY_DEPTH - 6) as number,
} as const;

/** PostgreSQL cannot store U+0000 or lone surrogates. */
export const STORABLE_PATTERN = "^[^\\u0000]*$";
export const TEXT_ISSUE = "Must not contain U+0000 or a lone surrogate";

const JSON_REFERENCE = "#/components/schemas/json";

/**
 * The schema at {@linkcode JSON_REFERENCE} if a table has a json column. Client generators produce `any` only
 * if no type is set outside a condition.
 */
function makeJsonSchema() {
  const inside = { $ref: JSON_REFERENCE };
  const { least, below } = JSON_NUMBERS;
  return {
    description: "Any JSON value.",
    pattern: STORABLE_PATTERN,
    if: { type: "array" },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { items: inside },
    else: {
      propertyNames: { pattern: STORABLE_PATTERN },
      additionalProperties: inside,
      anyOf: [
        { minimum: least, exclusiveMaximum: below },
        { exclusiveMinimum: -below, maximum: -least },
        { const: 0 },
      ],
    },
  };
}

export const jsonValue: ValueKind = {
  compared: "never",
  default: {
    get wanted() {
      const { defaultBytes, defaultDepth } = DEFAULT_LIMITS;
      return `must be a JSON value without U+0000 or lone surrogates, with numbers from ${JSON_NUMBERS.least} to below ${JSON_NUMBERS.below.toExponential()} in size, nested at most ${defaultDepth} deep, of at most ${defaultBytes} bytes`;
    },
    read: (value) => (isJson(value) ? value : undefined),
  },
  read: (value) => {
    const issue = findIssue(value);
    // Without INEXACT markers, parsed JSON is valid JSON.
    return issue === undefined ? { value: value as Json } : { issue };
  },
  fromCsv: parseCell,
  unindexed: "an index cannot search inside JSON",
  // A stored value can have numbers that a write rejects, such as after a conversion.
  archived: "rounded",
  schema: () => ({ description: "Any JSON value.", $ref: JSON_REFERENCE }),
  components: () => ({ json: makeJsonSchema() }),
  sample: () => ({}),
  operators: ["ilike"],
};

/** The list of rows and the row are two levels of a request. */
const MAX_CELL_DEPTH = MAX_BODY_DEPTH - 2;
const NOT_JSON = { issue: "Must be JSON" };

export function parseCell(text: string): Unread {
  if (jsonDepth(text) > MAX_CELL_DEPTH) return NOT_JSON;
  try {
    return { value: parseExactJson(text) };
  } catch {
    return NOT_JSON; // the parser's own message quotes the text
  }
}

function findIssue(value: unknown): string | undefined {
  if (value === INEXACT)
    return "A JavaScript number cannot hold this value exactly: send it as a string";
  if (typeof value === "string") return isStorableText(value) ? undefined : TEXT_ISSUE;
  if (typeof value === "number")
    return isJsonNumber(value)
      ? undefined
      : `Must be 0, or at least ${JSON_NUMBERS.least} and less than ${JSON_NUMBERS.below.toExponential()}, with either sign: send it as a string`;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const issue = isStorableText(key) ? findIssue(inner) : TEXT_ISSUE;
    if (issue !== undefined) return issue;
  }
  return undefined;
}

/** Uses a list instead of recursion, and stops at the first part that exceeds a limit or is not JSON. */
function isJson(value: unknown): value is Json {
  const left = [{ part: value, depth: 1 }];
  // Every part has at least one byte, so too many parts fail before their size is known.
  for (let seen = 0; seen < left.length; seen++) {
    const { part, depth } = left[seen] ?? { part: null, depth: 0 };
    if (isScalar(part)) continue;
    const inner = depth <= DEFAULT_LIMITS.defaultDepth ? readInner(part) : undefined;
    if (inner === undefined || left.length + inner.length > DEFAULT_LIMITS.defaultBytes)
      return false;
    left.push(...inner.map((item) => ({ part: item, depth: depth + 1 })));
  }
  return true;
}

function isScalar(value: unknown): boolean {
  if (typeof value === "string") return isStorableText(value);
  if (typeof value === "number") return isJsonNumber(value);
  return value === null || typeof value === "boolean";
}

/** The parts of an array or a plain object, or `undefined` for anything else. */
function readInner(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value))
    return value.length > DEFAULT_LIMITS.defaultBytes ? undefined : [...value];
  if (!isObject(value) || !isPlain(value)) return undefined;
  const entries = Object.entries(value);
  return entries.every(([key]) => isStorableText(key))
    ? entries.map(([, item]) => item)
    : undefined;
}

/** Returns whether JSON.stringify writes exactly the object's own keys: not a Date, a Map or a class instance. */
function isPlain(value: object): boolean {
  const parent: unknown = Object.getPrototypeOf(value);
  return parent === null || Object.getPrototypeOf(parent) === null;
}

export const jsonSql: SqlKind = {
  type: { name: "pg_catalog.jsonb", printed: "jsonb" },
  width: 0,
  // In jsonb each one-digit number has 16 bytes.
  storedBytes: (bytes) => 8 * bytes,
  size: "pg_column_size",
  comparedAs: 'not, but a text is found in JSON as PostgreSQL prints it: `{"a": [1, "b"]}`',
  compared: (name) => `${name}::pg_catalog.text collate pg_catalog."C"`,
  comparedType: "pg_catalog.text",
  isJson: true,
  isPrintedAsGiven: true,
  defaultText: canonicalJson,
  printedText: (text) => canonicalJson(JSON.parse(text)),
  toText: (value) => `(${value} #>> '{}')`,
  // A list or an object has no text.
  hasText: (value) => `pg_catalog.jsonb_typeof(${value}) not in ('array', 'object')`,
  fromText: {
    check: (text, { before }) => before.jsonCheck?.(text) ?? "true",
    toValue: (text, { before }) => `pg_catalog.to_jsonb(${before.jsonInput?.(text) ?? text})`,
  },
  // Its strings and its numbers can have the same text.
  reversible: [],
};

/** No column accepts this value. The endpoint stores nothing, and also reports the issues of the other fields. */
export const NEVER_ACCEPTED = '"\\ud800"';

export const jsonField: FieldKind = {
  label: "JSON",
  sign: "{ }",
  expected: () => "JSON that can be stored",
  hint: 'Such as {"a": 1}, or "text" with quotes',
  control: "json",
  toText: (_, json) => indentJson(json),
  toJson: (text) => (tryParseJson(text) === undefined ? NEVER_ACCEPTED : text),
  cell: "json",
  search: { operators: ["contains"], toTests: toTextTests },
};
