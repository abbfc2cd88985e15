/**
 * The load, in its own process, so that it never shares a thread with the measured server. Each connection sends its next request
 * as soon as the response has arrived. It writes prepared bytes to sockets, because an HTTP client uses at least twice the CPU
 * time. Reads a {@linkcode LoadPlan} from standard input and prints a {@linkcode LoadResult}.
 *
 * @module
 */
import type { Socket } from "bun";
import { percentile } from "./rounds.ts";

export type LoadRequest = {
  method: "GET" | "POST" | "PATCH";
  path: string;
  headers: Record<string, string>;
  body?: string;
};
export type LoadPlan = {
  url: string;
  connections: number;
  seconds: number;
  /** The status that every response must have. */
  status: number;
  requests: LoadRequest[];
  /** Whether every request has its own idempotency key. */
  hasKeys?: boolean;
};
export type LoadResult = {
  count: number;
  seconds: number;
  /** Responses with another status, and connections that the server closed. */
  failures: number;
  p50Ms: number;
  p99Ms: number;
};

type Connection = {
  sentAt: number;
  /** The start of a response whose head is incomplete. */
  head: Buffer;
  /** The bytes of the response's body still to come, `Infinity` if it is chunked; `undefined` before its head. */
  missing: number | undefined;
  /** The last bytes of a chunked body so far. */
  end: string;
};

const HEAD_END = "\r\n\r\n";
/** The end of a chunked body. JSON contains no line breaks of this kind. */
const LAST_CHUNK = "\r\n0\r\n\r\n";
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)/i;

const EMPTY = Buffer.alloc(0);

const plan = JSON.parse(await Bun.stdin.text()) as LoadPlan;
const { host, hostname, port } = new URL(plan.url);
const requests = plan.requests.map(toBytes);
const times: number[] = [];
let failures = 0;
let isOver = false;
const startedAt = performance.now();
await Promise.all(Array.from({ length: plan.connections }, open));
await Bun.sleep(plan.seconds * 1000);
isOver = true;
const seconds = (performance.now() - startedAt) / 1000;
times.sort((a, b) => a - b);
const result: LoadResult = {
  count: times.length,
  seconds,
  failures,
  p50Ms: percentile(times, 0.5),
  p99Ms: percentile(times, 0.99),
};
process.stdout.write(JSON.stringify(result));
process.exit(0);

async function open(): Promise<void> {
  await Bun.connect<Connection>({
    hostname,
    port: Number(port),
    data: { sentAt: 0, head: EMPTY, missing: undefined, end: "" },
    socket: {
      open: send,
      data: receive,
      close: () => {
        if (!isOver) failures++;
      },
    },
  });
}

/** Sends a drawn request. With the same list for all connections, all would write the same row at the same time. */
function send(socket: Socket<Connection>): void {
  const request = requests[Math.floor(Math.random() * requests.length)];
  if (request === undefined) throw new Error("The plan has no request");
  socket.data.sentAt = performance.now();
  const bytes = plan.hasKeys === true ? addKey(request) : request;
  if (socket.write(bytes) !== bytes.length) throw new Error("A request does not fit in a socket");
}

function receive(socket: Socket<Connection>, chunk: Buffer): void {
  const connection = socket.data;
  const body = connection.missing === undefined ? readHead(connection, chunk) : chunk;
  if (body === undefined || !isComplete(connection, body)) return;
  connection.missing = undefined;
  times.push(performance.now() - connection.sentAt);
  send(socket);
}

/** Reads the head of a response, and returns the rest of the chunk; `undefined` if the head is incomplete. */
function readHead(connection: Connection, chunk: Buffer): Buffer | undefined {
  const bytes = connection.head.length === 0 ? chunk : Buffer.concat([connection.head, chunk]);
  const end = bytes.indexOf(HEAD_END);
  connection.head = end < 0 ? Buffer.from(bytes) : EMPTY;
  if (end < 0) return undefined;
  const head = bytes.toString("latin1", 0, end);
  const status = Number(head.slice("HTTP/1.1 ".length, "HTTP/1.1 200".length));
  if (status !== plan.status) failures++;
  const length = CONTENT_LENGTH.exec(head)?.[1];
  connection.missing = status === 304 ? 0 : Number(length ?? Number.POSITIVE_INFINITY);
  connection.end = "";
  return bytes.subarray(end + HEAD_END.length);
}

function isComplete(connection: Connection, body: Buffer): boolean {
  connection.missing = (connection.missing ?? 0) - body.length;
  if (Number.isFinite(connection.missing)) return connection.missing <= 0;
  const added = body.toString("latin1", Math.max(0, body.length - LAST_CHUNK.length));
  connection.end = (connection.end + added).slice(-LAST_CHUNK.length);
  return connection.end === LAST_CHUNK;
}

function toBytes({ method, path, headers, body = "" }: LoadRequest): Buffer {
  const fields = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}`);
  if (body !== "") fields.push(`content-length: ${Buffer.byteLength(body)}`);
  return Buffer.from([`${method} ${path} HTTP/1.1`, ...fields].join("\r\n") + HEAD_END + body);
}

/** Adds an idempotency key of its own as the first header. */
function addKey(request: Buffer): Buffer {
  const lineEnd = request.indexOf("\r\n");
  const key = Buffer.from(`\r\nidempotency-key: ${crypto.randomUUID()}`);
  return Buffer.concat([request.subarray(0, lineEnd), key, request.subarray(lineEnd)]);
}
