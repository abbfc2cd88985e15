/** A service's routes as the gateway has them: the same method, path and access, and a handler that forwards. @module */
import type { KeyRequestContext, RequestContext, Route, VirtualHost } from "../http/mod.ts";
import type { Forward } from "./forward.ts";

export type ForwardedOptions = { forward: Forward; virtualHost: VirtualHost; maxBytes: number };

/** The routes with every check that stands before a handler, and forwarding for a handler. */
export function toForwarded<Deps>(
  routes: readonly Route<Deps>[],
  { forward, virtualHost, maxBytes }: ForwardedOptions,
): Route<unknown>[] {
  const pass = { virtualHost, maxBytes };
  return routes.map(({ method, path, access }): Route<unknown> => {
    if (access.kind !== "key") {
      const handle = (_: unknown, context: RequestContext) =>
        forward(context, { ...pass, principal: undefined });
      return { method, path, access, handle };
    }
    const handle = (_: unknown, context: KeyRequestContext) =>
      forward(context, { ...pass, principal: context.principal });
    return { method, path, access, handle };
  });
}
