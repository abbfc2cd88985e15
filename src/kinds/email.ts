/** Columns of email addresses: text in one form, so that two spellings of an address are equal. @module */
import { EMAIL_MAX_CHARS, EMAIL_PATTERN } from "../std/patterns.ts";
import { quoteLiteral } from "../std/quote.ts";
import type { Compare, FieldKind, SqlKind, Types, ValueKind } from "./kind.ts";
import { OPERATORS } from "./operators.ts";
import { stringSql, textSearch } from "./string.ts";
import { compareTexts } from "./text_parts.ts";

export type EmailTypes = {
  /** A column of email addresses, in lowercase. */
  email: Types<string>;
};

const EMAIL = /* @__PURE__ */ new RegExp(EMAIL_PATTERN);

/** Max characters before the @. A pattern for it would need a lookahead, which clients in other languages lack. */
const LOCAL_MAX_CHARS = 64;

function isEmail(text: string): boolean {
  const isShort = text.length <= EMAIL_MAX_CHARS && text.indexOf("@") <= LOCAL_MAX_CHARS;
  return isShort && EMAIL.test(text);
}

export const emailValue: ValueKind = {
  compared: "values",
  default: { wanted: 'must be an address such as "ada@example.org"' },
  read: (value: unknown) =>
    typeof value === "string" && isEmail(value)
      ? { value: value.toLowerCase() }
      : {
          issue: `Must be an email address such as "ada@example.org", of ASCII letters, digits and symbols, max ${EMAIL_MAX_CHARS} characters, ${LOCAL_MAX_CHARS} of them before the @`,
        },
  fromCsv: (text: string) => ({ value: text.trim() }),
  schema: () => ({
    type: "string",
    format: "email",
    pattern: EMAIL_PATTERN,
    maxLength: EMAIL_MAX_CHARS,
    description: "An email address, returned in lowercase.",
  }),
  formatName: ["email", "email address"],
  sample: () => "ada@example.org",
  operators: OPERATORS,
};

export const emailCompare: Compare = (a, b) =>
  compareTexts(`${a}`.toLowerCase(), `${b}`.toLowerCase());

const PATTERN = /* @__PURE__ */ quoteLiteral(EMAIL_PATTERN);

export const emailSql: SqlKind = /* @__PURE__ */ Object.assign({}, stringSql, {
  since: "0.2.0",
  fromText: {
    check: (text: string) =>
      `(pg_catalog.length(${text}) <= ${EMAIL_MAX_CHARS} and pg_catalog.strpos(${text}, '@') <= ${LOCAL_MAX_CHARS + 1} and ${text} ~ ${PATTERN})`,
    // Letters other than those of ASCII do not match the pattern.
    toValue: (text: string) => `pg_catalog.lower(${text} collate pg_catalog."C")`,
  },
  reversible: ["string", "json"],
});

export const emailField: FieldKind = {
  label: "email",
  sign: "@",
  expected: () => "an email address, such as ada@example.org",
  control: "line",
  input: "email",
  cell: "link",
  toLink: (text: string) =>
    isEmail(text) ? `mailto:${text.split("@").map(encodeURIComponent).join("@")}` : undefined,
  search: textSearch,
};
