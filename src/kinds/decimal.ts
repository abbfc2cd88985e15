/** Columns of exact decimals. @module */
import { DECIMAL_MAX_CHARS, decimalParts, isDecimal } from "../std/decimal.ts";
import type { Compare, FieldKind, SearchParts, SqlKind, Types, ValueKind } from "./kind.ts";
import {
  DOUBLE_ENDS,
  isDecimalSql,
  KEY_PART,
  NUMERIC,
  NUMERIC_TO_DOUBLE,
  SEARCHED_NUMBER,
  toNumericBytes,
  toPlainNumber,
} from "./number.ts";
import { AGGREGATES, ORDERED, SEARCHED_BY_ORDER } from "./operators.ts";
import { compareTexts } from "./text_parts.ts";

export type DecimalTypes = {
  /** A column of exact decimals, as strings such as `"12.50"`. */
  decimal: Types<string>;
};

export const decimalValue: ValueKind = {
  default: { wanted: 'must be a string of digits such as "12.50", at most 400 characters' },
  read: (value) =>
    typeof value === "string" && isDecimal(value)
      ? { value }
      : {
          issue: 'Must be a decimal number as a string, such as "12.50", of at most 400 characters',
        },
  fromCsv: (text, { readNumber }) => readNumber(text),
  archived: "decimals",
  toKey: (value) => ({ ...decimalParts(String(value)) }),
  schema: () => ({
    type: "string",
    format: "decimal",
    pattern: "^-?[0-9]+(\\.[0-9]+)?$",
    maxLength: DECIMAL_MAX_CHARS,
    description: "A decimal number as a string, which preserves every digit.",
  }),
  formatName: ["decimal", "decimal, as a string"],
  sample: () => "12.50",
  operators: ORDERED,
  aggregates: AGGREGATES,
};

const DECIMAL = /^(-?)0*(\d*?)(?:\.(\d*?)0*)?$/;

export const decimalCompare: Compare = (a, b) => {
  const [left, right] = [a, b].map((value) => {
    const [, sign = "", whole = "", fraction = ""] = DECIMAL.exec(`${value}`) ?? [];
    return { isNegative: sign === "-" && whole + fraction !== "", whole, fraction };
  });
  if (left === undefined || right === undefined) return 0;
  if (left.isNegative !== right.isNegative) return left.isNegative ? -1 : 1;
  const larger =
    left.whole.length - right.whole.length ||
    compareTexts(left.whole, right.whole) ||
    compareTexts(left.fraction, right.fraction);
  return left.isNegative ? -larger : larger;
};

/** Powers of ten between which a decimal has a double next to it. Others are as 0, or as infinity. */
const DOUBLE_POWERS = { lowest: -300, highest: 308 } as const;
// As functions, so that a bundler omits them from the client.
const printLowest = () => `0.${"0".repeat(-DOUBLE_POWERS.lowest - 1)}1`;
const printHighest = () => `1${"0".repeat(DOUBLE_POWERS.highest)}`;

/** A decimal that PostgreSQL converts to the same double as the key of that decimal: the database rounds, by one function. */
function toRounded(value: string): string {
  const [, sign = "", whole = "", fraction = ""] = DECIMAL.exec(value) ?? [];
  if (whole.length > DOUBLE_POWERS.highest) return `${sign}infinity`;
  const zeros = /^0*/.exec(fraction)?.[0].length ?? 0;
  return whole === "" && zeros >= -DOUBLE_POWERS.lowest ? "0" : value;
}

const toEdge = (value: string) => ({ value: toRounded(value), isExact: false });

/**
 * A decimal by the double next to it: rounding never reverses an order. The decimal itself tells apart those that share a double,
 * but its comparisons are not leakproof.
 */
const parts: SearchParts = {
  start: KEY_PART,
  tested: KEY_PART,
  key: {
    render: (value) => `case
    when pg_catalog.abs(${value}) operator(pg_catalog.>=) '${printLowest()}'::pg_catalog.numeric
      and pg_catalog.abs(${value}) operator(pg_catalog.<) '${printHighest()}'::pg_catalog.numeric then ${value}::pg_catalog.float8
    when ${value} operator(pg_catalog.>) '1'::pg_catalog.numeric then 'infinity'::pg_catalog.float8
    when ${value} operator(pg_catalog.<) '-1'::pg_catalog.numeric then '-infinity'::pg_catalog.float8
    when ${value} is not null then '0'::pg_catalog.float8 end`,
    printed: (value) =>
      `CASE WHEN ((abs(${value}) >= ${printLowest()}) AND (abs(${value}) < '${printHighest()}'::numeric)) THEN (${value})::double precision WHEN (${value} > '1'::numeric) THEN 'Infinity'::double precision WHEN (${value} < '-1'::numeric) THEN '-Infinity'::double precision WHEN (${value} IS NOT NULL) THEN '0'::double precision ELSE NULL::double precision END`,
    calls: [
      NUMERIC_TO_DOUBLE,
      "pg_catalog.abs(pg_catalog.numeric)",
      "pg_catalog.numeric_ge(pg_catalog.numeric, pg_catalog.numeric)",
      "pg_catalog.numeric_gt(pg_catalog.numeric, pg_catalog.numeric)",
      "pg_catalog.numeric_lt(pg_catalog.numeric, pg_catalog.numeric)",
    ],
  },
  rest: {
    render: (value) => value,
    printed: (value) => value,
    // Not NUMERIC.name: a bundler could not omit the object from the client.
    type: "pg_catalog.numeric",
    isUnsearched: true,
  },
  calls: [],
  toParts: (value) => [toRounded(value), value],
  readCursor: (value) => [toRounded(value), value],
  isWhole: () => false,
  toLowest: toEdge,
  toHighest: toEdge,
};

export const decimalSql: SqlKind = {
  type: NUMERIC,
  comparedAs: "as numbers: `1.0` equals `1.00`",
  // Up to 400 digits, four of them in two bytes.
  width: 216,
  ends: DOUBLE_ENDS,
  isSelective: true,
  parts,
  storedBytes: toNumericBytes,
  isSentAsText: true,
  defaultText: toPlainNumber,
  printedText: toPlainNumber,
  fromText: { check: isDecimalSql, toValue: (text) => `${text}::numeric` },
  reversible: ["number", "string", "json"],
};

export const decimalField: FieldKind = {
  label: "decimal",
  expected: () => "a decimal number as a text, such as “12.50”",
  hint: "Stored exactly, such as 12.50",
  control: "number",
  cell: "mono",
  isNumeric: true,
  search: {
    operators: SEARCHED_BY_ORDER,
    pattern: { pattern: "-?\\d+(\\.\\d+)?", title: "A number, such as 12.50" },
    toTests: (text) => (SEARCHED_NUMBER.test(text) ? [{ eq: text }] : []),
  },
};
