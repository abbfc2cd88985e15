/** Columns of addresses of the web, as they were written. @module */
import { quoteLiteral } from "../std/quote.ts";
import type { FieldKind, SqlKind, Types, ValueKind } from "./kind.ts";
import { OPERATORS } from "./operators.ts";
import { stringSql, textSearch } from "./string.ts";

export type UrlTypes = {
  /** A column of absolute http and https URLs. */
  url: Types<string>;
};

const MAX_CHARS = 2048;

/** The same in JavaScript, PostgreSQL and JSON Schema: a URI of RFC 3986 that browsers accept, without a user and IPv6 addresses. */
function toPattern(): string {
  const label = "[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?";
  // Another last label would be the end of a number.
  const name = `(${label}\\.)*[A-Za-z]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?`;
  const byte = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
  const port =
    "(6553[0-5]|655[0-2][0-9]|65[0-4][0-9][0-9]|6[0-4][0-9]{3}|[1-5][0-9]{4}|[0-9]{1,4})";
  const part = (others: string) => `([A-Za-z0-9._~!$&'()*+,;=:@${others}-]|%[0-9A-Fa-f]{2})*`;
  return `^https?://(${name}|${byte}(\\.${byte}){3})(:${port})?(/${part("/")})?(\\?${part("/?")})?(#${part("/?")})?$`;
}

const PATTERN = /* @__PURE__ */ toPattern();
const URL_TEXT = /* @__PURE__ */ new RegExp(PATTERN);

function isUrl(text: string): boolean {
  return text.length <= MAX_CHARS && URL_TEXT.test(text);
}

/** Every runtime has it, but not every compiler configuration declares it. */
declare const URL: {
  new (text: string): { readonly href: string };
  canParse(text: string): boolean;
};

/** Characters that browsers send in a query, and that a URI does not contain. */
const UNENCODED = /[[\]\\^`{|}]/g;

/** A typed address as browsers send it: other characters are encoded. Browsers would join several lines. */
function toUrl(typed: string): string {
  const text = typed.trim();
  if (isUrl(text) || /[\t\n\r]/.test(text) || !URL.canParse(text)) return text;
  const href = new URL(text).href.replaceAll(UNENCODED, encodeURIComponent);
  return isUrl(href) ? href : text;
}

export const urlValue: ValueKind = {
  compared: "values",
  default: { wanted: 'must be an address such as "https://example.org/path"' },
  read: (value: unknown) =>
    typeof value === "string" && isUrl(value)
      ? { value }
      : {
          issue: `Must be an absolute http or https URL such as "https://example.org/path", without a user; encode other characters, such as [ as %5B; max ${MAX_CHARS} characters`,
        },
  fromCsv: (text: string) => ({ value: toUrl(text) }),
  schema: () => ({
    type: "string",
    format: "uri",
    pattern: PATTERN,
    maxLength: MAX_CHARS,
    description: "An absolute http or https URL, returned as it was written.",
  }),
  formatName: ["uri", "URL"],
  sample: () => "https://example.org/path",
  operators: OPERATORS,
};

export const urlSql: SqlKind = /* @__PURE__ */ Object.assign({}, stringSql, {
  since: "0.2.0",
  fromText: {
    check: (text: string) =>
      `(pg_catalog.length(${text}) <= ${MAX_CHARS} and ${text} ~ ${quoteLiteral(PATTERN)})`,
    toValue: (text: string) => text,
  },
  reversible: ["string", "json"],
  exactFrom: ["string"],
});

export const urlField: FieldKind = {
  label: "URL",
  sign: "www",
  expected: () => "an absolute http or https URL, such as https://example.org/path",
  control: "line",
  input: "url",
  toJson: (text: string) => JSON.stringify(toUrl(text)),
  cell: "link",
  toLink: (text: string) => (isUrl(text) ? text : undefined),
  search: textSearch,
};
