/**
 * Route tables: all routes of the modules, and the routes that each process serves or forwards. No handlers.
 *
 * @module
 */

import { type ConsolePageDeps, consoleRoutes, unknownConsoleRoute } from "../console/mod.ts";
import { callerRoute, type DataDeps, dataRoutes, formerCallerRoute } from "../data/mod.ts";
import { type Audience, type Forward, toForwarded } from "../gateway/mod.ts";
import { type Route, toWallBytes, type VirtualHost } from "../http/mod.ts";
import { type AuthDeps, authRoutes, pageRoutes } from "../identity/mod.ts";
import type { SetLimits } from "../limit_setting.ts";
import { guideRoutes, type OpenapiDeps, openapiRoutes, referenceRoutes } from "../openapi/mod.ts";
import { assetRoutes } from "../pages/mod.ts";
import { MAX_BODY_BYTES, MAX_PAGE_BYTES } from "../std/limits.ts";
import { MAX_REPLAY_BYTES, type PushRouteDeps, pushRoutes } from "../tables/mod.ts";
import { type HealthDeps, healthRoutes } from "./health.ts";

/** Dependencies of route handlers, by service. */
export type DataServiceDeps = DataDeps & OpenapiDeps & PushRouteDeps & HealthDeps;
export type IdentityServiceDeps = AuthDeps & ConsolePageDeps & HealthDeps;

const ofData: readonly Route<DataServiceDeps>[] = [...dataRoutes, ...pushRoutes, ...openapiRoutes];

/** Of the API on the identity service: the caller is a person. */
const ofIdentity: readonly Route<IdentityServiceDeps>[] = [callerRoute, ...authRoutes];

/** The API's routes; used by the router, the isolation tests and the docs. */
export const routes: readonly Route<DataServiceDeps & IdentityServiceDeps>[] = [
  ...ofData,
  ...healthRoutes,
  ...ofIdentity,
];

/** Documentation for people and tools: served on the API's host, but not part of the described API. */
export const docs: readonly Route<DataServiceDeps>[] = [...referenceRoutes, ...guideRoutes];

/** The pages and the Console, on a separate host if `IDENTITY_URL` is set. */
export const pages: readonly Route<IdentityServiceDeps>[] = [
  ...pageRoutes,
  ...consoleRoutes,
  unknownConsoleRoute,
];
export const PAGE_PATHS: ReadonlySet<string> = new Set(
  pages.flatMap(({ path, preview }) => (preview === undefined ? [path] : [])),
);

/** Whether a path is the template of a page, which a person opens in a browser. */
export function isPage(path: string): boolean {
  return PAGE_PATHS.has(path);
}

/** The routes that the API's description has: also those on the host of the pages that are for programs. */
export const described = [...routes, ...pages.filter(({ previewed }) => previewed !== undefined)];

/** Whether a path is the template of a route of any process. */
export function isRoute(path: string): boolean {
  return TEMPLATES.has(path);
}

const TEMPLATES: ReadonlySet<string> = new Set(
  [...routes, ...docs, ...pages].map(({ path }) => path),
);

export type RouteTables<Deps> = Readonly<Record<VirtualHost, readonly Route<Deps>[]>>;

export const DATA_TABLES: RouteTables<DataServiceDeps> = toRouteTables<DataServiceDeps>({
  api: [...ofData, formerCallerRoute, ...docs],
  pages: [],
});

export const IDENTITY_TABLES: RouteTables<IdentityServiceDeps> = toRouteTables<IdentityServiceDeps>(
  { api: ofIdentity, pages },
);

/** Dependencies in a process that runs all parts. Identity has separate connections, so its handlers get other deps. */
type AllDeps = DataServiceDeps & { identityDeps: IdentityServiceDeps };

export const ALL_TABLES: RouteTables<AllDeps> = toRouteTables<AllDeps>({
  api: [...ofData, ...docs, ...toAll(ofIdentity)],
  pages: toAll(pages),
});

function toAll(own: readonly Route<IdentityServiceDeps>[]): Route<AllDeps>[] {
  return own.map((route) => {
    type Handle = (deps: IdentityServiceDeps, context: never) => ReturnType<typeof route.handle>;
    // Safe: the route's access determines the handler's context, and does not change.
    const handle = route.handle as Handle;
    return {
      ...route,
      handle: ({ identityDeps }: AllDeps, context: never) => handle(identityDeps, context),
    } as Route<AllDeps>;
  });
}

/** The gateway's tables: the same paths and checks, forwarded to the services. */
export function toForwardedTables(
  { data, identity }: Readonly<Record<Audience, Forward>>,
  { maxBatchBytes, maxResponseBytes }: SetLimits,
): RouteTables<HealthDeps> {
  const consoleLimit = toWallBytes(maxResponseBytes, maxBatchBytes);
  const api = { virtualHost: "gateway", limit: MAX_BODY_BYTES, consoleLimit } as const;
  const limit = { one: MAX_BODY_BYTES, list: maxBatchBytes };
  return toRouteTables<HealthDeps>({
    api: [
      ...toForwarded(dataRoutes, { ...api, forward: data, limit }),
      ...toForwarded(pushRoutes, { ...api, forward: data, limit: MAX_REPLAY_BYTES }),
      ...toForwarded(openapiRoutes, { ...api, forward: data }),
      ...toForwarded(docs, { ...api, forward: data }),
      ...toForwarded([callerRoute], { ...api, forward: orElse(identity, data) }),
      ...toForwarded(authRoutes, { ...api, forward: identity }),
    ],
    pages: toForwarded(pages, {
      ...{ forward: identity, virtualHost: "identity", limit: MAX_PAGE_BYTES, consoleLimit },
    }),
  });
}

/** Where an identity service of 0.1.0 still runs, the data service answers, without address, name and picture. */
function orElse(identity: Forward, data: Forward): Forward {
  return async (context, options) => {
    const response = await identity(context, options);
    if (response.status !== 404) return response;
    await response.body?.cancel();
    return await data(context, options);
  };
}

function toRouteTables<Deps extends HealthDeps>({
  api,
  pages,
}: {
  api: readonly Route<Deps>[];
  pages: readonly Route<Deps>[];
}): RouteTables<Deps> {
  const gateway = [...api, ...healthRoutes];
  return {
    // The front page needs its stylesheet and icon.
    gateway: [...gateway, ...assetRoutes],
    identity: [...pages, ...healthRoutes],
    both: [...gateway, ...pages],
  };
}
