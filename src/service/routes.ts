/**
 * The rooms' routes as tables: all of them, and which of them a process serves or forwards. Handles nothing.
 *
 * @module
 */
import { type DataDeps, dataRoutes, MAX_BODY } from "../data/mod.ts";
import { type Audience, type Forward, toForwarded } from "../gateway/mod.ts";
import type { Route, VirtualHost } from "../http/mod.ts";
import { type AuthDeps, authRoutes, type PageDeps, pageRoutes } from "../identity/mod.ts";
import { MAX_BYTES, type PushRouteDeps, pushRoutes } from "../push/mod.ts";
import { type HealthDeps, healthRoutes } from "./health.ts";

/** What the rooms' handlers need. */
export type RoomDeps = DataDeps & PushRouteDeps & HealthDeps & AuthDeps & PageDeps;

/** The route table of the gateway: the router, the isolation tests and the docs read it. */
export const routes: readonly Route<RoomDeps>[] = [
  ...dataRoutes,
  ...pushRoutes,
  ...healthRoutes,
  ...authRoutes,
];

/** The pages, which stand on a host of their own where `IDENTITY_URL` names one. */
export const pages: readonly Route<RoomDeps>[] = pageRoutes;
export const PAGE_PATHS: ReadonlySet<string> = new Set(pages.map((page) => page.path));

/** Routes by the virtualHost that `Host` names. */
export type RouteTables<Deps> = Readonly<Record<VirtualHost, readonly Route<Deps>[]>>;
type Part<Deps> = { api: readonly Route<Deps>[]; pages: readonly Route<Deps>[] };

const SERVICES: Readonly<Record<Audience, Part<RoomDeps>>> = {
  data: { api: [...dataRoutes, ...pushRoutes], pages: [] },
  identity: { api: authRoutes, pages },
};

/** The tables of a process that runs these services itself. */
export function toTables(services: readonly Audience[]): RouteTables<RoomDeps> {
  const parts = services.map((service) => SERVICES[service]);
  return toVirtualHosts({
    api: parts.flatMap((part) => part.api),
    pages: parts.flatMap((part) => part.pages),
  });
}

/** The tables of a gateway in gatewayDeps of services: the same paths and checks, forwarded. */
export function toForwardedTables({
  data,
  identity,
}: Readonly<Record<Audience, Forward>>): RouteTables<HealthDeps> {
  const api = { virtualHost: "gateway", maxBytes: MAX_BODY } as const;
  return toVirtualHosts<HealthDeps>({
    api: [
      ...toForwarded(dataRoutes, { ...api, forward: data }),
      ...toForwarded(pushRoutes, { ...api, forward: data, maxBytes: MAX_BYTES }),
      ...toForwarded(authRoutes, { ...api, forward: identity }),
    ],
    pages: toForwarded(pages, { ...api, forward: identity, virtualHost: "identity" }),
  });
}

function toVirtualHosts<Deps extends HealthDeps>({ api, pages }: Part<Deps>): RouteTables<Deps> {
  const gateway = [...api, ...healthRoutes];
  return { gateway, identity: [...pages, ...healthRoutes], both: [...gateway, ...pages] };
}
