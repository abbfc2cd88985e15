/** Schemas of settings: each parses a variable's text, or reports the expected value. Never quotes the text. @module */
import { readFileSync, statSync } from "node:fs";
import * as v from "valibot";
import { MIN_AUDIT_RETENTION_S } from "../accounts/pure.ts";
import { readMailFrom } from "../mail/pure.ts";
import { DAY_S, readDuration } from "../std/duration.ts";
import { isHttpOrigin } from "../std/is_http_origin.ts";

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

function url(isValid: (url: URL) => boolean, message: string) {
  return text((typed) => URL.canParse(typed) && isValid(new URL(typed)), message);
}

export const PostgresUrl = url(
  ({ protocol, username, pathname }) =>
    /^postgres(ql)?:$/.test(protocol) && username !== "" && pathname.length > 1,
  "must be postgres://user:password@host:port/database",
);
export const HttpUrl = text(
  isHttpOrigin,
  "must be an origin such as https://api.example.org, without a path or a trailing slash",
);

/** Server and account only: nodemailer would read options from the URL's query. */
export const MailUrl = url(
  ({ protocol, hostname, username, password, pathname, search, hash }) =>
    /^smtps?:$/.test(protocol) &&
    hostname !== "" &&
    (username === "") === (password === "") &&
    /^\/?$/.test(pathname) &&
    search + hash === "",
  "must be smtp://host:port or smtps://user:password@host",
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
  const isWhole = (typed: string) =>
    /^\d+$/.test(typed) && Number(typed) >= min && Number(typed) <= max;
  return v.pipe(text(isWhole, `must be a whole number from ${min} to ${max}`), v.transform(Number));
}

/** A comma-separated list; `isItem` must accept every item. */
export function list(isItem: (text: string) => boolean, message: string) {
  const toItems = (text: string) => text.split(",").map((item) => item.trim());
  return v.pipe(
    text((typed) => typed === "" || toItems(typed).every(isItem), message),
    v.transform((text) => (text === "" ? [] : toItems(text))),
  );
}

/** Comma-separated secrets: the first creates new values, all verify. */
export function secrets(leastBytes: number) {
  return v.optional(
    list(
      (text) => Buffer.byteLength(text) >= leastBytes,
      `must be one secret, or several, comma-separated, each at least ${leastBytes} bytes long`,
    ),
  );
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
  v.transform((text) => (text === "0" ? 0 : (readDuration(text) ?? -1))),
  v.check(
    (seconds) => seconds === 0 || (seconds >= MIN_AUDIT_RETENTION_S && seconds <= 10 * YEAR_S),
    "must be 0, or a duration such as 400d, from 30d to 3650d",
  ),
);

export const OnOrOff = v.pipe(
  v.picklist(["on", "off"], "must be on or off"),
  v.transform((text) => text === "on"),
);
