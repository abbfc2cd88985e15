/** Log lines contain no secrets, also if an error message does. Traces continue across gateway and service. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SESSION_COOKIE } from "../src/identity/mod.ts";
import { readTrace, toLogFields, toTraceparent } from "../src/observe.ts";
import { cases } from "./support/cases.ts";
import { makePerson, PASSWORD, signInAs } from "./support/people.ts";
import { openTestService, type TestService } from "./support/service.ts";
import { TEST_SECRETS } from "./support/shape.ts";

describe("toLogFields()", () => {
  const KEY = `rh_abcdefghijklmnop.${"S3cret".repeat(8)}x`;

  test.each(cases("name", "message", "remains")`
    a connection string                           | at postgres://me:hunter2@db.example/x?a=1, so | so
    a connection string that is not a URL         | 'postgresql://me:hunter2'                     | postgres
    a connection string whose password contains @ | postgres://me:hunter2@more@db/x               | removed
    any URL with a password                       | https://me:hunter2@example.org/a              | https
    a key                                         | Key ${KEY}: no                                | rh_abcdefghijklmnop.
    a key with another prefix                     | ${KEY.replace("rh", "my-shop")}               | my-shop_
    a bearer token                                | authorization: Bearer hunter2                 | authorization
  `)("removes $name from message and stack", ({ message, remains }) => {
    const fields = toLogFields(new Error(message));
    const text = JSON.stringify(fields);
    expect(text).not.toContain("hunter2");
    expect(text).not.toContain("S3cret");
    expect(fields.message).toContain(remains);
    expect(fields.stack).toContain(remains);
  });

  test("leaves harmless text unchanged", () => {
    const message = "Cannot read http://127.0.0.1:80/a.b at src/db/pool/mod.ts:12:3";
    expect(toLogFields(new Error(message)).message).toBe(message);
  });

  test("includes only the code of a driver's error", () => {
    const error = Object.assign(new Error("Key (email)=(a@b.c) exists"), {
      severity: "ERROR",
      code: "23505",
    });
    expect(toLogFields(error)).toEqual({ error: "PostgresError", code: "23505" });
  });
});

describe("readTrace()", () => {
  const TRACE = "0af7651916cd43dd8448eb211c80319c";
  const PARENT = "b7ad6b7169203331";
  let spanCount = 0;
  const makeSpanId = () => String(++spanCount).padStart(16, "0");

  test.each(cases("name", "header", "flags")`
    a current header                 | 00-${TRACE}-${PARENT}-01              | 01
    unknown flags                    | 00-${TRACE}-${PARENT}-0b              | 0b
    a later version                  | cc-${TRACE}-${PARENT}-0b              | 01
    a later version with more fields | cc-${TRACE}-${PARENT}-02-what-is-it   | 00
  `)("continues $name with a new span, and passes the new span on", ({ header, flags }) => {
    const trace = readTrace(header, makeSpanId);
    const spanId = String(spanCount).padStart(16, "0");
    expect(trace).toEqual({ traceId: TRACE, spanId, parentSpanId: PARENT, flags });
    expect(trace && toTraceparent(trace)).toBe(`00-${TRACE}-${spanId}-${flags}`);
  });

  test.each([
    { name: "an all-zero trace", header: `00-${"0".repeat(32)}-${PARENT}-01` },
    { name: "an all-zero span", header: `00-${TRACE}-${"0".repeat(16)}-01` },
    { name: "version ff", header: `ff-${TRACE}-${PARENT}-01` },
    { name: "capitals", header: `00-${TRACE.toUpperCase()}-${PARENT}-01` },
    { name: "version 00 with more fields", header: `00-${TRACE}-${PARENT}-01-more` },
    { name: "a later version that is too short", header: `cc-${TRACE}-${PARENT}-0` },
    { name: "a later version without a separator", header: `cc-${TRACE}-${PARENT}-01.what` },
    { name: "two headers", header: `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01` },
    { name: "anything", header: "x".repeat(5000) },
    { name: "nothing", header: "" },
  ])("starts a new trace for $name", ({ header }) => {
    const trace = readTrace(header, makeSpanId);
    expect(trace?.traceId).toMatch(/^[0-9]{32}$/);
    expect(trace).toMatchObject({ parentSpanId: undefined, flags: "00" });
    expect(trace && toTraceparent(trace)).not.toContain(TRACE);
  });

  test("returns undefined without a header", () => {
    const before = spanCount;
    expect([readTrace(null, makeSpanId), spanCount]).toEqual([undefined, before]);
  });
});

describe("a trace through gateway and service", () => {
  type Line = { event: string; role?: string; requestId: string } & Record<string, string>;
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService({ shape: "split" });
  });
  afterAll(() => service.close());

  /** Returns the log lines of the gateway and of the service for one request; the service logs first. */
  async function call(headers: Record<string, string>): Promise<[Line, Line]> {
    const response = await service.call(undefined, "/v1/auth/me", { headers });
    const requestId = response.headers.get("x-request-id");
    const lines = service.log
      .map((line) => JSON.parse(line) as Line)
      .filter((line) => line.event === "request" && line.requestId === requestId);
    const [upstream, gateway, ...others] = lines;
    if (upstream === undefined || gateway === undefined || others.length > 0)
      throw new Error(`Expected two log lines: ${JSON.stringify(lines)}`);
    return [gateway, upstream];
  }
  const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";

  test("has one span per hop, and each span is the parent of the next", async () => {
    const parent = "00f067aa0ba902b7";
    const [gateway, upstream] = await call({ traceparent: `00-${TRACE}-${parent}-01` });
    expect([gateway["traceId"], upstream["traceId"]]).toEqual([TRACE, TRACE]);
    expect(gateway["parentSpanId"]).toBe(parent);
    expect(upstream["parentSpanId"]).toBe(gateway["spanId"] ?? "none");
    expect(new Set([parent, gateway["spanId"], upstream["spanId"]]).size).toBe(3);
  });

  test("begins at the gateway if the header is malformed", async () => {
    const [gateway, upstream] = await call({ traceparent: `00-${TRACE}-${"0".repeat(16)}-01` });
    expect(gateway["traceId"]).toMatch(/^[0-9a-f]{32}$/);
    expect(gateway["traceId"]).not.toBe(TRACE);
    expect("parentSpanId" in gateway).toBe(false);
    expect([upstream["traceId"], upstream["parentSpanId"]]).toEqual([
      gateway["traceId"] ?? "none",
      gateway["spanId"] ?? "none",
    ]);
  });

  test("is absent if the request has no trace header", async () => {
    for (const line of await call({})) expect("traceId" in line).toBe(false);
  });
});

test.each([
  { name: "is forwarded with a continued trace", parent: "00f067aa0ba902b7", want: "a=1" },
  { name: "is dropped with a new trace", parent: "0".repeat(16), want: null },
])("the tracestate of a request $name", async ({ parent, want }) => {
  const got: (string | null)[] = [];
  const upstream = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ headers }) => {
      got.push(headers.get("tracestate"));
      return new Response();
    },
  });
  const service = await openTestService({
    shape: "split",
    upstreams: { identity: `http://127.0.0.1:${upstream.port}` },
  });
  const traceparent = `00-4bf92f3577b34da6a3ce929d0e0e4736-${parent}-01`;
  await service.call(undefined, "/v1/auth/me", { headers: { traceparent, tracestate: "a=1" } });
  await Promise.all([service.close(), upstream.stop(true)]);
  expect(got).toEqual([want]);
});

describe("a secret in a service's log fails the test file that wrote it:", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService();
  });

  test.each([
    { name: "a key", leak: async (service: TestService) => (await service.makeApp()).key },
    {
      name: "a key's secret",
      leak: async (service: TestService) => (await service.makeApp()).key.split(".")[1] ?? "",
    },
    {
      name: "a session cookie",
      leak: async (service: TestService) => {
        const jar = await signInAs(service, await makePerson(service));
        return jar.get(SESSION_COOKIE) ?? "";
      },
    },
    {
      name: "a password",
      leak: async (service: TestService) => {
        await makePerson(service);
        return PASSWORD;
      },
    },
    { name: "a connection string", leak: async ({ database }: TestService) => database.servingUrl },
    { name: "the services' secret", leak: async () => TEST_SECRETS.identity },
  ])("$name", async ({ leak }) => {
    const secret = await leak(service);
    expect(secret.length).toBeGreaterThan(15);
    const check = () => service.secrets.check([`{"event":"leak","message":"It is ${secret}"}`]);
    expect(check).toThrow("The log holds secrets");
    expect(check).not.toThrow(secret);
  });

  test("when the file closes the service", async () => {
    service.log.push(`{"event":"leak","message":"It is ${service.database.servingUrl}"}`);
    await expect(service.close()).rejects.toThrow("The log holds secrets");
  });
});
