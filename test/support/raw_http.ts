/** Raw sockets: requests that no client library would send, byte for byte as written. @module */
import { connect, type Socket } from "node:net";

export type RawAnswer = {
  /** 0 where the server closed without an answer. */
  status: number;
  headers: Map<string, string>;
  body: string;
  text: string;
  /** Whether the server closed the connection. */
  closed: boolean;
  ms: number;
};

export type RawOptions = {
  /** Goes on writing until the server closes: called after each flush, `undefined` ends it. */
  more?: (socket: Socket) => void;
  /** How long to wait for the server to close, at the most. */
  waitMs?: number;
  /** Return as soon as one whole answer is there, instead of waiting for the close. */
  untilAnswer?: boolean;
};

/** Sends bytes to a server and collects what comes back until it closes, answers or the time is over. */
export async function sendRaw(
  url: string,
  bytes: string | Uint8Array,
  options: RawOptions = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const startedAt = performance.now();
  const chunks: Buffer[] = [];
  return await new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    const end = (closed: boolean) => {
      clearTimeout(timer);
      socket.removeAllListeners("close");
      socket.destroy();
      resolve(readAnswer(Buffer.concat(chunks), closed, performance.now() - startedAt));
    };
    const timer = setTimeout(() => end(false), options.waitMs ?? 5000);
    socket.on("connect", () => {
      socket.write(bytes);
      options.more?.(socket);
    });
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      if (options.untilAnswer === true && isWhole(Buffer.concat(chunks).toString("latin1")))
        end(false);
    });
    // A reset while we still write is how a server turns down the rest: what it said before counts.
    socket.on("error", () => undefined);
    socket.on("close", () => end(true));
  });
}

function isWhole(received: string): boolean {
  const text = withoutInterim(received);
  const head = text.indexOf("\r\n\r\n");
  if (head === -1) return false;
  const length = Number(/content-length: *(\d+)/i.exec(text.slice(0, head))?.[1] ?? 0);
  return text.length >= head + 4 + length;
}

function readAnswer(bytes: Buffer, closed: boolean, ms: number): RawAnswer {
  const text = withoutInterim(bytes.toString("utf8"));
  const split = text.indexOf("\r\n\r\n");
  const [start = "", ...lines] = (split === -1 ? text : text.slice(0, split)).split("\r\n");
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const body = split === -1 ? "" : text.slice(split + 4);
  return { status: Number(start.split(" ")[1] ?? 0), headers, body, text, closed, ms };
}

/** An interim answer such as 100 Continue comes before the real one. */
function withoutInterim(text: string): string {
  return text.replace(/^HTTP\/1\.1 100[\s\S]*?\r\n\r\n/, "");
}
