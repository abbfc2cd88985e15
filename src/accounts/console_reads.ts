/** What the Console's pages show, each with one call on the Console's login. Never a secret. @module */
import { SCOPES, type Scope } from "../principal.ts";
import type { RegisteredTargets } from "./app_targets.ts";
import { type ConsoleCall, type ConsoleDeps, callConsole } from "./console_call.ts";
import type { ListedKey } from "./key_life.ts";
import { refuseUnknownApp } from "./keys.ts";
import type { PageCookies } from "./sessions.ts";
import type { ConsoleRole } from "./users.ts";

/** Who looks. */
export type ConsoleVisitor = {
  id: string;
  email: string;
  displayName: string | null;
  role: ConsoleRole;
  /** Whether the sign-in is young enough for a sensitive act. */
  isFresh: boolean;
};
type Shown<Content> = Content & { me: ConsoleVisitor };

export type ConsoleApp = {
  slug: string;
  createdAt: string;
  disabledAt: string | null;
  /** One of its origins. */
  origin: string | null;
  keys: number;
  tables: number;
  pushedAt: string | null;
};
export type ConsoleHome = Shown<{
  hasKeys: boolean;
  hasTables: boolean;
  /** The first 21. */
  apps: ConsoleApp[];
  endingKeys: { app: string; keyId: string; name: string; expiresAt: string }[];
  builds: {
    app: string;
    table: string;
    kind: "index" | "reference";
    name: string;
    state: string;
  }[];
}>;

export async function readConsoleHome(
  deps: ConsoleDeps,
  cookies: PageCookies,
): Promise<ConsoleHome> {
  return await read<ConsoleHome>(deps, cookies, {
    text: "select rowhouse.console_home($1, $2, $3)::text as shown",
  });
}

/** Apps by slug: those that contain a text, after a slug, at most so many. */
export async function listConsoleApps(
  deps: ConsoleDeps,
  cookies: PageCookies,
  { search, after, most }: { search: string; after: string; most: number },
): Promise<Shown<{ apps: ConsoleApp[] }>> {
  return await read(deps, cookies, {
    text: "select rowhouse.console_list_apps($1, $2, $3, $4, $5, $6)::text as shown",
    values: [search, after, most],
  });
}

export type ShownApp = RegisteredTargets & {
  slug: string;
  id: string;
  createdAt: string;
  disabledAt: string | null;
  tables: string[];
};

/** @throws {Problem} unknown_app */
export async function showConsoleApp(
  deps: ConsoleDeps,
  cookies: PageCookies,
  slug: string,
): Promise<Shown<{ app: ShownApp; keys: ListedKey[] }>> {
  try {
    const shown = await read<Shown<{ app: ShownApp; keys: ListedKey[] }>>(deps, cookies, {
      text: "select rowhouse.console_show_app($1, $2, $3, $4)::text as shown",
      values: [slug],
    });
    const keys = shown.keys.map((key) => ({ ...key, scopes: toScopes(key.scopes) }));
    return { ...shown, keys };
  } catch (error) {
    throw refuseUnknownApp(error, slug);
  }
}

function toScopes(given: readonly Scope[]): Scope[] {
  return SCOPES.filter((scope) => given.includes(scope));
}

export type ConsoleAuditEntry = {
  id: number;
  at: string;
  actor: string;
  actorEmail: string | null;
  action: string;
  userId: string | null;
  email: string | null;
  app: string | null;
  /** As JSON, at most 4,000 characters of it. */
  details: string;
};
export type AuditFilter = {
  actor: string;
  action: string;
  app: string;
  person: string;
  /** Older than the entry with this id. */
  before: number | undefined;
  most: number;
};

/** The audit log, newest first; what is empty does not filter. */
export async function listConsoleAudit(
  deps: ConsoleDeps,
  cookies: PageCookies,
  { actor, action, app, person, before, most }: AuditFilter,
): Promise<Shown<{ entries: ConsoleAuditEntry[] }>> {
  return await read(deps, cookies, {
    text: "select rowhouse.console_list_audit($1, $2, $3, $4, $5, $6, $7, $8, $9)::text as shown",
    values: [actor, action, app, person, before ?? null, most],
  });
}

async function read<Content>(
  deps: ConsoleDeps,
  cookies: PageCookies,
  call: Omit<ConsoleCall, "retry">,
): Promise<Content> {
  const [row] = await callConsole<{ shown: string }>(deps, cookies, { ...call, retry: "safe" });
  return JSON.parse(row?.shown ?? "{}") as Content;
}
