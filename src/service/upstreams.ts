/** What a gateway has behind it: the services' addresses, the secret that it shares with them, whether they are ready. @module */
import { EXECUTION_LIMIT_MS } from "../db/mod.ts";
import { AUDIENCES, type Audience, type Forward, makeForward } from "../gateway/mod.ts";
import { Problem } from "../problem.ts";

export type UpstreamOptions = {
  /** Milliseconds that a request's statement may take; default: the service's documented limit. */
  limitMs?: number;
  /** The services' origins, for a gateway. */
  upstreams?: Readonly<Record<Audience, string | undefined>>;
  /** Shared with the other roles: the first signs, all verify. Needed by every role but `all`. */
  secrets?: readonly string[];
};

/** How much longer than the service a gateway waits, so that the service's own answer comes first. */
const MARGIN_MS = 2000;

export type Forwards = Readonly<Record<Audience, Forward>>;

/** A forwarder to each service. */
export function makeForwards(options: UpstreamOptions, now: () => number): Forwards {
  const [secret = ""] = readSecrets(options);
  const deadlineMs = (options.limitMs ?? EXECUTION_LIMIT_MS) + MARGIN_MS;
  const to = (audience: Audience) => {
    const url = options.upstreams?.[audience];
    if (url !== undefined) return makeForward({ audience, url, secret, deadlineMs, now });
    throw new Error(`Cannot open a gateway: no address of ${audience} is set`);
  };
  return { data: to("data"), identity: to("identity") };
}

export function readSecrets({ secrets = [] }: UpstreamOptions): readonly string[] {
  if (secrets.length > 0) return secrets;
  throw new Error("Cannot open a part of a service: it needs a shared secret");
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
