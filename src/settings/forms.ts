/** Schemas of settings: each parses a variable's text, or reports the expected value. Never quotes the text. @module */
import { readFileSync, statSync } from "node:fs";
import { isIP } from "node:net";
import { domainToASCII } from "node:url";
import * as v from "valibot";
import { readMailFrom } from "../mail/settings.ts";
import { DAY_S, readDuration } from "../std/duration.ts";
import { MIN_AUDIT_RETENTION_S } from "../std/limits.ts";
import { isHttpOrigin } from "../std/network.ts";
import { cleanPasted, trimPasted } from "../std/pasted_text.ts";
import { toTerm } from "./environment.ts";

/**
 * A variable's schema and meaning. `initial` is the value if the variable is absent or empty; without `initial`, the setting
 * can be unset.
 */
export type Setting = {
  form: v.GenericSchema<string | undefined, unknown>;
  initial?: string;
  about: string;
  /** Whether `<NAME>_FILE` can name a file with the value. */
  isSecret?: true;
};

/** A text that the function accepts. */
function text(isValid: (text: string) => boolean, message: string) {
  return v.pipe(v.string(), v.check(isValid, message));
}

/** The escapes in a URL of characters that end its parts. */
const ESCAPES =
  "in the user and the password, write %40 for @, %2F for /, %3F for ?, %23 for # and %25 for %";

function url(isValid: (url: URL) => boolean, message: string) {
  return v.pipe(
    v.string(),
    v.transform(toAsciiHost),
    v.check(
      (typed) => URL.canParse(typed) && isDecodable(new URL(typed)) && isValid(new URL(typed)),
      message,
    ),
  );
}

/** The URL with the host in ASCII letters (`xn--`); URLs of other protocols than HTTP do not convert it themselves. */
export function toAsciiHost(text: string): string {
  return text.replace(
    /^([a-z+]+:\/\/(?:[^/?#]*@)?)([^@/?#:[\]]*[^\x20-\x7e][^@/?#:[\]]*)/i,
    (_, start: string, host: string) => start + domainToASCII(host),
  );
}

function isDecodable({ username, password, pathname }: URL): boolean {
  try {
    decodeURIComponent([username, password, pathname].join("/"));
    return true;
  } catch {
    return false;
  }
}

/** Hosting providers show a connection string as an argument of psql. */
export const PostgresUrl = v.pipe(
  v.string(),
  v.transform((text) => trimPasted(text.replace(/^psql\s+/, "")).replace(/^([^?#]*[^/])\/$/, "$1")),
  url(
    // An unescaped @ and / in a password make another host, and a path with the rest.
    ({ protocol, username, pathname, hash }) =>
      /^postgres(ql)?:$/.test(protocol) &&
      username !== "" &&
      /^\/[^/@]+$/.test(pathname) &&
      hash === "",
    `must be postgres://user:password@host:port/database; ${ESCAPES}`,
  ),
);

export const HttpUrl = v.pipe(
  v.string(),
  v.transform(toOrigin),
  v.check(isHttpOrigin, ({ input }) =>
    /^https?:\/\//i.test(input)
      ? "must be an origin such as https://api.example.org, without a user, a path or a query"
      : "must start with https:// or http://, such as https://api.example.org",
  ),
);

/** The origin of a URL that has only an origin, as browsers write it. */
function toOrigin(text: string): string {
  if (!URL.canParse(text)) return text;
  const { origin, username, password, pathname, search, hash } = new URL(text);
  const hasMore = username + password + search + hash !== "" || !/^\/+$/.test(pathname);
  return hasMore || origin === "null" ? text : origin;
}

/** Server and account only: nodemailer would read options from the URL's query. */
export const MailUrl = url(
  ({ protocol, hostname, username, password, pathname, search, hash }) =>
    /^smtps?:$/.test(protocol) &&
    hostname !== "" &&
    (username === "") === (password === "") &&
    /^\/?$/.test(pathname) &&
    search + hash === "",
  `must be smtp://host:port or smtps://user:password@host; ${ESCAPES}`,
);
export const MailSender = v.pipe(
  v.string(),
  v.transform((text) => readMailFrom(text)),
  v.check(
    (from) => from !== undefined,
    "must be an address such as no-reply@example.org, or Name <no-reply@example.org>",
  ),
);

const ORGANIZATION_MAX_CHARS = 60;

/** Pages and emails show the name on one line. */
export const OrganizationName = text(
  (name) =>
    name.trim() !== "" &&
    [...name].length <= ORGANIZATION_MAX_CHARS &&
    !/[\p{Cc}\p{Cf}]/u.test(name),
  `must be 1 to ${ORGANIZATION_MAX_CHARS} characters on one line`,
);

const LOGO_MAX_BYTES = 32_768;
const PNG_START = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

/** The bytes of a PNG file. */
export const PngFile = v.pipe(
  v.string(),
  v.transform(readPng),
  v.check(
    (bytes): bytes is Uint8Array<ArrayBuffer> => bytes !== undefined,
    `must be the path of a readable PNG file, max ${LOGO_MAX_BYTES / 1024} KB`,
  ),
);

function readPng(path: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    if (statSync(path).size > LOGO_MAX_BYTES) return undefined;
    const bytes = new Uint8Array(readFileSync(path));
    return PNG_START.equals(bytes.subarray(0, PNG_START.length)) ? bytes : undefined;
  } catch {
    // Any failure means that the setting is invalid.
    return undefined;
  }
}

/** A whole number in decimal digits; the bounds are inclusive. */
export function whole(min: number, max: number) {
  return count(cleanPasted, [min, max], `must be a whole number from ${min} to ${max}`);
}

const BINARY_UNITS = { kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3, tib: 1024 ** 4 } as const;

/** A number of bytes, or of KiB, MiB, GiB or TiB. MB is rejected: it has two meanings. */
export function bytes(min: number, max: number) {
  const toBytes = (text: string) => {
    const [, digits = text, unit = ""] =
      /^(\d{1,9}) ?([kmgt]ib)$/.exec(toTerm(text)) ??
      /^(\d+) ?(?:b|bytes)?$/.exec(toTerm(text)) ??
      [];
    return unit === ""
      ? digits
      : String(Number(digits) * BINARY_UNITS[unit as keyof typeof BINARY_UNITS]);
  };
  return count(
    toBytes,
    [min, max],
    `must be a number of bytes from ${min} to ${max}, such as ${Math.max(min, 1_048_576)} or 1MiB`,
  );
}

function count(toDigits: (text: string) => string, [min, max]: [number, number], message: string) {
  return v.pipe(
    v.string(),
    v.transform(toDigits),
    v.check(
      (digits) => /^\d+$/.test(digits) && Number(digits) >= min && Number(digits) <= max,
      message,
    ),
    v.transform(Number),
  );
}

type ListOptions = {
  /** The form of an item that is compared and stored. */
  toItem?: (text: string) => string;
  /** The separator of items; spaces and semicolons too, unless items can have them. */
  separator?: RegExp;
  /** Whether an empty last item is an issue: a secret of a rotation can be missing. */
  isStrict?: boolean;
};

/** A comma-separated list; `isItem` must accept every item. */
export function list(
  isItem: (text: string) => boolean,
  message: string,
  { toItem = trimPasted, separator = /[\s,;，；、]+/, isStrict = false }: ListOptions = {},
) {
  return v.pipe(
    v.string(),
    v.transform((text) => (isStrict ? text : text.replace(/[,;]\s*$/, ""))),
    v.transform((text) => (text === "" ? [] : text.split(separator).map(toItem))),
    v.check((items) => items.every(isItem), message),
  );
}

/** Comma-separated secrets: the first creates new values, all verify. */
export function secrets(leastBytes: number) {
  return v.optional(
    list(
      (text) => Buffer.byteLength(text) >= leastBytes,
      `must be one secret, or several, comma-separated, each at least ${leastBytes} bytes long: create one with openssl rand -base64 48`,
      { separator: /,/, isStrict: true },
    ),
  );
}

/** The address of a proxy or a network, without the brackets or quotes of a URL or of JSON. */
export function toProxy(text: string): string {
  return cleanPasted(text.replaceAll(/[[\]"']/g, ""));
}

/** A domain in lowercase ASCII letters (`xn--`), without the marks of addresses and cookies around it. */
export function toDomain(text: string): string {
  const domain = toTerm(text).replace(/^[@.]/, "").replace(/\.$/, "");
  return domainToASCII(domain) || domain;
}

/** A domain as it is copied from an address bar: without the scheme, the port and a final slash. */
export function toCookieDomain(text: string): string {
  return toDomain(
    toTerm(text)
      .replace(/^https?:\/\//, "")
      .replace(/(:\d+)?\/*$/, ""),
  );
}

/** The name or address of a host to listen on, without brackets. */
export const Host = v.pipe(
  v.string(),
  v.transform((text) => toTerm(text).replace(/^\[(.*)\]$/, "$1")),
  v.check(
    (host) => isIP(host) !== 0 || /^[\w.-]+$/.test(host),
    "must be a host name or address, without a port",
  ),
);

/** One of several terms, in any case. */
export function choice<const Term extends string>(terms: readonly Term[]) {
  const listed = terms.length === 2 ? terms.join(" or ") : `one of ${terms.join(", ")}`;
  return v.pipe(v.string(), v.transform(toTerm), v.picklist(terms, `must be ${listed}`));
}

const YEAR_S = 365 * DAY_S;

/** A duration such as 90s, 30m, 24h or 7d, in seconds. */
export const Duration = v.pipe(
  v.string(),
  v.transform((text) => readDuration(text) ?? 0),
  v.check(
    (seconds) => seconds >= 1 && seconds <= YEAR_S,
    "must be a duration such as 30m, 24h or 7d, max 365d",
  ),
);

/** A duration of at least thirty days, or 0, in seconds. */
export const Retention = v.pipe(
  v.string(),
  v.transform((text) => (/^0[a-z]?$/.test(toTerm(text)) ? 0 : (readDuration(text) ?? -1))),
  v.check(
    (seconds) => seconds === 0 || (seconds >= MIN_AUDIT_RETENTION_S && seconds <= 10 * YEAR_S),
    "must be 0, or a duration such as 400d, from 30d to 3650d",
  ),
);

const YES = ["on", "true", "yes", "1", "enabled"];
const NO = ["off", "false", "no", "0", "disabled"];

function yesOrNo(message: string) {
  return v.pipe(
    v.string(),
    v.transform(toTerm),
    v.picklist([...YES, ...NO], message),
    v.transform((term) => YES.includes(term)),
  );
}

export const OnOrOff = yesOrNo("must be on or off");
export const TrueOrFalse = yesOrNo("must be true or false");
