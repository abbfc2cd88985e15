/** Serves a service on a port, and stops it without aborting requests in progress. @module */

import { closeSync, openSync, readdirSync, readFileSync, statSync } from "node:fs";
import type { Log } from "../../observe.ts";
import type { Service } from "../../service/mod.ts";
import { WALL_BYTES } from "../../std/limits.ts";
import { errorCode } from "../../std/network.ts";
import { RejectedError } from "../command.ts";

// A port that can pause new connections without aborting existing ones.

/** Max seconds without data before a request is complete; fetch.ts allows more afterwards. */
const IDLE_TIMEOUT_S = 10;

type Fetch = (request: Request, server: Server) => Response | Promise<Response>;
type Server = ReturnType<typeof Bun.serve>;

type ListenerAddress = {
  host: string;
  port: number;
  /** Whether other processes listen on the same port. */
  isShared: boolean;
  /** The setting of the port, for messages; default: PORT. */
  portSetting?: string | undefined;
  /** Max bytes of any body; default: {@linkcode WALL_BYTES}. */
  maxBytes?: number | undefined;
};

type Listener = {
  readonly port: number;
  readonly pendingRequests: () => number;
  /** Rejects new connections, closes idle connections, and finishes requests in progress. */
  readonly pause: () => void;
  /** @throws {RejectedError} cannot listen on the port */
  readonly resume: () => void;
  readonly stop: (closeActiveConnections?: boolean) => Promise<void>;
};

/** @throws {RejectedError} cannot listen on the host or port */
function openListener(serve: Fetch, address: ListenerAddress): Listener {
  const fetch: Fetch = async (request, server) => {
    const response = await serve(request, server);
    // Bun closes the connection after this response: without the header, the client's next request can meet the end.
    if (server !== current) response.headers.set("connection", "close");
    return response;
  };
  let current: Server | undefined = readPort(fetch, address);
  const port = current.port ?? address.port;
  const all = new Set<Server>([current]);
  const stopServer = async (server: Server, closeActiveConnections?: boolean): Promise<void> => {
    await server.stop(closeActiveConnections);
    all.delete(server);
  };
  return {
    port,
    pendingRequests: () => [...all].reduce((sum, { pendingRequests }) => sum + pendingRequests, 0),
    pause: () => {
      if (current !== undefined) void stopServer(current);
      current = undefined;
    },
    resume: () => {
      current ??= readPort(fetch, { ...address, port });
      all.add(current);
    },
    stop: async (closeActiveConnections) => {
      current = undefined;
      await Promise.all([...all].map((server) => stopServer(server, closeActiveConnections)));
    },
  };
}

function readPort(fetch: Fetch, address: ListenerAddress): Server {
  const { host, port, isShared, maxBytes = WALL_BYTES } = address;
  try {
    return Bun.serve({
      hostname: host,
      port,
      idleTimeout: IDLE_TIMEOUT_S,
      maxRequestBodySize: maxBytes,
      reusePort: isShared,
      fetch,
    });
  } catch (error) {
    throw new RejectedError(explain(error, address));
  }
}

function explain(error: unknown, { host, port, portSetting = "PORT" }: ListenerAddress): string {
  const code = errorCode(error);
  if (code === "EADDRINUSE")
    return `Port ${port} of ${host} is in use: stop the process that listens there, or set another ${portSetting}`;
  if (code === "EACCES")
    return `Permission denied for port ${port}: set a ${portSetting} above 1023`;
  return `Cannot listen on ${host}:${port}: must be an address of this machine (HOST) and a free port (${portSetting})`;
}

// A limit on the sockets of a process. `Bun.serve` has no limit: it accepts connections until no
// descriptors are left, and then the port for operators and the pools cannot open any. So the open
// descriptors are counted ten times a second, and at the limit the port pauses until enough are
// free. There is no limit if the system does not report open descriptors.

const CHECK_INTERVAL_MS = 100;
/** The share of the system's limit for clients. The rest is for operators, pools and files. */
const SHARE = 0.8;
/** New connections are accepted again when this share of the limit is free. */
const MIN_FREE_SHARE = 0.2;
/** Reserved descriptors, released if connections arrive faster than they are counted. */
const SPARES = 16;

/** Limits the sockets from now on, until the returned function is called. */
function boundSockets(listener: Pick<Listener, "pause" | "resume">, log: Log): () => void {
  const own = countOpen();
  const limit = readOpenLimit();
  if (own === undefined || limit === undefined) return () => undefined;
  const maxOpen = Math.floor((limit - own) * SHARE);
  let spares = openSpares();
  let isPaused = false;
  const check = (): void => {
    // If no descriptor is left for counting, all are in use.
    const sockets = (countOpen() ?? limit) - own - spares.length;
    if (!isPaused && sockets >= maxOpen) {
      isPaused = true;
      for (const spare of spares) closeSync(spare);
      spares = [];
      listener.pause();
      log("error", "too many sockets", {
        message: `${sockets} sockets are open, max ${maxOpen}: new connections are rejected until 20% are free`,
      });
    } else if (isPaused && sockets <= maxOpen * (1 - MIN_FREE_SHARE) && resume(listener)) {
      spares = openSpares();
      isPaused = false;
      log("info", "sockets accepted again");
    }
  };
  const timer = setInterval(check, CHECK_INTERVAL_MS);
  return () => {
    clearInterval(timer);
    for (const spare of spares) closeSync(spare);
  };
}

/** Whether connections are accepted again. If the port cannot be opened, the next check retries. */
function resume(listener: Pick<Listener, "resume">): boolean {
  try {
    listener.resume();
    return true;
  } catch {
    return false;
  }
}

function openSpares(): number[] {
  return Array.from({ length: SPARES }, () => openSync("/dev/null", "r"));
}

const DESCRIPTORS = "/proc/self/fd";

/** The number of open descriptors. Since Linux 6.2 it is the folder's size, and reading it requires no descriptor. */
function countOpen(): number | undefined {
  try {
    return statSync(DESCRIPTORS).size || readdirSync(DESCRIPTORS).length;
  } catch {
    return undefined; // not Linux
  }
}

/** The max number of open descriptors. */
function readOpenLimit(): number | undefined {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined; // not Linux
  }
}

/** Max wait for requests in progress: the whole stop must stay within the 10 s that orchestrators allow. */
const DRAIN_MS = 8000;
const DRAIN_POLL_MS = 25;
const CLOSE_MS = 1500;

type Serving = {
  /** The actual port, also if the setting is 0. */
  readonly port: number;
  /** Stops accepting requests, waits for requests in progress, closes the service. */
  readonly stop: () => Promise<void>;
};

/** What a listener needs of a service. */
type Served = Pick<Service, "fetch" | "adminFetch" | "drain" | "close">;

export type ListenOptions = {
  host: string;
  port: number;
  /** The setting of the port, for messages; default: PORT. */
  portSetting?: string;
  /** The port for operators; default: none. */
  admin?: { host: string; port: number } | undefined;
  log: Log;
  /** Whether other processes listen on the same port. */
  isShared?: boolean;
  /** Max bytes of a body; default: {@linkcode WALL_BYTES}. */
  maxBytes?: number;
};

/** @throws {RejectedError} cannot listen on the host or port */
export function listen(service: Served, options: ListenOptions): Serving {
  const { host, port, portSetting, isShared = false, maxBytes, log } = options;
  const listener = openListener(service.fetch, { host, port, portSetting, isShared, maxBytes });
  const admin =
    options.admin === undefined
      ? undefined
      : openListener(service.adminFetch, { ...options.admin, portSetting: "ADMIN_PORT", isShared });
  const endBound = boundSockets(listener, log);
  return {
    port: listener.port,
    stop: async () => {
      endBound();
      // The port for operators reports the draining until the end.
      service.drain();
      const drained = listener.stop();
      await Promise.race([drained, untilServed(listener), Bun.sleep(DRAIN_MS)]);
      await Promise.race([
        Promise.all([listener.stop(true), service.close()]),
        Bun.sleep(CLOSE_MS),
      ]);
      await admin?.stop(true);
    },
  };
}

/** Waits until no request is in progress. The server's own stop also waits for sockets with an incomplete request. */
async function untilServed(listener: Listener): Promise<void> {
  for (let emptyChecks = 0; emptyChecks < 3; ) {
    await Bun.sleep(DRAIN_POLL_MS);
    emptyChecks = listener.pendingRequests() === 0 ? emptyChecks + 1 : 0;
  }
}

/** Hosts that mean "every address of this machine", with an address that can be called. */
const CALLABLE: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** The origin for calls from this machine. */
export function toLocalUrl(host: string, port: number): string {
  const callable = CALLABLE[host] ?? host;
  return `http://${callable.includes(":") ? `[${callable}]` : callable}:${port}`;
}

/** A free port, for callers that must know it before they listen. */
export function findFreePort(): number {
  const probe = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const { port } = probe;
  void probe.stop(true);
  if (port === undefined) throw new RejectedError("No free port on this machine");
  return port;
}
