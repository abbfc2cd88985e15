/** A service's routes on the gateway: the same method, path and access, with a handler that forwards. @module */
import type { KeyRequestContext, RequestContext, Route, VirtualHost } from "../http/mod.ts";
import type { Forward } from "./forward.ts";

export type ForwardedOptions = { forward: Forward; virtualHost: VirtualHost; maxBytes: number };

/** The routes with the same checks before the handler, and a handler that forwards. */
export function toForwarded<Deps>(
  routes: readonly Route<Deps>[],
  { forward, ...options }: ForwardedOptions,
): Route<unknown>[] {
  const handleKeyed = (_: unknown, context: KeyRequestContext) =>
    forward(context, { ...options, principal: context.principal });
  const handleOpen = (_: unknown, context: RequestContext) =>
    forward(context, { ...options, principal: undefined });
  return routes.map(
    (route): Route<unknown> =>
      route.access === "key" ? { ...route, handle: handleKeyed } : { ...route, handle: handleOpen },
  );
}
