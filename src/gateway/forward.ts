/**
 * Forwards requests to a service. The request body is read first, because it is small and signed. A large response is
 * streamed. A small response is buffered, so that an interrupted response becomes a 502. The caller's abort and the deadline
 * end the call. Requests are never retried.
 *
 * @module
 */
import {
  type OptionalKeyContext,
  type RequestContext,
  type Route,
  splitTarget,
  toBody,
  toTarget,
  type VirtualHost,
} from "../http/mod.ts";
import { type Trace, toTraceparent } from "../observe.ts";
import type { Principal } from "../principal.ts";
import { Problem, type ProblemCode } from "../problem.ts";
import { isConnectFailure } from "../std/error_code.ts";
import { readBoundedBody } from "./bounded_body.ts";
import { toCallerHeaders, toServiceHeaders } from "./forward_headers.ts";
import { makeNonce } from "./nonces.ts";
import { type Audience, SIGNED_HEADERS, sign } from "./signature.ts";
import { writeSignedContext } from "./signed_context.ts";
import { writes } from "./verify.ts";

export type Upstream = {
  audience: Audience;
  /** The service's origin. */
  url: string;
  secret: string;
  /** Longer than the service's own deadline, so that the service responds first. */
  deadlineMs: number;
  now: () => number;
  /** Aborted when this process starts to shut down; ends event streams. */
  draining: AbortSignal;
};

export type ForwardOptions = {
  virtualHost: VirtualHost;
  principal: Principal | undefined;
  /** Maximum size in bytes of a body that the route accepts. */
  maxBytes: number;
};

export type Forward = (context: RequestContext, options: ForwardOptions) => Promise<Response>;

/** Max size of a buffered response. */
const WHOLE_BYTES = 65_536;
const EMPTY = new Uint8Array();

/** A forwarder to one service. @throws {Problem} bad_gateway; unavailable; timeout */
export function makeForward(upstream: Upstream): Forward {
  return async (context, options) => {
    const signable = await readSignable(context.request, options.maxBytes);
    const call = toCall(upstream, context, { ...options, ...signable });
    const response = await send(upstream, context, call);
    // The rest of an oversized body is never read, so the connection cannot be reused.
    if (signable.oversize) response.headers.set("connection", "close");
    return response;
  };
}

/** The routes of a service with the same access checks and a handler that forwards. */
export function toForwarded<Deps>(
  routes: readonly Route<Deps>[],
  { forward, ...options }: Omit<ForwardOptions, "principal"> & { forward: Forward },
): Route<unknown>[] {
  const handle = (_: unknown, context: OptionalKeyContext) =>
    forward(context, { ...options, principal: context.principal });
  return routes.map((route): Route<unknown> => ({ ...route, handle }));
}

type Signable = { body: Uint8Array<ArrayBuffer>; oversize: boolean };

/** The body of a request. An oversized body is not sent: the service rejects the request in its own order of checks. */
async function readSignable(request: Request, maxBytes: number): Promise<Signable> {
  // No DELETE route reads a body.
  const received = request.method === "DELETE" ? EMPTY : await readBoundedBody(request, maxBytes);
  if (!(received instanceof Problem)) return { body: received, oversize: false };
  if (received.code === "body_too_large") return { body: EMPTY, oversize: true };
  throw received;
}

type Call = { url: string; method: string; headers: Headers; body: Uint8Array<ArrayBuffer> };

function toCall(
  { audience, url, secret, now }: Upstream,
  { request, requestId, address, trace }: RequestContext,
  { virtualHost, principal, body, oversize }: ForwardOptions & Signable,
): Call {
  const { method } = request;
  const target = readTarget(request.url);
  const timestamp = String(now());
  const nonce = writes(method) ? makeNonce() : "";
  const host = audience === "identity" ? (request.headers.get("host") ?? "") : undefined;
  const signedContext = writeSignedContext({
    requestId,
    address,
    virtualHost,
    host,
    principal,
    oversize,
  });
  const headers = toServiceHeaders(request.headers, audience);
  setTrace(headers, trace);
  headers.set(SIGNED_HEADERS.timestamp, timestamp);
  if (nonce !== "") headers.set(SIGNED_HEADERS.nonce, nonce);
  headers.set(SIGNED_HEADERS.context, signedContext);
  const signed = { audience, method, target, timestamp, nonce, body, context: signedContext };
  headers.set(SIGNED_HEADERS.signature, sign(secret, signed));
  return { url: url + target, method, headers, body };
}

/** Makes the service continue our span. Removes `tracestate` if the caller's trace is not continued. */
function setTrace(headers: Headers, trace: Trace | undefined): void {
  if (trace !== undefined) headers.set("traceparent", toTraceparent(trace));
  if (trace?.parentSpanId === undefined) headers.delete("tracestate");
}

/**
 * Path and query as `fetch` will send them.
 *
 * @throws {Problem} unknown_route — `fetch` would send another path than the one that was routed
 */
function readTarget(requestUrl: string): string {
  const target = toTarget(splitTarget(requestUrl));
  const url = new URL(`http://service${target}`);
  if (url.pathname + url.search === target) return target;
  throw new Problem("unknown_route");
}

/** The service's response. @throws {Problem} bad_gateway; unavailable; timeout */
async function send(upstream: Upstream, context: RequestContext, call: Call): Promise<Response> {
  const { signal } = context.request;
  const abort = new AbortController();
  const stop = () => abort.abort();
  const timer = setTimeout(
    () => abort.abort(new DeadlineError(upstream.deadlineMs)),
    upstream.deadlineMs,
  );
  signal.addEventListener("abort", stop, { once: true });
  try {
    const response = await Bun.fetch(call.url, {
      method: call.method,
      headers: call.headers,
      redirect: "manual",
      decompress: false,
      signal: abort.signal,
      ...(call.body.length === 0 ? {} : { body: call.body }),
    });
    return await receive(response, context, upstream.draining);
  } catch (error) {
    throw toProblem(abort.signal.reason instanceof DeadlineError ? abort.signal.reason : error, {
      audience: upstream.audience,
      isWrite: writes(call.method),
    });
  } finally {
    clearTimeout(timer);
  }
}

class DeadlineError extends Error {
  constructor(ms: number) {
    super(`No response within ${ms} ms`);
  }
}
class ForeignResponseError extends Error {}

/** The response for the caller. A response without our request id did not come from the service. */
async function receive(
  response: Response,
  { request, requestId }: RequestContext,
  draining: AbortSignal,
): Promise<Response> {
  if (response.headers.get("x-request-id") !== requestId)
    throw new ForeignResponseError(`Response ${response.status} without the request id`);
  const announced = response.headers.get("content-length");
  const isWhole = announced !== null && Number(announced) <= WHOLE_BYTES;
  const headers = toCallerHeaders(response.headers);
  const isStreamedHead = request.method === "HEAD" && response.status === 200 && announced === null;
  const stream = isStreamedHead ? makeUnsent() : response.body;
  const isEndless = headers.get("content-type") === "text/event-stream";
  if (isEndless && draining.aborted) {
    await response.body?.cancel();
    throw new Problem("unavailable", { retryAfterS: 1 });
  }
  const until = isEndless ? draining : undefined;
  const body =
    stream === null ? null : isWhole ? toBody(await response.bytes()) : toCaller(stream, until);
  return new Response(body, { status: response.status, headers });
}

/** A body for responses to HEAD, which is never sent: without a body the response would announce a length of 0. */
function makeUnsent(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => {
      controller.enqueue(new Uint8Array(1));
      controller.close();
    },
  });
}

/**
 * Streams the service's bytes. If the service breaks off, the caller's connection breaks too, so that the caller detects it.
 * The signal ends streams that would continue.
 */
function toCaller(
  stream: ReadableStream<Uint8Array>,
  until: AbortSignal | undefined,
): ReadableStream<Uint8Array> {
  const reader = stream.getReader();
  // Completes a pending read.
  const stop = () => {
    until?.removeEventListener("abort", stop);
    return reader.cancel();
  };
  until?.addEventListener("abort", stop);
  return new ReadableStream({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        until?.removeEventListener("abort", stop);
        controller.close();
      } catch {
        until?.removeEventListener("abort", stop);
        controller.error(); // no reason: the server would log it, and the caller never gets it
      }
    },
    cancel: stop,
  });
}

type UpstreamFailure = { code: ProblemCode; message: string; retryAfterS?: number };

function toProblem(
  error: unknown,
  { audience, isWrite }: { audience: Audience; isWrite: boolean },
): Problem {
  if (error instanceof Problem) return error;
  const { code, ...options } = toUpstreamFailure(error, audience);
  const message =
    isWrite && code !== "unavailable" ? `${options.message}${PERHAPS}` : options.message;
  return new Problem(code, { ...options, message, cause: error });
}

const PERHAPS = "; the request may or may not have taken effect";

function toUpstreamFailure(error: unknown, audience: Audience): UpstreamFailure {
  if (error instanceof DeadlineError)
    return { code: "timeout", message: `The ${audience} service did not respond in time` };
  if (!isConnectFailure(error))
    return { code: "bad_gateway", message: `The ${audience} service interrupted its response` };
  return { code: "unavailable", message: `The ${audience} service is unreachable`, retryAfterS: 1 };
}
