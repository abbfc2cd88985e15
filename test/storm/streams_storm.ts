/**
 * What one busy app leaves to others behind a gateway: 300 of its streams are open, and 1,200 of its callers send requests. The
 * services are processes, as in production, because the
 * runtime's limit of requests is per process.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { FETCH_LIMIT } from "../../src/std/network.ts";
import { ROOT } from "../support/command.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { TEST_SECRETS } from "../support/shape.ts";
import { p99 } from "./flood.ts";

const STREAMS = 300;
const CALLERS = 1200;
const OTHERS = 4;
const SECONDS = 8;
const PAUSE_MS = 250;

const LIST = "/v1/data/db/todos?limit=1";
const CHANGES = "/v1/data/db/todos/changes";
const SCHEMA = defineSchema({ todos: { title: t.string(), meta: t.json() } });

type Started = { url: string; stop: () => Promise<void> };

let service: TestService;
let one: Started;
let split: Started[];
beforeAll(async () => {
  service = await openTestService({ service: { previews: ["live"] } });
  const { servingUrl, roleUrls } = service.database;
  const [data, identity] = [
    await start({ role: "data", databaseUrl: roleUrls.data }),
    await start({ role: "identity", databaseUrl: roleUrls.identity }),
  ];
  const upstreams = { data: data.url, identity: identity.url };
  const gateway = await start({ role: "gateway", databaseUrl: roleUrls.gateway, upstreams });
  split = [gateway, data, identity];
  one = await start({ role: "all", databaseUrl: servingUrl });
}, 60_000);
afterAll(async () => {
  await Promise.all([one, ...split].map(({ stop }) => stop()));
  await service.close();
});

async function start(settings: object): Promise<Started> {
  const { pushUrl, prepare } = service.database;
  const secrets = { data: [TEST_SECRETS.data], identity: [TEST_SECRETS.identity] };
  const all = { adminDatabaseUrl: pushUrl, prepare, previews: ["live"], secrets, ...settings };
  const child = Bun.spawn(
    [process.execPath, join(ROOT, "test/storm/service_process.ts"), JSON.stringify(all)],
    {
      env: { ...process.env, [FETCH_LIMIT.variable]: String(FETCH_LIMIT.max) },
      stdout: "pipe",
      stderr: "inherit",
    },
  );
  let text = "";
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.includes("\n")) break;
  }
  return {
    url: `http://127.0.0.1:${text.trim()}`,
    stop: async () => {
      child.kill();
      await child.exited;
    },
  };
}

async function makeLive(): Promise<TestApp> {
  const app = await service.makeApp(SCHEMA);
  await setAppSwitch(service.service, app.slug, ["live", true]);
  expect((await create(service, app, "first")).status).toBe(201);
  return app;
}

async function create({ url }: { url: string }, { key }: TestApp, text: string) {
  return await fetch(`${url}/v1/data/db/todos`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ title: "a row", meta: { text } }),
  });
}

/** A client on its own socket, because `fetch` limits the number of connections of the test's process. */
function openSocket({ url }: Started, onText: (text: string) => void): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  socket.on("data", (bytes) => onText(bytes.toString("latin1")));
  return socket;
}

const toRequest = (path: string, { key }: TestApp, more = "") =>
  `GET ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n${more}\r\n`;

/** Opens a stream, and returns its status. */
async function openStream(at: Started, app: TestApp) {
  const opened = Promise.withResolvers<string>();
  let text = "";
  const socket = openSocket(at, (received) => {
    text = text.length < 1000 ? text + received : text;
    if (text.includes("\r\n\r\n")) opened.resolve(text);
  });
  socket.on("close", () => opened.resolve(text));
  socket.write(toRequest(CHANGES, app, "accept: text/event-stream\r\n"));
  const [, status] = /^HTTP\/1.1 (\d+)/.exec(await opened.promise) ?? [];
  return { socket, status: Number(status) };
}

async function openStreams(at: Started, app: TestApp, count: number) {
  const opened: Awaited<ReturnType<typeof openStream>>[] = [];
  while (opened.length < count)
    opened.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(50, count - opened.length) }, () => openStream(at, app)),
      )),
    );
  return opened;
}

type Calls = { statuses: Map<number, number>; ms: number[] };

/** Repeats a request on each of several sockets until the time. */
async function repeat(at: Started, app: TestApp, callers: number, endsAt: number): Promise<Calls> {
  const calls: Calls = { statuses: new Map(), ms: [] };
  const one = async () => {
    let text = "";
    let done = Promise.withResolvers<void>();
    const socket = openSocket(at, (received) => {
      text += received;
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? Number.NaN);
      if (text.length >= text.indexOf("\r\n\r\n") + 4 + length) done.resolve();
    });
    socket.on("close", () => done.resolve());
    while (performance.now() < endsAt) {
      const startedAt = performance.now();
      socket.write(toRequest(LIST, app));
      await done.promise;
      const status = Number(/^HTTP\/1.1 (\d+)/.exec(text)?.[1] ?? 0);
      calls.statuses.set(status, (calls.statuses.get(status) ?? 0) + 1);
      if (status === 200) calls.ms.push(performance.now() - startedAt);
      [text, done] = ["", Promise.withResolvers<void>()];
      if (socket.destroyed) return;
      if (status !== 200) await Bun.sleep(PAUSE_MS);
    }
    socket.destroy();
  };
  await Promise.all(Array.from({ length: callers }, one));
  return calls;
}

async function measure(at: Started) {
  const [busy, other] = [await makeLive(), await makeLive()];
  const streams = await openStreams(at, busy, STREAMS);
  expect(streams.filter(({ status }) => status === 200)).toBeArrayOfSize(STREAMS);
  const endsAt = performance.now() + SECONDS * 1000;
  const logins: number[] = [];
  const visit = async () => {
    while (performance.now() < endsAt) {
      const response = await fetch(`${at.url}/login`);
      await response.arrayBuffer();
      logins.push(response.status);
      await Bun.sleep(PAUSE_MS);
    }
  };
  const [flood, others] = await Promise.all([
    repeat(at, busy, CALLERS, endsAt),
    repeat(at, other, OTHERS, endsAt),
    visit(),
  ]);
  for (const { socket } of streams) socket.destroy();
  return { flood, others, logins };
}

test("a busy app gets 429, another app and sign-in pages are answered as in one process", async () => {
  const [gateway] = split;
  if (gateway === undefined) throw new Error("No gateway");
  const [alone, behind] = [await measure(one), await measure(gateway)];
  for (const [name, { flood, others, logins }] of Object.entries({ one: alone, split: behind })) {
    console.log(
      `${name}: busy ${show(flood)}; other ${show(others)}, p99 ${Math.round(p99(others.ms))} ms; ${logins.length} of /login`,
    );
    expect([...others.statuses.keys()]).toEqual([200]);
    expect(new Set(logins)).toEqual(new Set([200]));
    expect(flood.statuses.get(429) ?? 0).toBeGreaterThan(0);
    expect(flood.statuses.get(200) ?? 0).toBeGreaterThan(0);
  }
  const ratio = p99(behind.others.ms) / p99(alone.others.ms);
  console.log(`p99 of the other app, split to one: ${ratio.toFixed(1)}; the aim is 2`);
}, 120_000);

const show = ({ statuses }: Calls) =>
  [...statuses].map(([status, count]) => `${count} × ${status}`).join(", ");
