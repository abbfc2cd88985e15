/** Authenticates a push by key and counts it in the database, before the push is read. @module */

import { call, type Database, readSqlState, SIGNALS, SignalError } from "../../db/mod.ts";
import { keyRejected, scopeMissing } from "../../http/mod.ts";
import type { Log } from "../../observe.ts";
import { allows, type Principal } from "../../principal.ts";
import { Problem } from "../../problem.ts";
import type { TableDefinition } from "../../schema/mod.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { hashColumnSet, toColumnSet } from "../catalog/mod.ts";
import type { PushLimits } from "../limits.ts";
import { UNUSED_SET_LIFE_S } from "../plan/plan_sets.ts";
import type { Plan, Step } from "../plan/step.ts";
import type { PushState, RecordedView, TableState } from "../state.ts";

/** An app that pushes; `by`: its key, unless an operator pushes. */
export type PushingApp = {
  id: string;
  slug: string;
  by?: Pick<Principal, "keyId" | "proof" | "scopes">;
};
type BeginPushDeps = { admin: Database; log: Log; pushLimits: PushLimits };

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

/** The tables whose rules give people more, each with what it gives. */
function findWidened({ steps }: Plan): string[] {
  return steps.flatMap((step) =>
    step.kind === "widen_rules" ? [`${step.table}: ${step.rights.join("; ")}`] : [],
  );
}

/** The notice for a plan that this key cannot apply. */
export function describeWidened({ by }: PushingApp, plan: Plan): string[] {
  if (by === undefined || findWidened(plan).length === 0 || allows(by.scopes, "schema:rules"))
    return [];
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
  plan: Plan,
): Promise<void> {
  const widened = findWidened(plan);
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

// Schedules the CPU-heavy work of pushes. A piece can block the thread for hundreds of
// milliseconds, so a pause before each piece lets requests for rows run. Apps alternate: the pushes
// of one app delay other apps by one piece.

/** Long enough for other requests to reach the database and return. */
const PAUSE_MS = 5;

/** Waiting work by app, the next app in turn first. Per process, because all work shares its thread. */
const waiting = new Map<string, (() => void)[]>();
let isServing = false;

/** Resolves at the app's turn, which ends at the caller's next `await`. */
export function acquireTurn(appId: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const own = waiting.get(appId);
  if (own === undefined) waiting.set(appId, [resolve]);
  else own.push(resolve);
  if (!isServing) void serve();
  return promise;
}

async function serve(): Promise<void> {
  isServing = true;
  for (let next = waiting.entries().next(); !next.done; next = waiting.entries().next()) {
    await Bun.sleep(PAUSE_MS);
    const [appId, waiters] = next.value;
    const start = waiters.shift();
    waiting.delete(appId);
    if (waiters.length > 0) waiting.set(appId, waiters);
    start?.();
  }
  isServing = false;
}

// The state after a plan, so that the next push can be planned without applying it. Pure.

type App = { id: string; slug: string };

/** The recorded tables after an app's plan, with unchanged migrations. */
export function advanceState(state: PushState, app: App, { steps }: Plan): PushState {
  const tables = new Map(state.tables.map((table) => [table.name, table]));
  for (const step of steps) {
    if (step.kind === "rename") {
      const before = tables.get(step.before.name);
      if (before === undefined) throw new Error("The change has no table");
      tables.delete(before.name);
      tables.set(step.table.name, { ...before, name: step.table.name });
    }
    if (step.kind === "drop_table") tables.delete(step.table.name);
    if (step.kind === "record_table") {
      const before = tables.get(step.table.name) ?? makeTable(app, step.table);
      tables.set(step.table.name, { ...before, definition: step.table });
    }
    if (step.kind === "register") {
      const found = tables.get(step.table.name);
      if (found === undefined) throw new Error("The registration has no table");
      tables.set(found.name, { ...found, ...register(found, app, step.table) });
    }
  }
  for (const step of steps) {
    if (step.kind !== "create_views" && step.kind !== "drop_views") continue;
    // The views of a table that was renamed or dropped are dropped under its former name.
    const found = tables.get(step.table);
    if (found !== undefined)
      tables.set(found.name, { ...found, views: changeViews(found, app, step) });
  }
  return { ...state, tables: [...tables.values()] };
}

type ViewStep = Extract<Step, { kind: "create_views" | "drop_views" }>;

function changeViews({ views }: TableState, { id: appId }: App, step: ViewStep): RecordedView[] {
  if (step.kind === "drop_views")
    return views.filter((view) => view.appId !== appId || !step.hashes.includes(view.hash));
  return [...views, ...step.sets.map((set) => ({ appId, hash: hashColumnSet(set), set }))];
}

function makeTable({ id, slug }: App, definition: TableDefinition): TableState {
  return {
    name: definition.name,
    ownerAppId: id,
    ownerSlug: slug,
    definition,
    stamp: 0,
    isLarge: false,
    references: { own: 0, foreign: 0 },
    retype: null,
    uses: [],
    sets: [],
    views: [],
  };
}

/** Records the app's use. Marks its old column set as expired: a real push can wait until the set expires. */
function register({ uses, sets }: TableState, { id, slug }: App, definition: TableDefinition) {
  const hash = hashColumnSet(definition);
  const others = sets.filter((set) => set.appId !== id || set.hash !== hash);
  const left = others.map((set) =>
    set.appId === id ? { ...set, unusedS: UNUSED_SET_LIFE_S } : set,
  );
  return {
    uses: [...uses.filter(({ appId }) => appId !== id), { appId: id, slug, definition }],
    sets: [...left, { appId: id, hash, unusedS: null, columns: toColumnSet(definition) }],
  };
}
