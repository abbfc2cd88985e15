/** Who pushes by key, and how often: checked and counted in the database, before the push is looked at. @module */
import { call, type Database, SIGNALS, SignalError } from "../db/mod.ts";
import { keyRefused, scopeMissing } from "../http/mod.ts";
import type { Log } from "../observe.ts";
import { allows, type Principal } from "../principal.ts";
import { Problem } from "../problem.ts";
import type { PushLimits } from "./limits.ts";
import { toLoginRefusal } from "./login_refused.ts";

export type BeginPushDeps = { admin: Database; log: Log; pushLimits: PushLimits };

/**
 * The app that pushes; counts the push. `isApplying`: this request applies one of the project's migrations; together with
 * those that follow, it counts once. `dryRun`: it changes nothing, for which a key that can read the schema suffices.
 *
 * @throws {Problem} unauthenticated; forbidden; rate_limited
 */
export async function beginPush(
  { admin, log, pushLimits: { pushesPerHour } }: BeginPushDeps,
  { appId: id, keyId, proof, scopes }: Principal,
  { isApplying = false, dryRun }: { isApplying?: boolean; dryRun: boolean },
): Promise<{ id: string; slug: string; keyId: string }> {
  if (!dryRun && !allows(scopes, "schema:push")) throw scopeMissing("schema:push");
  // If the connection breaks it may be counted twice, which does no harm.
  const counted = call(
    admin,
    "begin_push",
    {
      app: id,
      shown: proof,
      per_hour: pushesPerHour,
      is_applying: isApplying,
      is_dry_run: dryRun,
    },
    { queue: id },
  );
  const row = await answerKey({ log }, counted);
  if (row.app_slug === null) throw keyRefused();
  if (row.wait_s === null) return { id, slug: row.app_slug, keyId };
  throw new Problem("rate_limited", {
    message: `Cannot push: the limit is ${pushesPerHour} pushes an hour, dry runs included`,
    retryAfterS: row.wait_s,
  });
}

/** What the database returns for a proven key that may push; a process that signs requests is not trusted for this. */
export async function answerKey<Answer>(
  { log }: { log: Log },
  answer: Promise<Answer>,
): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    const isRefused = error instanceof SignalError && error.signal === SIGNALS.keyRefused;
    if (isRefused) throw keyRefused(error);
    const refusal = toLoginRefusal(error);
    if (refusal === undefined) throw error;
    log("error", "login cannot push", { message: refusal.message });
    throw refusal;
  }
}
