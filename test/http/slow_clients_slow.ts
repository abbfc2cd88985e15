/** Slow clients and clients that disconnect: neither holds a connection to the database. @module */
import { expect, test } from "bun:test";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import schema from "../../schema/mod.ts";
import { EXECUTION_LIMIT_MS, readRows } from "../../src/db/mod.ts";
import { eventually } from "../support/eventually.ts";
import { whileLocked } from "../support/held_lock.ts";
import { codeOf } from "../support/problem.ts";
import { sendRaw, writeRequest } from "../support/raw_http.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const STALLED = 200;
const CLOSED_WITHIN_MS = 15_000;

const service = await share(openTestService());
const app = await service.makeApp(schema);

async function openSocket(start: string): Promise<Socket> {
  const socket = connect(Number(new URL(service.url).port), "127.0.0.1");
  await once(socket, "connect");
  socket.on("error", () => undefined).resume();
  socket.write(start);
  return socket;
}

test("sockets that send three bytes and stop are closed in time, and delay no other request", async () => {
  const sockets = await Promise.all(Array.from({ length: STALLED }, () => openSocket("GET")));
  const openedAt = performance.now();
  const closed = Promise.all(sockets.map((socket) => once(socket, "close")));
  const responses = await Promise.all(
    Array.from({ length: 20 }, () => service.call(app, "/v1/data/db/todos?limit=1")),
  );
  expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
  const { open, waiting } = service.service.db.stats();
  expect([open <= 5, waiting]).toEqual([true, 0]);
  await closed;
  expect(performance.now() - openedAt).toBeLessThan(CLOSED_WITHIN_MS);
}, 30_000);

test("a body that stalls is rejected", async () => {
  const { key } = app;
  const headers = ["Content-Type: application/json", "Content-Length: 1000"];
  const request = writeRequest(
    "POST /v1/data/db/todos",
    [`Authorization: Bearer ${key}`, ...headers],
    { body: '{"a' },
  );
  const response = await sendRaw(service.url, request, { waitMs: CLOSED_WITHIN_MS });
  expect([response.closed, response.status, codeOf(response.body)]).toEqual([
    true,
    400,
    "invalid_json",
  ]);
  expect(response.ms).toBeLessThan(CLOSED_WITHIN_MS);
}, 20_000);

const SLOW = 100;
const MAX_HEAD = 16_384;

test("slow headers hold no database connection, and are cut off at 16 KB", async () => {
  const sockets = await Promise.all(
    Array.from({ length: SLOW }, () => openSocket("GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ")),
  );
  const heads = sockets.map(() => "");
  for (const [index, socket] of sockets.entries())
    socket.on("data", (bytes: Buffer) => {
      heads[index] += bytes.toString("latin1");
    });
  const closed = Promise.all(sockets.map((socket) => once(socket, "close")));
  for (let n = 0; n < 20; n++) {
    for (const socket of sockets) socket.write("a");
    expect((await service.call(app, "/v1/data/db/todos?limit=1")).status).toBe(200);
    const { busy, waiting } = service.service.db.stats();
    expect([busy <= 2, waiting]).toEqual([true, 0]);
  }
  expect(sockets.filter((socket) => socket.destroyed)).toEqual([]);
  let sent = 0;
  while (sockets.some((socket) => !socket.destroyed) && sent < 2 * MAX_HEAD) {
    for (const socket of sockets) if (!socket.destroyed) socket.write("a".repeat(1024));
    sent += 1024;
    await Bun.sleep(1); // one write at a time, as on a slow connection
  }
  await closed;
  expect(sent).toBeLessThanOrEqual(2 * MAX_HEAD);
  // A socket that was still writing can be reset before it reads the response.
  const statusLines = heads.filter((head) => head !== "").map((head) => head.split("\r\n")[0]);
  expect(new Set(statusLines)).toEqual(new Set(["HTTP/1.1 431 Request Header Fields Too Large"]));
}, 30_000);

const ROUNDS = 4;
const HALF_OPEN = 500;
const CALLS = 150;
/** Below this time, a ratio of times is noise. */
const FLOOR_MS = 10;

test("500 sockets with unfinished headers do not slow down other requests", async () => {
  const quiet: number[] = [];
  const loaded: number[] = [];
  await timeCalls(CALLS);
  for (let round = 0; round < ROUNDS; round++) {
    quiet.push(p90(await timeCalls(CALLS)));
    const sockets = await Promise.all(
      Array.from({ length: HALF_OPEN }, () => openSocket("GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ")),
    );
    loaded.push(p90(await timeCalls(CALLS)));
    expect(sockets.filter((socket) => socket.destroyed).length).toBe(0);
    for (const socket of sockets) socket.destroy();
    await Promise.all(sockets.map((socket) => socket.closed || once(socket, "close")));
  }
  // Each round includes the cost of the sockets. Only the best round is free of other load.
  expect(Math.min(...loaded)).toBeLessThan(2 * Math.max(Math.min(...quiet), FLOOR_MS));
}, 60_000);

async function timeCalls(count: number): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < count; n++) {
    const startedAt = performance.now();
    const { status } = await service.call(app, "/v1/data/db/todos?limit=1");
    times.push(performance.now() - startedAt);
    expect(status).toBe(200);
  }
  return times;
}

function p90(times: readonly number[]): number {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length * 0.9)] ?? 0;
}

/** Less than the time limit of a statement, which would also end it. */
const SOON_MS = EXECUTION_LIMIT_MS / 2;

test("a client that disconnects cancels its statement in the database", async () => {
  const { admin } = service.service;
  const countWaiting = async (): Promise<number> => {
    const rows = await readRows(
      admin,
      "select from pg_locks where relation = 'data.todos'::regclass and not granted",
    );
    return rows.length;
  };
  const head = `GET /v1/data/db/todos HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${app.key}\r\n\r\n`;
  // The client leaves the queue while the table is locked. A released lock would also end the wait.
  await whileLocked(service.database.adminUrl, "todos", async () => {
    const socket = await openSocket(head);
    await eventually(async () => (await countWaiting()) > 0);
    socket.destroy();
    await eventually(async () => (await countWaiting()) === 0, { patienceMs: SOON_MS });
  });
}, 60_000);
