/** Columns of whole numbers. @module */
import { INEXACT } from "../std/json_text.ts";
import type { FieldKind, FileNotation, SqlKind, Types, ValueKind } from "./kind.ts";
import { numberField, numberValue } from "./number.ts";
import { SEARCHED_BY_ORDER } from "./operators.ts";

export type IntegerTypes = {
  /** A column of whole numbers, within ±(2^53 − 1). */
  integer: Types<number>;
};

export const integerValue: ValueKind = /* @__PURE__ */ Object.assign({}, numberValue, {
  default: { wanted: "must be a whole number within ±9007199254740991" },
  read: (value: unknown) => {
    if (typeof value === "number" && Number.isSafeInteger(value)) return { value };
    const isTooLarge = value === INEXACT || (typeof value === "number" && Number.isInteger(value));
    return {
      issue: `Must be a whole number within ±9007199254740991${isTooLarge ? ": use t.decimal()" : ""}`,
    };
  },
  fromCsv: (written: string, notation: FileNotation) =>
    /\d[eE][+-]?\d/.test(written)
      ? { issue: "Must be a whole number with all its digits: an exponent can hide some" }
      : (numberValue.fromCsv?.(written, notation) ?? { value: written }),
  schema: () => ({
    type: "integer",
    format: "int64",
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
    description: "A whole number that a double holds exactly.",
  }),
  formatName: ["int64", "integer"] as const,
  sample: () => 12,
});

export const integerSql: SqlKind = {
  type: { name: "pg_catalog.int8", printed: "bigint" },
  comparedAs: "as numbers",
  width: 8,
  ends: ["-9223372036854775808", "9223372036854775807"],
  step: (value, by) => String(Number(value) + by),
  storedBytes: () => 8,
  fromText: {
    check: (text) =>
      `case when pg_catalog.length(${text}) <= 17 and ${text} ~ '^(0|-?[1-9][0-9]*)$' then ${text}::int8 between -9007199254740991 and 9007199254740991 else false end`,
    toValue: (text) => `${text}::int8`,
  },
  jsonInput: (text) => `${text}::int8`,
  reversible: ["number", "decimal", "string", "json"],
  exactFrom: ["number", "decimal", "string"],
};

export const integerField: FieldKind = /* @__PURE__ */ Object.assign({}, numberField, {
  label: "whole number",
  sign: "123",
  expected: () => "a whole number",
  search: {
    operators: SEARCHED_BY_ORDER,
    pattern: { pattern: "-?\\d+", title: "A whole number, such as 12" },
    toTests: (text: string) =>
      /^-?\d+$/.test(text) && Number.isSafeInteger(Number(text)) ? [{ eq: Number(text) }] : [],
    toValue: Number,
  },
});
