/**
 * The routes of push: `POST /v1/data/schema` pushes, `GET` returns the record, and the path `/migrations/:seq` below
 * it the SQL of one migration. `POST` to `/changes` below it makes an explicit change.
 *
 * @module
 */
import type { Database } from "../db/mod.ts";
import {
  checkJsonBody,
  checkObject,
  type KeyRequestContext,
  keyRejected,
  parseJson,
  type Route,
  readText,
  rejectQuery,
  respondWithBytes,
  respondWithJson,
} from "../http/mod.ts";
import { type Log, logError } from "../observe.ts";
import { Problem } from "../problem.ts";
import { quote } from "../std/quote.ts";
import { acquireTurn } from "./acquire_turn.ts";
import { type PushResult, push } from "./apply.ts";
import { applyChange } from "./apply_change.ts";
import { beginPush, readKeyResult } from "./begin_push.ts";
import { readChangeBody, readPushBody } from "./body.ts";
import { MAX_MIGRATIONS } from "./journal.ts";
import {
  CHANGES_PATH,
  MAX_BYTES,
  MIGRATIONS_PATH,
  type PushLimits,
  SCHEMA_PATH,
} from "./limits.ts";
import { OPERATIONS } from "./operations.ts";
import type { Planning } from "./planning.ts";
import { readMigrationJson, readStatusJson } from "./status.ts";

export type PushRouteDeps = {
  /** A pool with the pushing login. */
  admin: Database;
  catalog: { refresh: () => Promise<void> };
  log: Log;
  pushLimits: PushLimits;
  planning: Planning;
};

/** A key that can only read the schema can plan a push. */
export const POST_PUSH = {
  method: "POST",
  access: "key",
  scope: "schema:push",
  lesserScope: "schema:read",
} as const;
const GET_RECORD = { method: "GET", access: "key", scope: "schema:read" } as const;

export const pushRoutes: readonly Route<PushRouteDeps>[] = [
  { ...POST_PUSH, path: SCHEMA_PATH, operation: OPERATIONS.push, handle: handlePush },
  { ...GET_RECORD, path: SCHEMA_PATH, operation: OPERATIONS.status, handle: handleStatus },
  {
    ...GET_RECORD,
    path: `${MIGRATIONS_PATH}/:seq`,
    operation: OPERATIONS.migration,
    handle: handleMigration,
  },
  { ...POST_PUSH, path: CHANGES_PATH, operation: OPERATIONS.change, handle: handleChange },
];

/** Responds when the push is committed. Deferred steps continue in this process. */
async function handlePush(deps: PushRouteDeps, context: KeyRequestContext): Promise<Response> {
  rejectQuery(context.query);
  checkJsonBody(context.request);
  const text = await readText(context.request, MAX_BYTES);
  await acquireTurn(context.principal.appId);
  const request = readPushBody(checkObject(parseJson(text)));
  const app = await beginPush(deps, context.principal, request.options);
  const options = { ...request.options, journalBytes: deps.pushLimits.journalBytes };
  return await respondWithPush(deps, await push(deps, { app, ...request, options }));
}

async function handleChange(deps: PushRouteDeps, context: KeyRequestContext): Promise<Response> {
  const request = readChangeBody(await readJsonObject(context, MAX_BYTES));
  const app = await beginPush(deps, context.principal, request.options);
  const options = { ...request.options, journalBytes: deps.pushLimits.journalBytes };
  return await respondWithPush(deps, await applyChange(deps, { app, ...request, options }));
}

/** The JSON object in the body of a request, which has no query. */
export async function readJsonObject(
  { query, request }: KeyRequestContext,
  maxBytes: number,
): Promise<Readonly<Record<string, unknown>>> {
  rejectQuery(query);
  checkJsonBody(request);
  return checkObject(parseJson(await readText(request, maxBytes)));
}

export async function respondWithPush(
  { catalog, log }: PushRouteDeps,
  { deferred: _, ...result }: PushResult,
): Promise<Response> {
  // The push is committed. If this refresh fails, the response is still correct, and a later refresh reads the push.
  if (result.status === "applied")
    await catalog.refresh().catch(logError(log, "the check of a pushed table"));
  return respondWithJson(result);
}

async function handleStatus(deps: PushRouteDeps, context: KeyRequestContext): Promise<Response> {
  rejectQuery(context.query);
  const status = await readKeyResult(deps, readStatusJson(deps.admin, context.principal));
  if (status === undefined) throw keyRejected();
  return respondWithBytes(status);
}

async function handleMigration(deps: PushRouteDeps, context: KeyRequestContext): Promise<Response> {
  rejectQuery(context.query);
  const seq = readSeq(context.params["seq"] ?? "");
  const migration = await readKeyResult(
    deps,
    readMigrationJson(deps.admin, context.principal, seq),
  );
  if (migration === undefined)
    throw new Problem("not_found", { message: `This app has no migration ${seq}` });
  return respondWithBytes(migration);
}

function readSeq(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new Problem("invalid_id", {
    message: `Cannot read ${quote(text)} as the number of a migration: must be 1 to ${MAX_MIGRATIONS}`,
  });
}
