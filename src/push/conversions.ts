/**
 * Converts values of one kind to another, as SQL, through the text that the API returns for a value, so clients see the same
 * value. A value without such a text in the other kind does not convert. Pure.
 *
 * @module
 */
import { quoteLiteral } from "../db/mod.ts";
import type { Kind, NamedColumn } from "../dsl/mod.ts";
import { sqlType } from "./types.ts";

/** The text of a value; null for null. The session's time zone is UTC. */
const TEXTS: Readonly<Record<Kind, (value: string) => string>> = {
  string: (value) => value,
  number: toText,
  decimal: toText,
  boolean: toText,
  uuid: toText,
  timestamp: (value) => `(pg_catalog.to_jsonb(${value}) operator(pg_catalog.#>>) '{}')`,
  json: (value) => `(${value} operator(pg_catalog.#>>) '{}')`,
  enum: toText,
  ref: toText,
};

function toText(value: string): string {
  return `${value}::pg_catalog.text`;
}

/** The digits that a decimal accepts. */
const DIGITS = "'^-?[0-9]+([.][0-9]+)?$'";
const UUID = "'^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$'";

type Target = { table: string; column: NamedColumn };
type Reader = {
  check: (text: string, target: Target) => string;
  toValue: (text: string) => string;
};

const isDecimal = (text: string) =>
  `case when pg_catalog.length(${text}) <= 400 then ${text} ~ ${DIGITS} else false end`;

/** Whether the text is a JSON number whose value a JavaScript number holds and prints unchanged. */
const isNumber = (text: string) => `case when ${isDecimal(text)} and ${text} !~ '^-?0[0-9]' then
  case when ${text}::numeric = 0 then true
    when pg_catalog.abs(${text}::numeric) between 1e-300 and 1e300
    then ${text}::float8::text::numeric = ${text}::numeric
    else false end else false end`;

/** The texts that are values of a kind, and their conversion. */
const READERS: Readonly<Record<Exclude<Kind, "ref" | "enum" | "json">, Reader>> = {
  string: { check: () => "true", toValue: (text) => text },
  number: { check: isNumber, toValue: (text) => `${text}::numeric` },
  decimal: { check: isDecimal, toValue: (text) => `${text}::numeric` },
  boolean: {
    check: (text) => `${text} in ('true', 'false')`,
    toValue: (text) => `${text}::bool`,
  },
  uuid: { check: (text) => `${text} ~ ${UUID}`, toValue: (text) => `${text}::uuid` },
  timestamp: {
    check: (text) => `rowhouse.read_time(${text}) is not null`,
    toValue: (text) => `rowhouse.read_time(${text})`,
  },
};

/** The kinds from which a column can be converted back to the same values. */
const REVERSIBLE: Readonly<Record<Kind, readonly Kind[]>> = {
  string: ["enum", "json", "boolean"],
  number: ["decimal", "string", "json"],
  decimal: ["number", "string", "json"],
  boolean: ["string", "json"],
  uuid: ["string", "json"],
  timestamp: ["string", "json"],
  enum: ["string", "json"],
  // Its strings and its numbers can have the same text.
  json: [],
  ref: [],
};

/** Whether a conversion keeps every value: from text, for example, `"007"` becomes 7, and a time loses its offset. */
export function keepsValues(before: NamedColumn, column: NamedColumn): boolean {
  return REVERSIBLE[before.kind].includes(column.kind);
}

export type Conversion = {
  /** Whether a value converts; true for null. */
  check: string;
  /** The converted value; null if the value does not convert. */
  value: string;
};

/** The conversion of an expression. Its statement runs with only `pg_catalog` in the search path. */
export function renderConversion(
  expression: string,
  { table, before, column }: { table: string; before: NamedColumn; column: NamedColumn },
): Conversion {
  const text = TEXTS[before.kind](expression);
  const { check, toValue } = findReader({ table, column }, before);
  const known = check(text, { table, column });
  // A list or an object has no text.
  const isScalar =
    before.kind === "json"
      ? `pg_catalog.jsonb_typeof(${expression}) not in ('array', 'object') and `
      : "";
  const checked = `case when ${expression} is null then true when ${isScalar}true then ${known} else false end`;
  return {
    check: `(${checked})`,
    value: `case when ${checked} then ${toValue(text)} end`,
  };
}

function findReader({ table, column }: Target, before: NamedColumn): Reader {
  switch (column.kind) {
    case "enum": {
      const values = (column.values ?? []).map(quoteLiteral).join(", ");
      return {
        check: (text) => `${text} in (${values})`,
        toValue: (text) => `${text}::${copyType({ table, column })}`,
      };
    }
    case "json":
      return {
        check: (text) => (before.kind === "number" ? isStorable(text) : "true"),
        toValue: (text) => `pg_catalog.to_jsonb(${toJsonInput(text, before.kind)})`,
      };
    case "ref":
      throw new Error("A column cannot become a reference");
    default:
      return READERS[column.kind];
  }
}

/** Numbers and booleans keep their JSON type; all other values become strings. */
function toJsonInput(text: string, kind: Kind): string {
  if (kind === "number") return `${text}::numeric`;
  return kind === "boolean" ? `${text}::bool` : text;
}

/** JSON allows smaller numbers than a column of numbers. */
function isStorable(text: string): string {
  return `(${text}::numeric = 0 or pg_catalog.abs(${text}::numeric) >= 1e-39 and pg_catalog.abs(${text}::numeric) < 1e40)`;
}

/** The name of the copy that replaces a column. No column can have this name. */
export const COPY = "$to";

/** The name of the copy's enum type: the column's type name may be in use. */
export function copyTypeName(table: string): string {
  return `${COPY}__${table}__enum`;
}

export function copyType({ table, column }: Target): string {
  return column.kind === "enum"
    ? `data."${copyTypeName(table)}"`
    : sqlType({ name: table }, column);
}
