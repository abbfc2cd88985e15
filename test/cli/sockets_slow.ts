/** A process without free sockets: operators still reach it, and callers reach it again when sockets are free. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { type Running, startCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { findFreePort } from "../support/free_port.ts";
import { openShop, type Shop } from "../support/shop.ts";

/** More than the process and its pools need, and fewer than the sockets that the tests open. */
const OPEN_FILES = 160;
let shop: Shop;
let port: number;
let adminPort: number;
let serving: Running;
beforeAll(async () => {
  [port, adminPort] = [await findFreePort(), await findFreePort()];
  shop = await openShop({ PORT: String(port), ADMIN_PORT: String(adminPort) });
  serving = startCommand(["serve"], { ...shop, openFiles: OPEN_FILES });
  await serving.until(/"event":"listening"/);
});
afterAll(async () => {
  await serving.kill("SIGTERM");
  await shop.close();
});

/** The status of `/live` on a new connection, or the error of the connection. */
async function askLive(at: number): Promise<number | string> {
  try {
    const response = await fetch(`http://127.0.0.1:${at}/live`, {
      keepalive: false,
      signal: AbortSignal.timeout(10_000),
    });
    return response.status;
  } catch (error) {
    return String(error instanceof Error && "code" in error ? error.code : error);
  }
}

function openSockets(count: number): Socket[] {
  return Array.from({ length: count }, () =>
    connect(port, "127.0.0.1").on("error", () => undefined),
  );
}

test("a process with too many sockets rejects callers, serves operators, and recovers", async () => {
  expect([await askLive(port), await askLive(adminPort)]).toEqual([200, 200]);

  const silent = openSockets(OPEN_FILES);
  await eventually(() => serving.output().includes("too many sockets"));

  expect(await askLive(port)).toBe("ECONNREFUSED");
  expect(await askLive(adminPort)).toBe(200);
  for (const socket of silent) socket.destroy();
  await eventually(async () => (await askLive(port)) === 200);
  expect(serving.output()).toContain("sockets accepted again");
});

test("a running request finishes while callers are rejected", async () => {
  const path = "/v1/data/db/todos";
  const body = JSON.stringify({ title: "sent in two parts" });
  const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${shop.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  let response = "";
  const slow = connect(port, "127.0.0.1").on("data", (chunk) => {
    response += String(chunk);
  });
  slow.write(head + body.slice(0, 5));
  await Bun.sleep(200);
  const before = serving.output().split("too many sockets").length;
  const silent = openSockets(OPEN_FILES);
  await eventually(() => serving.output().split("too many sockets").length > before);

  slow.write(body.slice(5));

  await eventually(() => response.includes("201 Created"));
  for (const socket of [slow, ...silent]) socket.destroy();
  await eventually(async () => (await askLive(port)) === 200);
});

test("slow headers time out like missing headers", async () => {
  const startedAt = performance.now();
  const closedAfter = await Promise.all(
    [0, 500].map(async (intervalMs) => {
      const socket = connect(port, "127.0.0.1").on("error", () => undefined);
      socket.write("GET /live HTTP/1.1\r\nHost: localhost\r\n");
      const timer = setInterval(() => intervalMs > 0 && socket.write("X-More: 1\r\n"), 500);
      await new Promise((resolve) => socket.on("close", resolve));
      clearInterval(timer);
      return performance.now() - startedAt;
    }),
  );
  for (const ms of closedAfter) {
    expect(ms).toBeGreaterThan(7000);
    expect(ms).toBeLessThan(20_000);
  }
}, 40_000);

test("the port for operators accepts only local connections unless ADMIN_HOST names another address", async () => {
  const listening = (address: string) =>
    startCommand(["serve"], { ...shop, env: { ...shop.env, ADMIN_HOST: address, PORT: "0" } });
  const hex = (address: string) =>
    `${address === "0.0.0.0" ? "00000000" : "0100007F"}:${adminPort.toString(16).toUpperCase().padStart(4, "0")}`;
  const listeners = async () => await Bun.file("/proc/net/tcp").text();
  expect(await listeners()).toContain(hex("127.0.0.1"));
  expect(await listeners()).not.toContain(hex("0.0.0.0"));

  await serving.kill("SIGTERM");
  const open = listening("0.0.0.0");
  await open.until(/"event":"listening"/);
  expect(await listeners()).toContain(hex("0.0.0.0"));
  await open.kill("SIGTERM");
});
