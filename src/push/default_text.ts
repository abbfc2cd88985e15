/** Defaults in one notation, to compare recorded defaults with PostgreSQL's output. Pure. @module */
import type { Json, Kind, NamedColumn } from "../dsl/mod.ts";
import { canonicalJson } from "../std/canonical_json.ts";
import { readTimestamp } from "../std/timestamp.ts";

const NO_DEFAULT = "none";

export function toDefaultText(column: NamedColumn): string {
  const { kind, default: value } = column;
  if (value === undefined) return NO_DEFAULT;
  return TEXTS[kind](value);
}

const TEXTS = {
  string: String,
  number: (value) => toPlainNumber(String(value)),
  decimal: (value) => toPlainNumber(String(value)),
  boolean: String,
  uuid: String,
  timestamp: (value) => (value === "now" ? "now()" : String(value)),
  json: canonicalJson,
  enum: String,
  ref: String,
} satisfies Record<Kind, (value: Json) => string>;

/** The default from `pg_get_expr`, printed with UTC, ISO dates and an empty search path. Unknown formats do not change. */
export function readDefaultText(printed: string): string {
  if (printed === "now()") return printed;
  const quoted = /^(E?)'((?:[^']|'')*)'::(.+)$/s.exec(printed);
  if (quoted === null) {
    const plain = printed.replace(/^\(?(-?[\d.]+)\)?(::numeric)?$/, "$1");
    return /^-?[\d.]+$/.test(plain) ? toPlainNumber(plain) : printed;
  }
  const [, prefix, body = "", type = ""] = quoted;
  const text = body.replaceAll("''", "'");
  return readTyped(prefix === "" ? text : text.replaceAll("\\\\", "\\"), type);
}

function readTyped(text: string, type: string): string {
  if (type === "numeric") return toPlainNumber(text);
  if (type === "jsonb") return canonicalJson(JSON.parse(text));
  if (type !== "timestamp with time zone") return text;
  const iso = text.replace(" ", "T").replace(/([+-]\d\d)$/, "$1:00");
  return readTimestamp(iso) ?? text;
}

/** A number as its digits and the power of ten of its last digit: `1.50`, `1.5` and `15e-1` are equal. */
function toPlainNumber(text: string): string {
  const parts = /^(-?)(\d*)(?:\.(\d*))?(?:e([+-]?\d+))?$/i.exec(text);
  if (parts === null) return text;
  const [, sign = "", whole = "", fraction = "", power = "0"] = parts;
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return "0";
  const exponent = Number(power) - fraction.length + digits.length - significant.length;
  return `${sign}${significant}e${exponent}`;
}
