/** The column kinds: one file each, listed once for each part that a program can need. @module */
import { type BooleanTypes, booleanField, booleanSql, booleanValue } from "./boolean.ts";
import { type DateTypes, dateField, dateSql, dateValue } from "./date.ts";
import {
  type DecimalTypes,
  decimalCompare,
  decimalField,
  decimalSql,
  decimalValue,
} from "./decimal.ts";
import { type EmailTypes, emailCompare, emailField, emailSql, emailValue } from "./email.ts";
import { type EnumTypes, enumCompare, enumField, enumSql, enumValue } from "./enum.ts";
import { type IntegerTypes, integerField, integerSql, integerValue } from "./integer.ts";
import { type JsonTypes, jsonField, jsonSql, jsonValue } from "./json.ts";
import type { Compare, FieldKind, SqlKind, ValueKind } from "./kind.ts";
import { type NumberTypes, numberField, numberSql, numberValue } from "./number.ts";
import { type RefTypes, refField, refSql, refValue } from "./ref.ts";
import { type StringTypes, stringField, stringSql, stringValue } from "./string.ts";
import {
  type TimestampTypes,
  timestampCompare,
  timestampField,
  timestampSql,
  timestampValue,
} from "./timestamp.ts";
import { type UrlTypes, urlField, urlSql, urlValue } from "./url.ts";
import { type UuidTypes, uuidCompare, uuidField, uuidSql, uuidValue } from "./uuid.ts";

export type { IsoDate } from "./date.ts";
export { DECIMAL_LIMITS } from "./decimal.ts";
export { ENUM_LIMITS, isDroppedValue, toDroppedValue } from "./enum.ts";
export { DEFAULT_LIMITS, NEVER_ACCEPTED } from "./json.ts";
export type * from "./kind.ts";
export { escapePattern, splitPattern } from "./like.ts";
export { toPlainNumber } from "./number.ts";
export { AGGREGATES, type Aggregate, OPERATORS, type Operator } from "./operators.ts";
export type { Id } from "./ref.ts";
export { normalizeLines } from "./string.ts";
export { compareValues } from "./text_parts.ts";
export { type IsoTime, toMomentText } from "./timestamp.ts";
export { shortenId } from "./uuid.ts";

/** All column kinds, in the order of the documentation. */
export const KINDS = [
  "string",
  "email",
  "url",
  "number",
  "integer",
  "decimal",
  "boolean",
  "uuid",
  "timestamp",
  "date",
  "json",
  "enum",
  "ref",
] as const;

/** The kind of a column. */
export type Kind = (typeof KINDS)[number];

/** The types of the kinds whose builders have no arguments. */
export type PlainTypes = StringTypes &
  EmailTypes &
  UrlTypes &
  NumberTypes &
  IntegerTypes &
  DecimalTypes &
  BooleanTypes &
  UuidTypes &
  TimestampTypes &
  DateTypes;

/** The types of every kind; `Detail` is the values of an enum, the shape of a json, the table of a ref. */
export type KindTypes<Detail> = PlainTypes &
  JsonTypes<Detail> &
  EnumTypes<Detail> &
  RefTypes<Detail>;

export const VALUES: Readonly<Record<Kind, ValueKind>> = {
  string: stringValue,
  email: emailValue,
  url: urlValue,
  number: numberValue,
  integer: integerValue,
  decimal: decimalValue,
  boolean: booleanValue,
  uuid: uuidValue,
  timestamp: timestampValue,
  date: dateValue,
  json: jsonValue,
  enum: enumValue,
  ref: refValue,
};

export const SQL: Readonly<Record<Kind, SqlKind>> = {
  string: stringSql,
  email: emailSql,
  url: urlSql,
  number: numberSql,
  integer: integerSql,
  decimal: decimalSql,
  boolean: booleanSql,
  uuid: uuidSql,
  timestamp: timestampSql,
  date: dateSql,
  json: jsonSql,
  enum: enumSql,
  ref: refSql,
};

export const FIELDS: Readonly<Record<Kind, FieldKind>> = {
  string: stringField,
  email: emailField,
  url: urlField,
  number: numberField,
  integer: integerField,
  decimal: decimalField,
  boolean: booleanField,
  uuid: uuidField,
  timestamp: timestampField,
  date: dateField,
  json: jsonField,
  enum: enumField,
  ref: refField,
};

/** The order of values. Without it, texts are compared by code points, other values as numbers. */
export const COMPARES: Readonly<Partial<Record<Kind, Compare>>> = {
  email: emailCompare,
  decimal: decimalCompare,
  uuid: uuidCompare,
  timestamp: timestampCompare,
  enum: enumCompare,
  ref: uuidCompare,
};

/** Nothing outside this folder compares the name of a kind: these and the declarations tell what a column is. */
type OfKind = { readonly kind: Kind };

/** Whether the values are ids of rows. */
export function isReference({ kind }: OfKind): boolean {
  return VALUES[kind].compared === "reference";
}

/** Whether a value can be the id of a person, to whom rules compare it. */
export function isPerson({ kind }: OfKind): boolean {
  return VALUES[kind].compared === "person";
}

/** Whether the values are texts that conditions search by patterns. */
export function isText({ kind }: OfKind): boolean {
  return VALUES[kind].operators.includes("like");
}

/** Whether values are equal or in an order: rows can be sorted and grouped by them. */
export function isSorted({ kind }: OfKind): boolean {
  return VALUES[kind].operators.includes("eq");
}

/** Whether each column has a type of its own in PostgreSQL, made with it and dropped with it. */
export function hasOwnType({ kind }: OfKind): boolean {
  return SQL[kind].type === undefined;
}
