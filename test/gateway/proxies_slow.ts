/** Behind nginx and Caddy that compress JSON and forward addresses: tags of the client, and the addresses of callers. */
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { createDataClient, etagOf } from "../../src/sdk/data.ts";
import { eventually } from "../support/eventually.ts";
import { findFreePort } from "../support/free_port.ts";
import { openTestService } from "../support/service.ts";

const schema = defineSchema({ todos: { title: t.string().required() } });
const folder = mkdtempSync(join(tmpdir(), "rowhouse-proxies-"));
const children: Bun.Subprocess[] = [];
const urls = {
  nginx: `http://127.0.0.1:${await findFreePort()}`,
  caddy: `http://127.0.0.1:${await findFreePort()}`,
};

const service = await openTestService();
const app = await service.makeApp(schema);
const [{ port }, { host }] = [new URL(urls.nginx), new URL(service.url)];
writeFileSync(
  join(folder, "nginx.conf"),
  `daemon off; pid nginx.pid; error_log stderr; events {}
http {
  access_log off; proxy_temp_path proxy; client_body_temp_path body; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  gzip on; gzip_types application/json; gzip_proxied any; gzip_min_length 1; gzip_http_version 1.0;
  server { listen 127.0.0.1:${port}; location / { proxy_pass http://${host}; } }
}`,
);
writeFileSync(
  join(folder, "Caddyfile"),
  `{\n  admin off\n}\n${urls.caddy} {\n  encode {\n    gzip\n    minimum_length 1\n  }\n  reverse_proxy ${host}\n}\n`,
);
start(["nginx", "-p", folder, "-c", "nginx.conf", "-e", "stderr"]);
start(["caddy", "run", "--adapter", "caddyfile", "--config", "Caddyfile"]);
for (const url of Object.values(urls))
  await eventually(() =>
    fetch(`${url}/live`).then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
afterAll(async () => {
  for (const child of children) child.kill();
  await Promise.all(children.map(({ exited }) => exited));
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

function start(command: string[]): void {
  const env = { ...process.env, HOME: folder };
  children.push(Bun.spawn(command, { cwd: folder, env, stdout: "ignore", stderr: "ignore" }));
}

test.each(["nginx", "caddy"] as const)(
  "a row that was read through a compressing %s can be changed with its tag",
  async (name) => {
    const db = createDataClient({ baseUrl: urls[name], apiKey: app.key, schema });
    const { id } = await db.todos.create({ title: "a".repeat(2000) });
    const read = await db.todos.get(id);
    expect(etagOf(read)).toStartWith('"');
    const changed = await db.todos.update(id, { title: "b".repeat(2000) }, { ifMatch: read });
    await expect(db.todos.update(id, { title: "c" }, { ifMatch: read })).rejects.toMatchObject({
      status: 412,
    });
    await db.todos.delete(id, { ifMatch: changed });
  },
);

test("nginx makes tags weak, which the endpoint never matches, and Caddy does not", async () => {
  const headers = { authorization: `Bearer ${app.key}`, "content-type": "application/json" };
  for (const [name, isWeak] of [
    ["nginx", true],
    ["caddy", false],
  ] as const) {
    const list = `${urls[name]}/v1/data/db/todos`;
    const body = JSON.stringify({ title: "d".repeat(2000) });
    const made = await fetch(list, { method: "POST", headers, body });
    const { id } = (await made.json()) as { id: string };
    const read = await fetch(`${list}/${id}`, { headers });
    const tag = read.headers.get("etag") ?? "";
    expect([name, tag.startsWith("W/")]).toEqual([name, isWeak]);
    const changed = await fetch(`${list}/${id}`, {
      ...{ method: "PATCH", body: JSON.stringify({ title: "e" }) },
      headers: { ...headers, "if-match": tag },
    });
    expect(changed.status).toBe(isWeak ? 412 : 200);
  }
});
