/** Columns of exact decimals. @module */
import { DECIMAL_MAX_CHARS, decimalParts, isDecimal } from "../std/decimal.ts";
import type { FieldKind, SqlKind, Types, ValueKind } from "./kind.ts";
import { isDecimalSql, NUMERIC, SEARCHED_NUMBER, toNumericBytes, toPlainNumber } from "./number.ts";
import { ORDERED, SEARCHED_BY_ORDER } from "./operators.ts";

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
  fromCsv: (text, readNumber) => readNumber(text),
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
};

export const decimalSql: SqlKind = {
  type: NUMERIC,
  // Up to 400 digits, four of them in two bytes.
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
