/** Columns of JavaScript numbers. @module */
import { INEXACT, parseExactJson } from "../std/json_text.ts";
import { parseCell } from "./json.ts";
import type { FieldKind, SqlKind, Types, ValueKind } from "./kind.ts";
import { AGGREGATES, ORDERED, SEARCHED_BY_ORDER } from "./operators.ts";

export type NumberTypes = {
  /** A column of JavaScript numbers. For exact digits, use `t.decimal()`. */
  number: Types<number>;
};

const JSON_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

export const numberValue: ValueKind = {
  compared: "values",
  default: { wanted: "must be a finite number" },
  read: (value) => {
    if (value === INEXACT)
      return { issue: "A JavaScript number cannot hold this value exactly: use t.decimal()" };
    return typeof value === "number" && Number.isFinite(value)
      ? { value }
      : { issue: "Must be a number" };
  },
  fromQuery: (text) => (JSON_NUMBER.test(text) ? parseExactJson(text) : text),
  fromCsv: (written, { readNumber }) => {
    const read = readNumber(written);
    if ("issue" in read) return read;
    return JSON_NUMBER.test(read.value) ? parseCell(read.value) : { value: written };
  },
  schema: () => ({
    type: "number",
    format: "double",
    description: "A number that a double holds exactly. Other numbers are rejected.",
  }),
  formatName: ["double", "number"],
  sample: () => 1.5,
  operators: ORDERED,
  aggregates: AGGREGATES,
};

/** PostgreSQL stores four digits of a numeric in two bytes. */
export const toNumericBytes = (digits: number): number => Math.ceil(digits / 2) + 8;

export const NUMERIC = { name: "pg_catalog.numeric", printed: "numeric" } as const;

/** A number as its digits and the power of ten of its last digit: `1.50`, `1.5` and `15e-1` are equal. */
export function toPlainNumber(value: unknown): string {
  const text = String(value);
  const parts = /^(-?)(\d*)(?:\.(\d*))?(?:e([+-]?\d+))?$/i.exec(text);
  if (parts === null) return text;
  const [, sign = "", whole = "", fraction = "", power = "0"] = parts;
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return "0";
  const exponent = Number(power) - fraction.length + digits.length - significant.length;
  return `${sign}${significant}e${exponent}`;
}

/** Whether a text has the digits that a decimal accepts. */
export const isDecimalSql = (text: string) =>
  `case when pg_catalog.length(${text}) <= 400 then ${text} ~ '^-?[0-9]+([.][0-9]+)?$' else false end`;

export const numberSql: SqlKind = {
  type: NUMERIC,
  comparedAs: "as numbers: `1.0` equals `1.00`",
  ends: ["-Infinity", "Infinity"],
  formerKey: "double",
  width: 24,
  storedBytes: toNumericBytes,
  defaultText: toPlainNumber,
  printedText: toPlainNumber,
  fromText: {
    // Whether the text is a JSON number whose value a JavaScript number holds and prints unchanged.
    check: (text) => `case when ${isDecimalSql(text)} and ${text} !~ '^-?0[0-9]' then
  case when ${text}::numeric = 0 then true
    when pg_catalog.abs(${text}::numeric) between ${Number.MIN_VALUE} and ${Number.MAX_VALUE}
    then ${text}::float8::text::numeric = ${text}::numeric
    else false end else false end`,
    toValue: (text) => `${text}::numeric`,
  },
  jsonInput: (text) => `${text}::numeric`,
  // JSON allows smaller numbers than a column of numbers.
  jsonCheck: (text) =>
    `(${text}::numeric = 0 or pg_catalog.abs(${text}::numeric) >= 1e-39 and pg_catalog.abs(${text}::numeric) < 1e40)`,
  reversible: ["decimal", "string", "json"],
};

/** A number as a visitor types it. */
export const SEARCHED_NUMBER: RegExp = /^-?\d+(\.\d+)?$/;

export const numberField: FieldKind = {
  label: "number",
  sign: "1.5",
  expected: () => "a number",
  control: "number",
  toText: (_, json) => json,
  toJson: (text) => (JSON_NUMBER.test(text) ? text : JSON.stringify(text)),
  cell: "plain",
  isNumeric: true,
  search: {
    operators: SEARCHED_BY_ORDER,
    pattern: { pattern: "-?\\d+(\\.\\d+)?", title: "A number, such as 12.5" },
    toTests: (text) => (SEARCHED_NUMBER.test(text) ? [{ eq: Number(text) }] : []),
    toValue: Number,
  },
};
