/** A service's routes as the gateway has them: the same method, path and access, and a handler that forwards. @module */
import type { Exchange, KeyExchange, Route } from "../http/mod.ts";
import type { Site } from "./context.ts";
import type { Forward } from "./forward.ts";

export type ForwardedOptions = { forward: Forward; site: Site; mostBytes: number };

/** The routes with every check that stands before a handler, and forwarding for a handler. */
export function toForwarded<Deps>(
  routes: readonly Route<Deps>[],
  { forward, site, mostBytes }: ForwardedOptions,
): Route<unknown>[] {
  const pass = { site, mostBytes };
  return routes.map(({ method, path, access }): Route<unknown> => {
    if (access.kind !== "key") {
      const handle = (_: unknown, exchange: Exchange) =>
        forward(exchange, { ...pass, principal: undefined });
      return { method, path, access, handle };
    }
    const handle = (_: unknown, exchange: KeyExchange) =>
      forward(exchange, { ...pass, principal: exchange.principal });
    return { method, path, access, handle };
  });
}
