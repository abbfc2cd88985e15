/** Reads defaults of columns: values of the column's kind, in one notation. @module */
import { isDecimal } from "../std/decimal.ts";
import { isObject } from "../std/is_object.ts";
import { isStorableText } from "../std/is_storable_text.ts";
import { isUuid } from "../std/is_uuid.ts";
import { readTimestamp } from "../std/timestamp.ts";
import { utf8Length } from "../std/utf8_length.ts";
import { isJsonNumber, JSON_NUMBERS, type Json, type Kind, QUOTAS } from "./definition.ts";
import { describe } from "./read_parts.ts";

/** The properties of a column that affect its default. */
type Column = { readonly kind: Kind; readonly values: readonly string[] };

type Rule = {
  readonly wanted: string;
  /** The recorded value, or `undefined` if the value is invalid. */
  readonly read: (value: unknown, column: Column) => Json | undefined;
};

const RULES: { readonly [kind in Kind]: Rule } = {
  string: {
    wanted: "must be a string without U+0000 or lone surrogates",
    read: (value) => (typeof value === "string" && isStorableText(value) ? value : undefined),
  },
  number: {
    wanted: "must be a finite number",
    read: (value) => (typeof value === "number" && Number.isFinite(value) ? value : undefined),
  },
  decimal: {
    wanted: 'must be a string of digits such as "12.50", at most 400 characters',
    read: (value) => (typeof value === "string" && isDecimal(value) ? value : undefined),
  },
  boolean: {
    wanted: "must be true or false",
    read: (value) => (typeof value === "boolean" ? value : undefined),
  },
  uuid: {
    wanted: "must be a uuid string",
    read: (value) => (typeof value === "string" && isUuid(value) ? value.toLowerCase() : undefined),
  },
  timestamp: {
    wanted: 'must be "now" or an ISO 8601 time with Z or an offset',
    read: (value) => (typeof value === "string" ? readMoment(value) : undefined),
  },
  json: {
    wanted: `must be a JSON value without U+0000 or lone surrogates, with numbers from ${JSON_NUMBERS.least} to below ${JSON_NUMBERS.below.toExponential()} in size, nested at most ${QUOTAS.defaultDepth} deep, of at most ${QUOTAS.defaultBytes} bytes`,
    read: (value) => (isJson(value) ? value : undefined),
  },
  enum: {
    wanted: "must be one of the column's values",
    read: (value, { values }) => values.find((known) => known === value),
  },
  ref: {
    wanted: "a reference cannot have a default, because the row would have to exist in every app",
    read: () => undefined,
  },
};

/** The recorded default, or an error message. */
export function readDefault(value: unknown, column: Column): { value: Json } | { issue: string } {
  const rule = RULES[column.kind];
  const start = `Cannot use ${describe(value)} as the default of this ${column.kind} column`;
  if (value === null) return { issue: `${start}: leave out .default()` };
  const read = rule.read(value, column);
  if (read === undefined) return { issue: `${start}: ${rule.wanted}` };
  const text = JSON.stringify(read);
  if (utf8Length(text) > QUOTAS.defaultBytes) {
    return { issue: `${start}: must be at most ${QUOTAS.defaultBytes} bytes of JSON` };
  }
  // A copy cannot change later, and turns -0 into 0, as JSON does.
  return { value: JSON.parse(text) };
}

/** Bytes of the columns' defaults as JSON. */
export function sumDefaults(columns: readonly { readonly default?: Json }[]): number {
  return columns.reduce(
    (sum, column) =>
      sum + (column.default === undefined ? 0 : utf8Length(JSON.stringify(column.default))),
    0,
  );
}

function readMoment(text: string): string | undefined {
  return text === "now" ? text : readTimestamp(text);
}

/** Uses a list instead of recursion, and stops at the first part that exceeds a limit or is not JSON. */
function isJson(value: unknown): value is Json {
  const left = [{ part: value, depth: 1 }];
  // Every part has at least one byte, so too many parts fail before their size is known.
  for (let seen = 0; seen < left.length; seen++) {
    const { part, depth } = left[seen] ?? { part: null, depth: 0 };
    if (isScalar(part)) continue;
    const inner = depth <= QUOTAS.defaultDepth ? readInner(part) : undefined;
    if (inner === undefined || left.length + inner.length > QUOTAS.defaultBytes) return false;
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
  if (Array.isArray(value)) return value.length > QUOTAS.defaultBytes ? undefined : [...value];
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
