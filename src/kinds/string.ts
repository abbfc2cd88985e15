/** Columns of text. @module */

import { quoteLiteral } from "../std/quote.ts";
import { isStorableText } from "../std/text.ts";
import { STORABLE_PATTERN, TEXT_ISSUE } from "./json.ts";
import type { FieldKind, SearchField, SearchParts, SqlKind, Types, ValueKind } from "./kind.ts";
import { OPERATORS } from "./operators.ts";
import {
  HIGHEST_REST,
  isWholeText,
  readTextParts,
  toHighestStart,
  toLowestStart,
  toPrefixStarts,
  toStartBefore,
  toTextParts,
} from "./text_parts.ts";
import { toTextTests } from "./text_search.ts";

export type StringTypes = {
  /** A column of text. */
  string: Types<string>;
};

export const stringValue: ValueKind = {
  compared: "values",
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

/** Compares texts by code points, so that every database returns the same rows in the same order. */
const BY_CODE_POINT = `collate pg_catalog."C"`;

/** Max bytes of a text that an order compares: as many as PostgreSQL's type `name` has. */
const START_BYTES = 63;
/** The whole characters in the first 63 bytes. */
const asName = (text: string) => `(${text}::pg_catalog.name)`;
const isWhole = (text: string) => `${asName(text)}::pg_catalog.text operator(pg_catalog.=) ${text}`;
const asBytes = (text: string) =>
  `pg_catalog.decode(pg_catalog.replace(${text}, ${quoteLiteral("\\")}, ${quoteLiteral("\\\\")}), 'escape')`;

/**
 * A text by its first 63 bytes, and longer texts also by their MD5. Different texts can have the same MD5, so a unique index
 * also has the SHA-256 of longer texts. The collation is written because a cast has the one of its column.
 */
const parts: SearchParts = {
  start: {
    render: (text) => `(${asName(text)} ${BY_CODE_POINT})`,
    printed: (text) => `(${text}::name)`,
    type: "pg_catalog.name",
  },
  tested: { render: asName, printed: (text) => `${text}::name` },
  rest: {
    render: (text) =>
      `((case when ${isWhole(text)} then '' else pg_catalog.md5(${text}) end) ${BY_CODE_POINT})`,
    printed: (text) =>
      `( CASE WHEN ${text}::name::text = ${text} THEN ''::text ELSE md5(${text}) END)`,
    type: "pg_catalog.text",
  },
  exact: {
    render: (text) =>
      `(case when ${isWhole(text)} then ''::pg_catalog.bytea else pg_catalog.sha256(${asBytes(text)}) end)`,
    printed: (text) =>
      `( CASE WHEN ${text}::name::text = ${text} THEN '\\x'::bytea ELSE sha256(decode(replace(${text}, '\\'::text, '\\\\'::text), 'escape'::text)) END)`,
  },
  calls: [
    "pg_catalog.name(pg_catalog.text)",
    "pg_catalog.text(pg_catalog.name)",
    "pg_catalog.texteq(pg_catalog.text, pg_catalog.text)",
    "pg_catalog.md5(pg_catalog.text)",
  ],
  toParts: toTextParts,
  readCursor: readTextParts,
  isWhole: isWholeText,
  toLowest: toLowestStart,
  toHighest: toHighestStart,
  toPrefix: toPrefixStarts,
  restEnds: ["", HIGHEST_REST],
  toBefore: toStartBefore,
};

/** The highest character, as often as it fits, and the highest character of the three bytes that are left. */
const HIGHEST_START = `${"\u{10ffff}".repeat(15)}\uffff`;

export const stringSql: SqlKind = {
  type: { name: "pg_catalog.text", printed: "text" },
  width: undefined,
  storedBytes: (bytes) => bytes + 4,
  size: "octet_length",
  isPrintedAsGiven: true,
  comparedAs:
    "by code points, in every database: `B` is before `a`, and `é` after `z`; an order compares the first 63 bytes",
  compared: (name) => `${name} ${BY_CODE_POINT}`,
  ends: ["", HIGHEST_START],
  parts,
  cursor: (name) =>
    `case when octet_length(${name}) > ${START_BYTES} then concat(left(${name}, ${START_BYTES})::name, md5(${name}), encode(sha256(convert_to(${name}, 'UTF8')), 'hex')) else ${name} end`,
  toText: (value) => value,
  fromText: { check: () => "true", toValue: (text) => text },
  reversible: ["enum", "json", "boolean"],
};

/** Browsers send different line ends, so texts that differ only in line ends are equal. */
export const normalizeLines = (text: string): string => text.replaceAll(/\r\n?/g, "\n");

export const textSearch: SearchField = {
  operators: ["contains", "starts", "eq", "neq"],
  toTests: toTextTests,
};

export const stringField: FieldKind = {
  label: "text",
  sign: "abc",
  expected: () => "a text",
  control: "lines",
  isFreeText: true,
  toText: (value) => normalizeLines(String(value)),
  cell: "text",
  search: textSearch,
};
