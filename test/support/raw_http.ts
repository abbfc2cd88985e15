/** Sends requests over raw sockets, byte for byte as written, which client libraries would not send. @module */
import { connect, type Socket } from "node:net";

export type RawResponse = {
  /** 0 if the server closed the connection without a response. */
  status: number;
  headers: Map<string, string>;
  /** Without the sizes of chunks. */
  body: string;
  /** All received bytes. */
  text: string;
  /** Whether the server closed the connection. */
  closed: boolean;
  ms: number;
};

export type RawOptions = {
  /** Called after connecting, to write until the server closes. */
  more?: (socket: Socket) => void;
  /** The maximum time to wait for the server to close. */
  waitMs?: number;
  /** Returns after one complete response, without waiting for the close. */
  untilResponse?: boolean;
};

/** Longer than the server waits for a client, also on a busy machine. */
const MAX_WAIT_MS = 30_000;

/** Sends bytes to a server and collects its response until it closes, responds or the time is over. */
export async function sendRaw(
  url: string,
  bytes: string | Uint8Array,
  options: RawOptions = {},
): Promise<RawResponse> {
  const { hostname, port } = new URL(url);
  const startedAt = performance.now();
  const chunks: Buffer[] = [];
  return await new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    const end = (closed: boolean) => {
      clearTimeout(timer);
      socket.removeAllListeners("close");
      socket.destroy();
      resolve(readResponse(Buffer.concat(chunks), closed, performance.now() - startedAt));
    };
    const timer = setTimeout(() => end(false), options.waitMs ?? MAX_WAIT_MS);
    socket.on("connect", () => {
      socket.write(bytes);
      options.more?.(socket);
    });
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      if (options.untilResponse === true && isWhole(Buffer.concat(chunks).toString("latin1")))
        end(false);
    });
    // A server may reset the connection to reject the rest of a request. The bytes before count.
    socket.on("error", () => undefined);
    socket.on("close", () => end(true));
  });
}

/** Renders a request: method and path, `Host`, these header lines (a byte per letter) and a body. Adds nothing else. */
export function writeRequest(
  start: string,
  headers: readonly string[] = [],
  { host = "h", body = "" }: { host?: string; body?: string | Uint8Array } = {},
): Buffer {
  const head = [`${start} HTTP/1.1`, `Host: ${host}`, ...headers, "", ""].join("\r\n");
  return Buffer.concat([Buffer.from(head, "latin1"), Buffer.from(body)]);
}

const HEAD_END = "\r\n\r\n";

function isWhole(received: string): boolean {
  const { head, body } = split(received);
  if (head === undefined) return false;
  if (isChunked(head)) return body.endsWith(`0${HEAD_END}`);
  return body.length >= Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0);
}

function readResponse(bytes: Buffer, closed: boolean, ms: number): RawResponse {
  const received = bytes.toString("latin1");
  const { head = received, body } = split(received);
  const [start = "", ...lines] = head.split("\r\n");
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const whole = isChunked(head) ? joinChunks(body) : body;
  return {
    status: Number(start.split(" ")[1] ?? 0),
    headers,
    body: Buffer.from(whole, "latin1").toString("utf8"),
    text: bytes.toString("utf8"),
    closed,
    ms,
  };
}

/** Splits a response into head and body, with a letter per byte. Skips an interim response such as 100 Continue. */
function split(received: string): { head: string | undefined; body: string } {
  const text = received.replace(/^HTTP\/1\.1 100[\s\S]*?\r\n\r\n/, "");
  const end = text.indexOf(HEAD_END);
  if (end === -1) return { head: undefined, body: "" };
  return { head: text.slice(0, end), body: text.slice(end + HEAD_END.length) };
}

function isChunked(head: string): boolean {
  return /transfer-encoding: *chunked/i.test(head);
}

/** Joins the chunks of a body without their sizes. A truncated chunk is returned as far as received. */
function joinChunks(body: string): string {
  const chunks: string[] = [];
  for (let at = 0; ; ) {
    const start = body.indexOf("\r\n", at) + 2;
    const length = Number.parseInt(body.slice(at, start), 16);
    if (!(length > 0)) return chunks.join("");
    chunks.push(body.slice(start, start + length));
    at = start + length + 2;
  }
}
