/** The two shapes of a service: one process that does everything, or a gateway in front of services. @module */

import { expect } from "bun:test";
import { type Database, openDatabase } from "../../src/db/mod.ts";
import type { Log } from "../../src/observe.ts";
import { isPreview, type Preview } from "../../src/preview.ts";
import { PUSH_LIMITS } from "../../src/push/mod.ts";
import { openService, type Service, type ServiceOptions } from "../../src/service/open.ts";
import type { SplitRole, TestDatabase } from "./cluster.ts";
import { TEST_HASHING, TEST_IDENTITY_SECRET } from "./deps.ts";
import type { TestServiceOptions } from "./service.ts";

export const SHAPES = ["one", "split"] as const;
/** `logins`: one process, where identity has a login of its own. */
export type Shape = (typeof SHAPES)[number] | "logins";

export const TEST_SECRETS = {
  data: "a secret of the tests for data, 32 bytes or more",
  identity: "a secret of the tests for identity, 32 bytes or more",
} as const;

/** The shape that TEST_SHAPE gives to every service that does not name one. */
export function shapeOfRun(): Shape {
  const named = process.env["TEST_SHAPE"];
  return named === "split" || named === "logins" ? named : "one";
}

/** The previews that TEST_PREVIEW turns on in every service that does not name some. */
export function previewsOfRun(): Preview[] {
  return (process.env["TEST_PREVIEW"] ?? "").split(",").filter(isPreview);
}

/** What the envelope of a list has besides, in this run. */
export function nextOf(hasMore: boolean): { next?: unknown } {
  if (!previewsOfRun().includes("filters")) return {};
  return { next: hasMore ? expect.any(String) : null };
}

export type Opened = { service: Service; url: string; close: () => Promise<void> };
/** Where there are several, `service` faces the callers. */
type OpenedServices = Opened & { processes: readonly Service[] };
/** What a test meets: `admin` is an administrator's connection, `pushing` the one that the service itself pushes with. */
export type OpenedShape = OpenedServices & { pushing: Database };

/** Opens and serves a service of the wanted shape. */
export async function openShape(
  options: TestServiceOptions,
  database: TestDatabase,
  log: Log,
): Promise<OpenedShape> {
  const administrator = openDatabase({
    url: database.adminUrl,
    connections: 2,
    prepare: database.prepare,
    name: "rowhouse test administrator",
  });
  const opened = await openServices(options, database, log);
  return {
    ...opened,
    service: { ...opened.service, admin: administrator },
    pushing: opened.service.admin,
    close: async () => {
      await opened.close();
      await administrator.close();
    },
  };
}

async function openServices(
  options: TestServiceOptions,
  database: TestDatabase,
  log: Log,
): Promise<OpenedServices> {
  const shape = options.shape ?? shapeOfRun();
  const toUrl = (role: SplitRole | "all") => {
    const whole = shape === "logins" ? database.apartUrl : database.servingUrl;
    const least = role === "all" ? whole : database.roleUrls[role];
    const url = options.login === "superuser" ? database.superuserUrl : least;
    return options.toServingUrl?.(url) ?? url;
  };
  // An administrator may push too, and does where everything is his.
  const pushUrl = options.login === "superuser" ? database.adminUrl : database.pushUrl;
  const common = {
    connections: options.connections ?? 5,
    adminDatabaseUrl: options.toAdminUrl?.(pushUrl) ?? pushUrl,
    consoleDatabaseUrl: options.toAdminUrl?.(database.consoleUrl) ?? database.consoleUrl,
    prepare: options.prepare ?? database.prepare,
    keyPrefix: "rh",
    log,
    identitySecrets: [TEST_IDENTITY_SECRET],
    hashing: TEST_HASHING,
    // Laws and storms push more often than an app may.
    pushLimits: { ...PUSH_LIMITS, pushesPerHour: 1_000_000 },
    ...(options.limitMs === undefined ? {} : { limitMs: options.limitMs }),
    previews: previewsOfRun(),
    ...options.service,
  };
  // The port first: the pages' origin is made of it.
  const face = readPort();
  const settings = options.identity?.(face.port) ?? {};
  const open = (role: SplitRole | "all", more: Partial<ServiceOptions> = {}) =>
    openService({
      ...common,
      databaseUrl: toUrl(role),
      identity: settings,
      role,
      secrets: { data: [TEST_SECRETS.data], identity: [TEST_SECRETS.identity] },
      ...more,
    });
  if (shape !== "split") {
    const own = shape === "logins" ? { identityDatabaseUrl: toUrl("identity") } : {};
    const all = await face.serve(open("all", own));
    const service = { ...all.service, db: all.service.identityDb };
    return { ...all, service, processes: [all.service] };
  }
  const [data, identity] = await Promise.all([
    serve(open("data")),
    serve(open("identity", { gatewayUrl: `http://127.0.0.1:${face.port}` })),
  ]);
  const upstreams = { data: data.url, identity: identity.url, ...options.upstreams };
  const gateway = await face.serve(open("gateway", { upstreams }));
  const opened = [gateway, data, identity];
  const warm = async () => void (await Promise.all(opened.map(({ service }) => service.warm())));
  const close = async () => void (await Promise.all(opened.map((one) => one.close())));
  // People are the identity service's: tests that make some do it with its rights.
  return {
    service: { ...gateway.service, db: identity.service.db, warm },
    processes: opened.map(({ service }) => service),
    url: gateway.url,
    close,
  };
}

/** Serves one more process on the database of a service. */
export function serveAnother(
  { servingUrl, pushUrl, prepare }: Pick<TestDatabase, "servingUrl" | "pushUrl" | "prepare">,
  options: Partial<ServiceOptions> = {},
): Promise<Opened> {
  const service = openService({
    databaseUrl: servingUrl,
    adminDatabaseUrl: pushUrl,
    connections: 10,
    prepare,
    keyPrefix: "rh",
    identitySecrets: [TEST_IDENTITY_SECRET],
    log: () => undefined,
    ...options,
  });
  return serve(service);
}

/** Serves a service on a free port. */
export function serve(service: Service): Promise<Opened> {
  return readPort().serve(service);
}

/** A free port, and what serves a service on it. */
function readPort(): { port: number; serve: (service: Service) => Promise<Opened> } {
  let opened: Service | undefined;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request, peer) =>
      opened?.fetch(request, peer) ?? new Response("Not open yet", { status: 503 }),
  });
  const port = server.port ?? 0;
  const close = async (service: Service) => {
    await server.stop(true);
    await service.close();
  };
  return {
    port,
    serve: async (service) => {
      await service.warm();
      opened = service;
      return { service, url: `http://127.0.0.1:${port}`, close: () => close(service) };
    },
  };
}
