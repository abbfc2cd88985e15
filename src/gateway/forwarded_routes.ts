/** A service's routes on the gateway: the same method, path and access, with a forwarding handler. @module */
import type { OptionalKeyContext, Route, VirtualHost } from "../http/mod.ts";
import type { Forward } from "./forward.ts";

export type ForwardedOptions = { forward: Forward; virtualHost: VirtualHost; maxBytes: number };

/** The routes with the same access checks and a forwarding handler. */
export function toForwarded<Deps>(
  routes: readonly Route<Deps>[],
  { forward, ...options }: ForwardedOptions,
): Route<unknown>[] {
  const handle = (_: unknown, context: OptionalKeyContext) =>
    forward(context, { ...options, principal: context.principal });
  return routes.map((route): Route<unknown> => ({ ...route, handle }));
}
