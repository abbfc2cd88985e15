/**
 * Forwards requests to a service. The request body is read first, because it is small and signed. A large response is
 * streamed. A small response is buffered, so that an interrupted response becomes a 502. The caller's abort and the deadline
 * end the call. A request is sent again only if its connection was reset, and a service accepts a write only once.
 *
 * @module
 */
import {
  type BodyLimit,
  isEventStream,
  type OptionalKeyContext,
  pumpEvents,
  type RequestContext,
  type Route,
  type StreamMemory,
  splitTarget,
  streamOwnersOf,
  toBody,
  toTarget,
  type VirtualHost,
} from "../http/mod.ts";
import { type Trace, toTraceparent } from "../observe.ts";
import type { Principal } from "../principal.ts";
import { Problem, type ProblemCode } from "../problem.ts";
import { toClientNetwork } from "../std/client_network.ts";
import { errorCode, isConnectFailure } from "../std/network.ts";
import { toCallerHeaders, toServiceHeaders } from "./forward_headers.ts";
import { makeNonce } from "./nonces.ts";
import { type Caller, isShort, type Outgoing, passOn, type SendOut } from "./outgoing.ts";
import { type Audience, SIGNED_HEADERS, sign } from "./signature.ts";
import { writeSignedContext } from "./signed_context.ts";
import { readBoundedBody, writes } from "./verify.ts";

type Upstream = {
  audience: Audience;
  /** The service's origin. */
  url: string;
  secret: string;
  /** Longer than the service's own deadline, so that the service responds first. */
  deadlineMs: number;
  now: () => number;
  sendOut: SendOut;
  streamMemory: StreamMemory;
  /** Aborted when this process starts to shut down; ends event streams. */
  draining: AbortSignal;
};

type ForwardOptions = {
  virtualHost: VirtualHost;
  principal: Principal | undefined;
  /** The size of a body that the route accepts. */
  limit: BodyLimit;
};

type RouteOptions = Omit<ForwardOptions, "principal"> & {
  forward: Forward;
  /** Max size of a body that the Console sends with its key. */
  consoleLimit: number;
};

export type Forward = (context: RequestContext, options: ForwardOptions) => Promise<Response>;

const EMPTY = new Uint8Array();

/** A forwarder to one service. @throws {Problem} bad_gateway; unavailable; timeout; rate_limited; overloaded */
export function makeForward(upstream: Upstream): Forward {
  return async (context, options) => {
    const signable = await readSignable(context.request, options.limit);
    const call = { ...options, ...signable, caller: toCaller(context, options.principal) };
    const response = await send(upstream, context, call);
    // The rest of an oversized body is never read, so the connection cannot be reused.
    if (signable.oversize) response.headers.set("connection", "close");
    return response;
  };
}

/** The routes of a service with the same access checks and a handler that forwards. */
export function toForwarded<Deps>(
  routes: readonly Route<Deps>[],
  { forward, consoleLimit, ...options }: RouteOptions,
): Route<unknown>[] {
  const handle = (_: unknown, context: OptionalKeyContext) => {
    const { principal } = context;
    const limit = principal?.isOfConsole === true ? consoleLimit : options.limit;
    return forward(context, { ...options, limit, principal });
  };
  return routes.map((route): Route<unknown> => ({ ...route, handle }));
}

type Signable = { body: Uint8Array<ArrayBuffer>; oversize: boolean };

/** The body of a request. An oversized body is not sent: the service rejects the request in its own order of checks. */
async function readSignable(request: Request, limit: BodyLimit): Promise<Signable> {
  // No DELETE route reads a body.
  const received = request.method === "DELETE" ? EMPTY : await readBoundedBody(request, limit);
  if (!(received instanceof Problem)) return { body: received, oversize: false };
  if (received.code === "body_too_large") return { body: EMPTY, oversize: true };
  throw received;
}

/** Cookies of sessions, which a visitor who signs in does not have, and which anyone can forge. */
const HAS_SESSION = /rowhouse_(session|identity)=/;

/**
 * Requests wait behind those of the same app, or of the same visitor; and in this queue behind those of the same person, or of
 * visitors with a session. So forged cookies do not stop others behind the same address from signing in.
 */
function toCaller({ request, address }: RequestContext, principal: Principal | undefined): Caller {
  const { signal } = request;
  if (principal === undefined) {
    const visitor = toClientNetwork(address);
    const hasSession = HAS_SESSION.test(request.headers.get("cookie") ?? "");
    const lane = hasSession ? { name: "with a session" } : undefined;
    return { queue: visitor, lane, owners: { visitor }, signal };
  }
  const { appId: queue, person } = principal;
  const lane = person && { name: person.id };
  return { queue, lane, owners: streamOwnersOf(principal), signal };
}

type Call = { url: string; method: string; headers: Headers; body: Uint8Array<ArrayBuffer> };
type CallOptions = ForwardOptions & Signable & { caller: Caller };

function toCall(
  { audience, url, secret, now }: Upstream,
  { request, requestId, address, trace }: RequestContext,
  { virtualHost, principal, body, oversize }: CallOptions,
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

/** The service's response. @throws {Problem} bad_gateway; unavailable; timeout; rate_limited; overloaded */
async function send(
  upstream: Upstream,
  context: RequestContext,
  options: CallOptions,
): Promise<Response> {
  const { request } = context;
  const abort = new AbortController();
  const stop = () => abort.abort();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const fetchFrom = (): Promise<Response> => {
    const { url, method, headers, body } = toCall(upstream, context, options);
    timer = setTimeout(
      () => abort.abort(new DeadlineError(upstream.deadlineMs)),
      upstream.deadlineMs,
    );
    return fetchAgain(url, {
      method,
      headers,
      redirect: "manual",
      decompress: false,
      signal: abort.signal,
      ...(body.length === 0 ? {} : { body }),
    });
  };
  request.signal.addEventListener("abort", stop, { once: true });
  try {
    const sent = await upstream.sendOut(options.caller, request.headers.get("accept"), fetchFrom);
    return await receive(sent, context, upstream);
  } catch (error) {
    throw toProblem(abort.signal.reason instanceof DeadlineError ? abort.signal.reason : error, {
      audience: upstream.audience,
      isWrite: writes(request.method),
    });
  } finally {
    clearTimeout(timer);
  }
}

/**
 * A worker that stops resets its kept connections, and those that it has not accepted yet; another worker then gets the same signed
 * request on a new connection. It rejects the signature of a write that the first worker did begin, whose outcome is unknown.
 */
async function fetchAgain(url: string, request: BunFetchRequestInit): Promise<Response> {
  try {
    return await Bun.fetch(url, request);
  } catch (error) {
    if (errorCode(error) !== "ECONNRESET") throw error;
    const response = await Bun.fetch(url, { ...request, keepalive: false });
    if (response.status !== 401) return response;
    if ((await response.clone().text()).includes('"invalid_signature"')) throw error;
    return response;
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
  { response, finish }: Outgoing,
  { request, requestId }: RequestContext,
  { draining, streamMemory: memory }: Upstream,
): Promise<Response> {
  const { status, body } = response;
  try {
    if (response.headers.get("x-request-id") !== requestId)
      throw new ForeignResponseError(`Response ${status} without the request id`);
    if (isEventStream(response) && draining.aborted)
      throw new Problem("unavailable", { retryAfterS: 1 });
    const headers = toCallerHeaders(response.headers);
    if (request.method === "HEAD" && status === 200 && !response.headers.has("content-length")) {
      finish();
      return new Response(makeUnsent(), { status, headers });
    }
    if (body === null) return new Response(null, { status, headers });
    if (isShort(response)) return new Response(toBody(await response.bytes()), { status, headers });
    const signal = AbortSignal.any([request.signal, draining]);
    const passedOn = isEventStream(response)
      ? pumpEvents(body, memory, { signal, onEnd: finish })
      : passOn(body, finish);
    return new Response(passedOn, { status, headers });
  } catch (error) {
    finish();
    await body?.cancel().catch(() => undefined);
    throw error;
  }
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
