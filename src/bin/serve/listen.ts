/** Serving a service on a port, and ending it without cutting off who is being served. @module */

import { MAX_BYTES } from "../../push/mod.ts";
import type { Service } from "../../service/mod.ts";
import { errorCode } from "../../std/error_code.ts";
import { RefusedError } from "../cli/command.ts";

/** Seconds that a socket may be silent before its request is whole; a request under way gets more from fetch.ts. */
const IDLE_TIMEOUT_S = 10;
/** Bodies past their limit are refused by the routes themselves, in the contract's words; this is only the outer wall. */
const WALL_BYTES = 16 * MAX_BYTES;
/** Requests under way are waited for this long: the whole stop stays within the 10 s that orchestrators give. */
const DRAIN_MS = 8000;
const DRAIN_LOOK_MS = 25;
const CLOSE_MS = 1500;

export type Serving = {
  /** The port that was taken, also where any free one was asked for. */
  readonly port: number;
  /** Stops accepting, waits for requests under way, closes the service. */
  readonly stop: () => Promise<void>;
};

export type ListenOptions = {
  host: string;
  port: number;
  /** The port for operators. */
  adminPort?: number | undefined;
  /** Whether other processes listen on the same port. */
  isShared?: boolean;
};

/** @throws {RefusedError} a port or the host cannot be taken */
export function listen(service: Service, options: ListenOptions): Serving {
  const { host, port, adminPort, isShared = false } = options;
  const server = takePort(service.fetch, { host, port, isShared });
  const admin =
    adminPort === undefined
      ? undefined
      : takePort(service.adminFetch, { host, port: adminPort, isShared });
  return {
    port: server.port ?? port,
    stop: async () => {
      // The port for operators says that it drains until the end.
      service.drain();
      const drained = server.stop();
      await Promise.race([drained, untilServed(server), Bun.sleep(DRAIN_MS)]);
      await Promise.race([Promise.all([server.stop(true), service.close()]), Bun.sleep(CLOSE_MS)]);
      await admin?.stop(true);
    },
  };
}

/** Until no request is under way. The server's own stop waits for sockets too that have sent half a request. */
async function untilServed(server: { readonly pendingRequests: number }): Promise<void> {
  for (let looks = 0; looks < 3; ) {
    await Bun.sleep(DRAIN_LOOK_MS);
    looks = server.pendingRequests === 0 ? looks + 1 : 0;
  }
}

function takePort(
  fetch: Service["fetch"],
  { host, port, isShared }: { host: string; port: number; isShared: boolean },
) {
  try {
    return Bun.serve({
      hostname: host,
      port,
      idleTimeout: IDLE_TIMEOUT_S,
      maxRequestBodySize: WALL_BYTES,
      reusePort: isShared,
      fetch,
    });
  } catch (error) {
    throw new RefusedError(explain(error, host, port));
  }
}

function explain(error: unknown, host: string, port: number): string {
  const code = errorCode(error);
  if (code === "EADDRINUSE")
    return `Port ${port} of ${host} is in use: stop what listens there, or set another PORT`;
  if (code === "EACCES") return `Port ${port} is not for this user: set a PORT above 1023`;
  return `Cannot listen on ${host}:${port}: must be an address of this machine (HOST) and a free port (PORT)`;
}

/** Hosts that mean "every address of this machine", by one that can be called. */
const CALLABLE: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** The origin by which a process of this machine calls what listens there. */
export function toLocalUrl(host: string, port: number): string {
  const callable = CALLABLE[host] ?? host;
  return `http://${callable.includes(":") ? `[${callable}]` : callable}:${port}`;
}

/** A port that was free a moment ago, for what must know its own before it listens. */
export function findFreePort(): number {
  const probe = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const { port } = probe;
  void probe.stop(true);
  if (port === undefined) throw new RefusedError("There is no free port on this machine");
  return port;
}
