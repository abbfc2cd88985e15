/** Values of every column kind, and what holds for them, in plain TypeScript: the oracle of tests. @module */
import { expect } from "bun:test";
import fc from "fast-check";
import { KINDS, type Kind } from "../../src/kinds/mod.ts";
import { defineSchema, type Json, t } from "../../src/schema/mod.ts";
import { canonicalJson } from "../../src/std/json.ts";
import type { TestApp, TestService } from "./service.ts";
import { drawRuns } from "./tier.ts";

export type KindCase = {
  /** Values as responses contain them: the edges, then random ones. */
  readonly edges: readonly Json[];
  readonly any: fc.Arbitrary<Json>;
  /** Other notations of a value, which a write and a condition accept. */
  readonly spell?: (value: Json) => readonly Json[];
  /** The text in which a pattern is searched; without it, that of the value. */
  readonly print?: (value: Json) => string;
  /** The order of two values; without it, they are not comparable. */
  readonly order?: (a: Json, b: Json) => number;
  /** The text that a conversion reads; `undefined`: the value converts to no kind. */
  readonly toText: (value: Json) => string | undefined;
  /** The value that a conversion makes of a text, or `undefined`. */
  readonly fromText: (text: string, from: Kind, value: Json) => Json | undefined;
};

const IDS = ["0190163d-8694-739b-aea5-966c26f8ad91", "ffffffff-ffff-ffff-ffff-ffffffffffff"];
const CHOICES = [
  ...["open", "Zu", "a", "it's", "é", " ", "=1+1", 'say "hi", now', "\\N", "null", "-7", "1.50"],
  ...["true", "0001-01-01", "2026-01-02T03:04:05+00:00", IDS[0] as string],
] as const;
/** The ids of rows that references point to, once they are created. */
const PARENTS: string[] = [];

const text = (value: Json) => String(value);
/** JSON as PostgreSQL prints it: shorter keys first. */
function printJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(printJson).join(", ")}]`;
  if (typeof value === "number") return toDigits(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const sorted = Object.entries<Json>(value as Record<string, Json>).toSorted(
    ([a], [b]) =>
      Buffer.byteLength(a) - Buffer.byteLength(b) || Buffer.compare(Buffer.from(a), Buffer.from(b)),
  );
  const members = sorted.map(([key, item]) => `${JSON.stringify(key)}: ${printJson(item)}`);
  return `{${members.join(", ")}}`;
}

const byNumber = (a: Json, b: Json) => Number(a) - Number(b);
const byText = (a: Json, b: Json) => (text(a) < text(b) ? -1 : text(a) > text(b) ? 1 : 0);
const pad = (value: number, length: number) => `${value}`.padStart(length, "0");

function byCodePoint(a: Json, b: Json): number {
  const [left, right] = [[...text(a)], [...text(b)]].map((letters) =>
    letters.map((letter) => letter.codePointAt(0) ?? 0),
  ) as [number[], number[]];
  const at = left.findIndex((point, index) => point !== right[index]);
  if (at < 0) return left.length - right.length;
  return (left[at] ?? 0) - (right[at] ?? -1);
}

/** The digits of a JavaScript number without an exponent, as PostgreSQL prints a numeric. */
export function toDigits(value: number): string {
  const [, sign = "", whole = "", fraction = "", power = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value)) ?? [];
  const shift = Number(power);
  const digits = `${whole}${fraction}`;
  const point = whole.length + shift;
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  const padded = digits.padEnd(point, "0");
  return `${sign}${padded.slice(0, point)}${padded.length > point ? `.${padded.slice(point)}` : ""}`;
}

/** A decimal as a whole number of its 400th digit after the point. */
function toScaled(value: Json): bigint {
  const [, sign, whole = "", fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text(value)) ?? [];
  const size = BigInt(whole + fraction.padEnd(400, "0"));
  return sign === "-" ? -size : size;
}

const isDecimal = (value: string) => value.length <= 400 && /^-?\d+(\.\d+)?$/.test(value);
/** A decimal without redundant zeros at the start, and without the sign of zero. */
function trimZeros(value: string): string {
  const trimmed = value.replace(/^(-?)0+(?=\d)/, "$1");
  return /[1-9]/.test(trimmed) ? trimmed : trimmed.replace("-", "");
}

const DAY = 86_400_000;
const FIRST_DAY = Date.parse("0001-01-01T00:00:00Z") / DAY;
const LAST_DAY = Date.parse("9999-12-31T00:00:00Z") / DAY;
const toDay = (day: number) => new Date(day * DAY).toISOString().slice(0, 10);
const anyDay = fc.integer({ min: FIRST_DAY, max: LAST_DAY }).map(toDay);
function isDay(value: string): boolean {
  const time = /^(?!0000)\d{4}-\d\d-\d\d$/.test(value)
    ? Date.parse(`${value}T00:00:00Z`)
    : Number.NaN;
  return !Number.isNaN(time) && toDay(time / DAY) === value;
}

/** A time in UTC with the fraction's digits that are not redundant. */
const toTime = (day: string, second: number, micros: number) => {
  const clock = [second / 3600, (second / 60) % 60, second % 60].map((part) =>
    pad(Math.floor(part), 2),
  );
  const fraction = micros === 0 ? "" : `.${pad(micros, 6).replace(/0+$/, "")}`;
  return `${day}T${clock.join(":")}${fraction}+00:00`;
};
const TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00:00$/;
function toMicros(value: Json): bigint {
  const [, day = "", clock = "", fraction = ""] = TIME.exec(text(value)) ?? [];
  return BigInt(Date.parse(`${day}T${clock}Z`)) * 1000n + BigInt(fraction.padEnd(6, "0"));
}
const byDifference = (difference: bigint) => (difference < 0n ? -1 : difference > 0n ? 1 : 0);

/** The same time with an offset, unless the offset would leave the years 0001 to 9999. */
function toOffset(value: Json): string {
  const [, day = "", clock = "", fraction] = TIME.exec(text(value)) ?? [];
  const later = new Date(Date.parse(`${day}T${clock}Z`) + 5.5 * 3_600_000).toISOString();
  return later.startsWith("+")
    ? text(value).replace("+00:00", "Z")
    : `${later.slice(0, 19)}${fraction === undefined ? "" : `.${fraction}`}+05:30`;
}

const isJsonNumber = (value: number) =>
  value === 0 || (Math.abs(value) >= 1e-39 && Math.abs(value) < 1e40);

/** A JSON value that a column accepts and returns: no U+0000, no lone surrogate, bounded numbers. */
function toStorable(value: Json): Json {
  if (typeof value === "string") return value.toWellFormed().replaceAll("\0", "");
  if (typeof value === "number") return isJsonNumber(value) ? value + 0 : 1;
  if (Array.isArray(value)) return value.map(toStorable);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [toStorable(key), toStorable(inner)]),
  );
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const uuid = {
  edges: ["00000000-0000-0000-0000-000000000000", ...IDS],
  any: fc.uuid(),
  spell: (value) => [text(value).toUpperCase()],
  order: byText,
  toText: text,
  fromText: (typed) => (UUID.test(typed) ? typed.toLowerCase() : undefined),
} satisfies KindCase;

const EMAIL =
  /^[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*@([a-z\d][a-z\d-]*\.)+[a-z\d]+$/i;
/** As browsers read and write it: the same text, or with the path that a host without one has. */
function isUrl(value: string): boolean {
  const { protocol = "", href = "", username = "" } = URL.canParse(value) ? new URL(value) : {};
  const isUri =
    /^[\w.~!$&'()*+,;=:@/?%-]*(?:#[^#]*)?$/.test(value) && !/%(?![\da-f]{2})/i.test(value);
  const isTyped = isUri && !/[[\]\\^`{|}]/.test(value) && [value, `${value}/`].includes(href);
  return /^https?:$/.test(protocol) && username === "" && isTyped;
}

/** A new kind does not compile until it is here. */
export const KIND_CASES: Readonly<Record<Kind, KindCase>> = {
  string: {
    edges: [
      ...["", " ", "a", "B", "é", "É", "null", "NULL", "\\N", '"', '""', "a,b", 'x"y\r\nz', "\r"],
      ...["\n", "\t", "'=1+1", "=1+1", "@x", "\u{10ffff}", "\uffee", "\ufeffx", "a\u0301", "ς"],
      ...["-7", "007", "1.50", "1e5", "9007199254740991", "9007199254740992", "true", "TRUE"],
      ...["2026-01-02", "2026-02-30", "2026-01-02T03:04:05.5Z", "0001-01-01T00:00:00+01:00"],
      ...[
        "Ada@Example.org",
        "ada@example",
        "https://example.org/a",
        "https://a@b.org",
        "ftp://a.org",
      ],
      ..."0 1 -0 -01 +1 1. 1.0 1,5 0.1 -2.50 -007.50 1e3 00501 NaN Infinity yes now today".split(
        " ",
      ),
      ..."0000-01-01 0001-01-01 2024-02-29 2026-02-29 2026-1-2 9999-12-31".split(" "),
      ..."2026-01-02T03:04:05 2026-02-30T00:00:00Z 0001-01-01T00:00:00+02:00".split(" "),
      ...["2026-01-02T03:04:05.123456+02:00", " 1", "0.12345678901234567890", "9".repeat(400)],
      ...[308, 320].map((zeros) => `1${"0".repeat(zeros)}`),
      ...[`0.${"0".repeat(323)}5`, `${IDS[0]}`, `${IDS[0]}`.slice(1), `{${IDS[0]}}`],
      ...[IDS[0]?.toUpperCase() ?? "", '{"a":1}', "open", "x".repeat(5000), "*", "a*b", "%", "_"],
    ],
    any: fc.oneof(
      fc.string({ unit: "binary" }).map((value) => value.replaceAll("\0", "")),
      fc.stringMatching(/^-?[0-9]{0,18}\.?[0-9]{0,3}$/),
    ),
    order: byCodePoint,
    toText: text,
    fromText: (typed) => typed,
  },
  email: {
    edges: [
      ...[
        "ada@example.org",
        "a@b.c",
        "0@0.0",
        "!#$%&'*+/=?^_`{|}~-@x.org",
        "a.b+c@x-y.example.org",
      ],
      `${"x".repeat(64)}@${"y".repeat(63)}.${"y".repeat(60)}.${"y".repeat(60)}.org`,
    ],
    any: fc
      .tuple(fc.stringMatching(/^[a-z0-9_+-]{1,20}$/), fc.domain())
      .map(([local, domain]) => `${local}@${domain.toLowerCase()}`)
      .filter((value) => value.length <= 254),
    spell: (value) => [text(value).toUpperCase()],
    order: byText,
    toText: text,
    fromText: (typed) =>
      EMAIL.test(typed) && typed.indexOf("@") <= 64 ? typed.toLowerCase() : undefined,
  },
  url: {
    edges: [
      ...["https://example.org", "http://a:65535/?q=1#x", "https://1.2.3.4/~ada/(b);c='d'"],
      ...[
        "https://xn--bcher-kva.example/%C3%A4?a%5Bb%5d=%7Cc",
        `https://example.org/${"x".repeat(2028)}`,
      ],
    ],
    any: fc
      .webUrl({ withQueryParameters: true, withFragments: true })
      .map((value) => new URL(value).href),
    order: byText,
    toText: text,
    fromText: (typed) => (isUrl(typed) ? typed : undefined),
  },
  number: {
    edges: [
      ...[0, 1, -7, 0.1, 1.5, 1e21, 1e-7, 2 ** 53, 2 ** 53 + 2, -(2 ** 53) + 1, 1e40, 1e-39, 1e-40],
      ...[5e-324, -5e-324, 2.2250738585072014e-308, Number.MAX_VALUE, -Number.MAX_VALUE, 1e305],
    ],
    any: fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
      fc.integer(),
    ),
    spell: (value) => (Number(value) === 0 ? [-0] : []),
    order: byNumber,
    toText: (value) => toDigits(Number(value)),
    fromText: (typed) => {
      if (!isDecimal(typed) || /^-?0\d/.test(typed) || !Number.isFinite(Number(typed))) return;
      const value = Number(typed) + 0;
      return toScaled(toDigits(value)) === toScaled(typed) ? value : undefined;
    },
  },
  integer: {
    edges: [0, 1, -1, -7, 2 ** 31, -(2 ** 31) - 1, 2 ** 53 - 1, -(2 ** 53) + 1],
    any: fc.maxSafeInteger(),
    order: byNumber,
    toText: text,
    fromText: (typed) =>
      /^(0|-?[1-9]\d*)$/.test(typed) && Number.isSafeInteger(Number(typed))
        ? Number(typed)
        : undefined,
  },
  decimal: {
    edges: [
      ...["0", "0.00", "1", "-7", "1.5", "1.50", "-1.50", "9007199254740991", "9007199254740993"],
      ...["9".repeat(400), `-${"9".repeat(399)}`, `0.${"0".repeat(397)}1`, "0.1234567890123456789"],
    ],
    any: fc
      .tuple(
        fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
        fc.stringMatching(/^(\.[0-9]{1,20})?$/),
      )
      .map(([whole, fraction]) => trimZeros(`${whole}${fraction}`)),
    spell: (value) => [
      text(value).length > 390 ? text(value) : text(value).replace(/^(-?)/, "$1000"),
    ],
    order: (a, b) => byDifference(toScaled(a) - toScaled(b)),
    toText: text,
    fromText: (typed) => (isDecimal(typed) ? trimZeros(typed) : undefined),
  },
  boolean: {
    edges: [true, false],
    any: fc.boolean(),
    order: byNumber,
    toText: text,
    fromText: (typed) => (typed === "true" || typed === "false" ? typed === "true" : undefined),
  },
  uuid,
  timestamp: {
    edges: [
      ...["0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59.999999+00:00"],
      ...["2026-01-02T00:00:00+00:00", "2026-01-02T00:00:00.000001+00:00"],
      ...["1969-12-31T23:59:59.9+00:00", "2024-02-29T12:00:00.12+00:00"],
    ],
    any: fc
      .tuple(anyDay, fc.integer({ min: 0, max: 86_399 }), fc.integer({ min: 0, max: 999_999 }))
      .map(([day, second, micros]) => toTime(day, second, micros)),
    spell: (value) => [text(value).replace("+00:00", "Z"), toOffset(value)],
    order: (a, b) => byDifference(toMicros(a) - toMicros(b)),
    toText: text,
    fromText: (typed, from) => {
      if (from === "date") return `${typed}T00:00:00+00:00`;
      const [, day = "", clock = "", fraction = "", zone = ""] =
        /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3])(?=:)/.test(typed)
          ? (/^(.{10})T(\d\d:[0-5]\d:[0-5]\d)(?:\.(\d{1,6}))?(Z|[+-]\d\d:\d\d)$/.exec(typed) ?? [])
          : [];
      if (!isDay(day) || zone === "") return undefined;
      const [sign, hours, minutes] = [zone[0], zone.slice(1, 3), zone.slice(4)];
      const offset =
        zone === "Z" ? 0 : (Number(hours) * 60 + Number(minutes)) * (sign === "-" ? -1 : 1);
      const moment = Date.parse(`${day}T${clock}Z`) - offset * 60_000;
      const date = Math.floor(moment / DAY);
      if (date < FIRST_DAY || date > LAST_DAY) return undefined;
      return toTime(toDay(date), (moment - date * DAY) / 1000, Number(fraction.padEnd(6, "0")));
    },
  },
  date: {
    edges: ["0001-01-01", "9999-12-31", "1969-12-31", "2024-02-29", "2026-01-02"],
    any: anyDay,
    order: byText,
    toText: text,
    fromText: (typed, from) => {
      const day = from === "timestamp" ? typed.replace(/T00:00:00\+00:00$/, "") : typed;
      return isDay(day) ? day : undefined;
    },
  },
  json: {
    edges: [
      ...["", "x", "-7", 0, 1.5, 1e21, -1e-39, true, false, [], {}, [null], { "": null }],
      ...["true", "2026-01-02", "open", [[[]]], { a: [1, "ä\n", null], __proto: 1 }, 7, '"'],
    ],
    any: fc
      .jsonValue()
      .map((value) => toStorable(value as Json))
      .filter((value) => value !== null),
    print: printJson,
    toText: (value) =>
      typeof value === "object"
        ? undefined
        : typeof value === "number"
          ? toDigits(value)
          : text(value),
    fromText: (typed, from, value) => {
      if (from === "boolean" || from === "integer") return value;
      if (from === "number") return isJsonNumber(Number(value)) ? value : undefined;
      return typed;
    },
  },
  enum: {
    edges: CHOICES,
    any: fc.constantFrom(...CHOICES),
    order: (a, b) => CHOICES.indexOf(a as "a") - CHOICES.indexOf(b as "a"),
    toText: text,
    fromText: (typed) => CHOICES.find((choice) => choice === typed),
  },
  ref: { ...uuid, edges: PARENTS, any: fc.constantFrom(0, 1).map((index) => PARENTS[index] ?? "") },
};

const BUILDERS: { [K in Kind]?: () => unknown } = {
  enum: () => t.enum(CHOICES),
  ref: () => t.ref("parents"),
};
/** A table with a column of a kind, and the position of the value. */
export const tableWith = (kind: Kind): object => ({
  value: BUILDERS[kind]?.() ?? t[kind as "string"](),
  nth: t.integer(),
});
/** A kind in an explicit change. */
export const typeOf = (kind: Kind): object => ({
  kind,
  ...(kind === "enum" ? { values: CHOICES } : kind === "ref" ? { table: "parents" } : {}),
});

export type KindRow = { id: string; value: Json; nth: number };
type At = { service: TestService; app: TestApp };
export type Kinds = {
  app: TestApp;
  /** The values of a kind, each once. */
  valuesOf: (kind: Kind) => readonly Json[];
  createAll: (table: string, rows: object[]) => Promise<KindRow[]>;
  list: (table: string, query?: Record<string, string>, at?: At) => Promise<KindRow[]>;
  remove: (table: string, rows: readonly KindRow[]) => Promise<void>;
};

/** An app with these tables, and with the rows that references point to. */
export async function openKinds(service: TestService, tables: object): Promise<Kinds> {
  const app = await service.makeApp(defineSchema({ parents: { name: t.string() }, ...tables }));
  const send = async (at: At, path: string, json?: object[]) => {
    const call = json === undefined ? {} : { method: "POST", json };
    const { status, text, json: body } = await at.service.call(at.app, path, call);
    const failed = status < 300 ? "" : `${path}: ${text}`;
    expect(failed).toBe("");
    return (body as { rows: KindRow[] }).rows;
  };
  const createAll = (table: string, rows: object[]) =>
    send({ service, app }, `/v1/data/db/${table}`, rows);
  PARENTS.splice(0, PARENTS.length, ...(await createAll("parents", [{}, {}])).map(({ id }) => id));
  const values = new Map(
    KINDS.map((kind) => {
      const { edges, any } = KIND_CASES[kind];
      const all = [...edges, ...fc.sample(any, drawRuns(300))];
      return [kind, [...new Map(all.map((value) => [canonicalJson(value), value])).values()]];
    }),
  );
  return {
    app,
    valuesOf: (kind) => values.get(kind) ?? [],
    createAll,
    list: (table, query = {}, at = { service, app }) =>
      send(at, `/v1/data/db/${table}?${new URLSearchParams(query)}`),
    remove: async (table, rows) => {
      for (const { id } of rows)
        await service.call(app, `/v1/data/db/${table}/${id}`, { method: "DELETE" });
    },
  };
}

/** Values as texts that are equal for equal values. */
export const toTexts = (values: readonly (Json | undefined)[]): string[] =>
  values.map((value) => canonicalJson(value ?? null));
