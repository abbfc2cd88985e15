/** Columns of calendar dates, without a time zone anywhere. @module */
import { readTimestamp, toNextMicrosecond } from "../std/timestamp.ts";
import type {
  Conversion,
  FieldKind,
  FileNotation,
  SqlKind,
  Types,
  Unread,
  ValueKind,
} from "./kind.ts";
import { ORDERED, SEARCHED_BY_ORDER } from "./operators.ts";
import { timestampSql, toDayPattern, toIsoCursor, toIsoText } from "./timestamp.ts";

/** A calendar date as ISO 8601 text. */
export type IsoDate = `${number}-${number}-${number}`;

export type DateTypes = {
  /** A column of calendar dates, as strings such as `"2026-01-31"`. `.default("today")` is the day of the insert in UTC. */
  date: Types<string, "today" | IsoDate, never>;
};

function isDate(text: string): boolean {
  return readTimestamp(`${text}T00:00:00Z`) === `${text}T00:00:00+00:00`;
}

/** Spreadsheets and databases write 00:00 after a day that has no time. */
const MIDNIGHT = /[T ]00:00(?::00(?:\.0+)?)?$/;

function readFileDate(text: string, { readDay }: FileNotation): Unread {
  const read = readDay(text.trim());
  if ("issue" in read) return read;
  const day = read.value.replace(MIDNIGHT, "");
  const hasTime = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/.test(day);
  return hasTime
    ? { issue: "Has a time, which a date cannot store: leave it out" }
    : { value: day };
}

export const dateValue: ValueKind = {
  compared: "never",
  default: {
    wanted: 'must be "today" or a date such as "2026-01-31"',
    computed: {
      today: { insert: "the day of the insert in UTC", push: "the day of this push in UTC" },
    },
  },
  read: (value) =>
    typeof value === "string" && isDate(value)
      ? { value }
      : { issue: 'Must be an existing date in the years 0001 to 9999, such as "2026-01-31"' },
  fromCsv: readFileDate,
  fromJsonFile: (value, notation) =>
    typeof value === "string" ? readFileDate(value, notation) : { value },
  schema: () => ({
    type: "string",
    format: "date",
    pattern: `^${toDayPattern()}$`,
    description: "A calendar date, without a time zone.",
  }),
  formatName: ["date", "date"],
  sample: () => "2026-01-31",
  operators: ORDERED,
  aggregates: ["min", "max"],
};

/** The start of a day in UTC. */
const toStart = (text: string) => `(${text} || 'T00:00:00Z')`;

/** The day of a time at 00:00 UTC, and any other text unchanged. */
function toDay(text: string, { before }: Conversion): string {
  return before === timestampSql
    ? `pg_catalog.regexp_replace(${text}, 'T00:00:00[+]00:00$', '')`
    : text;
}

export const dateSql: SqlKind = {
  type: { name: "pg_catalog.date", printed: "date" },
  comparedAs: "as days",
  width: 8,
  ends: ["-infinity", "infinity"],
  step: (value, by) =>
    toNextMicrosecond(`${value}T${by > 0 ? "23:59:59.999999" : "00:00:00"}Z`, by)?.slice(0, 10),
  storedBytes: () => 4,
  cursor: toIsoCursor,
  computed: {
    today: {
      render: (now) => `pg_catalog.timezone('UTC', ${now})::pg_catalog.date`,
      printed: "(timezone('UTC'::text, now()))::date",
      calls: [
        "pg_catalog.now()",
        "pg_catalog.timezone(pg_catalog.text, pg_catalog.timestamptz)",
        "pg_catalog.date(pg_catalog.timestamp)",
      ],
    },
  },
  toText: toIsoText,
  fromText: {
    check: (text, to) => `rowhouse.read_time(${toStart(toDay(text, to))}) is not null`,
    toValue: (text, to) => `${toDay(text, to)}::pg_catalog.date`,
  },
  timeInput: toStart,
  reversible: ["string", "json", "timestamp"],
  exactFrom: ["string"],
};

export const dateField: FieldKind = {
  label: "date",
  sign: "date",
  expected: () => "an existing date, such as 2026-01-31",
  control: "date",
  cell: "plain",
  search: {
    operators: SEARCHED_BY_ORDER,
    labels: { lt: "is before", lte: "is on or before", gt: "is after", gte: "is on or after" },
    input: "date",
    toTests: (text) => (isDate(text) ? [{ eq: text }] : []),
  },
};
