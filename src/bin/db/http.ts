/** A service over HTTP, with an app's key. Errors become Problems again; answers that are not from Rowhouse are detected. @module */
import * as v from "valibot";
import { PROBLEMS, Problem, type ProblemCode } from "../../problem.ts";
import { SCHEMA_PATH } from "../../push/pure.ts";
import { EXIT, RefusedError } from "../cli/command.ts";

export type Target = {
  url: string;
  key: string;
  /** The variable that the key came from. */
  keyVariable?: string;
  isDev?: boolean;
};

const KEY_VARIABLE = "ROWHOUSE_API_KEY";

/** Longer than the service allows its own longest message. */
const PATIENCE_MS = 150_000;

/** Anything else cannot be sent, for which fetch would give no reason of its own. */
const API_KEY = /^[\x21-\x7e]+$/;
const MALFORMED =
  "is malformed: a key has no spaces, line breaks or other characters than visible ASCII";

const ProblemBody = v.object({
  error: v.string(),
  message: v.string(),
  details: v.optional(v.array(v.object({ path: v.string(), message: v.string() }))),
});

/**
 * The answer of the schema's endpoint, or of one below it; with a body it is a push.
 *
 * @throws {Problem} the service's own refusal
 * @throws {RefusedError} no answer, not authenticated, or not a Rowhouse
 */
export async function callService(
  target: Target,
  { path = "", body }: { path?: string; body?: object } = {},
): Promise<unknown> {
  const text = body === undefined ? {} : { body: JSON.stringify(body) };
  const call = { path: SCHEMA_PATH + path, scope: "schema:push", ...text };
  return (await callEndpoint(target, call)).answer;
}

export type EndpointCall = {
  path: string;
  /** JSON: the call is a POST. */
  body?: string;
  headers?: Readonly<Record<string, string>>;
  /** What the key needs. */
  scope: string;
};

/** The answer of any endpoint. @throws as {@linkcode callService} */
export async function callEndpoint(
  target: Target,
  call: EndpointCall,
): Promise<{ answer: object; headers: Headers }> {
  const response = await request(target, call);
  const { headers } = response;
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok && typeof answer === "object" && answer !== null) return { answer, headers };
  const refusal = v.safeParse(ProblemBody, answer);
  if (!refusal.success)
    throw new RefusedError(
      `${target.url} answered ${response.status}, but not as Rowhouse does: check the URL`,
    );
  throw toRefusal(target, { response, refusal: refusal.output, scope: call.scope });
}

async function request(
  { url, key, keyVariable = KEY_VARIABLE, isDev }: Target,
  { path, body, headers }: EndpointCall,
): Promise<Response> {
  if (!API_KEY.test(key))
    throw new RefusedError(`${keyVariable} ${MALFORMED}`, EXIT.unauthenticated);
  try {
    return await fetch(url + path, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        ...headers,
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
      },
      // A redirect would carry the key to another host.
      redirect: "manual",
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...(body === undefined ? {} : { body }),
    });
  } catch {
    const remedy =
      isDev === true ? "start rowhouse dev" : "check the URL, and that the service is running";
    throw new RefusedError(`No answer from ${url}: ${remedy}`, EXIT.unreachable);
  }
}

type Refused = { response: Response; refusal: v.InferOutput<typeof ProblemBody>; scope: string };

function toRefusal(
  { url, keyVariable = KEY_VARIABLE }: Target,
  { response, refusal: { error, message, details }, scope }: Refused,
): Error {
  if (response.status === 401)
    return new RefusedError(
      `${url} does not know this key: check ${keyVariable}, or issue one with the scope ${scope}`,
      EXIT.unauthenticated,
    );
  if (error === "unavailable" || error === "overloaded")
    return new RefusedError(`${url} is not available right now: ${message}`, EXIT.unreachable, {
      code: error,
    });
  const code = Object.keys(PROBLEMS).find((known): known is ProblemCode => known === error);
  const retryAfter = response.headers.get("retry-after");
  return new Problem(code ?? "request_failed", {
    message,
    ...(details ? { details } : {}),
    ...(retryAfter === null ? {} : { headers: { "retry-after": retryAfter } }),
  });
}
