/**
 * The routes of push: `POST /v1/data/schema` pushes, `GET` shows what is recorded, and below it the SQL of one migration.
 *
 * @module
 */
import { type Database, SIGNALS, SignalError } from "../db/mod.ts";
import {
  answerBytes,
  answerJson,
  checkJsonBody,
  checkObject,
  type KeyRequestContext,
  keyRefused,
  parseJson,
  type Route,
  readText,
  refuseQuery,
} from "../http/mod.ts";
import { type Log, noteFault } from "../observe.ts";
import type { Principal } from "../principal.ts";
import { Problem } from "../problem.ts";
import { quote } from "../std/quote.ts";
import { push } from "./apply.ts";
import { readPushBody } from "./body.ts";
import { MAX_MIGRATIONS } from "./journal.ts";
import { toLoginRefusal } from "./login_refused.ts";
import { readMigrationJson, readStatusJson } from "./status.ts";

export type PushRouteDeps = {
  /** A pool of the login that pushes. */
  admin: Database;
  catalog: { refresh: () => Promise<void> };
  log: Log;
  pushLimits: PushLimits;
};

/** What the keys of one app may push. */
export type PushLimits = {
  /** Pushes and dry runs per hour: each counts once, whatever its outcome. */
  pushesPerHour: number;
  /** Maximum size in bytes of all migrations of the app together. */
  journalBytes: number;
};
export const PUSH_LIMITS: PushLimits = { pushesPerHour: 300, journalBytes: 67_108_864 };

/** Definitions are larger than rows: 500 tables × 200 columns do not fit into 100 KB. */
export const MAX_BYTES = 1_048_576;

export const SCHEMA_PATH = "/v1/data/schema";

export const pushRoutes: readonly Route<PushRouteDeps>[] = [
  {
    method: "POST",
    path: SCHEMA_PATH,
    access: "key",
    scope: "schema:push",
    handle: handlePush,
  },
  {
    method: "GET",
    path: SCHEMA_PATH,
    access: "key",
    scope: "schema:push",
    handle: handleStatus,
  },
  {
    method: "GET",
    path: `${SCHEMA_PATH}/migrations/:seq`,
    access: "key",
    scope: "schema:push",
    handle: handleMigration,
  },
];

/** Answers when the push is committed; deferred steps continue in this process. */
async function handlePush(deps: PushRouteDeps, context: KeyRequestContext): Promise<Response> {
  refuseQuery(context.query);
  checkJsonBody(context.request);
  const body = checkObject(parseJson(await readText(context.request, MAX_BYTES)));
  const request = readPushBody(body);
  const app = await beginPush(deps, context.principal);
  const options = { ...request.options, journalBytes: deps.pushLimits.journalBytes };
  const { deferred: _, ...result } = await push(deps, { app, ...request, options });
  // The push is committed: if this look-up fails, the next one will find it, and the answer is still true.
  if (result.status === "applied")
    await deps.catalog.refresh().catch(noteFault(deps.log, "the look at a pushed table"));
  return answerJson(result);
}

async function handleStatus(deps: PushRouteDeps, context: KeyRequestContext): Promise<Response> {
  refuseQuery(context.query);
  const status = await answerKey(deps, readStatusJson(deps.admin, context.principal));
  if (status === undefined) throw keyRefused();
  return answerBytes(status);
}

async function handleMigration(deps: PushRouteDeps, context: KeyRequestContext): Promise<Response> {
  refuseQuery(context.query);
  const seq = readSeq(context.params["seq"] ?? "");
  const migration = await answerKey(deps, readMigrationJson(deps.admin, context.principal, seq));
  if (migration === undefined)
    throw new Problem("not_found", { message: `This app has no migration ${seq}` });
  return answerBytes(migration);
}

function readSeq(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new Problem("invalid_id", {
    message: `Cannot read ${quote(text)} as the number of a migration: must be 1 to ${MAX_MIGRATIONS}`,
  });
}

/** What the database returns for a proven key that may push; a process that signs requests is not trusted for this. */
async function answerKey<Answer>(
  { log }: Pick<PushRouteDeps, "log">,
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

/**
 * The app that pushes; counts the push.
 *
 * @throws {Problem} unauthenticated; rate_limited
 */
async function beginPush(
  { admin, log, pushLimits: { pushesPerHour } }: PushRouteDeps,
  { appId: id, proof }: Principal,
): Promise<{ id: string; slug: string }> {
  const counted = admin.query<{ app_slug: string | null; wait_s: number | null }>(
    "select app_slug, wait_s from rowhouse.begin_push($1, $2, $3)",
    [id, proof, pushesPerHour],
    // If the connection breaks it may be counted twice, which does no harm.
    { retry: "safe", queue: id },
  );
  const [row] = await answerKey({ log }, counted);
  if (row == null || row.app_slug === null) throw keyRefused();
  if (row.wait_s === null) return { id, slug: row.app_slug };
  throw new Problem("rate_limited", {
    message: `This app may push ${pushesPerHour} times an hour, dry runs included`,
    retryAfterS: row.wait_s,
  });
}
