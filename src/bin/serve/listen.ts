/** Serves a service on a port, and stops it without aborting requests in progress. @module */
import type { Log } from "../../observe.ts";
import type { Service } from "../../service/mod.ts";
import { RejectedError } from "../cli/command.ts";
import { type Listener, openListener } from "./listener.ts";
import { boundSockets } from "./sockets.ts";

/** Max wait for requests in progress: the whole stop must stay within the 10 s that orchestrators allow. */
const DRAIN_MS = 8000;
const DRAIN_POLL_MS = 25;
const CLOSE_MS = 1500;

export type Serving = {
  /** The actual port, also if the setting is 0. */
  readonly port: number;
  /** Stops accepting requests, waits for requests in progress, closes the service. */
  readonly stop: () => Promise<void>;
};

export type ListenOptions = {
  host: string;
  port: number;
  /** The setting of the port, for messages; default: PORT. */
  portSetting?: string;
  /** The port for operators; default: none. */
  admin?: { host: string; port: number } | undefined;
  /** Max number of sockets; default: from the system's limit on open files. */
  maxSockets?: number | undefined;
  log: Log;
  /** Whether other processes listen on the same port. */
  isShared?: boolean;
};

/** @throws {RejectedError} cannot listen on the host or port */
export function listen(service: Service, options: ListenOptions): Serving {
  const { host, port, portSetting, isShared = false, maxSockets, log } = options;
  const listener = openListener(service.fetch, { host, port, portSetting, isShared });
  const admin =
    options.admin === undefined
      ? undefined
      : openListener(service.adminFetch, { ...options.admin, portSetting: "ADMIN_PORT", isShared });
  const endBound = boundSockets(listener, { log, maxSockets });
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
