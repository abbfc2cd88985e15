/** Columns of UUIDs. @module */
import { isUuid } from "../std/patterns.ts";
import type { Compare, FieldKind, SqlKind, Types, ValueKind } from "./kind.ts";
import { ORDERED } from "./operators.ts";
import { compareTexts } from "./text_parts.ts";

export type UuidTypes = {
  /** A column of UUIDs. */
  uuid: Types<string, string, "me", { readonly isPerson: true }>;
};

export const uuidValue: ValueKind = {
  compared: "person",
  default: { wanted: "must be a uuid string" },
  read: (value) =>
    typeof value === "string" && isUuid(value)
      ? { value: value.toLowerCase() }
      : { issue: "Must be a uuid" },
  fromCsv: (text) => ({ value: text.trim() }),
  schema: () => ({
    type: "string",
    format: "uuid",
    pattern: "^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$",
    description: "A UUID, returned in lowercase.",
  }),
  formatName: ["uuid", "UUID"],
  sample: () => "0190163d-8694-739b-aea5-966c26f8ad91",
  operators: ORDERED,
};

export const uuidCompare: Compare = (a, b) =>
  compareTexts(`${a}`.toLowerCase(), `${b}`.toLowerCase());

const FIRST_ID = "00000000-0000-0000-0000-000000000000";
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

export const uuidSql: SqlKind = {
  type: { name: "pg_catalog.uuid", printed: "uuid" },
  comparedAs: "byte by byte",
  width: 16,
  ends: [FIRST_ID, LAST_ID],
  step: toNextId,
  storedBytes: () => 16,
  fromText: {
    check: (text) => `${text} ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$'`,
    toValue: (text) => `${text}::uuid`,
  },
  reversible: ["string", "json"],
};

function toNextId(id: string, by: 1 | -1): string | undefined {
  if (id === (by > 0 ? LAST_ID : FIRST_ID)) return undefined;
  const next = BigInt(`0x${id.replaceAll("-", "")}`) + BigInt(by);
  return next
    .toString(16)
    .padStart(32, "0")
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

const ID_START = /^[\da-f-]{4,}$/i;

/** Ids that begin with a text. */
function toIdTests(text: string): object[] {
  if (isUuid(text)) return [{ eq: text }];
  if (!ID_START.test(text) || !isUuid(text + FIRST_ID.slice(text.length))) return [];
  return [{ gte: text + FIRST_ID.slice(text.length), lte: text + LAST_ID.slice(text.length) }];
}

/** Both ends of an id, as a grid displays it: ids of the same time start with the same digits. */
export function shortenId(id: string): string {
  return `${id.slice(0, 4)}…${id.slice(-4)}`;
}

export const uuidField: FieldKind = {
  label: "uuid",
  sign: "id",
  expected: () => "an id",
  hint: "Such as 0190163d-8694-739b-aea5-966c26f8ad91",
  control: "line",
  cell: "mono",
  search: {
    operators: ["eq", "in", "neq", "gte", "lte"],
    pattern: { pattern: "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", title: "A full id" },
    // Written out: with an expression, every bundle would contain this field.
    listPattern: {
      pattern:
        "[\\s,]*[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}([\\s,]+[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})*[\\s,]*",
      title: "Full ids, with commas or spaces between",
    },
    toTests: toIdTests,
  },
};
