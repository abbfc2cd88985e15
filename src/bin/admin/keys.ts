/** `rowhouse admin` commands for API keys. A key is printed once and not stored. @module */
import {
  GRACE,
  type Grace,
  issueKey,
  KEY_NAME,
  keyList,
  revokeKey,
  rollKey,
} from "../../accounts/apps/mod.ts";
import { isIdText } from "../../accounts/secrets/mod.ts";
import { SCOPES, type Scope } from "../../principal.ts";
import { readDuration } from "../../std/duration.ts";
import { quote } from "../../std/quote.ts";
import { readTimestamp } from "../../std/timestamp.ts";
import { RejectedError, UsageError } from "../cli/command.ts";
import { makeListCommand } from "./list_command.ts";
import { type AdminTask, makeAdminCommands, readFlag, toFlag } from "./task.ts";

const DEFAULT_SCOPES = "data:read,data:write";

const issueKeyTask: AdminTask = async (deps, args) => {
  const [slug = ""] = args.positionals;
  const scopes = readScopes(args.text("scope") ?? DEFAULT_SCOPES);
  const expires = args.text("expires");
  const expiresAt = expires === undefined ? undefined : readExpiry(expires, deps.now());
  const name = readFlag(args, "name", KEY_NAME) ?? "";
  const key = await issueKey(
    { ...deps, keyPrefix: deps.config.API_KEY_PREFIX },
    { slug, name, scopes, expiresAt },
  );
  return {
    document: {
      app: slug,
      keyId: key.keyId,
      key: key.text,
      name,
      scopes,
      expiresAt: expiresAt?.toISOString() ?? null,
    },
    lines: [key.text],
  };
};

const revokeKeyTask: AdminTask = async (deps, args) => {
  const keyId = readKeyId(args.positionals[0] ?? "");
  if (!(await revokeKey(deps, keyId)))
    throw new RejectedError(
      `No active key has the id ${quote(keyId)}: it does not exist or is already revoked`,
    );
  return { document: { keyId, revoked: true }, lines: [`Revoked key ${keyId}`] };
};

const DEFAULT_GRACE: Grace = "24h";

const rollKeyTask: AdminTask = async (deps, args) => {
  const keyId = readKeyId(args.positionals[0] ?? "");
  const grace = readFlag(args, "grace", GRACE) ?? DEFAULT_GRACE;
  const keyPrefix = deps.config.API_KEY_PREFIX;
  const rolled = await rollKey({ ...deps, keyPrefix }, keyId, grace);
  return {
    document: {
      keyId: rolled.keyId,
      key: rolled.text,
      expiresAt: rolled.expiresAt?.toISOString() ?? null,
      old: { keyId, expiresAt: rolled.oldExpiresAt.toISOString() },
    },
    lines: [rolled.text],
    notes: [`The old key works until ${rolled.oldExpiresAt.toISOString()}`],
  };
};

export const adminKeyCommands = makeAdminCommands({
  "issue-key": {
    example: `rowhouse admin issue-key wiki --name server
rowhouse admin issue-key wiki --name deploy --scope schema:push --expires 90d`,
    about: "Prints { app, keyId, key, name, scopes, expiresAt } with --json.",
    positionals: ["slug"],
    flags: {
      name: toFlag(KEY_NAME),
      scope: { value: "list", about: `any of ${SCOPES.join(", ")}; default ${DEFAULT_SCOPES}` },
      expires: { value: "when", about: "30m, 12h, 90d, 4w, or a date such as 2030-01-31" },
    },
    task: issueKeyTask,
  },
  "revoke-key": {
    example: "rowhouse admin revoke-key k3x9q0m2w8z5t1ab",
    about:
      "The key's id is the part between the first _ and the dot. Prints { keyId, revoked } with --json.",
    positionals: ["key_id"],
    task: revokeKeyTask,
  },
  "roll-key": {
    example: `rowhouse admin roll-key k3x9q0m2w8z5t1ab
rowhouse admin roll-key k3x9q0m2w8z5t1ab --grace 0`,
    about: `The new key has the name, scopes and lifetime of the old key. The old key works until the grace period
ends (${DEFAULT_GRACE} by default) or until it expires, if that is earlier.
Prints { keyId, key, expiresAt, old: { keyId, expiresAt } } with --json.`,
    positionals: ["key_id"],
    flags: {
      grace: toFlag(GRACE),
    },
    task: rollKeyTask,
  },
  "list-keys": makeListCommand(keyList, {
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
  throw new UsageError(`Unknown scope ${quote(unknown)}: expected some of ${SCOPES.join(",")}`);
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
