/**
 * `GET /v1/data/me?app=<slug>`: the person of a key, for the app's own server, to which a page sends its key. The name of the app
 * is required: a page of another app can send its key there too. Identity serves it, because the data service's login reads no people.
 *
 * @module
 */
import * as v from "valibot";
import { call, type Database } from "../db/mod.ts";
import {
  type KeyRequestContext,
  type Operation,
  type Route,
  readParameters,
  respondWithJson,
} from "../http/mod.ts";
import { Problem } from "../problem.ts";
import { ROLE_PATTERN, SLUG_PATTERN } from "../std/patterns.ts";
import { rejectKey } from "./prove_key.ts";

const CallerBody = v.object({
  id: v.pipe(v.string(), v.uuid(), v.description("The person's id. It never changes.")),
  email: v.pipe(v.string(), v.email(), v.description("The person's email address.")),
  displayName: v.pipe(v.nullable(v.string()), v.description("The display name, or null.")),
  avatarUrl: v.pipe(
    v.nullable(v.string()),
    v.description("The URL of the person's picture, or null."),
  ),
  role: v.pipe(
    v.string(),
    v.description(
      `The person's role on the app when the key was opened; a change of the role ends the key. Pattern: \`${ROLE_PATTERN}\`.`,
    ),
  ),
});
type CallerBody = v.InferOutput<typeof CallerBody>;

const CALLER: Operation = {
  id: "read_caller",
  group: "rows",
  summary: "Read the person of a key, on the app's own server",
  parameters: [
    {
      in: "query",
      name: "app",
      description: "The app's name. A key of another app is rejected.",
      schema: { type: "string", pattern: SLUG_PATTERN },
      isRequired: true,
    },
  ],
  responses: [{ status: 200, when: "The person.", bodies: [CallerBody] }],
  problems: ["invalid_query", "unsupported_query"],
};

type CallerDeps = { readonly db: Database };

export const callerRoute: Route<CallerDeps> = {
  method: "GET",
  path: "/v1/data/me",
  access: "key",
  scope: "data:read",
  acceptsPeople: true,
  preview: "browser",
  previewed: { browser: CALLER },
  handle: (deps: CallerDeps, context: KeyRequestContext) =>
    readCaller(deps, context, "read_caller"),
};

/** For a gateway of the previous release, which asks the data service: without address, name and picture. */
export const formerCallerRoute: Route<CallerDeps> = {
  ...callerRoute,
  handle: (deps: CallerDeps, context: KeyRequestContext) =>
    readCaller(deps, context, "read_key_person"),
};

async function readCaller(
  { db }: CallerDeps,
  { principal, query }: KeyRequestContext,
  read: "read_caller" | "read_key_person",
): Promise<Response> {
  const slug = readSlug(query);
  const { appId, proof, person } = principal;
  const values = { app: appId, presented_proof: proof, app_slug: slug };
  const body = await call(db, read, values, {
    queue: appId,
    reject: rejectKey,
  });
  if (person === undefined)
    throw new Problem("forbidden", { message: "This is an API key, not the key of a person" });
  if (body === null)
    throw new Problem("forbidden", { message: "This key is of a page of another app" });
  return respondWithJson(body as CallerBody, { headers: { "cache-control": "no-store" } });
}

/** @throws {Problem} invalid_query; unsupported_query */
function readSlug(query: string): string {
  const found = [...readParameters(query)];
  const other = found.find(([name]) => name !== "app");
  if (other !== undefined)
    throw new Problem("unsupported_query", { message: "The only parameter is app" });
  const [[, slug = ""] = [], ...more] = found;
  if (more.length > 0 || !new RegExp(SLUG_PATTERN).test(slug))
    throw new Problem("invalid_query", {
      message: "Requires the parameter app, once: the app's name",
    });
  return slug;
}
