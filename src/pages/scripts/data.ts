/**
 * Calls of the data endpoints by scripts: one path of this origin, with the visitor's cookies and form token. The Console adds the
 * key. Every response that is not usable is explained, so that no input is lost.
 *
 * @module
 */
import { isObject, tryParseJson } from "../../std/json.ts";
import { track } from "./pending.ts";

type Detail = { readonly path: string; readonly message: string };

export type Rejected = {
  readonly kind: "rejected";
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly details: readonly Detail[];
  readonly retryAfterS: number;
};
/** No usable response: only the page has the input. */
export type Lost = {
  readonly kind: "lost";
  readonly reason: string;
  /** Whether the server responded: a write may have happened all the same. */
  readonly isServerError?: true;
  /** The error code of its response. */
  readonly code?: string;
};
export type Answer =
  | {
      readonly kind: "done";
      readonly text: string;
      readonly etag: string;
      /** Whether this is the response of an earlier request with the same idempotency key. */
      readonly isReplay: boolean;
    }
  | Rejected
  | Lost;

type Call = {
  readonly method?: "POST" | "PATCH" | "DELETE";
  /** Conditions are sent in a header, because proxies log addresses. */
  readonly query?: string;
  /** JSON. */
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** The headers of the requests of one act, such as pasting: the history undoes what they wrote as a whole. */
export function startAct(act: string = crypto.randomUUID()): Readonly<Record<string, string>> {
  return { "rows-act": act };
}

export const SIGNED_OUT = "your session has ended. Sign in again in another tab, then retry.";

const TOKEN = "form-token";
/** The token belongs to the session, which can change while the page is open. */
let token: string | undefined;

/** The path of a table below `api`, or of one of its rows. */
export function toDataUrl(api: string, table: string, id?: string): string {
  const path = `${api}/${encodeURIComponent(table)}`;
  return id === undefined ? path : `${path}/${encodeURIComponent(id)}`;
}

async function sendWithToken(url: string, call: Call): Promise<Answer> {
  const answer = await send(url, call);
  if (call.method === undefined || answer.kind !== "rejected" || answer.status !== 403)
    return answer;
  // Another sign-in has another token.
  token = undefined;
  return await send(url, call);
}

async function send(url: string, { method, query, body, headers }: Call): Promise<Answer> {
  if (method !== undefined && token === undefined) {
    const read = await request(url.split("?")[0] ?? url, { headers: { "rows-query": "limit=1" } });
    if (read instanceof Response) token = read.headers.get(TOKEN) ?? undefined;
    else return read;
  }
  const response = await request(url, {
    ...(method === undefined ? {} : { method }),
    ...(body === undefined ? {} : { body }),
    headers: {
      ...headers,
      ...(query === undefined ? {} : { "rows-query": query }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(method === undefined || token === undefined ? {} : { [TOKEN]: token }),
    },
  });
  if (!(response instanceof Response)) return response;
  token = response.headers.get(TOKEN) ?? token;
  return toAnswer(response, await response.text());
}

/** A redirect leads to the sign-in. */
async function request(url: string, init: RequestInit): Promise<Response | Lost> {
  const response = await fetch(url, { ...init, redirect: "manual" }).catch(() => undefined);
  if (response === undefined) return { kind: "lost", reason: explainSilence() };
  return response.type === "opaqueredirect" ? { kind: "lost", reason: SIGNED_OUT } : response;
}

function toAnswer({ ok, status, headers }: Response, text: string): Answer {
  if (ok)
    return {
      ...{ kind: "done", text, etag: headers.get("etag") ?? "" },
      isReplay: headers.get("idempotency-replayed") === "true",
    };
  const body = tryParseJson(text);
  const { error, message, details } = isObject(body) ? body : {};
  // The sign-in of the visitor has ended, or the Console itself rejected the request.
  if (typeof error !== "string")
    return status === 403
      ? { ...NO_DETAILS, status, code: "forbidden", message: SIGNED_OUT }
      : { kind: "lost", reason: `the server responded with ${status}.` };
  if (status >= 500)
    return { kind: "lost", reason: `${message}.`, isServerError: true, code: error };
  return {
    ...{ ...NO_DETAILS, status, code: error },
    message: typeof message === "string" ? message : `The server responded with ${status}`,
    details: Array.isArray(details) ? details.filter(isDetail) : [],
    retryAfterS: Number(headers.get("retry-after") ?? 0),
  };
}

const NO_DETAILS = { kind: "rejected", details: [], retryAfterS: 0 } as const;

function isDetail(detail: unknown): detail is Detail {
  return (
    isObject(detail) && typeof detail["path"] === "string" && typeof detail["message"] === "string"
  );
}

/** The reasons of a rejection, such as for a field. */
export function toMessages({ message, details }: Rejected): string[] {
  return details.length === 0 ? [message] : details.map((detail) => detail.message);
}

/** The reason for a missing response. */
export function explainSilence(): string {
  return navigator.onLine ? "the server did not respond." : "you are offline.";
}

const DEFAULT_WAIT_S = 1;

/** Calls again as long as the app's rate limit is reached. */
export async function callPatiently(url: string, call: Call = {}): Promise<Answer> {
  for (;;) {
    const answer = await track(sendWithToken(url, call));
    if (answer.kind !== "rejected" || answer.code !== "rate_limited") return answer;
    const seconds = answer.retryAfterS || DEFAULT_WAIT_S;
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }
}
