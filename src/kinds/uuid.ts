/** Columns of UUIDs. @module */
import { isUuid } from "../std/is_uuid.ts";
import {
  type FieldKind,
  ORDERED,
  type Read,
  type SearchField,
  type SqlKind,
  type Types,
  type ValueKind,
} from "./kind.ts";

export type UuidTypes = {
  /** A column of UUIDs. */
  uuid: Types<string>;
};

export function readUuid(value: unknown): Read {
  return typeof value === "string" && isUuid(value)
    ? { value: value.toLowerCase() }
    : { issue: "Must be a uuid" };
}

export const trimUuid = (text: string) => ({ value: text.trim() });
export const makeSampleId = () => "0190163d-8694-739b-aea5-966c26f8ad91";
export const makeUuidSchema = (description: string) => ({
  type: "string",
  format: "uuid",
  pattern: "^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$",
  description,
});

export const uuidValue: ValueKind = {
  default: {
    wanted: "must be a uuid string",
    read: (value) => (typeof value === "string" && isUuid(value) ? value.toLowerCase() : undefined),
  },
  read: readUuid,
  fromCsv: trimUuid,
  schema: () => makeUuidSchema("A UUID, returned in lowercase."),
  formatName: ["uuid", "UUID"],
  sample: makeSampleId,
  operators: ORDERED,
};

const FIRST_ID = "00000000-0000-0000-0000-000000000000";
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

export const UUID_TYPE = { name: "pg_catalog.uuid", printed: "uuid" } as const;
export const UUID_ENDS = [FIRST_ID, LAST_ID] as const;

export const uuidSql: SqlKind = {
  type: UUID_TYPE,
  width: 16,
  ends: UUID_ENDS,
  isSelective: true,
  storedBytes: () => 16,
  fromText: {
    check: (text) => `${text} ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$'`,
    toValue: (text) => `${text}::uuid`,
  },
  reversible: ["string", "json"],
};

const ID_START = /^[\da-f-]{4,}$/i;

/** Ids that begin with a text. */
function toIdTests(text: string): object[] {
  if (isUuid(text)) return [{ eq: text }];
  if (!ID_START.test(text) || !isUuid(text + FIRST_ID.slice(text.length))) return [];
  return [{ gte: text + FIRST_ID.slice(text.length), lte: text + LAST_ID.slice(text.length) }];
}

export const SEARCHED_ID: SearchField = {
  operators: ["eq", "neq"],
  pattern: { pattern: "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", title: "A full id" },
  toTests: toIdTests,
};

export const uuidField: FieldKind = {
  label: () => "uuid",
  hint: "Such as 0190163d-8694-739b-aea5-966c26f8ad91",
  control: "line",
  cell: "mono",
  search: SEARCHED_ID,
};
