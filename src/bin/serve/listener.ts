/** A port that can pause new connections without aborting existing ones. @module */
import { MAX_BYTES } from "../../push/mod.ts";
import { errorCode } from "../../std/error_code.ts";
import { RejectedError } from "../cli/command.ts";

/** Max seconds without data before a request is complete; fetch.ts allows more afterwards. */
const IDLE_TIMEOUT_S = 10;
/** The outermost limit: routes reject bodies above their own limits. */
const WALL_BYTES = 16 * MAX_BYTES;

export type Fetch = (request: Request, server: Server) => Response | Promise<Response>;
type Server = ReturnType<typeof Bun.serve>;

export type ListenerAddress = {
  host: string;
  port: number;
  /** Whether other processes listen on the same port. */
  isShared: boolean;
  /** The setting of the port, for messages; default: PORT. */
  portSetting?: string | undefined;
};

export type Listener = {
  readonly port: number;
  readonly pendingRequests: () => number;
  /** Rejects new connections, closes idle connections, and finishes requests in progress. */
  readonly pause: () => void;
  /** @throws {RejectedError} cannot listen on the port */
  readonly resume: () => void;
  readonly stop: (closeActiveConnections?: boolean) => Promise<void>;
};

/** @throws {RejectedError} cannot listen on the host or port */
export function openListener(fetch: Fetch, address: ListenerAddress): Listener {
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
  const { host, port, isShared } = address;
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
