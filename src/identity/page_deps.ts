/** What the identity pages need, and how they find out who visits. @module */

import type { IdentitySecrets } from "../accounts/secrets/mod.ts";
import {
  type FactorRule,
  type PageSession,
  type PageSessionOptions,
  readPageSession,
  type Visitor,
} from "../accounts/sessions/mod.ts";
import type { Database } from "../db/mod.ts";
import type { RequestContext } from "../http/mod.ts";
import type { Log } from "../observe.ts";
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
  log: Log;
  makeId: () => string;
  /** Milliseconds since 1970. */
  now: () => number;
};

/** Who visits, by both cookies, with the apps that are asked for. One statement. */
export function readSessionOfPage(
  { db, identity, identitySecrets, providers }: PageDeps,
  { request }: RequestContext,
  options?: PageSessionOptions,
): Promise<PageSession> {
  return readPageSession(
    {
      db,
      identitySecrets,
      sessionIdleS: identity.sessionIdleS,
      hasProvider: (name) => providers.find(name) !== undefined,
    },
    readPageCookies(request, identitySecrets),
    options,
  );
}

/** Of whom a second factor is asked. */
export function toFactorRule({
  identity,
  providers,
}: Pick<PageDeps, "identity" | "providers">): FactorRule {
  return identity.requireSecondFactor ?? (providers.list.length > 0 ? "console" : "default");
}

/** Whether this visitor gets to no page before adding a second factor. */
export function isFactorDemanded(
  deps: Pick<PageDeps, "identity" | "providers">,
  { isFactorOverdue }: Pick<Visitor, "isFactorOverdue">,
): boolean {
  return isFactorOverdue && toFactorRule(deps) === "all";
}
