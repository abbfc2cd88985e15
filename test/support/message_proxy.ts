/**
 * A proxy on the loopback between a pool and PostgreSQL that can freeze, cut or reset what passes: what a network
 * does. Counts the messages of the server, so that a fault can be placed behind each of them.
 *
 * @module
 */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export type Fault = "cut" | "reset" | "freeze";

export type NetworkProxy = {
  /** The connection string with this proxy's address. */
  toUrl: (url: string) => string;
  /** Faults the next connection once the server has sent it this many messages. */
  faultAfter: (messages: number, fault: Fault) => void;
  /** Faults every open connection; `freeze` also those that come, until `thaw`. */
  fault: (fault: Fault) => void;
  thaw: () => void;
  /** Is told of each message that the server sends from now on, after it was passed: its type and what follows. */
  watch: (watcher: Watcher) => void;
  /** The most server messages that any connection has passed on. */
  most: () => number;
  close: () => Promise<void>;
};

type Link = {
  client: Socket;
  server: Socket;
  passed: number;
  frozen: boolean;
  plan: Plan | undefined;
};
export type Watcher = (type: string, body: Buffer) => void;
type Plan = { messages: number; fault: Fault };

const HEADER = 5;

export async function openMessageProxy(targetUrl: string, wantedPort = 0): Promise<NetworkProxy> {
  const target = new URL(targetUrl);
  const links = new Set<Link>();
  let plan: Plan | undefined;
  let isFrozen = false;
  let most = 0;
  let watcher: Watcher = () => undefined;
  const listener = createServer((client) => {
    const server = connect({ host: target.hostname, port: Number(target.port || 5432) });
    const link: Link = { client, server, passed: 0, frozen: isFrozen, plan };
    plan = undefined;
    links.add(link);
    // A reset on one side is a reset on the other; who looks at it is the test.
    const close = () => {
      links.delete(link);
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) socket.on("error", close).on("close", close);
    const read = makeMessageReader((message) => {
      if (link.frozen) return;
      client.write(message);
      link.passed++;
      most = Math.max(most, link.passed);
      if (link.plan !== undefined && link.passed >= link.plan.messages)
        strike(link, link.plan.fault);
      watcher(String.fromCharCode(message.readUInt8(0)), message.subarray(HEADER));
    });
    client.on("data", (bytes: Buffer) => void (link.frozen || server.write(bytes)));
    server.on("data", read);
  });
  listener.listen(wantedPort, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    toUrl: (url) => {
      const made = new URL(url);
      made.hostname = "127.0.0.1";
      made.port = String(port);
      return made.href;
    },
    faultAfter: (messages, fault) => {
      plan = { messages, fault };
    },
    fault: (fault) => {
      if (fault === "freeze") isFrozen = true;
      for (const link of [...links]) strike(link, fault);
    },
    thaw: () => {
      isFrozen = false;
      for (const link of links) link.client.destroy();
    },
    watch: (wanted) => {
      watcher = wanted;
    },
    most: () => most,
    close: async () => {
      for (const link of [...links]) link.client.destroy();
      listener.close();
      await once(listener, "close");
    },
  };
}

function strike(link: Link, fault: Fault): void {
  link.frozen = true;
  if (fault === "freeze") return;
  if (fault === "reset") link.client.resetAndDestroy();
  else link.client.destroySoon();
  link.server.destroy();
}

/** Splits the server's stream into its messages; a stream that is cut in mid message passes on what was whole. */
function makeMessageReader(onMessage: (message: Buffer) => void): (bytes: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= HEADER && rest.length > rest.readUInt32BE(1)) {
      const length = rest.readUInt32BE(1) + 1;
      onMessage(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
  };
}
