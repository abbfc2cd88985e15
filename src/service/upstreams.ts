/** The services behind a gateway: their addresses, the secret shared with each, and whether they are ready. @module */
import { EXECUTION_LIMIT_MS } from "../db/mod.ts";
import { AUDIENCES, type Audience, type Forward, makeForward } from "../gateway/mod.ts";
import { splitTarget, toTarget } from "../http/mod.ts";
import { Problem } from "../problem.ts";
import { isConnectFailure } from "../std/error_code.ts";

export type UpstreamOptions = {
  /** How many milliseconds a request's statement may take; default: the service's documented limit. */
  limitMs?: number;
  /** The services' origins, for a gateway. */
  upstreams?: Readonly<Record<Audience, string | undefined>>;
  /** The gateway's origin, for an identity service; default: its public one. */
  gatewayUrl?: string | undefined;
  /**
   * What the gateway shares with each service, so that no service can sign for another: the first signs, all verify.
   * A gateway needs both, a service only its own.
   */
  secrets?: Readonly<Partial<Record<Audience, readonly string[]>>>;
};

/** How much longer than the service a gateway waits, so that the service answers first. */
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
 * Sends a request to the gateway as any program would: the Console of an identity service reaches rows only that way.
 * `undefined` where no one said where the gateway is.
 *
 * @throws {Problem} unavailable; bad_gateway — the gateway did not answer
 */
export function makeCallGateway(
  { gatewayUrl, limitMs = EXECUTION_LIMIT_MS }: UpstreamOptions,
  publicUrl: string | undefined,
): ((request: Request) => Promise<Response>) | undefined {
  const origin = gatewayUrl ?? publicUrl;
  if (origin === undefined) return undefined;
  return async (request) => {
    const url = origin + toTarget(splitTarget(request.url));
    const signal = AbortSignal.timeout(limitMs + 2 * MARGIN_MS);
    try {
      return await Bun.fetch(new Request(url, request), { redirect: "manual", signal });
    } catch (error) {
      const code = isConnectFailure(error) ? "unavailable" : "bad_gateway";
      throw new Problem(code, { message: "The gateway did not respond", cause: error });
    }
  };
}

/** The secrets of one service; there is at least one. */
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
