/** Bytes on a socket: framing, methods, paths and queries that no well-behaved client sends. @module */
import { describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { cases } from "../support/cases.ts";
import { openPostgresProxy } from "../support/postgres_proxy.ts";
import { codeOf } from "../support/problem.ts";
import { measureProcessor } from "../support/processor_time.ts";
import { type RawOptions, sendRaw, writeRequest } from "../support/raw_http.ts";
import { KEY_LOOKUP } from "../support/requested.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const proxy = await share(openPostgresProxy());
// Stop the service's clock: otherwise it looks up a key again once a minute, during a count.
const openedAt = Date.now();
const service = await share(
  openTestService({ toServingUrl: proxy.toUrl, service: { now: () => openedAt } }),
);
const app = await service.makeApp(defineSchema({ todos: { title: t.string() } }));
await service.call(app, "/v1/data/db/todos");

const LIST = "/v1/data/db/todos";

/** Returns the bytes of a request with the app's key. */
const request = (start: string, headers: readonly string[] = [], body = "") =>
  writeRequest(start, [`Authorization: Bearer ${app.key}`, ...headers], { body });
const JSON_TYPE = "Content-Type: application/json";
const send = (bytes: string | Uint8Array, options: RawOptions = { untilResponse: true }) =>
  sendRaw(service.url, bytes, options);

const UNTIL = { waitMs: 2000, untilResponse: true };

describe("a badly framed request:", () => {
  test.each(cases("name", "headers", "body")`
    Content-Length with Transfer-Encoding | Content-Length: 2, Transfer-Encoding: chunked | 0\r\n\r\n
    two Content-Length headers            | Content-Length: 2, Content-Length: 3          | {}
    a length that is not a number         | Content-Length: two                           | {}
    a negative length                     | Content-Length: -1                            | {}
    a chunk size that is not a number     | Transfer-Encoding: chunked                    | zz\r\n{}\r\n0\r\n\r\n
    an unknown transfer encoding          | Transfer-Encoding: gzip                       | {}
  `)("$name is rejected, and the connection is closed", async ({ headers, body }) => {
    const sent = request(`POST ${LIST}`, [JSON_TYPE, ...headers.split(", ")], body);
    const response = await send(sent, { waitMs: 3000 });
    expect(response.status === 400 || response.status === 501 || response.status === 0).toBe(true);
    expect(response.closed).toBe(true);
  });

  const MANY = Array.from({ length: 300 }, (_, index) => `X-${index}: 1`);
  test.each([
    ["a header of 17 KB", LIST, [`X-Long: ${"x".repeat(17_000)}`]],
    ["a URL of 17 KB", `${LIST}?${"x".repeat(17_000)}`, []],
    ["300 headers", LIST, MANY],
  ])("%s gets a 4xx response", async (_, path, headers) => {
    const response = await send(request(`GET ${path}`, headers), UNTIL);
    expect([431, 414, 400]).toContain(response.status);
  });

  test.each(cases("name", "start")`
    a malformed Host              | GET /live HTTP/1.1\r\nHost: <script>alert(1)</script>
    an empty Host                 | GET /live HTTP/1.1\r\nHost:
    no Host in HTTP/1.0           | GET /live HTTP/1.0
    two Hosts                     | GET /live HTTP/1.1\r\nHost: a.example\r\nHost: <b>evil
    a Host with a path            | GET /live HTTP/1.1\r\nHost: evil.example/v1/x?
    a Host with a fragment        | GET /live HTTP/1.1\r\nHost: evil#
    an absolute URL as the target | GET http://evil.example/live HTTP/1.1\r\nHost: evil.example
    an empty path                 | GET * HTTP/1.1\r\nHost: evil.example
  `)("$name never causes a 5xx response and is not reflected", async ({ start }) => {
    const response = await send(`${start}\r\n\r\n`, UNTIL);
    expect(response.status).toBeLessThan(500);
    expect(response.text).not.toMatch(/evil|script/);
  });
});

test.each([
  "Host: a.example\r\nHost: b.example",
  "Host: a.example\r\nhost: a.example",
  "Host: a.example, b.example",
])("a request with %p gets 400 on every path", async (hosts) => {
  for (const path of ["/live", LIST, "/nowhere", "/v1/auth/me"]) {
    const start = `GET ${path} HTTP/1.1\r\n${hosts}\r\nAuthorization: Bearer ${app.key}\r\n\r\n`;
    const response = await send(start, UNTIL);
    expect([response.status, codeOf(response.body)]).toEqual([400, "invalid_request"]);
    expect(response.text).not.toContain("example");
  }
});

describe("methods", () => {
  test.each(["TRACE", "PROPFIND", "PUT", "DELETE", "SEARCH", "LOCK"])(
    "%s of a list gets 405 with Allow, or the server rejects it",
    async (method) => {
      const response = await send(request(`${method} ${LIST}`), UNTIL);
      if (response.status === 400 && response.body === "") return; // a method that the server cannot read
      expect([response.status, codeOf(response.body), response.headers.get("allow")]).toEqual([
        405,
        "method_not_allowed",
        "GET, HEAD, POST, PATCH, OPTIONS",
      ]);
    },
  );

  test("CONNECT gets 405 with Allow", async () => {
    const response = await send("CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n", UNTIL);
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toContain("GET");
  });

  test("a method override is ignored", async () => {
    const created = await service.call(app, LIST, { method: "POST", json: { title: "kept" } });
    const path = created.headers.get("location") ?? "";
    const response = await send(request(`GET ${path}`, ["X-HTTP-Method-Override: DELETE"]));
    expect(response.status).toBe(200);
    const again = await send(
      request(`POST ${LIST}?_method=DELETE`, [JSON_TYPE, "Content-Length: 2"], "{}"),
    );
    expect([again.status, codeOf(again.body)]).toEqual([400, "unsupported_query"]);
    expect((await service.call(app, path)).status).toBe(200);
  });

  test("HEAD responds like GET without the body", async () => {
    for (const path of [LIST, `${LIST}/${crypto.randomUUID()}`, "/v1/data/db/nothing", "/live"]) {
      const got = await service.call(app, path);
      // Read until the server closes the connection: no body must follow the head.
      const head = await send(request(`HEAD ${path}`, ["Connection: close"]), {});
      expect([head.status, head.body, head.headers.get("content-type"), head.closed]).toEqual([
        got.status,
        "",
        got.headers.get("content-type") ?? "",
        true,
      ]);
    }
  });
});

describe("paths", () => {
  test.each([
    ...["/v1/data/db/%74odos", "/v1/data/db/todos%2f", "/v1/data/db/todos%5c"],
    ...["/v1/data/db/todos%00", "/v1/data/db/todos%ff", "/v1/data/db/todos%zz"],
    ...["/v1/data/db/todos%252e", "/v1/data/db/..%2fschema", "/v1/data/db/TODOS"],
    ...["/v1/data/db/todos;x=1", "/v1/data/db/todos'--", "/v1/data/db/data.todos"],
    ...['/v1/data/db/"todos"', `/v1/data/db/${"x".repeat(49)}`, "/v1/data/db/pg_class%20"],
    ...["/v1/data/db//", "/v1/data/db/", "/v1//data/db/todos", "//v1/data/db/todos"],
    ...["/V1/data/db/todos", "/v1/data/db/todos/", "/v1/data/db/todos/x/y"],
  ])("%s gets 404 without a query", async (path) => {
    const before = countQueries();
    const response = await send(request(`GET ${path}`));
    expect(response.status).toBe(404);
    expect(countQueries()).toBe(before);
  });

  test.each([
    ...["%2f", "%5c", "%00", "%ff", "%zz", "%252e", "x", "1", "'", "..", "null"],
    ...["00000000-0000-0000-0000-00000000000g", "%30".repeat(8)],
  ])("the id %s gets 400 or 404 without a query", async (id) => {
    const before = countQueries();
    const response = await send(request(`GET ${LIST}/${id}`));
    expect([400, 404]).toContain(response.status);
    expect(["invalid_id", "unknown_route"]).toContain(String(codeOf(response.body)));
    expect(countQueries()).toBe(before);
  });

  test.each([
    "/v1/%2e%2e/live",
    "/v1/../live",
    "/v1/data/db/../../../live",
    "/v1/data/db/%2e%2e/schema",
    "/live/..;/v1/data/db/todos",
  ])("%s does not bypass the checks of a route", async (path) => {
    const response = await send(writeRequest(`GET ${path}`));
    // The server normalizes the path. Without a key, no route that requires a key can respond.
    expect([200, 401, 404]).toContain(response.status);
    if (response.status === 200) expect(JSON.parse(response.body)).toEqual({ status: "live" });
  });

  /** Counts the statements of the serving login, without the service's own checks. */
  function countQueries(): number {
    return proxy.count("api.") + proxy.count(KEY_LOOKUP);
  }
});

test("a request with thousands of query parameters is rejected cheaply", async () => {
  const query = Array.from({ length: 2000 }, (_, index) => `a${index}=1`).join("&");
  const { ms, result } = await measureProcessor(() => send(request(`GET ${LIST}?${query}`)));
  expect([result.status, codeOf(result.body)]).toEqual([400, "unsupported_query"]);
  expect(result.body.length).toBeLessThan(500);
  expect(ms).toBeLessThan(1000);
  const more = await send(request(`GET ${LIST}?${"&".repeat(5000)}limit=1`));
  expect(more.status).toBe(200);
});
