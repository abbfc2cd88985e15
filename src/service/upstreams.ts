/** The services behind a gateway: addresses, shared secrets and readiness. @module */
import { EXECUTION_LIMIT_MS } from "../db/mod.ts";
import { AUDIENCES, type Audience, type Forward, makeForward } from "../gateway/mod.ts";
import { splitTarget, toTarget } from "../http/mod.ts";
import { Problem } from "../problem.ts";
import { isConnectFailure } from "../std/error_code.ts";

export type UpstreamOptions = {
  /** Time limit of a request's statement in milliseconds; defaults to the documented limit. */
  limitMs?: number;
  /** The services' origins, for a gateway. */
  upstreams?: Readonly<Record<Audience, string | undefined>>;
  /** The gateway's origin, for an identity service; defaults to its public origin. */
  gatewayUrl?: string | undefined;
  /**
   * Secrets that the gateway shares with each service, so that no service can sign for another: the first signs, all
   * verify. A gateway needs both lists, a service only its own.
   */
  secrets?: Readonly<Partial<Record<Audience, readonly string[]>>>;
};

/** How much longer than the service the gateway waits, so that the service's own timeout comes first. */
const MARGIN_MS = 2000;

export type Forwards = Readonly<Record<Audience, Forward>>;

/** A forwarder to each service. */
export function makeForwards(
  options: UpstreamOptions,
  { now, draining }: { now: () => number; draining: AbortSignal },
): Forwards {
  const deadlineMs = (options.limitMs ?? EXECUTION_LIMIT_MS) + MARGIN_MS;
  const to = (audience: Audience) => {
    const [secret = ""] = readSecrets(options, audience);
    const url = options.upstreams?.[audience];
    if (url !== undefined) return makeForward({ audience, url, secret, deadlineMs, now, draining });
    throw new Error(`Cannot open a gateway: the address of ${audience} is not set`);
  };
  return { data: to("data"), identity: to("identity") };
}

/**
 * Sends a request to the gateway like any client: the Console of an identity service can access rows only this way.
 * `undefined` if the gateway's origin is unknown.
 *
 * @throws {Problem} unavailable; bad_gateway — the gateway did not respond
 */
export function makeCallGateway(
  { gatewayUrl, limitMs = EXECUTION_LIMIT_MS }: UpstreamOptions,
  publicUrl: string | undefined,
): ((request: Request) => Promise<Response>) | undefined {
  const origin = gatewayUrl ?? publicUrl;
  if (origin === undefined) return undefined;
  return async (request) => {
    const url = origin + toTarget(splitTarget(request.url));
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), limitMs + 2 * MARGIN_MS);
    timer.unref();
    const signal = AbortSignal.any([deadline.signal, request.signal]);
    try {
      const response = await Bun.fetch(new Request(url, request), { redirect: "manual", signal });
      // An event stream has no time limit once it has begun.
      if (response.headers.get("content-type") === "text/event-stream") clearTimeout(timer);
      return response;
    } catch (error) {
      const code = isConnectFailure(error) ? "unavailable" : "bad_gateway";
      throw new Problem(code, { message: "The gateway did not respond", cause: error });
    }
  };
}

/** The secrets of one service; never empty. */
export function readSecrets({ secrets }: UpstreamOptions, audience: Audience): readonly string[] {
  const shared = secrets?.[audience] ?? [];
  if (shared.length > 0) return shared;
  throw new Error(`Cannot open a part of a service: the secret of ${audience} is not set`);
}

/** @throws {Problem} unavailable — a service behind is not ready */
export async function checkForwards(forwards: Forwards, makeId: () => string): Promise<void> {
  await Promise.all(
    AUDIENCES.map(async (audience) => {
      const context = {
        request: new Request("http://service/ready"),
        requestId: makeId(),
        params: {},
        query: "",
        address: "",
        meter: { dbMs: 0 },
      };
      const options = { virtualHost: "gateway", principal: undefined, maxBytes: 0 } as const;
      const { status } = await forwards[audience](context, options);
      if (status !== 200) throw new Problem("unavailable", { message: "A service is not ready" });
    }),
  );
}
