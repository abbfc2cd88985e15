/** The inputs of actions on apps, their keys and limits. @module */

import { type Field, type Input, oneOfChoices } from "../../field.ts";
import { SLUG_TEXTS } from "../../std/stored_text.ts";
import type { Grace } from "./key_life.ts";
import { checkLimit, DEFAULT_PER_MINUTE } from "./limits.ts";

export const SLUG: Field = {
  label: "Name",
  hint: `${SLUG_TEXTS}. Addresses and commands use it.`,
  placeholder: "slug",
  maxLength: 40,
};

const LIMIT = {
  placeholder: "number",
  maxLength: 20,
  isOptional: true,
  rule: "a number of requests in digits",
  read: (text: string) =>
    /^[\d,]+$/.test(text) ? checkLimit(Number(text.replaceAll(",", ""))) : undefined,
};
export const PER_MINUTE: Input<number> = {
  ...LIMIT,
  label: "Requests per minute",
  hint: `For all keys of the app together. Defaults to ${DEFAULT_PER_MINUTE.toLocaleString("en")}.`,
};
export const PER_MINUTE_OF_KEY: Input<number> = {
  ...LIMIT,
  label: "Requests per minute of each key",
  hint: "Keeps one program from using the whole limit. Defaults to the limit of the app.",
};

export const KEY_NAME: Input<string> = {
  label: "Name",
  hint: "The purpose of the key, such as “web server”.",
  placeholder: "text",
  maxLength: 100,
  rule: "1 to 100 characters on one line, without control characters",
  read: (text) => (/^[^\p{Cc}\p{Cf}]{1,100}$/u.test(text) ? text : undefined),
};

export const GRACE: Input<Grace> = {
  label: "Old key expires",
  hint: "Never later than its own expiry.",
  placeholder: "time",
  maxLength: 3,
  ...oneOfChoices<Grace>({
    "0": "immediately",
    "1h": "in an hour",
    "24h": "in a day",
    "7d": "in a week",
  }),
};
