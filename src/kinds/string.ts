/** Columns of text. @module */

import { listSpellings } from "../std/letter_case.ts";
import { isStorableText } from "../std/text.ts";
import { STORABLE_PATTERN, TEXT_ISSUE } from "./json.ts";
import type { FieldKind, SqlKind, Types, ValueKind } from "./kind.ts";
import { OPERATORS } from "./operators.ts";

export type StringTypes = {
  /** A column of text. */
  string: Types<string>;
};

export const stringValue: ValueKind = {
  default: { wanted: "must be a string without U+0000 or lone surrogates" },
  read: (value) => {
    if (typeof value !== "string") return { issue: "Must be a string" };
    return isStorableText(value) ? { value } : { issue: TEXT_ISSUE };
  },
  hasEmpty: () => true,
  schema: () => ({
    type: "string",
    pattern: STORABLE_PATTERN,
    description: "Text of any length, without U+0000.",
  }),
  sample: () => "Milk",
  operators: OPERATORS,
};

/** Characters of a text that count in an order: a cursor contains them. */
const KEY_CHARACTERS = 200;
/** Compares texts by code points, so that every database returns the same rows in the same order. */
const BY_CODE_POINT = `collate pg_catalog."C"`;
const toStart = (name: string) => `left(${name}, ${KEY_CHARACTERS})`;

export const stringSql: SqlKind = {
  type: { name: "pg_catalog.text", printed: "text" },
  width: undefined,
  storedBytes: (bytes) => bytes + 4,
  size: "octet_length",
  isPrintedAsGiven: true,
  comparedAs: "by code points, in every database: `B` is before `a`, and `é` after `z`",
  compared: (name) => `${name} ${BY_CODE_POINT}`,
  sorted: (name) => `${toStart(name)} ${BY_CODE_POINT}`,
  cursor: toStart,
  toText: (value) => value,
  fromText: { check: () => "true", toValue: (text) => text },
  reversible: ["enum", "json", "boolean"],
};

/** Browsers send different line ends, so texts that differ only in line ends are equal. */
export const normalizeLines = (text: string): string => text.replaceAll(/\r\n?/g, "\n");

export const stringField: FieldKind = {
  label: "text",
  control: "lines",
  isFreeText: true,
  toText: (value) => normalizeLines(String(value)),
  cell: "text",
  search: {
    operators: ["contains", "starts", "eq", "neq"],
    toTests: (text) => listSpellings(text).map((spelling) => ({ ilike: `*${spelling}*` })),
  },
};
