/** `rowhouse admin` commands for API keys. A key is printed once and not stored. @module */

import { SCOPES, type Scope } from "../../principal.ts";
import { flag, many, oneOf, orNull, record, text, time } from "../../records/actions/mod.ts";
import {
  GRACE,
  type Grace,
  issueKey,
  KEY_NAME,
  keyList,
  revokeKey,
  rollKey,
} from "../../records/apps/mod.ts";
import { isIdText } from "../../records/secrets/mod.ts";
import { readDuration } from "../../std/duration.ts";
import { quote } from "../../std/quote.ts";
import { readTimestamp } from "../../std/timestamp.ts";
import { RejectedError, UsageError } from "../command.ts";
import { command, makeListCommand, typed } from "./command.ts";
import { makeAdminCommands } from "./task.ts";

const DEFAULT_SCOPES = "data:read,data:write";

const DEFAULT_GRACE: Grace = "24h";

export const adminKeyCommands = makeAdminCommands({
  "issue-key": command("creates an API key for an app and prints it once", {
    example: `rowhouse admin issue-key wiki --name server
rowhouse admin issue-key wiki --name deploy --scope schema:push --expires 90d`,
    args: { slug: typed },
    flags: {
      name: KEY_NAME,
      scope: { value: "list", about: `any of ${SCOPES.join(", ")}`, default: DEFAULT_SCOPES },
      expires: { value: "when", about: "30m, 12h, 90d, 4w, or a date such as 2030-01-31" },
    },
    json: {
      app: text(),
      keyId: text(),
      key: text(),
      name: text(),
      scopes: many(oneOf(SCOPES)),
      expiresAt: orNull(time()),
    },
    run: async (deps, { slug, name = "", scope, expires }) => {
      const scopes = readScopes(scope);
      const expiresAt = expires === undefined ? undefined : readExpiry(expires, deps.now());
      const keyPrefix = deps.config.API_KEY_PREFIX;
      const key = await issueKey({ ...deps, keyPrefix }, { slug, name, scopes, expiresAt });
      const ends = expiresAt?.toISOString() ?? null;
      const { keyId, text: secret } = key;
      return {
        document: { app: slug, keyId, key: secret, name, scopes, expiresAt: ends },
        lines: [secret],
      };
    },
  }),
  "revoke-key": command("revokes an API key in all processes", {
    example: "rowhouse admin revoke-key k3x9q0m2w8z5t1ab",
    about: "The key's id is the part between the first _ and the dot.",
    args: { key_id: readKeyId },
    json: { keyId: text(), revoked: flag() },
    run: async (deps, { key_id: keyId }) => {
      if (!(await revokeKey(deps, keyId)))
        throw new RejectedError(
          `No active key has the id ${quote(keyId)}: it does not exist or is already revoked; rowhouse admin list-keys <app> lists the keys`,
        );
      return { document: { keyId, revoked: true }, lines: [`Revoked key ${keyId}`] };
    },
  }),
  "roll-key": command(
    "replaces an API key: prints the new key once; the old key expires after a grace period",
    {
      example: `rowhouse admin roll-key k3x9q0m2w8z5t1ab
rowhouse admin roll-key k3x9q0m2w8z5t1ab --grace 0`,
      about: `The new key has the name, scopes and lifetime of the old key. The old key works until the grace period
ends (${DEFAULT_GRACE} by default) or until it expires, if that is earlier.`,
      args: { key_id: readKeyId },
      flags: { grace: GRACE },
      json: {
        keyId: text(),
        key: text(),
        expiresAt: orNull(time()),
        old: record({ keyId: text(), expiresAt: time() }),
      },
      run: async (deps, { key_id, grace = DEFAULT_GRACE }) => {
        const keyPrefix = deps.config.API_KEY_PREFIX;
        const rolled = await rollKey({ ...deps, keyPrefix }, key_id, grace);
        const { keyId, text: key, expiresAt, oldExpiresAt } = rolled;
        const ends = oldExpiresAt.toISOString();
        return {
          document: {
            ...{ keyId, key, expiresAt: expiresAt?.toISOString() ?? null },
            old: { keyId: key_id, expiresAt: ends },
          },
          lines: [key],
          notes: [`The old key works until ${ends}`],
        };
      },
    },
  ),
  "list-keys": makeListCommand(keyList, {
    summary: "lists the API keys of an app, newest first",
    example: "rowhouse admin list-keys wiki --json",
    about: "Never shows a secret.",
    lines: {
      scopes: ({ scopes }) => scopes.join(","),
      lastUsedAt: ({ lastUsedAt }) => (lastUsedAt === null ? "never used" : `used ${lastUsedAt}`),
      expiresAt: ({ expiresAt }) => (expiresAt === null ? "no expiry" : `expires ${expiresAt}`),
    },
    none: (slug) => `App ${slug} has no keys yet`,
  }),
});

function readScopes(text: string): Scope[] {
  const terms = text.split(",").map((term) => term.trim());
  const scopes = SCOPES.filter((scope) => terms.includes(scope));
  const unknown = terms.find((term) => !SCOPES.some((scope) => scope === term));
  if (unknown === undefined) return scopes;
  throw new UsageError(`Unknown scope ${quote(unknown)}: expected some of ${SCOPES.join(", ")}`);
}

/** A future time, from a duration, a date (its start in UTC), or a time with an offset. */
function readExpiry(text: string, now: Date): Date {
  const seconds = readDuration(text);
  const moment = readTimestamp(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text);
  const at =
    seconds === undefined
      ? new Date(moment ?? Number.NaN)
      : new Date(now.getTime() + seconds * 1000);
  if (Number.isNaN(at.getTime()))
    throw new UsageError(
      `Cannot read --expires ${quote(text)}: must be like 90d, 2030-01-31 or 2030-01-31T12:00:00Z`,
    );
  if (at <= now) throw new UsageError(`Cannot use --expires ${quote(text)}: must be in the future`);
  return at;
}

/** The error does not repeat the text: it can be a whole key, typed by mistake. */
function readKeyId(text: string): string {
  if (isIdText(text)) return text;
  throw new UsageError(
    "Cannot read the key's id: must be the 16 characters between the first _ and the dot of a key",
  );
}
