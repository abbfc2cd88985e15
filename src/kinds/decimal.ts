/** Columns of exact decimals. @module */
import { DECIMAL_MAX_CHARS, decimalParts, isDecimal } from "../std/decimal.ts";
import type { Compare, FieldKind, SqlKind, Types, ValueKind } from "./kind.ts";
import { isDecimalSql, NUMERIC, SEARCHED_NUMBER, toNumericBytes, toPlainNumber } from "./number.ts";
import { AGGREGATES, ORDERED, SEARCHED_BY_ORDER } from "./operators.ts";
import { compareTexts } from "./text_parts.ts";

export type DecimalTypes = {
  /** A column of exact decimals, as strings such as `"12.50"`. */
  decimal: Types<string>;
};

/** An index entry contains decimals of up to 400 digits in full. */
const MAX_PER_INDEX = 8;

export const DECIMAL_LIMITS: { readonly decimalsPerIndex: typeof MAX_PER_INDEX } = {
  decimalsPerIndex: MAX_PER_INDEX,
};

export const decimalValue: ValueKind = {
  compared: "values",
  default: { wanted: 'must be a string of digits such as "12.50", at most 400 characters' },
  read: (value) =>
    typeof value === "string" && isDecimal(value)
      ? { value }
      : {
          issue: 'Must be a decimal number as a string, such as "12.50", of at most 400 characters',
        },
  fromCsv: (text, { readNumber }) => readNumber(text),
  maxPerIndex: MAX_PER_INDEX,
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

export const decimalSql: SqlKind = {
  type: NUMERIC,
  comparedAs: "as numbers: `1.0` equals `1.00`",
  // Up to 400 digits, four of them in two bytes.
  ends: ["-Infinity", "Infinity"],
  formerKey: "rounded",
  width: 216,
  storedBytes: toNumericBytes,
  isSentAsText: true,
  defaultText: toPlainNumber,
  printedText: toPlainNumber,
  fromText: { check: isDecimalSql, toValue: (text) => `${text}::numeric` },
  reversible: ["number", "string", "json"],
};

export const decimalField: FieldKind = {
  label: "decimal",
  sign: "0.00",
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
