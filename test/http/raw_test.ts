/** What arrives on a socket, byte for byte: requests that no well-behaved client sends. @module */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { defineSchema, t } from "../../src/dsl/mod.ts";
import { openPostgresProxy, type PostgresProxy } from "../support/postgres_proxy.ts";
import { type RawAnswer, type RawOptions, sendRaw } from "../support/raw_http.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

let service: TestService;
let app: TestApp;
let proxy: PostgresProxy;
let stalled: Promise<RawAnswer>;
beforeAll(async () => {
  proxy = await openPostgresProxy();
  service = await openTestService({ toServingUrl: proxy.toUrl });
  app = await service.makeApp(defineSchema({ todos: { title: t.string() } }), {
    origins: ["https://todo.example.org"],
  });
  await service.call(app, "/v1/data/db/todos");
  // Begun here because it takes its time; looked at in its test.
  stalled = send(lines(`POST ${LIST}`, [JSON_TYPE, "Content-Length: 1000"], '{"a'), {
    waitMs: 15_000,
  });
});
afterAll(async () => {
  await service.close();
  await proxy.close();
});

const LIST = "/v1/data/db/todos";

/** A request with a host, these header lines and a key, the app's unless said otherwise. */
function lines(
  start: string,
  headers: readonly string[] = [],
  body = "",
  key: string | null = app.key,
): string {
  const host = `Host: ${new URL(service.url).host}`;
  const bearer = key === null ? [] : [`Authorization: Bearer ${key}`];
  const head = [`${start} HTTP/1.1`, host, ...bearer, ...headers];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}
const JSON_TYPE = "Content-Type: application/json";
const send = (bytes: string | Uint8Array, options: RawOptions = { untilAnswer: true }) =>
  sendRaw(service.url, bytes, options);
const codeOf = (body: string): unknown =>
  body === "" ? "" : (JSON.parse(body) as { error?: string }).error;

/** Writes chunks for as long as the server takes them. */
function floodChunks(socket: Socket): void {
  const chunk = `4000\r\n${" ".repeat(0x4000)}\r\n`;
  const write = () => {
    while (!socket.destroyed && socket.write(chunk));
    if (!socket.destroyed) socket.once("drain", write);
  };
  write();
}

describe("bodies", () => {
  test("an announced length past the limit is refused before the body is there", async () => {
    const answer = await send(lines(`POST ${LIST}`, [JSON_TYPE, "Content-Length: 102401"], "{"));
    expect([answer.status, codeOf(answer.body)]).toEqual([413, "body_too_large"]);
    expect(answer.ms).toBeLessThan(2000);
  });

  test("a body of exactly the limit is taken", async () => {
    const body = JSON.stringify({ title: "x".repeat(102_400 - 12) });
    expect(body.length).toBe(102_400);
    const answer = await send(
      lines(`POST ${LIST}`, [JSON_TYPE, `Content-Length: ${body.length}`], body),
    );
    expect(answer.status).toBe(201);
  });

  test.each(["POST", "PATCH"])(
    "an endless chunked body to %s is refused and the connection ended",
    async (method) => {
      const path = method === "POST" ? LIST : `${LIST}/${crypto.randomUUID()}`;
      const before = process.memoryUsage().rss;
      const answer = await send(
        lines(`${method} ${path}`, [JSON_TYPE, "Transfer-Encoding: chunked"]),
        {
          more: floodChunks,
        },
      );
      expect([answer.status, codeOf(answer.body), answer.closed]).toEqual([
        413,
        "body_too_large",
        true,
      ]);
      expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
    },
  );

  // What is refused at the door ends early; a list first reads its rows, and the server's own wall is the last end.
  test.each([
    { name: "a list", start: `GET ${LIST}`, status: 200, mostMiB: 160 },
    { name: "an unknown route", start: "POST /v1/nothing", status: 404, code: "unknown_route" },
    {
      name: "a method that is none of the path's",
      start: `PUT ${LIST}`,
      status: 405,
      code: "method_not_allowed",
    },
    { name: "a query", start: `POST ${LIST}?x`, status: 400, code: "unsupported_query" },
    { name: "no key", start: `POST ${LIST}`, key: null, status: 401, code: "unauthenticated" },
  ])(
    "an endless chunked body to $name is ended",
    async ({ start, key, status, code, mostMiB = 32 }) => {
      let written = 0;
      const headers = [JSON_TYPE, "Transfer-Encoding: chunked"];
      const answer = await send(lines(start, headers, "", key), {
        more: (socket) => {
          floodChunks(socket);
          socket.once("close", () => {
            written = socket.bytesWritten;
          });
        },
      });
      expect(answer.closed).toBe(true);
      // Counts what both kernels hold too.
      expect(written).toBeLessThan(mostMiB * 1024 * 1024);
      // A reset may overtake the answer, or its body, on its way to one who still writes.
      if (answer.text !== "") expect(answer.status).toBe(status);
      if (answer.body.endsWith("}")) expect(codeOf(answer.body)).toBe(code);
    },
  );

  test("a caller who leaves in the middle of a body is no bug of ours", async () => {
    const seen = service.log.length;
    await send(lines(`POST ${LIST}`, [JSON_TYPE, "Content-Length: 1000"], '{"a'), { waitMs: 50 });
    while (!service.log.slice(seen).some((line) => line.includes('"request"'))) await Bun.sleep(5);
    expect(service.log.slice(seen).filter((line) => line.includes('"bug"'))).toEqual([]);
  });

  test("Expect: 100-continue changes nothing about the limit", async () => {
    const answer = await send(
      lines(`POST ${LIST}`, [JSON_TYPE, "Content-Length: 204800", "Expect: 100-continue"]),
    );
    expect([answer.status, codeOf(answer.body)]).toEqual([413, "body_too_large"]);
  });

  test.each([
    { name: "a gzip body", headers: [JSON_TYPE, "Content-Encoding: gzip"] },
    { name: "identity as an encoding", headers: [JSON_TYPE, "Content-Encoding: identity"] },
    { name: "no type", headers: [] },
    { name: "text", headers: ["Content-Type: text/plain"] },
    { name: "a form", headers: ["Content-Type: application/x-www-form-urlencoded"] },
    { name: "a multipart form", headers: ["Content-Type: multipart/form-data; boundary=x"] },
    { name: "another JSON", headers: ["Content-Type: application/vnd.api+json"] },
    { name: "another charset", headers: ["Content-Type: application/json; charset=utf-16"] },
  ])("$name is 415", async ({ headers }) => {
    const answer = await send(lines(`POST ${LIST}`, [...headers, "Content-Length: 2"], "{}"));
    expect([answer.status, codeOf(answer.body)]).toEqual([415, "unsupported_media_type"]);
  });

  test.each([
    "application/json",
    "Application/JSON;charset=UTF-8",
    'application/json; charset="utf-8"',
  ])("%s is taken", async (type) => {
    const answer = await send(
      lines(`POST ${LIST}`, [`Content-Type: ${type}`, "Content-Length: 2"], "{}"),
    );
    expect(answer.status).toBe(201);
  });

  test.each([
    { name: "a stray byte", bytes: [0xff] },
    { name: "an overlong slash", bytes: [0xc0, 0xaf] },
    { name: "half of a surrogate pair", bytes: [0xed, 0xa0, 0x80] },
    { name: "a cut character", bytes: [0xe2, 0x82] },
    { name: "UTF-16", bytes: [...Buffer.from('\ufeff{"title":"x"}', "utf16le")], whole: true },
    { name: "a byte order mark", bytes: [0xef, 0xbb, 0xbf, 0x7b, 0x7d], whole: true },
  ])("$name is not JSON", async ({ bytes, whole }) => {
    const body = whole
      ? Buffer.from(bytes)
      : Buffer.concat([Buffer.from('{"title":"'), Buffer.from(bytes), Buffer.from('"}')]);
    const head = lines(`POST ${LIST}`, [JSON_TYPE, `Content-Length: ${body.length}`]);
    const answer = await send(Buffer.concat([Buffer.from(head), body]));
    expect([answer.status, codeOf(answer.body)]).toEqual([400, "invalid_json"]);
  });

  test.each([
    { name: "nothing", body: "" },
    { name: "white space", body: "  \n" },
    { name: "a list", body: "[]" },
    { name: "a string", body: '"x"' },
    { name: "null", body: "null" },
    { name: "a number", body: "1" },
    { name: "two values", body: "{}{}" },
    { name: "a comma too many", body: '{"title":"x",}' },
    { name: "a comment", body: "{}//x" },
    { name: "single quotes", body: "{'title':'x'}" },
    { name: "NaN", body: '{"title":NaN}' },
    { name: "a raw newline in a string", body: '{"title":"a\nb"}' },
    { name: "nesting of 65", body: `{"x":${"[".repeat(64)}${"]".repeat(64)}}` },
    { name: "nesting of 50,000", body: `{"x":${"[".repeat(50_000)}${"]".repeat(50_000)}}` },
    { name: "nesting without end", body: '{"a":'.repeat(20_000) },
  ])("$name is no object of JSON", async ({ body }) => {
    const answer = await send(
      lines(`POST ${LIST}`, [JSON_TYPE, `Content-Length: ${body.length}`], body),
    );
    expect([answer.status, codeOf(answer.body)]).toEqual([400, "invalid_json"]);
    expect(answer.ms).toBeLessThan(1000);
  });

  test("keys that are traps of JavaScript are dropped and change nothing", async () => {
    const body =
      '{"title":"t","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"hasOwnProperty":1,"toJSON":"x"}';
    const answer = await send(
      lines(`POST ${LIST}`, [JSON_TYPE, `Content-Length: ${body.length}`], body),
    );
    expect(answer.status).toBe(201);
    expect(Object.keys(JSON.parse(answer.body))).toEqual(["id", "app_id", "title"]);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });
});

describe("requests that are framed badly", () => {
  test.each([
    {
      name: "Content-Length with Transfer-Encoding",
      headers: ["Content-Length: 2", "Transfer-Encoding: chunked"],
      body: "0\r\n\r\n",
    },
    { name: "two lengths", headers: ["Content-Length: 2", "Content-Length: 3"], body: "{}" },
    { name: "a length of letters", headers: ["Content-Length: two"], body: "{}" },
    { name: "a negative length", headers: ["Content-Length: -1"], body: "{}" },
    {
      name: "a chunk size that is no number",
      headers: ["Transfer-Encoding: chunked"],
      body: "zz\r\n{}\r\n0\r\n\r\n",
    },
    { name: "an unknown transfer encoding", headers: ["Transfer-Encoding: gzip"], body: "{}" },
  ])("$name is refused and the connection ended", async ({ headers, body }) => {
    const answer = await send(lines(`POST ${LIST}`, [JSON_TYPE, ...headers], body), {
      waitMs: 3000,
    });
    expect(answer.status === 400 || answer.status === 501 || answer.status === 0).toBe(true);
    expect(answer.closed).toBe(true);
  });

  test.each([
    {
      name: "17 KB of header",
      request: () => lines(`GET ${LIST}`, [`X-Long: ${"x".repeat(17_000)}`]),
    },
    { name: "17 KB of URL", request: () => lines(`GET ${LIST}?${"x".repeat(17_000)}`) },
    {
      name: "300 headers",
      request: () =>
        lines(
          `GET ${LIST}`,
          Array.from({ length: 300 }, (_, i) => `X-${i}: 1`),
        ),
    },
  ])("$name never runs", async ({ request }) => {
    const answer = await send(request(), { waitMs: 2000, untilAnswer: true });
    expect([431, 414, 400]).toContain(answer.status);
  });

  test.each([
    { name: "a bad Host", start: "GET /live HTTP/1.1\r\nHost: <script>alert(1)</script>\r\n\r\n" },
    { name: "an empty Host", start: "GET /live HTTP/1.1\r\nHost:\r\n\r\n" },
    { name: "no Host in HTTP/1.0", start: "GET /live HTTP/1.0\r\n\r\n" },
    { name: "two Hosts", start: "GET /live HTTP/1.1\r\nHost: a.example\r\nHost: <b>evil\r\n\r\n" },
    { name: "a Host with a path", start: "GET /live HTTP/1.1\r\nHost: evil.example/v1/x?\r\n\r\n" },
    { name: "a Host with a fragment", start: "GET /live HTTP/1.1\r\nHost: evil#\r\n\r\n" },
    {
      name: "a whole URL as the target",
      start: "GET http://evil.example/live HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    },
    { name: "no path", start: "GET * HTTP/1.1\r\nHost: evil.example\r\n\r\n" },
  ])("$name is no fault of the service and is not reflected", async ({ start }) => {
    const answer = await send(start, { waitMs: 2000, untilAnswer: true });
    expect(answer.status).toBeLessThan(500);
    expect(answer.text).not.toMatch(/evil|script/);
  });
});

describe("methods", () => {
  test.each(["TRACE", "PROPFIND", "PUT", "DELETE", "PATCH", "SEARCH", "LOCK"])(
    "%s of a list is 405 with Allow, or refused by the server itself",
    async (method) => {
      const answer = await send(lines(`${method} ${LIST}`), { waitMs: 2000, untilAnswer: true });
      if (answer.status === 400 && answer.body === "") return; // a method that the server cannot read
      expect([answer.status, codeOf(answer.body), answer.headers.get("allow")]).toEqual([
        405,
        "method_not_allowed",
        "GET, HEAD, POST, OPTIONS",
      ]);
    },
  );

  test("CONNECT is 405 with Allow", async () => {
    const answer = await send("CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n", {
      waitMs: 2000,
      untilAnswer: true,
    });
    expect(answer.status).toBe(405);
    expect(answer.headers.get("allow")).toContain("GET");
  });

  test("a method override is ignored", async () => {
    const made = await service.call(app, LIST, { method: "POST", json: { title: "kept" } });
    const path = made.headers.get("location") ?? "";
    const answer = await send(lines(`GET ${path}`, ["X-HTTP-Method-Override: DELETE"]));
    expect(answer.status).toBe(200);
    const again = await send(
      lines(`POST ${LIST}?_method=DELETE`, [JSON_TYPE, "Content-Length: 2"], "{}"),
    );
    expect([again.status, codeOf(again.body)]).toEqual([400, "unsupported_query"]);
    expect((await service.call(app, path)).status).toBe(200);
  });

  test("HEAD answers like GET without the body", async () => {
    for (const path of [LIST, `${LIST}/${crypto.randomUUID()}`, "/v1/data/db/nothing", "/live"]) {
      const got = await service.call(app, path);
      const head = await send(lines(`HEAD ${path}`), { waitMs: 300 });
      expect([head.status, head.body, head.headers.get("content-type")]).toEqual([
        got.status,
        "",
        got.headers.get("content-type") ?? "",
      ]);
    }
  });
});

describe("paths", () => {
  test.each([
    "/v1/data/db/%74odos",
    "/v1/data/db/todos%2f",
    "/v1/data/db/todos%5c",
    "/v1/data/db/todos%00",
    "/v1/data/db/todos%ff",
    "/v1/data/db/todos%zz",
    "/v1/data/db/todos%252e",
    "/v1/data/db/..%2fschema",
    "/v1/data/db/TODOS",
    "/v1/data/db/todos;x=1",
    "/v1/data/db/todos'--",
    "/v1/data/db/data.todos",
    '/v1/data/db/"todos"',
    `/v1/data/db/${"x".repeat(49)}`,
    "/v1/data/db/pg_class%20",
    "/v1/data/db//",
    "/v1/data/db/",
    "/v1//data/db/todos",
    "//v1/data/db/todos",
    "/V1/data/db/todos",
    "/v1/data/db/todos/",
    "/v1/data/db/todos/x/y",
  ])("%s is 404 and costs no query", async (path) => {
    const before = countQueries();
    const answer = await send(lines(`GET ${path}`));
    expect(answer.status).toBe(404);
    expect(countQueries()).toBe(before);
  });

  test.each([
    "%2f",
    "%5c",
    "%00",
    "%ff",
    "%zz",
    "%252e",
    "x",
    "1",
    "00000000-0000-0000-0000-00000000000g",
    "%30".repeat(8),
    "'",
    "..",
    "null",
  ])("the id %s is 400 or 404 and costs no query", async (id) => {
    const before = countQueries();
    const answer = await send(lines(`GET ${LIST}/${id}`));
    expect([400, 404]).toContain(answer.status);
    expect(["invalid_id", "unknown_route"]).toContain(String(codeOf(answer.body)));
    expect(countQueries()).toBe(before);
  });

  test.each([
    "/v1/%2e%2e/live",
    "/v1/../live",
    "/v1/data/db/../../../live",
    "/v1/data/db/%2e%2e/schema",
    "/live/..;/v1/data/db/todos",
  ])("%s does not reach another route than the one whose rules were checked", async (path) => {
    const answer = await send(lines(`GET ${path}`).replace(/Authorization.*\r\n/, ""));
    // What the server takes the path for decides; without a key no route that needs one may answer.
    expect([200, 401, 404]).toContain(answer.status);
    if (answer.status === 200) expect(JSON.parse(answer.body)).toEqual({ status: "live" });
  });

  /** Statements that the serving login has run so far, the watch's own aside. */
  function countQueries(): number {
    return proxy.count("api.") + proxy.count("use_key");
  }
});

describe("parameters and headers", () => {
  test("5,000 query parameters are refused fast", async () => {
    const query = Array.from({ length: 2000 }, (_, index) => `a${index}=1`).join("&");
    const answer = await send(lines(`GET ${LIST}?${query}`));
    expect([answer.status, codeOf(answer.body)]).toEqual([400, "unsupported_query"]);
    expect(answer.body.length).toBeLessThan(500);
    expect(answer.ms).toBeLessThan(1000);
    const more = await send(lines(`GET ${LIST}?${"&".repeat(5000)}limit=1`));
    expect(more.status).toBe(200);
  });

  test.each([
    { name: "two keys", headers: () => [`Authorization: Bearer ${app.key}`] },
    { name: "a key and another scheme", headers: () => ["Authorization: Basic eDp5"] },
  ])("$name are one 401", async ({ headers }) => {
    const answer = await send(lines(`GET ${LIST}`, headers()));
    expect([answer.status, codeOf(answer.body), answer.headers.get("www-authenticate")]).toEqual([
      401,
      "unauthenticated",
      "Bearer",
    ]);
  });

  test("cookies and keys in the query open nothing", async () => {
    const bare = (start: string, header = "") =>
      `${start} HTTP/1.1\r\nHost: x.example\r\n${header}\r\n`;
    for (const request of [
      bare(`GET ${LIST}?api_key=${app.key}`),
      bare(`GET ${LIST}`, `Cookie: authorization=Bearer ${app.key}; key=${app.key}\r\n`),
      bare(`GET ${LIST}`, `X-Api-Key: ${app.key}\r\n`),
    ]) {
      expect((await send(request)).status).toBe(401);
    }
  });
});

describe("cross-origin", () => {
  const preflight = (origin: string) =>
    lines(`OPTIONS ${LIST}`, [`Origin: ${origin}`, "Access-Control-Request-Method: POST"]).replace(
      /Authorization.*\r\n/,
      "",
    );
  const REGISTERED = "https://todo.example.org";

  test("a registered origin is told what it may send", async () => {
    await service.service.warm();
    const answer = await send(preflight(REGISTERED));
    expect([
      answer.status,
      answer.headers.get("access-control-allow-origin"),
      answer.headers.get("access-control-allow-methods"),
    ]).toEqual([204, REGISTERED, "GET, HEAD, POST, OPTIONS"]);
    expect(answer.headers.get("access-control-allow-headers")).toContain("Authorization");
    expect(answer.headers.has("access-control-allow-credentials")).toBe(false);
    expect(answer.headers.get("vary")).toBe("Origin");
  });

  test.each([
    "https://evil.example",
    "null",
    "https://todo.example.org.evil.example",
    "http://todo.example.org",
    "https://TODO.example.org",
    "*",
    "https://todo.example.org, https://evil.example",
  ])("the origin %s is told nothing", async (origin) => {
    for (const request of [preflight(origin), lines(`GET ${LIST}`, [`Origin: ${origin}`])]) {
      const answer = await send(request);
      expect(
        [...answer.headers.keys()].filter((name) => name.startsWith("access-control")),
      ).toEqual([]);
      expect(answer.headers.get("vary")).toBe("Origin");
    }
  });

  test.each([
    {
      name: "an answer",
      start: () => lines(`GET ${LIST}`, [`Origin: ${REGISTERED}`]),
      status: 200,
    },
    {
      name: "a refusal",
      start: () => lines(`GET ${LIST}?x=1`, [`Origin: ${REGISTERED}`]),
      status: 400,
    },
    {
      name: "a wrong key",
      start: () => lines(`GET ${LIST}`, [`Origin: ${REGISTERED}`]).replace(app.key, "x"),
      status: 401,
    },
    {
      name: "an unknown route",
      start: () => lines("GET /v1/nothing", [`Origin: ${REGISTERED}`]),
      status: 404,
    },
  ])("$name can be read by the app's own origin", async ({ start, status }) => {
    const answer = await send(start());
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([
      status,
      REGISTERED,
    ]);
  });

  test("another app's key cannot be read for from this origin", async () => {
    const other = await service.makeApp(defineSchema({ todos: { title: t.string() } }));
    const answer = await send(
      lines(`GET ${LIST}`, [`Origin: ${REGISTERED}`]).replace(app.key, other.key),
    );
    expect([answer.status, answer.headers.has("access-control-allow-origin")]).toEqual([
      200,
      false,
    ]);
  });
});

test("a body that stops coming is given up", async () => {
  const slow = await stalled;
  expect(slow.closed).toBe(true);
  expect(slow.ms).toBeLessThan(15_000);
  expect([slow.status, codeOf(slow.body)]).toEqual([400, "invalid_json"]);
}, 20_000);
