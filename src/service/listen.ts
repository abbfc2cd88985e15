/** Serves a service on a port, and stops it without aborting requests in progress. @module */
import { boundSockets, type Listener, openListener } from "../http/mod.ts";
import type { Log } from "../observe.ts";
import type { Service } from "./open.ts";

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

/** @throws {ListenError} */
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
