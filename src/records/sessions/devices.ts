/**
 * The text that marks a browser on which people have signed in: `<id>.<user id>…<MAC>`, with an `f` after each person who has
 * used a second factor there. The text is not a session and not in the database. It only gives these people a sign-in limit of
 * their own.
 *
 * @module
 */

import type { RandomBytes } from "../../std/random_text.ts";
import { isEqualText } from "../../std/secrets.ts";
import type { IdentitySecret, IdentitySecrets } from "../secrets/identity_secrets.ts";
import { ID_CHARS, makeIdText } from "../secrets/secrets.ts";

/** Max people per browser; the oldest is dropped. */
const MAX_USERS = 8;

export type Device = {
  id: string;
  /** The people who have signed in there, the latest first. */
  userIds: readonly string[];
  /** The people who used a second factor there. Without a factor, a thief with the password could have signed in. */
  factorUserIds: readonly string[];
};

const USER_ID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const DEVICE = new RegExp(
  `^((${ID_CHARS})((?:\\.${USER_ID}f?){1,${MAX_USERS}}))\\.([0-9a-f]{64})$`,
);
const ID_LENGTH = 36;

/** The device of a text; `undefined` if none of the secrets signed it. */
export function readDevice({ all }: IdentitySecrets, text: string): Device | undefined {
  const [, named = "", id = "", users = "", given = ""] = DEVICE.exec(text) ?? [];
  const isOurs = all.some((by) => isEqualText(given, toMac(by, named)));
  if (!isOurs) return undefined;
  const marked = users.split(".").slice(1);
  const toId = (text: string) => text.slice(0, ID_LENGTH);
  const factorUserIds = marked.filter((text) => text.length > ID_LENGTH).map(toId);
  return { id, userIds: marked.map(toId), factorUserIds };
}

/** The text for a device after a sign-in, with or without a second factor. */
export function toDeviceText(
  deps: { identitySecrets: IdentitySecrets; randomBytes: RandomBytes },
  device: Device | undefined,
  { userId, hasFactor }: { userId: string; hasFactor: boolean },
): string {
  const { id = makeIdText(deps.randomBytes), userIds = [], factorUserIds = [] } = device ?? {};
  const users = [userId, ...userIds.filter((id) => id !== userId)].slice(0, MAX_USERS);
  const isMarked = (user: string) => (user === userId ? hasFactor : factorUserIds.includes(user));
  const named = [id, ...users.map((user) => (isMarked(user) ? `${user}f` : user))].join(".");
  return `${named}.${toMac(deps.identitySecrets.current, named)}`;
}

function toMac(by: IdentitySecret, named: string): string {
  return Buffer.from(by.prove("device", named)).toString("hex");
}

// The name of a browser, such as `Firefox on Linux`. Contains only names of these tables, no text
// of the header.

/** The first match counts: most browsers also name others. */
const BROWSERS = [
  ["Edg", "Edge"],
  ["OPR/", "Opera"],
  ["SamsungBrowser/", "Samsung Internet"],
  ["Firefox/", "Firefox"],
  ["FxiOS/", "Firefox"],
  ["Chrome/", "Chrome"],
  ["CriOS/", "Chrome"],
  ["Safari/", "Safari"],
] as const;
const SYSTEMS = [
  ["iPhone", "iPhone"],
  ["iPad", "iPad"],
  ["Android", "Android"],
  ["Windows", "Windows"],
  ["CrOS", "ChromeOS"],
  ["Mac OS X", "macOS"],
  ["Linux", "Linux"],
] as const;

const UNKNOWN = "Unknown browser";

export function toDeviceName(userAgent: string | null): string {
  const text = userAgent ?? "";
  const browser = findName(BROWSERS, text) ?? UNKNOWN;
  const system = findName(SYSTEMS, text);
  return system === undefined ? browser : `${browser} on ${system}`;
}

/** Whether {@linkcode toDeviceName} can return the text. A stolen login can store other texts. */
export function isDeviceName(text: string): boolean {
  const [browser = "", system] = text.split(" on ");
  const isBrowser = browser === UNKNOWN || isNameOf(BROWSERS, browser);
  return isBrowser && (system === undefined || isNameOf(SYSTEMS, system));
}

type Names = readonly (readonly [sign: string, name: string])[];

function isNameOf(table: Names, text: string): boolean {
  return table.some(([, name]) => name === text);
}

function findName(table: Names, text: string): string | undefined {
  return table.find(([sign]) => text.includes(sign))?.[1];
}
