/** What the identity pages need, and how they find out who visits. @module */
import { type IdentitySecrets, type PageSession, readPageSession } from "../accounts/mod.ts";
import type { Database } from "../db/mod.ts";
import type { RequestContext } from "../http/mod.ts";
import type { RandomBytes } from "../std/random_text.ts";
import { readPageCookies } from "./cookies.ts";
import type { Hashing } from "./hashing.ts";
import type { Providers } from "./providers.ts";
import type { IdentitySettings } from "./settings.ts";

export type PageDeps = {
  db: Database;
  identity: IdentitySettings;
  /** Whether administrators find the Console here. */
  hasConsole: boolean;
  /** Whether people are mailed links. */
  hasMail: boolean;
  identitySecrets: IdentitySecrets;
  hashing: Hashing;
  randomBytes: RandomBytes;
  /** With whom people may sign in besides by a password. */
  providers: Providers;
  makeId: () => string;
  /** Milliseconds since 1970. */
  now: () => number;
};

/** Who visits, by both cookies; and the app with this slug, if one is named. One statement. */
export function readSessionOfPage(
  { db, identity, identitySecrets }: PageDeps,
  { request }: RequestContext,
  slug?: string,
): Promise<PageSession> {
  return readPageSession(
    { db, sessionIdleS: identity.sessionIdleS },
    readPageCookies(request, identitySecrets),
    slug,
  );
}
