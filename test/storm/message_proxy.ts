/** A TCP proxy that stops for good after the N-th message of a client to PostgreSQL: the network at its worst moment. @module */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export type MessageProxy = {
  toUrl: (url: string) => string;
  /** Passes this many more messages on, then nothing in either direction. */
  stopAfter: (messages: number) => void;
  /** Whether it stopped. */
  isStopped: () => boolean;
  close: () => Promise<void>;
};

const LENGTH_BYTES = 4;

export async function openMessageProxy(target: string): Promise<MessageProxy> {
  const { hostname, port } = new URL(target);
  let left = Number.POSITIVE_INFINITY;
  let stopped = false;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    const split = makeSplitter();
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on("error", () => other.destroy()).on("close", () => other.destroy());
    }
    client.on("data", (bytes: Buffer) => {
      for (const message of split(bytes)) {
        if (stopped) return;
        upstream.write(message);
        left--;
        stopped = left <= 0;
      }
    });
    upstream.on("data", (bytes) => {
      if (!stopped) client.write(bytes);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address === "string" || address === null) throw new Error("The proxy has no port");
  return {
    toUrl: (url) => {
      const made = new URL(url);
      made.host = `127.0.0.1:${address.port}`;
      return made.href;
    },
    stopAfter: (messages) => {
      left = messages;
      stopped = messages <= 0;
    },
    isStopped: () => stopped,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** Cuts a client's bytes into messages of the protocol; the first one, of the start-up, has no type. */
function makeSplitter(): (bytes: Buffer) => Buffer[] {
  let rest = Buffer.alloc(0);
  let isStarted = false;
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    const messages: Buffer[] = [];
    for (;;) {
      const type = isStarted ? 1 : 0;
      if (rest.length < type + LENGTH_BYTES) return messages;
      const end = type + rest.readUInt32BE(type);
      if (rest.length < end) return messages;
      messages.push(rest.subarray(0, end));
      rest = rest.subarray(end);
      isStarted = true;
    }
  };
}
