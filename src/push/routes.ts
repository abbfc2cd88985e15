/**
 * The routes of push: `POST /v1/data/schema` pushes, `GET` tells what is recorded, and below it the SQL of one migration.
 *
 * @module
 */
import type { Database } from "../db/mod.ts";
import {
  answerBytes,
  answerJson,
  checkJsonBody,
  checkObject,
  type KeyRequestContext,
  parseJson,
  type Route,
  readText,
  refuseQuery,
} from "../http/mod.ts";
import { type Log, noteFault } from "../observe.ts";
import { Problem } from "../problem.ts";
import { quote } from "../std/quote.ts";
import { push } from "./apply.ts";
import { readPushBody } from "./body.ts";
import { MAX_MIGRATIONS } from "./journal.ts";
import { readMigrationJson, readStatusJson } from "./status.ts";

export type PushRouteDeps = {
  /** Absent where this process serves without administrator's rights. */
  admin: Database;
  catalog: { refresh: () => Promise<void> };
  log: Log;
};

/** Definitions are larger than rows: 500 tables × 200 columns do not fit into 100 KB. */
export const MAX_BYTES = 1_048_576;

export const pushRoutes: readonly Route<PushRouteDeps>[] = [
  {
    method: "POST",
    path: "/v1/data/schema",
    access: "key",
    scope: "schema:push",
    handle: handlePush,
  },
  {
    method: "GET",
    path: "/v1/data/schema",
    access: "key",
    scope: "schema:push",
    handle: handleStatus,
  },
  {
    method: "GET",
    path: "/v1/data/schema/migrations/:seq",
    access: "key",
    scope: "schema:push",
    handle: handleMigration,
  },
];

/** Answers when the push is committed; what it deferred goes on in this process. */
async function handlePush(deps: PushRouteDeps, context: KeyRequestContext): Promise<Response> {
  refuseQuery(context.query);
  checkJsonBody(context.request);
  const body = checkObject(parseJson(await readText(context.request, MAX_BYTES)));
  const request = readPushBody(body);
  const app = await findApp(deps.admin, context.principal.appId);
  const { deferred: _, ...result } = await push(deps, { app, ...request });
  // The push is committed: if this look-up fails, the next one finds it, and the answer is still true.
  if (result.status === "applied")
    await deps.catalog.refresh().catch(noteFault(deps.log, "the look at a pushed table"));
  return answerJson(result);
}

async function handleStatus(deps: PushRouteDeps, context: KeyRequestContext): Promise<Response> {
  refuseQuery(context.query);
  const status = await readStatusJson(deps.admin, context.principal.appId);
  if (status === undefined) throw new Problem("unauthenticated");
  return answerBytes(status);
}

async function handleMigration(deps: PushRouteDeps, context: KeyRequestContext): Promise<Response> {
  refuseQuery(context.query);
  const seq = readSeq(context.params["seq"] ?? "");
  const migration = await readMigrationJson(deps.admin, context.principal.appId, seq);
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

async function findApp(admin: Database, id: string): Promise<{ id: string; slug: string }> {
  const [row] = await admin.query<{ slug: string }>(
    "select slug from rowhouse.apps where id = $1",
    [id],
    { retry: "safe", queue: id },
  );
  if (row === undefined) throw new Problem("unauthenticated");
  return { id, slug: row.slug };
}
