/**
 * Scripts of the app's origins can read responses to its keys. Scripts of other origins cannot, in one process and
 * behind a gateway.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { type RawResponse, sendRaw, writeRequest } from "../support/raw_http.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { SHAPES } from "../support/shape.ts";

const LIST = "/v1/data/db/todos";
const REGISTERED = "https://todo.example.org";

describe.each(SHAPES)('for a service of the shape "%s",', (shape) => {
  let service: TestService;
  let app: TestApp;
  beforeAll(async () => {
    service = await openTestService({ shape });
    app = await service.makeApp(defineSchema({ todos: { title: t.string() } }), {
      origins: [REGISTERED],
    });
    await service.service.warm();
  });
  afterAll(() => service.close());

  const send = (start: string, headers: readonly string[]): Promise<RawResponse> =>
    sendRaw(service.url, writeRequest(start, headers), { untilResponse: true });
  const get = (origin: string, { path = LIST, key = app.key } = {}) =>
    send(`GET ${path}`, [`Authorization: Bearer ${key}`, `Origin: ${origin}`]);
  const preflight = (origin: string) =>
    send(`OPTIONS ${LIST}`, [`Origin: ${origin}`, "Access-Control-Request-Method: POST"]);
  const namesOf = ({ headers }: RawResponse) =>
    [...headers.keys()].filter((name) => name.startsWith("access-control"));

  test("a registered origin gets the allowed methods and headers, without credentials", async () => {
    const { status, headers } = await preflight(REGISTERED);
    expect([
      status,
      headers.get("access-control-allow-origin"),
      headers.get("access-control-allow-methods"),
    ]).toEqual([204, REGISTERED, "GET, HEAD, POST, PATCH, OPTIONS"]);
    const names = ["Authorization", "If-Match", "If-None-Match", "Prefer", "Last-Event-ID"];
    for (const name of names) expect(headers.get("access-control-allow-headers")).toContain(name);
    expect(headers.has("access-control-allow-credentials")).toBe(false);
    expect(headers.get("vary")).toBe("Origin");
  });

  test.each([LIST, "/v1/auth/me"])(
    "a registered origin can send the headers of tracing tools to %s, and no others",
    async (path) => {
      const tracing = [
        ...["traceparent", "tracestate", "baggage", "sentry-trace", "b3", "x-b3-traceid"],
        ...["x-b3-sampled", "uber-trace-id", "x-datadog-trace-id", "x-datadog-sampling-priority"],
        ...["x-cloud-trace-context", "x-amzn-trace-id", "newrelic", "request-id", "x-instana-t"],
        ...["elastic-apm-traceparent", "x-correlation-id", "x-dynatrace", "ot-tracer-traceid"],
      ];
      const others = ["x-forwarded-for", "cookie", "x-trace-everything-else", "host"];
      const ask = (names: string[]) =>
        send(`OPTIONS ${path}`, [
          `Origin: ${REGISTERED}`,
          "Access-Control-Request-Method: GET",
          `Access-Control-Request-Headers: ${names.join(",")}`,
        ]);
      const { headers } = await ask([...others, ...tracing]);
      const allowed = (headers.get("access-control-allow-headers") ?? "").split(", ");
      expect(tracing.filter((name) => !allowed.includes(name))).toEqual([]);
      expect(others.filter((name) => allowed.includes(name))).toEqual([]);
    },
  );

  test.each([
    { name: "a response", status: 200 },
    { name: "a rejection", path: `${LIST}?x=1`, status: 400 },
    { name: "a wrong key", key: "rh_x.y", status: 401 },
    { name: "an unknown route", path: "/v1/nothing", status: 404 },
  ])("the app's own origin can read $name", async ({ status, ...call }) => {
    const response = await get(REGISTERED, call);
    expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([
      status,
      REGISTERED,
    ]);
    expect(response.headers.has("access-control-allow-credentials")).toBe(false);
    expect(response.headers.get("vary")).toEndWith("Origin");
  });

  test.each([
    "https://evil.example",
    "https://x.todo.example.org",
    "https://todo.example.org.evil.example",
    "http://todo.example.org",
    "https://TODO.example.org",
    "https://todo.example.org, https://evil.example",
    "null",
    "*",
  ])("the origin %s gets no access", async (origin) => {
    const [actual, preflighted] = [await get(origin), await preflight(origin)];
    expect([actual.status, preflighted.status]).toEqual([200, 204]);
    for (const response of [actual, preflighted]) {
      expect(namesOf(response)).toEqual([]);
      expect(response.headers.get("vary")).toEndWith("Origin");
    }
  });

  test("the app's origin cannot read responses to another app's key", async () => {
    const other = await service.makeApp(defineSchema({ todos: { title: t.string() } }));
    const response = await get(REGISTERED, { key: other.key });
    expect([response.status, namesOf(response)]).toEqual([200, []]);
  });
});
