/** Columns of times. @module */
import { describe } from "../std/quote.ts";
import { readTimestamp, toNextMicrosecond } from "../std/timestamp.ts";
import type {
  Compare,
  Conversion,
  Details,
  DetailsReport,
  FieldKind,
  FileNotation,
  OffsetOf,
  SqlKind,
  Types,
  Unread,
  ValueKind,
} from "./kind.ts";
import { ORDERED } from "./operators.ts";

/** A time as ISO 8601 text; JSON has no type for times. */
export type IsoTime = `${number}-${number}-${number}T${string}`;

export type TimestampTypes = {
  /** A column of times, as ISO 8601 strings. `.default("now")` is the time of the insert. */
  timestamp: Types<string, "now" | IsoTime, never, { readonly onUpdate: "now" }>;
};

/** The pattern of the days from the year 0001 to 9999, to follow the start of a text. */
export function toDayPattern(): string {
  const leapYear = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)";
  const day =
    "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))";
  return `(?!0000)([0-9]{4}-${day}|${leapYear}-02-29)`;
}

/** All times except the hours that an offset moves out of the years 0001 to 9999. */
function toPattern(): string {
  const clock = "T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?";
  return `^${toDayPattern()}${clock}(Z|[+-](0[0-9]|1[0-5]):[0-5][0-9])$`;
}

const MOMENT =
  /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d(?:\.\d{1,9})?)? ?(?:(Z|UTC)|([+-]\d\d)(?::?(\d\d))?(?: [A-Z]{2,5})?)$/i;

/** A day, or a time without an offset. */
const LOCAL = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d(?:\.\d{1,9})?)?)?$/i;

/** Accepts times with a space, without seconds, and with a zone's name after the offset; days and times without an offset only with `offsetOf`. */
function toMoment(text: string, offsetOf?: OffsetOf): string {
  const [, date, clock = "00:00", rest = ":00"] = LOCAL.exec(text) ?? [];
  if (date !== undefined && offsetOf !== undefined) {
    const local = `${date}T${clock}${rest}`;
    return local + offsetOf(local);
  }
  const [, day, minute, second = ":00", , hours, minutes = "00"] = MOMENT.exec(text) ?? [];
  if (day === undefined) return text;
  return `${day}T${minute}${second}${hours === undefined ? "Z" : `${hours}:${minutes}`}`;
}

function readFileTime(text: string, { readDay, offsetOf }: FileNotation): Unread {
  const read = readDay(text.trim());
  if ("issue" in read) return read;
  if (offsetOf === undefined && LOCAL.test(read.value))
    return {
      issue: "Has no time zone: add UTC or an offset, such as 2026-01-10 12:00 +01:00",
    };
  return { value: toMoment(read.value, offsetOf) };
}

export const timestampValue: ValueKind = {
  details: { keys: ["onUpdate"], read: readOnUpdate },
  compared: "never",
  default: {
    wanted: 'must be "now" or an ISO 8601 time with Z or an offset',
    computed: { now: { insert: "the time of the insert", push: "the time of this push" } },
  },
  read: (value) => {
    const text = typeof value === "string" ? readTimestamp(value) : undefined;
    if (text !== undefined) return { value: text };
    return {
      issue:
        'Must be an existing date and time with seconds, max 9 fraction digits, and Z or an offset below 16:00, such as "2026-01-02T03:04:05.123456Z"',
    };
  },
  fromCsv: readFileTime,
  fromJsonFile: (value, notation) =>
    typeof value === "string" ? readFileTime(value, notation) : { value },
  schema: () => ({
    type: "string",
    format: "date-time",
    pattern: toPattern(),
    description: "A time with `Z` or an offset, rounded to the microsecond. Returned in UTC.",
  }),
  formatName: ["date-time", "timestamp"],
  sample: () => "2026-01-02T03:04:05.123456+00:00",
  operators: ORDERED,
  aggregates: ["min", "max"],
};

export const timestampCompare: Compare = (a, b) => {
  const [left, right] = [a, b].map((value) => {
    const [, fraction = ""] = /\.(\d+)/.exec(`${value}`) ?? [];
    const seconds = Date.parse(`${value}`.replace(/\.\d+/, ""));
    const micros = roundToEven(Number(`0.${fraction}0`) * 1e6);
    return { seconds: micros === 1e6 ? seconds + 1000 : seconds, micros: micros % 1e6 };
  });
  if (left === undefined || right === undefined) return 0;
  return left.seconds - right.seconds || left.micros - right.micros;
};

/** Rounds the microseconds of a time with more digits, as the service does. */
function roundToEven(value: number): number {
  const below = Math.floor(value);
  return below + (value - below > 0.5 || (value - below === 0.5 && below % 2 === 1) ? 1 : 0);
}

function readOnUpdate(fields: ReadonlyMap<string, unknown>, { add }: DetailsReport): Details {
  if (!fields.has("onUpdate")) return {};
  const onUpdate = fields.get("onUpdate");
  if (onUpdate !== "now") {
    add(`Cannot read onUpdate ${describe(onUpdate)}: must be "now" or left out`);
    return {};
  }
  if (fields.get("default") !== "now")
    add('Cannot use onUpdate "now" without the default "now": add .default("now")');
  return { onUpdate };
}

/** Texts in ISO 8601, as responses contain them, for any setting of the session. */
export const toIsoText = (value: string) => `(to_jsonb(${value}) #>> '{}')`;
export const toIsoCursor = (name: string) => `(to_json(${name}) #>> '{}'::text[])`;

function toTime(text: string, { before }: Conversion): string {
  return `rowhouse.read_time(${before.timeInput?.(text) ?? text})`;
}

export const timestampSql: SqlKind = {
  type: { name: "pg_catalog.timestamptz", printed: "timestamp with time zone" },
  comparedAs: "as moments; ISO 8601 with `Z` or an offset",
  width: 8,
  ends: ["-infinity", "infinity"],
  step: toNextMicrosecond,
  storedBytes: () => 8,
  cursor: toIsoCursor,
  computed: { now: { render: (now) => now, printed: "now()", calls: ["pg_catalog.now()"] } },
  printedText: (text) =>
    readTimestamp(text.replace(" ", "T").replace(/([+-]\d\d)$/, "$1:00")) ?? text,
  toText: toIsoText,
  fromText: {
    check: (text, to) => `${toTime(text, to)} is not null`,
    toValue: toTime,
  },
  reversible: ["string", "json", "date"],
};

/** A moment as text, in UTC and labeled as UTC. */
export function toMomentText(value: string): string {
  return value.replace("T", " ").replace(/(:00)?\+00:00$/, " UTC");
}

const PART = /^(\d{4})-(\d\d)(?:-(\d\d)(?:[ T](\d\d):(\d\d))?)?$/;

/** The times of a month, a day or a minute in the time zone of the reader. */
function toTimeTests(text: string): object[] {
  const found = PART.exec(text.trim())
    ?.slice(1)
    .filter((part) => part !== undefined);
  if (found === undefined) return [];
  const [year = 0, month = 1, ...rest] = found.map(Number);
  const [day = 1, hour = 0, minute = 0] = rest;
  const start = new Date(year, month - 1, day, hour, minute);
  // Such as a month above 12.
  if (start.getMonth() !== month - 1 || start.getDate() !== day) return [];
  const end = new Date(start);
  if (rest.length === 0) end.setMonth(month);
  else if (rest.length === 1) end.setDate(day + 1);
  else end.setMinutes(minute + 1);
  return [{ gte: start.toISOString(), lt: end.toISOString() }];
}

export const timestampField: FieldKind = {
  label: "date and time",
  sign: "time",
  expected: () => "an existing date and time with an offset, such as 2026-01-31T09:00:00Z",
  hint: "In UTC or with an offset, such as 2026-11-21 18:00 +01:00; stored to the microsecond",
  control: "moment",
  isHelped: true,
  toText: (value) => toMomentText(String(value)),
  toJson: (text) => JSON.stringify(toMoment(text)),
  cell: "moment",
  search: {
    operators: ["lt", "lte", "gt", "gte", "eq"],
    input: "datetime-local",
    toTests: toTimeTests,
    labels: { lt: "is before", lte: "is at or before", gt: "is after", gte: "is at or after" },
  },
};
