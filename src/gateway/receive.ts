/**
 * Receives requests: the gateway accepts requests from anyone, services only signed requests from the gateway. Determines
 * the caller and its address. No other module reads headers for that.
 *
 * @module
 */
import { respondWithJson, splitTarget, toTarget, type VirtualHost } from "../http/mod.ts";
import type { Log } from "../observe.ts";
import type { Principal } from "../principal.ts";
import { Problem } from "../problem.ts";
import type { ReadAddress } from "./client_address.ts";
import type { UseNonce } from "./nonces.ts";
import { SIGNED_HEADERS } from "./signature.ts";
import type { SignedContext } from "./signed_context.ts";
import { readBoundedBody, type Verify, writes } from "./verify.ts";

/** The sender of a request, as the server reports it. */
export type Peer = {
  requestIP: (request: Request) => { address: string } | null;
  timeout?: (request: Request, seconds: number) => void;
};

export type Received = {
  readonly request: Request;
  readonly requestId: string;
  /** The client's address. */
  readonly address: string;
  readonly virtualHost: VirtualHost;
  /** The principal that the gateway found; `undefined` if this process checks the key itself. */
  readonly principal: Principal | undefined;
  /** The database check before a write; returns the response if the request is rejected. @throws {Problem} unavailable */
  readonly checkUnused?: (() => Promise<Response | undefined>) | undefined;
};

/** The request to handle, or the response if the request is rejected. */
export type Receive = (request: Request, peer: Peer) => Promise<Received | Response>;

/** The virtual host that a `Host` header names. */
type ReadVirtualHost = (host: string | null) => VirtualHost;

type OpenDeps = {
  makeRequestId: () => string;
  readAddress: ReadAddress;
  readVirtualHost: ReadVirtualHost;
};

/** Accepts requests from anyone. */
export function makeOpenReceive(deps: OpenDeps): Receive {
  return async (request, peer) => ({
    request,
    requestId: deps.makeRequestId(),
    get address() {
      return deps.readAddress(peer.requestIP(request)?.address ?? "", request.headers);
    },
    virtualHost: deps.readVirtualHost(request.headers.get("host")),
    principal: undefined,
  });
}

type SignedDeps = {
  verify: Verify;
  useNonce: UseNonce;
  log: Log;
  makeRequestId: () => string;
  /** Maximum size in bytes that any route accepts: the gateway has already measured the body. */
  maxBytes: number;
};

/** Accepts requests that the gateway signed, and unsigned requests for `/live`. */
export function makeSignedReceive(deps: SignedDeps): Receive {
  return async (request) => {
    const target = splitTarget(request.url);
    if (target.path === "/live") return toUnsigned(request, deps.makeRequestId());
    const received = await readBoundedBody(request, deps.maxBytes);
    const body = received instanceof Problem ? undefined : received;
    const verdict =
      body === undefined
        ? { reason: "body unreadable" }
        : deps.verify({
            method: request.method,
            target: toTarget(target),
            headers: request.headers,
            body,
          });
    if ("reason" in verdict) return reject(deps, request, verdict.reason);
    const nonce = writes(request.method) ? request.headers.get(SIGNED_HEADERS.nonce) : null;
    const checkUnused = async () =>
      nonce === null || (await deps.useNonce(nonce))
        ? undefined
        : reject(deps, request, "nonce used at another process");
    const { context } = verdict;
    return { ...context, request: restore(request, body, context), checkUnused };
  };
}

function toUnsigned(request: Request, requestId: string): Received {
  return { request, requestId, address: "", virtualHost: "gateway", principal: undefined };
}

/** The same response for every failure. Only the log has the reason. */
function reject({ log, makeRequestId }: SignedDeps, { method }: Request, reason: string): Response {
  log("warn", "signature rejected", { reason, method });
  return respondWithJson(
    { error: "invalid_signature" },
    {
      status: 401,
      headers: {
        "x-request-id": makeRequestId(),
        "x-content-type-options": "nosniff",
        connection: "close",
      },
    },
  );
}

/** The caller's request with its body and `Host`. An omitted body is announced as larger than any route accepts. */
function restore(
  request: Request,
  body: Uint8Array<ArrayBuffer> | undefined,
  { oversize, host }: SignedContext,
): Request {
  const isEmpty = body === undefined || body.length === 0;
  if (isEmpty && !oversize && host === undefined) return request;
  const headers = new Headers(request.headers);
  if (host !== undefined) headers.set("host", host);
  if (oversize) headers.set("content-length", String(Number.MAX_SAFE_INTEGER));
  return new Request(request.url, {
    method: request.method,
    headers,
    signal: request.signal,
    ...(isEmpty ? {} : { body }),
  });
}
