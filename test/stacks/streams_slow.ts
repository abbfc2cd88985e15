/** Event streams of `relay` in the servers and behind the proxies that people use, with their defaults. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { relay } from "../../src/sdk/relay.ts";
import { ROOT } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { findFreePort } from "../support/free_port.ts";
import { openTestService, type TestService } from "../support/service.ts";

const EVENT_WITHIN_MS = 3_000;
/** Longer than the 10 s after which Bun and some platforms close a silent connection. */
const OPEN_MS = 14_000;

/** Servers on Node: its own module, and Express with compression. */
const NODE_SERVERS = `
import { createServer } from "node:http";
import { pipeline } from "node:stream/promises";
import compression from "compression";
import express from "express";
import { relay } from "./relay.ts";

const watch = async function* () { yield { n: 1 }; await new Promise(() => {}); };
const send = async (response) => {
  const { headers, body } = relay(watch);
  response.setHeaders(headers);
  await pipeline(body, response).catch(() => undefined);
};
const [nodePort, expressPort] = process.argv.slice(2).map(Number);
createServer((_, response) => void send(response)).listen(nodePort, "127.0.0.1");
express().use(compression({ threshold: 0 })).get("/", (_, response) => send(response)).listen(expressPort, "127.0.0.1");
`;

const folder = mkdtempSync(join(tmpdir(), "rowhouse-streams-"));
const children: Bun.Subprocess[] = [];
const urls = new Map<string, string>();
const servers: Bun.Server<undefined>[] = [];
let service: TestService;

beforeAll(async () => {
  for (const file of ["package.json", "bun.lock"])
    cpSync(join(ROOT, "examples/node", file), join(folder, file));
  await Bun.$`${process.execPath} install --frozen-lockfile`.cwd(folder).quiet();
  cpSync(join(ROOT, "src/sdk/relay.ts"), join(folder, "relay.ts"));
  writeFileSync(join(folder, "servers.mjs"), NODE_SERVERS);
  const server = serve("Bun.serve without options", () =>
    relay(async function* () {
      yield { n: 1 };
      await new Promise(() => undefined);
    }),
  );
  service = await openTestService({ service: { previews: ["live"] } });
  const app = await service.makeApp(defineSchema({ todos: { title: t.string() } }));
  await setAppSwitch(service.service, app.slug, ["live", true]);
  const headers = { accept: "text/event-stream", authorization: `Bearer ${app.key}` };
  serve("the endpoint's stream through Bun.serve", ({ signal }) =>
    fetch(`${service.url}/v1/data/db/todos/changes`, { headers, signal }),
  );
  const [node, express, nginx, zipping, caddy] = [
    await open("Node"),
    await open("Express with compression()"),
    await open("nginx"),
    await open("nginx that compresses every type"),
    await open("Caddy that compresses"),
  ];
  start([Bun.which("node") ?? "", "--import", "tsx", "servers.mjs", `${node}`, `${express}`]);
  const location = `location / { proxy_pass ${server.url.origin}; }`;
  writeFileSync(
    join(folder, "nginx.conf"),
    `daemon off; pid nginx.pid; error_log stderr; events {}
http {
  access_log off; proxy_temp_path proxy; client_body_temp_path body; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  server { listen 127.0.0.1:${nginx}; ${location} }
  server { listen 127.0.0.1:${zipping}; gzip on; gzip_types *; gzip_proxied any; gzip_http_version 1.0; ${location} }
}`,
  );
  start(["nginx", "-p", folder, "-c", "nginx.conf", "-e", "stderr"]);
  writeFileSync(
    join(folder, "Caddyfile"),
    `{\n  admin off\n}\nhttp://127.0.0.1:${caddy} {\n  encode gzip\n  reverse_proxy ${server.url.host}\n}\n`,
  );
  start(["caddy", "run", "--adapter", "caddyfile", "--config", "Caddyfile"]);
}, 120_000);

afterAll(async () => {
  for (const child of children) child.kill();
  await Promise.all(children.map(({ exited }) => exited));
  for (const server of servers) await server.stop(true);
  await service?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Without options, such as `idleTimeout`. */
function serve(name: string, handle: (request: Request) => Response | Promise<Response>) {
  const server = Bun.serve({ port: 0, fetch: handle });
  servers.push(server);
  urls.set(name, server.url.href);
  return server;
}

async function open(name: string): Promise<number> {
  const port = await findFreePort();
  urls.set(name, `http://127.0.0.1:${port}/`);
  return port;
}

function start(command: string[]): void {
  const env = { ...process.env, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  children.push(Bun.spawn(command, { cwd: folder, env, stdout: "ignore", stderr: "ignore" }));
}

describe.concurrent("an event stream arrives at once and stays open", () => {
  test.each([
    "Bun.serve without options",
    "the endpoint's stream through Bun.serve",
    "Node",
    "Express with compression()",
    "nginx",
    "nginx that compresses every type",
    "Caddy that compresses",
  ])(
    "%s",
    async (name) => {
      const url = urls.get(name) ?? "";
      await eventually(() => isListening(url));
      const abort = new AbortController();
      const late = setTimeout(() => abort.abort(), EVENT_WITHIN_MS);
      const response = await fetch(url, {
        headers: { "accept-encoding": "gzip" },
        signal: abort.signal,
      });
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      while (!text.includes("data: ")) text += (await reader?.read())?.value ?? "";
      clearTimeout(late);
      expect(text).toMatch(/data: .+\n\n$/);
      const open = setTimeout(() => abort.abort(), OPEN_MS);
      let end = "closed by the server";
      for (;;) {
        const read = await reader?.read().catch(() => undefined);
        if (read === undefined) end = "still open";
        if (read?.done !== false) break;
      }
      clearTimeout(open);
      expect(end).toBe("still open");
    },
    60_000,
  );
});

async function isListening(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  try {
    const socket = await Bun.connect({
      hostname,
      port: Number(port),
      socket: { data: () => undefined },
    });
    socket.end();
    return true;
  } catch {
    return false;
  }
}
