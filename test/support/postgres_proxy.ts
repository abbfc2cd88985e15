/**
 * A proxy between the service and PostgreSQL that knows the protocol's messages: it can drop, change, delay or hold
 * each of them in both directions, end or freeze connections, refuse new ones, and it counts the statements that pass.
 * For connections without TLS.
 *
 * @module
 */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import {
  makeSplitter,
  makeStatementReader,
  type Sender,
  splitMessage,
} from "./postgres_protocol.ts";

/** `cut` ends a connection after what was passed on, `reset` at once; a frozen one stays open and passes nothing on. */
export type Failure = "cut" | "reset" | "freeze";

export type Message = {
  /** The connection that it came by: its number from 1, in the order in which they were opened. */
  connection: number;
  from: Sender;
  /** Its number from 1 among the messages of that sender on that connection. */
  number: number;
  /** The letter of its type; empty for the first message of a client, which has none. */
  type: string;
  /** What follows its type and length. */
  body: Buffer;
  /** The text of the statement that it runs: of a client's Query or Bind. */
  statement: string | undefined;
};

/** What becomes of a message; one without an action is passed on at once. Messages never overtake each other. */
export type Action = {
  /** Keeps it, and all that come after it by the same way, until `release`. */
  hold?: boolean;
  /** Keeps it, and all that come after it by the same way, for so long. */
  delayMs?: number;
  /** What is passed on in its place; nothing if empty. */
  send?: readonly Uint8Array[];
  /** Happens to its connection after that. */
  failure?: Failure;
  /** Is called after that. */
  after?: () => void;
};

type Decide = (message: Message) => Action | undefined;

export type PostgresProxy = {
  /** The same connection string by way of the proxy; all of them must name one server. */
  toUrl: (url: string) => string;
  /** Asks about every message from now on, in place of whom it asked before. */
  onMessage: (decide: Decide) => void;
  /** Passes on what is held. */
  release: () => void;
  /** Ends every connection and takes no new one. */
  refuse: () => void;
  /** Keeps every connection, new ones too, and passes nothing on. */
  freeze: () => void;
  /** Works as at first: nothing is asked, held, frozen or refused. Ends frozen connections, which have lost bytes. */
  heal: () => Promise<void>;
  /** How many connections were opened so far. */
  connections: () => number;
  /** How many statements whose text holds `part` were run so far. */
  count: (part: string) => number;
  /** The texts of the statements that were run so far, each once. */
  texts: () => string[];
  close: () => Promise<void>;
};

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
  const port = await listen(0);
  const release = () => {
    const released = held;
    held = [];
    for (const resolve of released) resolve();
  };
  const end = () => {
    for (const { client, server } of links) for (const socket of [client, server]) socket.destroy();
    links.clear();
  };

  return {
    toUrl: (url) => {
      const made = new URL(url);
      Object.assign(target, { host: made.hostname, port: Number(made.port || 5432) });
      made.host = `${HOST}:${port}`;
      return made.href;
    },
    onMessage: (wanted) => {
      decide = wanted;
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
    close: async () => {
      end();
      if (!listener.listening) return;
      listener.close();
      await once(listener, "close");
    },
  };
}

type Link = { client: Socket; server: Socket; isFrozen: boolean };

type LinkOptions = {
  decide: (message: Omit<Message, "connection">) => Action | undefined;
  untilReleased: () => Promise<void>;
  onClose: () => void;
};

/** Passes the messages of both sides on, each as it is decided. */
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
    const passOn = async () => {
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
        void passOn();
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
