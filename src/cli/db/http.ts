/** Calls a service over HTTP with an app's key. Error responses become Problems; other servers are detected. @module */
import * as v from "valibot";
import { ProblemBody } from "../../http/mod.ts";
import { PROBLEMS, Problem, type ProblemCode } from "../../problem.ts";
import { tryParseJson } from "../../std/json.ts";
import { EXIT, RejectedError } from "../command.ts";
import { DEV_ENVIRONMENT } from "../project_file.ts";

export type Target = {
  url: string;
  key: string;
  /** The variable that contains the key. */
  keyVariable?: string;
  isDev?: boolean;
};

const KEY_VARIABLE = "ROWHOUSE_API_KEY";

const NO_CONTENT = 204;

/** Longer than the service's own time limit. */
const PATIENCE_MS = 150_000;

/** For other characters fetch would fail without a reason. */
const API_KEY = /^[\x21-\x7e]+$/;
const MALFORMED =
  "is malformed: a key contains only visible ASCII characters, without spaces or line breaks";

/** A proxy in front of the service sends no id of the request. */
const Rejection = v.omit(ProblemBody, ["requestId"]);

export type EndpointCall = {
  path: string;
  /** Default: GET, or POST with a body. */
  method?: "DELETE" | "PATCH";
  /** JSON. */
  body?: string;
  headers?: Readonly<Record<string, string>>;
  /** The required scope of the key. */
  scope: string;
};

/**
 * The response of an endpoint.
 *
 * @throws {Problem} the service returned an error
 * @throws {RejectedError} no response, not authenticated, or not a Rowhouse service
 */
export async function callEndpoint(
  target: Target,
  call: EndpointCall,
): Promise<{ body: object; text: string; headers: Headers }> {
  const response = await request(target, call);
  const { headers } = response;
  const text = await response.text().catch(() => "");
  if (response.status === NO_CONTENT) return { body: {}, text, headers };
  const body = tryParseJson(text);
  if (response.ok && typeof body === "object" && body !== null) return { body, text, headers };
  const rejection = v.safeParse(Rejection, body);
  if (!rejection.success)
    throw new RejectedError(
      `${target.url} returned ${response.status}, but is not a Rowhouse service: check the URL`,
    );
  throw toRejection(target, { response, rejection: rejection.output, scope: call.scope });
}

async function request(
  { url, key, keyVariable = KEY_VARIABLE, isDev }: Target,
  { path, method, body, headers }: EndpointCall,
): Promise<Response> {
  if (!API_KEY.test(key))
    throw new RejectedError(`${keyVariable} ${MALFORMED}`, EXIT.unauthenticated);
  try {
    return await fetch(url + path, {
      method: method ?? (body === undefined ? "GET" : "POST"),
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
      isDev === true ? "start rowhouse dev" : "check the URL and whether the service is running";
    throw new RejectedError(`No response from ${url}: ${remedy}`, EXIT.unreachable);
  }
}

type Rejected = { response: Response; rejection: v.InferOutput<typeof Rejection>; scope: string };

function toRejection(
  { url, keyVariable = KEY_VARIABLE, isDev }: Target,
  { response, rejection: { error, message, details }, scope }: Rejected,
): Error {
  if (response.status === 401)
    return new RejectedError(
      `${url} rejects this key: check ${keyVariable}, or ${isDev === true ? `add --to ${DEV_ENVIRONMENT}, which needs none` : `issue a key with the scope ${scope}`}`,
      EXIT.unauthenticated,
    );
  if (error === "unavailable" || error === "overloaded")
    return new RejectedError(`${url} is unavailable: ${message}`, EXIT.unreachable, {
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
