/** The route of explicit changes: `POST /v1/data/schema/changes`. @module */
import type { KeyRequestContext, Route } from "../http/mod.ts";
import { applyChange } from "./apply_change.ts";
import { beginPush } from "./begin_push.ts";
import { readChangeBody } from "./body.ts";
import { CHANGES_PATH, MAX_BYTES } from "./limits.ts";
import { OPERATIONS } from "./operations.ts";
import { type PushRouteDeps, readJsonObject, respondWithPush } from "./routes.ts";

export const changeRoutes: readonly Route<PushRouteDeps>[] = [
  {
    method: "POST",
    path: CHANGES_PATH,
    access: "key",
    scope: "schema:push",
    lesserScope: "schema:read",
    operation: OPERATIONS.change,
    handle: handleChange,
  },
];

async function handleChange(deps: PushRouteDeps, context: KeyRequestContext): Promise<Response> {
  const request = readChangeBody(await readJsonObject(context, MAX_BYTES));
  const app = await beginPush(deps, context.principal, request.options);
  const options = { ...request.options, journalBytes: deps.pushLimits.journalBytes };
  return await respondWithPush(deps, await applyChange(deps, { app, ...request, options }));
}
