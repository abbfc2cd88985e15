/**
 * The routes that receive the project's migrations: `POST /v1/data/schema/migrations` applies them at a service that lacks
 * them, `POST /v1/data/schema/joins` joins histories that have diverged.
 *
 * @module
 */
import { type KeyRequestContext, type Route, respondWithJson } from "../http/mod.ts";
import { push } from "./apply.ts";
import { beginPush } from "./begin_push.ts";
import { JOINS_PATH, MAX_REPLAY_BYTES, MIGRATIONS_PATH } from "./limits.ts";
import { OPERATIONS } from "./operations.ts";
import { planReplay, type ReplayRequest, replay } from "./replay.ts";
import { type ReplayBody, readJoinBody, readReplayBody } from "./replay_body.ts";
import { POST_PUSH, type PushRouteDeps, readJsonObject, respondWithPush } from "./routes.ts";

export const replayRoutes: readonly Route<PushRouteDeps>[] = [
  { ...POST_PUSH, path: MIGRATIONS_PATH, operation: OPERATIONS.replay, handle: handleReplay },
  { ...POST_PUSH, path: JOINS_PATH, operation: OPERATIONS.join, handle: handleJoin },
];

/**
 * Applies one migration. A dry run plans all migrations, and the changes after them. Counts the request before reading it,
 * because reading can last long.
 */
async function handleReplay(deps: PushRouteDeps, context: KeyRequestContext): Promise<Response> {
  const body = await readJsonObject(context, MAX_REPLAY_BYTES);
  if (body["dryRun"] !== true) return await handleMigration(deps, context, body);
  return await deps.planning.admit(context.principal.appId, async () => {
    const app = await beginPush(deps, context.principal, { dryRun: true });
    return await deps.planning.inTurn(() => handleDryRun(deps, app, body));
  });
}

/** Counts the request before reading it, because the body contains all missing migrations. */
async function handleJoin(deps: PushRouteDeps, context: KeyRequestContext): Promise<Response> {
  const body = await readJsonObject(context, MAX_REPLAY_BYTES);
  const dryRun = body["dryRun"] === true;
  const app = await beginPush(deps, context.principal, { dryRun });
  const request = await readJoinBody(body, app.id);
  const options = { ...request.options, journalBytes: deps.pushLimits.journalBytes };
  return await respondWithPush(deps, await push(deps, { app, ...request, options }));
}

type Body = Readonly<Record<string, unknown>>;
type App = ReplayRequest["app"];

async function handleMigration(
  deps: PushRouteDeps,
  { principal }: KeyRequestContext,
  body: Body,
): Promise<Response> {
  const app = await beginPush(deps, principal, { isApplying: true, dryRun: false });
  const { next, ...declared } = await readReplayBody(body, app.id);
  if (next === undefined) throw new Error("A body without a dry run has no migration");
  return await respondWithPush(deps, await replay(deps, next, toRequest(deps, app, declared)));
}

async function handleDryRun(deps: PushRouteDeps, app: App, body: Body): Promise<Response> {
  const { migrations, ...declared } = await readReplayBody(body, app.id);
  return respondWithJson(await planReplay(deps, migrations, toRequest(deps, app, declared)));
}

function toRequest(
  { pushLimits: { journalBytes } }: PushRouteDeps,
  app: App,
  { definition, share }: Pick<ReplayBody, "definition" | "share">,
): ReplayRequest {
  return { app, definition, options: { journalBytes, share } };
}
