/** The services behind a gateway: addresses, shared secrets and readiness. @module */
import { EXECUTION_LIMIT_MS, type TurnLimits } from "../db/mod.ts";
import {
  AUDIENCES,
  type Audience,
  type Forward,
  makeForward,
  makeSendOut,
  OUTGOING_LIMITS,
  passOn,
  readPresentedKeyId,
  type SendOut,
} from "../gateway/mod.ts";
import {
  type CountStream,
  isEventStream,
  type StreamMemory,
  splitTarget,
  toTarget,
} from "../http/mod.ts";
import { Problem } from "../problem.ts";
import { isConnectFailure } from "../std/network.ts";

export type UpstreamOptions = {
  /** Time limit of a request's statement in milliseconds; defaults to the documented limit. */
  limitMs?: number;
  /** Limits of requests to other processes; defaults to {@linkcode OUTGOING_LIMITS}. */
  outgoing?: Partial<TurnLimits>;
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

type Forwards = Readonly<Record<Audience, Forward>>;

export type Streams = { countStream: CountStream; streamMemory: StreamMemory };

/** A forwarder to each service. Each service has its own queues: one that hangs does not delay requests to the other. */
export function makeForwards(
  options: UpstreamOptions,
  parts: Streams & { now: () => number; draining: AbortSignal },
): Forwards {
  const deadlineMs = (options.limitMs ?? EXECUTION_LIMIT_MS) + MARGIN_MS;
  const to = (audience: Audience) => {
    const [secret = ""] = readSecrets(options, audience);
    const url = options.upstreams?.[audience];
    const sendOut = openSendOut(options, parts);
    if (url !== undefined)
      return makeForward({ ...parts, audience, url, secret, deadlineMs, sendOut });
    throw new Error(`Cannot open a gateway: the address of ${audience} is not set`);
  };
  return { data: to("data"), identity: to("identity") };
}

function openSendOut({ outgoing }: UpstreamOptions, { countStream }: Streams): SendOut {
  return makeSendOut({ ...OUTGOING_LIMITS, ...outgoing }, countStream);
}

/**
 * Sends a request to the gateway like any client: the Console of an identity service can access rows only this way.
 * `undefined` if the gateway's origin is unknown.
 *
 * @throws {Problem} unavailable; bad_gateway — the gateway did not respond; rate_limited; overloaded
 */
export function makeCallGateway(
  options: UpstreamOptions,
  {
    publicUrl,
    keyPrefix,
    ...streams
  }: Streams & { publicUrl: string | undefined; keyPrefix: string },
): ((request: Request) => Promise<Response>) | undefined {
  const { gatewayUrl, limitMs = EXECUTION_LIMIT_MS } = options;
  const origin = gatewayUrl ?? publicUrl;
  if (origin === undefined) return undefined;
  const sendOut = openSendOut(options, streams);
  return async (request) => {
    const { signal } = request;
    // One key per administrator and app.
    const key = readPresentedKeyId(request, keyPrefix) ?? "";
    const deadline = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const fetchFrom = (): Promise<Response> => {
      timer = setTimeout(() => deadline.abort(), limitMs + 2 * MARGIN_MS);
      timer.unref();
      const url = origin + toTarget(splitTarget(request.url));
      return Bun.fetch(new Request(url, request), {
        redirect: "manual",
        signal: AbortSignal.any([deadline.signal, signal]),
      });
    };
    try {
      const caller = { queue: key, owners: { key }, signal };
      const { response, finish } = await sendOut(caller, request.headers.get("accept"), fetchFrom);
      // An event stream has no time limit once it has begun.
      if (isEventStream(response)) clearTimeout(timer);
      const { status, headers, body } = response;
      return new Response(body === null ? null : passOn(body, finish), { status, headers });
    } catch (error) {
      if (error instanceof Problem) throw error;
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
      const options = { virtualHost: "gateway", principal: undefined, limit: 0 } as const;
      const { status } = await forwards[audience](context, options);
      if (status !== 200) throw new Problem("unavailable", { message: "A service is not ready" });
    }),
  );
}
