/**
 * The wire between a service and its database, as a proxy that is cut or frozen when told to and counts the statements
 * that pass it.
 *
 * @module
 */

import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

export type Wire = {
  /** The same connection string by way of the wire. */
  toUrl: (url: string) => string;
  /** Ends every connection and takes no new one. */
  cut: () => void;
  /** Keeps every connection and passes nothing on. */
  freeze: () => void;
  /** Works again. */
  heal: () => Promise<void>;
  /** Ends every connection when the next create has been run, before its answer is passed on. */
  cutAfterNextCreate: () => void;
  /** How many statements whose text holds `part` were sent so far, as seen on the wire. */
  count: (part: string) => number;
  /** The texts of the statements that were sent so far, each once. */
  texts: () => string[];
  close: () => Promise<void>;
};

export async function openWire(): Promise<Wire> {
  let target = { host: "", port: 0 };
  let mode: "open" | "cut" | "frozen" | "cut after query" | "deaf" = "open";
  const counts = new Map<string, number>();
  const pairs = new Set<readonly [Socket, Socket]>();
  const end = () => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
    pairs.clear();
  };
  const cut = () => {
    mode = "cut";
    server.close();
    end();
  };
  const server: Server = createServer((client) => {
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
    const read = makeReader((text) => {
      counts.set(text, (counts.get(text) ?? 0) + 1);
      if (mode === "cut after query" && text.includes("_create")) mode = "deaf";
    });
    client.on("data", (bytes: Buffer) => {
      read(bytes);
      if (mode === "frozen") return;
      upstream.write(bytes);
    });
    upstream.on("data", (bytes) => {
      // The statement was run, and its answer gets lost.
      if (mode === "deaf") cut();
      else if (mode !== "frozen") client.write(bytes);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address === "string" || address === null) throw new Error("The wire has no port");
  const { port } = address;
  return {
    toUrl: (url) => {
      const made = new URL(url);
      target = { host: made.hostname, port: Number(made.port) };
      made.host = `127.0.0.1:${port}`;
      return made.href;
    },
    cut,
    freeze: () => {
      mode = "frozen";
    },
    heal: async () => {
      // Bytes were lost while frozen: such a connection is of no use to either side.
      if (mode === "frozen") end();
      mode = "open";
      if (server.listening) return;
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
    },
    cutAfterNextCreate: () => {
      mode = "cut after query";
    },
    count: (part) =>
      [...counts].reduce((sum, [text, count]) => sum + (text.includes(part) ? count : 0), 0),
    texts: () => [...counts.keys()],
    close: async () => {
      end();
      if (!server.listening) return;
      server.close();
      await once(server, "close");
    },
  };
}

const STARTUP_HEADER = 4;
const MESSAGE_HEADER = 5;

/** Reads a client's half of the PostgreSQL protocol: the text of each statement that is run. */
function makeReader(onStatement: (text: string) => void): (bytes: Buffer) => void {
  const texts = new Map<string, string>();
  let rest = Buffer.alloc(0);
  let isStarted = false;
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    for (;;) {
      const start = isStarted ? 1 : 0;
      if (rest.length < start + STARTUP_HEADER) return;
      const end = start + rest.readUInt32BE(start);
      if (rest.length < end) return;
      const message = rest.subarray(0, end);
      rest = rest.subarray(end);
      if (isStarted) readMessage(message, texts, onStatement);
      isStarted = true;
    }
  };
}

function readMessage(
  message: Buffer,
  texts: Map<string, string>,
  onStatement: (text: string) => void,
): void {
  const [first = "", second = ""] = message.subarray(MESSAGE_HEADER).toString("latin1").split("\0");
  const kind = String.fromCharCode(message[0] ?? 0);
  if (kind === "P") texts.set(first, second);
  if (kind === "B") onStatement(texts.get(second) ?? "");
  if (kind === "Q") onStatement(first);
}
