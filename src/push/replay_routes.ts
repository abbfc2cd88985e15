/** The route that applies the project's migrations at a service that lacks them: `POST /v1/data/schema/migrations`. @module */
import {
  answerJson,
  checkJsonBody,
  checkObject,
  type KeyRequestContext,
  parseJson,
  type Route,
  readText,
  refuseQuery,
} from "../http/mod.ts";
import { beginPush } from "./begin_push.ts";
import { MAX_MIGRATION_BYTES } from "./migration_text.ts";
import { planReplay, replay } from "./replay.ts";
import { readReplayBody } from "./replay_body.ts";
import { answerPush, MAX_BYTES, MIGRATIONS_PATH, type PushRouteDeps } from "./routes.ts";

/** A migration whose every byte is escaped, and the definition beside it. */
export const MAX_REPLAY_BYTES: number = 2 * MAX_MIGRATION_BYTES + MAX_BYTES;

export const replayRoutes: readonly Route<PushRouteDeps>[] = [
  {
    method: "POST",
    path: MIGRATIONS_PATH,
    access: "key",
    scope: "schema:push",
    handle: handleReplay,
  },
];

/** Applies one migration; a dry run plans all, and what follows them. */
async function handleReplay(deps: PushRouteDeps, context: KeyRequestContext): Promise<Response> {
  refuseQuery(context.query);
  checkJsonBody(context.request);
  const body = checkObject(parseJson(await readText(context.request, MAX_REPLAY_BYTES)));
  const { migrations, next, definition } = await readReplayBody(body);
  const isApplying = next !== undefined;
  const app = await beginPush(deps, context.principal, { isApplying });
  const { journalBytes } = deps.pushLimits;
  const request = { app, definition, options: { journalBytes } };
  if (next === undefined) return answerJson(await planReplay(deps, migrations, request));
  return await answerPush(deps, await replay(deps, next, request));
}
