/**
 * The key of a push: authenticated and counted in the database before the push is read, with a scope for what deletes values
 * (`schema:drop`), and one for wider rules (`schema:rules`).
 *
 * @module
 */

import { call, type Database, readSqlState, SIGNALS, SignalError } from "../db/mod.ts";
import { keyRejected, scopeMissing } from "../http/mod.ts";
import type { Log } from "../observe.ts";
import { allows, type Principal } from "../principal.ts";
import { Problem } from "../problem.ts";
import { quoteForShell } from "../std/quote_shell.ts";

/** An app that pushes; `by`: its key, unless an operator pushes. */
export type PushingApp = {
  id: string;
  slug: string;
  by?: Pick<Principal, "keyId" | "proof" | "scopes">;
};
type BeginPushDeps = {
  admin: Database;
  log: Log;
  pushLimits: { readonly pushesPerHour: number };
};

/**
 * Returns the pushing app and counts the push. `isApplying`: this request applies one of the project's migrations, which together
 * count as one push. `dryRun`: it changes nothing, so a key with `schema:read` suffices.
 *
 * @throws {Problem} unauthenticated; forbidden; rate_limited
 */
export async function beginPush(
  { admin, log, pushLimits: { pushesPerHour } }: BeginPushDeps,
  { appId: id, keyId, proof, scopes }: Principal,
  { isApplying = false, dryRun }: { isApplying?: boolean; dryRun: boolean },
): Promise<PushingApp> {
  if (!dryRun && !allows(scopes, "schema:push")) throw scopeMissing("schema:push");
  // If the connection breaks, the push may count twice, which is harmless.
  const counted = call(
    admin,
    "begin_push",
    {
      app: id,
      presented_proof: proof,
      per_hour: pushesPerHour,
      is_applying: isApplying,
      is_dry_run: dryRun,
    },
    { queue: id },
  );
  const row = await readKeyResult({ log }, counted);
  if (row.app_slug === null) throw keyRejected();
  if (row.wait_s === null) return { id, slug: row.app_slug, by: { keyId, proof, scopes } };
  throw new Problem("rate_limited", {
    message: `Cannot push: the limit is ${pushesPerHour} pushes an hour, dry runs included`,
    retryAfterS: row.wait_s,
  });
}

/**
 * Checks that the key may delete the values that a plan deletes; an operator may.
 *
 * @throws {Problem} forbidden — the key lacks the scope; unauthenticated — the database does not confirm it
 */
export async function checkDropKey(
  { admin, log }: Pick<BeginPushDeps, "admin" | "log">,
  { id, slug, by }: PushingApp,
  deleted: readonly string[],
): Promise<void> {
  if (by === undefined || deleted.length === 0) return;
  if (!allows(by.scopes, "schema:drop"))
    throw new Problem("forbidden", {
      message: `Cannot push: this deletes values (${deleted.join(", ")}), and this key lacks the scope schema:drop; nothing was written. Repeat the command with a key that has schema:push and schema:drop, or as an operator with --app ${slug}`,
    });
  const proven = { app: id, presented_proof: by.proof };
  await readKeyResult({ log }, call(admin, "check_drop_key", proven, { queue: id }));
}

/** The notice for a plan that this key cannot apply. */
export function describeWidened({ by }: PushingApp, widened: readonly string[]): string[] {
  if (by === undefined || widened.length === 0 || allows(by.scopes, "schema:rules")) return [];
  return [
    "SCOPE: this gives people more rights by rules: to apply it, use a key with schema:push and schema:rules",
  ];
}

/**
 * Checks that the key may give people more rights by rules; an operator may.
 *
 * @throws {Problem} forbidden — the key lacks the scope; unauthenticated — the database does not confirm it
 */
export async function checkRulesKey(
  { admin, log }: Pick<BeginPushDeps, "admin" | "log">,
  { id, slug, by }: PushingApp,
  widened: readonly string[],
): Promise<void> {
  if (by === undefined || widened.length === 0) return;
  if (!allows(by.scopes, "schema:rules"))
    throw new Problem("forbidden", {
      message: `Cannot push: its rules give people more rights (${widened.join("; ")}), and this key lacks the scope schema:rules; nothing was written. Repeat the command with a key that has schema:push and schema:rules, which an operator issues with rowhouse admin issue-key ${quoteForShell(slug)} --scope schema:push,schema:rules, or as an operator with --app ${quoteForShell(slug)}`,
    });
  const proven = { app: id, presented_proof: by.proof };
  await readKeyResult({ log }, call(admin, "check_rules_key", proven, { queue: id }));
}

/** The database's result for a proven key that can push. A process that signs requests is not trusted for this. */
export async function readKeyResult<Result>(
  { log }: { log: Log },
  result: Promise<Result>,
): Promise<Result> {
  try {
    return await result;
  } catch (error) {
    const isRejected = error instanceof SignalError && error.signal === SIGNALS.keyRejected;
    if (isRejected) throw keyRejected(error);
    const rejection = toLoginRejection(error);
    if (rejection === undefined) throw error;
    log("error", "login cannot push", { message: rejection.message });
    throw rejection;
  }
}

/** Errors of a rejected login, missing rights, or a database without the service's tables. */
const WRONG_LOGIN = ["28000", "28P01", "3D000", "42501", "3F000", "42P01", "42883"];

/**
 * A Problem if the first statement of a push fails with such an error. Without `Retry-After`: the error lasts until the
 * operator corrects the setting.
 */
function toLoginRejection(error: unknown): Problem | undefined {
  if (!WRONG_LOGIN.includes(readSqlState(error) ?? "")) return undefined;
  return new Problem("unavailable", {
    message:
      "The login of ADMIN_DATABASE_URL cannot push here: the service's operator must correct it (run rowhouse doctor for details)",
    cause: error instanceof Problem ? error.cause : error,
  });
}
