/** A service behind a gateway that sends any bytes. @module */
import { createServer, type Server, type Socket } from "node:net";

export type Stub = AsyncDisposable & {
  url: string;
  requests: string[];
  close: () => Promise<void>;
};

/** Opens a service that accepts connections and sends the output of `respond`. */
export async function openStub(respond: (socket: Socket, request: string) => void): Promise<Stub> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined); // the gateway may hang up at any time
    socket.on("data", (bytes) => {
      requests.push(bytes.toString("latin1"));
      respond(socket, bytes.toString("latin1"));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${port}`, requests, close, [Symbol.asyncDispose]: close };
}

/** Returns the request id that the gateway signed into the context. */
function idOf(request: string): string {
  const context = /^rowhouse-context: (\S+)/im.exec(request)?.[1] ?? "";
  return JSON.parse(Buffer.from(context, "base64url").toString()).requestId;
}

/** The head of a response that the gateway accepts. */
export const headOf = (request: string, ...lines: string[]) =>
  ["HTTP/1.1 200 OK", `X-Request-Id: ${idOf(request)}`, ...lines, "", ""].join("\r\n");
