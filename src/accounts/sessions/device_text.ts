/**
 * The text that marks a browser on which people have signed in: `<id>.<user id>…<MAC>`, with an `f` after each person who has
 * used a second factor there. The text is not a session and not in the database. It only gives these people a sign-in limit of
 * their own.
 *
 * @module
 */
import { isEqualText } from "../../std/is_equal_text.ts";
import type { RandomBytes } from "../../std/random_text.ts";
import type { IdentitySecret, IdentitySecrets } from "../secrets/identity_secrets.ts";
import { ID_CHARS, makeIdText } from "../secrets/secret_text.ts";

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
