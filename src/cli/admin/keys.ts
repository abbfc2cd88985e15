/** `rowhouse admin` commands for API keys. A key is printed once and not stored. @module */

import { SCOPES, type Scope } from "../../principal.ts";
import { many, oneOf, orNull, text, time } from "../../records/actions/mod.ts";
import { issueKey, KEY_ACTIONS, KEY_NAME, keyList } from "../../records/apps/mod.ts";
import { readDuration } from "../../std/duration.ts";
import { quote } from "../../std/quote.ts";
import { readTimestamp } from "../../std/timestamp.ts";
import { UsageError } from "../command.ts";
import { makeActionCommands, ON_KEY } from "./action_command.ts";
import { command, makeListCommand, typed } from "./command.ts";
import { makeAdminCommands } from "./task.ts";

const DEFAULT_SCOPES = "data:read,data:write";

export const adminKeyCommands = makeAdminCommands({
  ...makeActionCommands(ON_KEY, KEY_ACTIONS),
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
      const key = await issueKey(deps, { slug, name, scopes, expiresAt });
      const ends = expiresAt?.toISOString() ?? null;
      const { keyId, text: secret } = key;
      return {
        document: { app: slug, keyId, key: secret, name, scopes, expiresAt: ends },
        lines: [secret],
      };
    },
  }),
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
