import { expect, test } from "bun:test";
import schema from "../../schema/mod.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService());
const app = await service.makeApp(schema);

async function ask(path: string, method = "GET"): Promise<{ status: number; text: string }> {
  const response = await service.service.adminFetch(
    new Request(`http://localhost${path}`, { method }),
  );
  return { status: response.status, text: await response.text() };
}

test("the port for operators has /live, /ready and the metrics", async () => {
  const responses = await Promise.all(
    ["/live", "/ready", "/metrics", "/v1/data/db/todos"].map((path) => ask(path)),
  );
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 404]);
  expect(responses[3]?.text).toContain("This port has /live, /ready, and /metrics");
  expect((await ask("/metrics", "POST")).status).toBe(405);
});

test("metrics are not available on the serving port", async () => {
  expect((await service.call(undefined, "/metrics")).status).toBe(404);
});

test("requests, errors and the pool are counted, under a fixed set of labels", async () => {
  for (let index = 0; index < 20; index++) {
    await service.call(app, `/v1/data/db/none_${index}`);
    await service.call(undefined, `/${index}`, { method: "PROPFIND" });
  }
  await service.call(app, "/v1/data/db/todos");
  const { text } = await ask("/metrics");
  const series = text
    .split("\n")
    .filter((line) => line.startsWith("rowhouse_request_duration_seconds_count"));
  expect(series.sort()).toEqual(
    [
      'rowhouse_request_duration_seconds_count{route="/v1/data/db/:table",method="GET",status="4xx"} 20',
      'rowhouse_request_duration_seconds_count{route="none",method="GET",status="4xx"} 1',
      'rowhouse_request_duration_seconds_count{route="none",method="other",status="4xx"} 20',
      'rowhouse_request_duration_seconds_count{route="/v1/data/db/:table",method="GET",status="2xx"} 1',
    ].sort(),
  );
  expect(text).toContain('rowhouse_errors_total{code="unknown_table"} 20');
  expect(text).toMatch(/rowhouse_pool_connections\{pool="serving",state="open"\} [1-9]/);
  expect(text).toContain('rowhouse_shed_total{pool="serving",reason="full"} 0');
  expect(text).toContain("rowhouse_stream_bytes 0");
  expect(text).toContain("process_resident_memory_bytes");
  expect(text).not.toContain("process_heap_bytes");
});

test("a request is one log line with its duration and its continued trace", async () => {
  const [traceId, parentSpanId] = ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"];
  const response = await service.call(app, "/v1/data/db/todos?limit=1", {
    headers: { traceparent: `00-${traceId}-${parentSpanId}-01` },
  });
  const requestId = response.headers.get("x-request-id");
  const lines = service.log
    .map((line) => JSON.parse(line))
    .filter((line) => line.requestId === requestId);
  expect(lines).toEqual([
    {
      level: "info",
      event: "request",
      requestId,
      method: "GET",
      route: "/v1/data/db/:table",
      status: 200,
      ms: expect.any(Number),
      dbMs: expect.any(Number),
      bytes: Buffer.byteLength(response.text),
      appId: app.id,
      keyId: app.key.slice(3, 19),
      traceId,
      spanId: expect.stringMatching(/^(?!b7ad6b7169203331)[0-9a-f]{16}$/),
      parentSpanId,
    },
  ]);
});

test("no line contains keys, values, headers or connection strings", async () => {
  const secret = `secret-${crypto.randomUUID()}`;
  const path = "/v1/data/db/todos";
  await service.call(app, path, { method: "POST", json: { title: secret } });
  await service.call(app, path, { method: "POST", json: { title: secret, status: secret } });
  await service.call(app, path, {
    method: "POST",
    json: { project: crypto.randomUUID(), title: secret },
  });
  await service.call(app, path, { method: "POST", body: secret });
  await service.call(app, `${path}?${secret}=1`, {
    headers: { cookie: secret, "x-forwarded-for": secret },
  });
  await service.call(app, `${path}/${secret}`);
  await service.call(undefined, path, { headers: { authorization: `Bearer rh_${secret}` } });
  await service.call(app, path, { key: `${app.key.slice(0, -1)}x` });
  const { text } = await ask("/metrics");
  const written = service.log.join("\n") + text;
  const { username, password } = new URL(service.database.adminUrl);
  for (const word of [secret, app.key, app.key.slice(20), password, `${username}:`, "postgres://"])
    expect(written).not.toContain(word);
  expect(written).toContain(app.key.slice(3, 19));
});
