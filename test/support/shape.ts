/** The shapes of a service: one process for all roles, or a gateway in front of services. @module */
import { expect } from "bun:test";
import { type Database, openDatabase } from "../../src/db/mod.ts";
import type { Log } from "../../src/observe.ts";
import { isPreview, type Preview } from "../../src/preview.ts";
import { Problem } from "../../src/problem.ts";
import { openService, type Service, type ServiceOptions } from "../../src/service/open.ts";
import { PUSH_LIMITS } from "../../src/tables/mod.ts";
import type { SplitRole, TestDatabase } from "./cluster.ts";
import { TEST_HASHING, TEST_IDENTITY_SECRET } from "./deps.ts";
import { eventually } from "./eventually.ts";
import type { TestServiceOptions } from "./service.ts";

export const SHAPES = ["one", "split"] as const;
/** `logins`: one process in which identity has its own login. */
export type Shape = (typeof SHAPES)[number] | "logins";

/** How long the recorded verdict of a copied database counts at the start of a service. */
const VERDICT_MS = 60_000;

export const TEST_SECRETS = {
  data: "a secret of the tests for data, 32 bytes or more",
  identity: "a secret of the tests for identity, 32 bytes or more",
} as const;

/** Returns the shape from TEST_SHAPE, for services without an explicit shape. */
export function shapeOfRun(): Shape {
  const named = process.env["TEST_SHAPE"];
  return named === "split" || named === "logins" ? named : "one";
}

/** Returns the previews from TEST_PREVIEW, for services without explicit previews. */
export function previewsOfRun(): Preview[] {
  return (process.env["TEST_PREVIEW"] ?? "").split(",").filter(isPreview);
}

/** Returns the members that this run's previews add to the envelope of a list. */
export function nextOf(hasMore: boolean): { next?: unknown } {
  if (!previewsOfRun().includes("filters")) return {};
  return { next: hasMore ? expect.any(String) : null };
}

export type Opened = { service: Service; url: string; close: () => Promise<void> };
/** With several processes, `service` is the one that callers connect to. */
type OpenedServices = Opened & { processes: readonly Service[] };
/** `service.admin` is an administrator's connection. `pushing` is the service's own connection for pushes. */
export type OpenedShape = OpenedServices & { pushing: Database };

/** Opens and serves a service of the wanted shape, after `prepare`. */
export async function openShape(
  options: TestServiceOptions,
  database: TestDatabase,
  log: Log,
  prepare?: (administrator: Database) => Promise<void>,
): Promise<OpenedShape> {
  const administrator = openDatabase({
    url: database.adminUrl,
    connections: 2,
    prepare: database.prepare,
    name: "rowhouse test administrator",
  });
  await prepare?.(administrator);
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
  // A superuser service pushes as the administrator too.
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
    // Property and chaos tests push more often than an app can.
    pushLimits: { ...PUSH_LIMITS, pushesPerHour: 1_000_000 },
    ...(options.limitMs === undefined ? {} : { limitMs: options.limitMs }),
    // A new database is a copy of one that was checked.
    startAgeMs: options.settings === undefined ? VERDICT_MS : 0,
    // No test depends on the time of a query.
    unindexedLimits: { timeoutMs: 30_000, msAMinute: 3_600_000 },
    previews: previewsOfRun(),
    ...options.service,
  };
  // Reserve the port first: the origin of the pages contains it.
  const front = reservePort();
  const settings = options.identity?.(front.port) ?? {};
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
    const all = await front.serve(open("all", own));
    const service = { ...all.service, db: all.service.identityDb };
    return { ...all, service, processes: [all.service] };
  }
  const replaced = options.upstreams?.data;
  const [data, identity] = await Promise.all([
    replaced === undefined ? serve(open("data")) : undefined,
    // Also if it is replaced: tests create people with its rights.
    serve(open("identity", { gatewayUrl: `http://127.0.0.1:${front.port}` })),
  ]);
  const upstreams = {
    data: data?.url ?? replaced,
    identity: options.upstreams?.identity ?? identity.url,
  };
  const gateway = await front.serve(open("gateway", { upstreams }));
  const opened = data === undefined ? [gateway, identity] : [gateway, data, identity];
  const warm = async () => void (await Promise.all(opened.map(({ service }) => service.warm())));
  const close = async () => void (await Promise.all(opened.map((each) => each.close())));
  return {
    service: { ...gateway.service, db: identity.service.db, warm },
    processes: opened.map(({ service }) => service),
    url: gateway.url,
    close,
  };
}

/** Serves another process on the database of a service. */
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
  return reservePort().serve(service);
}

/** Whether the service is ready: its first checks can exceed a test's short time limit on a busy machine. */
async function isWarm(service: Service): Promise<boolean> {
  try {
    await service.warm();
    return true;
  } catch (error) {
    if (error instanceof Problem && error.code === "timeout") return false;
    throw error;
  }
}

/** Reserves a free port, and returns a function that serves a service on it. */
function reservePort(): { port: number; serve: (service: Service) => Promise<Opened> } {
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
      await eventually(() => isWarm(service));
      opened = service;
      return { service, url: `http://127.0.0.1:${port}`, close: () => close(service) };
    },
  };
}
