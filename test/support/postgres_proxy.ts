/**
 * A proxy between the service and PostgreSQL that reads the protocol's messages. It can drop, change, delay or hold each message
 * in both directions, end or freeze connections, and reject new connections. It counts the statements that pass. For
 * connections without TLS.
 *
 * @module
 */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { findFreePort } from "./free_port.ts";
import {
  makeSplitter,
  makeStatementReader,
  type Sender,
  splitMessage,
} from "./postgres_protocol.ts";

/** `cut` sends pending bytes before it ends a connection, `reset` does not. A frozen connection stays open but unused. */
export type Failure = "cut" | "reset" | "freeze";

export type Message = {
  /** The number of its connection, from 1, in the order of opening. */
  connection: number;
  from: Sender;
  /** Its number, from 1, among the messages of this sender on this connection. */
  number: number;
  /** The letter of its type. Empty for the first message of a client, which has no type. */
  type: string;
  /** The bytes after type and length. */
  body: Buffer;
  /** The text of the statement that a client's Query or Bind runs. */
  statement: string | undefined;
};

/** The proxy's action on a message. Without an action, it forwards the message immediately. Messages stay in order. */
export type Action = {
  /** Holds the message, and all later messages of its sender, until `release`. */
  hold?: boolean;
  /** Delays the message, and all later messages of its sender. */
  delayMs?: number;
  /** Sends these bytes instead of the message. Empty: sends nothing. */
  send?: readonly Uint8Array[];
  /** The connection fails after the message. */
  failure?: Failure;
  /** Called after the message and the failure. */
  after?: () => void;
};

type Decide = (message: Message) => Action | undefined;

export type PostgresProxy = {
  /** Returns the connection string with the proxy's host. All strings must name the same server. */
  toUrl: (url: string) => string;
  /** Sets the function that decides on every message from now on. */
  onMessage: (decide: Decide) => void;
  /** Forwards held messages. */
  release: () => void;
  /** Ends every connection and accepts no new connection. */
  refuse: () => void;
  /** Freezes every connection, including new ones: they stay open and forward nothing. */
  freeze: () => void;
  /** Returns to the initial state. Ends frozen connections, because they have lost bytes. */
  heal: () => Promise<void>;
  /** Returns the number of connections opened so far. */
  connections: () => number;
  /** Returns how many statements ran whose text contains `part`. */
  count: (part: string) => number;
  /** Returns the distinct texts of the statements that ran. */
  texts: () => string[];
  close: () => Promise<void>;
} & AsyncDisposable;

const HOST = "127.0.0.1";

export async function openPostgresProxy(): Promise<PostgresProxy> {
  const target = { host: "", port: 0 };
  const links = new Set<Link>();
  const counts = new Map<string, number>();
  let opened = 0;
  let isFrozen = false;
  let held: (() => void)[] = [];
  let decide: Decide = () => undefined;

  const listener = createServer((client) => {
    opened++;
    const connection = opened;
    const link: Link = { client, server: connect(target), isFrozen };
    links.add(link);
    relay(link, {
      decide: (part) => {
        const { statement } = part;
        if (statement !== undefined) counts.set(statement, (counts.get(statement) ?? 0) + 1);
        return decide({ connection, ...part });
      },
      untilReleased: () => new Promise((resolve) => void held.push(resolve)),
      onClose: () => void links.delete(link),
    });
  });
  const listen = async (port: number): Promise<number> => {
    listener.listen(port, HOST);
    await once(listener, "listening");
    const address = listener.address();
    if (typeof address === "string" || address === null) throw new Error("The proxy has no port");
    return address.port;
  };
  // Free also after `refuse`, because no process gets it from the system.
  const port = await listen(await findFreePort());
  const release = () => {
    const released = held;
    held = [];
    for (const resolve of released) resolve();
  };
  const end = () => {
    for (const { client, server } of links) for (const socket of [client, server]) socket.destroy();
    links.clear();
  };

  const close = async () => {
    end();
    if (!listener.listening) return;
    listener.close();
    await once(listener, "close");
  };
  return {
    toUrl: (url) => {
      const proxied = new URL(url);
      Object.assign(target, { host: proxied.hostname, port: Number(proxied.port || 5432) });
      proxied.host = `${HOST}:${port}`;
      return proxied.href;
    },
    onMessage: (newDecide) => {
      decide = newDecide;
    },
    release,
    refuse: () => {
      listener.close();
      end();
    },
    freeze: () => {
      isFrozen = true;
      for (const link of links) link.isFrozen = true;
    },
    heal: async () => {
      decide = () => undefined;
      isFrozen = false;
      for (const { client, isFrozen: hasLost } of links) if (hasLost) client.destroy();
      release();
      if (!listener.listening) await listen(port);
    },
    connections: () => opened,
    count: (part) =>
      [...counts].reduce((sum, [text, count]) => sum + (text.includes(part) ? count : 0), 0),
    texts: () => [...counts.keys()],
    close,
    [Symbol.asyncDispose]: close,
  };
}

type Link = { client: Socket; server: Socket; isFrozen: boolean };

type LinkOptions = {
  decide: (message: Omit<Message, "connection">) => Action | undefined;
  untilReleased: () => Promise<void>;
  onClose: () => void;
};

/** Forwards the messages of both sides, each with its action. */
function relay(link: Link, options: LinkOptions): void {
  const close = () => {
    options.onClose();
    link.client.destroySoon();
    link.server.destroySoon();
  };
  for (const from of ["client", "server"] as const) {
    const split = makeSplitter(from);
    const toStatement = from === "client" ? makeStatementReader() : () => undefined;
    const waiting: Buffer[] = [];
    let count = 0;
    let isBusy = false;
    const forward = async () => {
      if (isBusy) return;
      isBusy = true;
      for (let bytes = waiting.shift(); bytes !== undefined; bytes = waiting.shift()) {
        if (link.isFrozen) continue;
        count++;
        const parts = splitMessage(bytes, from === "server" || count > 1);
        const statement = toStatement(parts);
        const action = options.decide({ from, number: count, ...parts, statement }) ?? {};
        if (action.hold === true) await options.untilReleased();
        if (action.delayMs !== undefined) await Bun.sleep(action.delayMs);
        carryOut(link, { from, bytes, action });
      }
      isBusy = false;
    };
    link[from]
      .setNoDelay(true)
      .on("data", (bytes: Buffer) => {
        waiting.push(...split(bytes));
        void forward();
      })
      .on("error", close)
      .on("close", close);
  }
}

type Decided = { from: Sender; bytes: Buffer; action: Action };

function carryOut(link: Link, { from, bytes, action }: Decided): void {
  const to = from === "client" ? link.server : link.client;
  for (const sent of action.send ?? [bytes]) if (!link.isFrozen && !to.destroyed) to.write(sent);
  if (action.failure !== undefined) {
    link.isFrozen = true;
    if (action.failure === "reset") link.client.resetAndDestroy();
    if (action.failure === "cut") link.client.destroySoon();
    if (action.failure !== "freeze") link.server.destroy();
  }
  action.after?.();
}
