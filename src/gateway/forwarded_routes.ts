/** A service's routes on the gateway: the same method, path and access, with a handler that forwards. @module */
import type { OptionalKeyContext, Route, VirtualHost } from "../http/mod.ts";
import type { Forward } from "./forward.ts";

export type ForwardedOptions = { forward: Forward; virtualHost: VirtualHost; maxBytes: number };

/** The routes with the same checks before the handler, and a handler that forwards. */
export function toForwarded<Deps>(
  routes: readonly Route<Deps>[],
  { forward, ...options }: ForwardedOptions,
): Route<unknown>[] {
  const handle = (_: unknown, context: OptionalKeyContext) =>
    forward(context, { ...options, principal: context.principal });
  return routes.map((route): Route<unknown> => ({ ...route, handle }));
}
