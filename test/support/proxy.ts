/** A TCP proxy that can be cut or frozen: a network between the house and its database that fails when told to. @module */

import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

export type Proxy = {
  /** The same connection string by way of the proxy. */
  toUrl: (url: string) => string;
  /** Ends every connection and takes no new one. */
  cut: () => void;
  /** Keeps every connection and passes nothing on. */
  freeze: () => void;
  /** Works again. */
  heal: () => void;
  /** Ends every connection as soon as the next bytes from the client have been passed on. */
  cutAfterNextQuery: () => void;
  close: () => Promise<void>;
};

export async function openProxy(): Promise<Proxy> {
  let target = { host: "", port: 0 };
  let mode: "open" | "cut" | "frozen" | "cut after query" = "open";
  const pairs = new Set<readonly [Socket, Socket]>();
  const end = () => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
    pairs.clear();
  };
  const server: Server = createServer((client) => {
    if (mode === "cut") return void client.destroy();
    const upstream = connect(target.port, target.host);
    const pair = [client, upstream] as const;
    pairs.add(pair);
    const drop = () => {
      pairs.delete(pair);
      client.destroy();
      upstream.destroy();
    };
    client.on("error", drop).on("close", drop);
    upstream.on("error", drop).on("close", drop);
    client.on("data", (bytes) => {
      if (mode === "frozen") return;
      if (mode === "cut after query" && bytes.includes("_create")) {
        mode = "cut";
        upstream.write(bytes, () => setTimeout(end, 50));
        return;
      }
      upstream.write(bytes);
    });
    upstream.on("data", (bytes) => {
      if (mode !== "frozen") client.write(bytes);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    toUrl: (url) => {
      const made = new URL(url);
      target = { host: made.hostname, port: Number(made.port) };
      const address = server.address();
      if (typeof address === "string" || address === null) throw new Error("The proxy has no port");
      made.host = `127.0.0.1:${address.port}`;
      return made.href;
    },
    cut: () => {
      mode = "cut";
      end();
    },
    freeze: () => {
      mode = "frozen";
    },
    heal: () => {
      // Bytes were lost while frozen: such a connection is of no use to either side.
      if (mode === "frozen") end();
      mode = "open";
    },
    cutAfterNextQuery: () => {
      mode = "cut after query";
    },
    close: async () => {
      end();
      server.close();
      await once(server, "close");
    },
  };
}
