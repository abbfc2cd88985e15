/** A port that can pause new connections without aborting existing ones. @module */
import { WALL_BYTES } from "../std/limits.ts";
import { errorCode } from "../std/network.ts";

/** Max seconds without data before a request is complete; the service allows more afterwards. */
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

export type Listener = {
  readonly port: number;
  readonly pendingRequests: () => number;
  /** Rejects new connections, closes idle connections, and finishes requests in progress. */
  readonly pause: () => void;
  /** @throws {ListenError} */
  readonly resume: () => void;
  readonly stop: (closeActiveConnections?: boolean) => Promise<void>;
};

/** The host or port cannot be used; the message names its setting. */
export class ListenError extends Error {}

/** @throws {ListenError} */
export function openListener(serve: Fetch, address: ListenerAddress): Listener {
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
    throw new ListenError(explain(error, address));
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

/** A free port, for callers that must know it before they listen. */
export function findFreePort(): number {
  const probe = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const { port } = probe;
  void probe.stop(true);
  if (port === undefined) throw new Error("No free port on this machine");
  return port;
}
