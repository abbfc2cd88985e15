/**
 * A gateway with services that are down, slow, cut their responses or are other programs; and services without a
 * gateway.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Socket } from "node:net";
import schema from "../../schema/mod.ts";
import { SIGNED_HEADERS } from "../../src/gateway/signature.ts";
import { openService } from "../../src/service/open.ts";
import { cases, casesBy } from "../support/cases.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { sendRaw } from "../support/raw_http.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { serve, TEST_SECRETS } from "../support/shape.ts";
import { share } from "../support/share.ts";
import { contextOf, type SignedCall, sendSigned, signHeaders } from "../support/signed.ts";
import { headOf, openStub } from "../support/stub.ts";

const LIST = "/v1/data/db/todos";
const OTHER_APP = "0190a0a0-0000-7000-8000-000000000002";

const respond = (head: string, body: string) =>
  `HTTP/1.1 ${head}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

const CASES = casesBy<(socket: Socket, request: string) => void>({
  "502 bad_gateway": {
    "closes the connection without a response": (socket) => socket.destroy(),
    "truncates its status line": (socket) => socket.end("HTTP/1.1 20"),
    "truncates its headers": (socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Ty"),
    "does not speak HTTP": (socket) => socket.end("garbage\r\n\r\n"),
    "truncates an announced body": (socket, request) =>
      socket.end(`${headOf(request, "Content-Length: 100")}{"rows":`),
    "responds without the request id": (socket) => socket.end(respond("200 OK", "{}")),
    "responds with another request id": (socket) =>
      socket.end(respond("200 OK\r\nX-Request-Id: other", "{}")),
    "rejects the signature": (socket) =>
      socket.end(
        respond("401 Unauthorized\r\nX-Request-Id: its own", '{"error":"invalid_signature"}'),
      ),
  },
  "504 timeout": {
    "does not respond": () => undefined,
    "stops in its headers": (socket) => void socket.write("HTTP/1.1 200 OK\r\nContent-"),
    "stops in an announced body": (socket, request) =>
      void socket.write(`${headOf(request, "Content-Length: 100")}{"rows":`),
  },
});

/** Each issue with a query that selects it. All issues share one stub, because each stub opens slowly. */
const ISSUES = CASES.map((row, index) => ({ ...row, query: `?case=${index};` }));

const stub = await share(
  openStub((socket, request) =>
    ISSUES.find(({ query }) => request.includes(query))?.value(socket, request),
  ),
);
const broken = await share(openSplit({ data: stub.url, identity: stub.url }, 1000));
const caller = await broken.makeApp();

function openSplit(upstreams: { data?: string; identity?: string }, limitMs?: number) {
  return openTestService({
    shape: "split",
    upstreams,
    ...(limitMs === undefined ? {} : { limitMs }),
  });
}

/** Counts the nonces of writes with a query: a service accepts one write for each. */
function countWrites(path: string): number {
  const writes = stub.requests.filter((text) => text.startsWith(`POST ${path}`));
  const nonces = writes.map(
    (text) => new RegExp(`^${SIGNED_HEADERS.nonce}: (.+)$`, "im").exec(text)?.[1],
  );
  return new Set(nonces).size;
}

describe("a gateway whose data service", () => {
  test.concurrent.each(ISSUES)("$name returns $expected", async ({ query, expected }) => {
    const [status = "", code] = expected.split(" ");
    const call = async (method: string) => {
      const json = method === "POST" ? { json: { title: "Milk" } } : {};
      const got = await broken.call(caller, LIST + query, { method, ...json });
      const requestId = got.headers.get("x-request-id");
      expect(got.json).toMatchObject({ error: code, requestId });
      expect(got.status).toBe(Number(status));
      expect(got.text.includes("may or may not have taken effect")).toBe(method === "POST");
      const logged = broken.log.filter((line) => line.includes(String(requestId)));
      expect(logged.join("\n")).toContain(`"code":"${code}"`);
    };
    await Promise.all(["GET", "POST"].map(call));
    // A service can accept the write at most once, and never gets the caller's key.
    expect(countWrites(LIST + query)).toBe(1);
    expect(stub.requests.join()).not.toContain(caller.key);
  });

  test("resets a connection before its response gets the same signed request again", async () => {
    const reset = new Set<string>();
    await using stub = await openStub((socket, request) => {
      const [line = ""] = request.split("\r\n");
      if (reset.has(line)) return void socket.write(`${headOf(request, "Content-Length: 2")}{}`);
      reset.add(line);
      socket.destroy();
    });
    await using service = await openSplit({ data: stub.url });
    const app = await service.makeApp();
    for (const method of ["GET", "PATCH"])
      expect((await service.call(app, `${LIST}/${OTHER_APP}`, { method })).status).toBe(200);
    const signed = stub.requests.map((text) => /^rowhouse-signature: (.+)$/im.exec(text)?.[1]);
    expect([signed.length, new Set(signed).size]).toEqual([4, 2]);
  });

  test("resets all kept connections gets the request again on a new one", async () => {
    const kept = new Set<Socket>();
    const waiting: (() => void)[] = [];
    let isStopping = false;
    await using stub = await openStub((socket, request) => {
      if (isStopping && kept.has(socket)) return void socket.destroy();
      kept.add(socket);
      const respond = () => socket.write(`${headOf(request, "Content-Length: 2")}{}`);
      if (isStopping) return void respond();
      waiting.push(respond);
      if (waiting.length === 3) for (const start of waiting) start();
    });
    await using service = await openSplit({ data: stub.url });
    const app = await service.makeApp();
    const path = `${LIST}/${OTHER_APP}`;
    await Promise.all([1, 2, 3].map(() => service.call(app, path)));
    isStopping = true;
    expect(kept.size).toBe(3);
    expect((await service.call(app, path, { method: "PATCH" })).status).toBe(200);
  });

  test("resets a connection after it began a write returns 502, because the nonce is used", async () => {
    const body = '{"error":"invalid_signature"}';
    const begun = new Set<string>();
    await using stub = await openStub((socket, request) => {
      const [line = ""] = request.split("\r\n");
      const head = headOf(request, `Content-Length: ${body.length}`);
      if (begun.has(line)) return void socket.write(`${head.replace("200 OK", "401 x")}${body}`);
      begun.add(line);
      socket.destroy();
    });
    await using service = await openSplit({ data: stub.url });
    const app = await service.makeApp();
    const { status, text } = await service.call(app, LIST, { method: "POST" });
    expect([status, text.includes("may or may not have taken effect")]).toEqual([502, true]);
  });

  test("is down returns 503 with Retry-After, and serves again after the data service is up", async () => {
    await using service = await openSplit({ data: "http://127.0.0.1:1" });
    const app = await service.makeApp();
    for (const method of ["GET", "POST"]) {
      const got = await service.call(app, LIST, { method });
      expect([got.status, got.json, got.headers.get("retry-after")]).toMatchObject([
        503,
        { error: "unavailable" },
        "1",
      ]);
      expect(got.text.includes("nothing was written")).toBe(method === "POST");
    }
    const { status, json } = await service.call(undefined, "/ready");
    expect([status, json]).toMatchObject([503, { error: "unavailable" }]);
    expect((await service.call(undefined, "/live")).status).toBe(200);
  });

  test("aborts a streamed response aborts the caller's response", async () => {
    await using stub = await openStub((socket, request) => {
      socket.write(`${headOf(request, "Transfer-Encoding: chunked")}5\r\n{"row\r\n`);
      setTimeout(() => socket.destroy(), 50);
    });
    await using service = await openSplit({ data: stub.url });
    const app = await service.makeApp();
    await expect(service.call(app, LIST)).rejects.toThrow();
  });

  test("is running cancels its call when the caller disconnects", async () => {
    const disconnected = Promise.withResolvers<void>();
    await using stub = await openStub(
      (socket) => void socket.on("close", () => disconnected.resolve()),
    );
    await using service = await openSplit({ data: stub.url });
    const app = await service.makeApp();
    const abort = new AbortController();
    const headers = { authorization: `Bearer ${app.key}` };
    const call = fetch(service.url + LIST, { headers, signal: abort.signal });
    while (stub.requests.length === 0) await Bun.sleep(5);
    abort.abort();
    await expect(call).rejects.toThrow();
    await disconnected.promise;
  });

  test("is running reuses one connection for sequential calls", async () => {
    const ports = new Set<number | undefined>();
    await using stub = await openStub((socket, request) => {
      ports.add(socket.remotePort);
      socket.write(`${headOf(request, "Content-Length: 2")}{}`);
    });
    await using service = await openSplit({ data: stub.url });
    const app = await service.makeApp();
    for (let count = 0; count < 10; count++) await service.call(app, LIST);
    expect(ports.size).toBe(1);
  });
});

describe("a gateway whose identity service", () => {
  test.concurrent.each(ISSUES)(
    "$name returns request_failed, not $expected",
    async ({ query, expected }) => {
      const call = async ([method, path]: readonly [string, string]) => {
        const got = await broken.call(undefined, path + query, { method });
        expect([got.status, got.text]).toEqual([
          Number.parseInt(expected, 10),
          '{"error":"request_failed"}',
        ]);
        expect(got.headers.getSetCookie()).toEqual([]);
      };
      await Promise.all([call(["GET", "/v1/auth/me"]), call(["POST", "/v1/auth/logout"])]);
      expect(countWrites(`/v1/auth/logout${query}`)).toBe(1);
    },
  );

  test("is down returns 503 in the format of each interface, and still serves rows", async () => {
    await using service = await openSplit({ identity: "http://127.0.0.1:1" });
    const app = await service.makeApp(schema);
    const me = await service.call(undefined, "/v1/auth/me");
    expect([me.status, me.text]).toEqual([503, '{"error":"request_failed"}']);
    const page = await service.call(undefined, "/login", { headers: { accept: "text/html" } });
    expect([page.status, page.headers.get("content-type")]).toEqual([
      503,
      expect.stringContaining("text/html"),
    ]);
    expect((await service.call(app, LIST)).status).toBe(200);
  });
});

describe("a service behind a gateway", () => {
  let service: TestService;
  let app: TestApp;
  let url: string;
  let close: () => Promise<void>;
  const log: string[] = [];
  const openAlone = (role: "data" | "identity") => {
    const { roleUrls, pushUrl, prepare } = service.database;
    const opened = openService({
      ...{ adminDatabaseUrl: pushUrl, databaseUrl: roleUrls[role], connections: 2, prepare },
      ...{ role, keyPrefix: "rh", identitySecrets: [TEST_IDENTITY_SECRET] },
      secrets: { [role]: [TEST_SECRETS[role]] },
      log: (level, event, fields) => void log.push(JSON.stringify({ level, event, ...fields })),
    });
    return serve(opened);
  };
  beforeAll(async () => {
    service = await openTestService({ shape: "one" });
    app = await service.makeApp(schema);
    ({ url, close } = await openAlone("data"));
  });
  afterAll(async () => {
    await close();
    await service.close();
  });

  const REJECTED = { status: 401, text: '{"error":"invalid_signature"}' };
  const READ = () => ({ audience: "data" as const, target: LIST, context: contextOf(app) });

  test("rejects a request that is signed for another service", async () => {
    const identity = await openAlone("identity");
    const call = { ...READ(), target: "/v1/auth/me" };
    expect(await sendSigned(identity.url, call)).toMatchObject(REJECTED);
    expect(await sendSigned(url, { ...call, audience: "identity" })).toMatchObject(REJECTED);
    const taken = await sendSigned(identity.url, { ...call, audience: "identity" });
    expect(taken).toMatchObject({ status: 401, text: '{"error":"unauthenticated"}' });
    await identity.close();
  });

  /** What arrives instead of what was signed; `src/gateway/signature_test.ts` has every part. */
  test.each(cases("signed", "method", "sent")`
    ${LIST}                  | GET    | ${LIST}?limit=1
    ${LIST}?limit=1&offset=0 | GET    | ${LIST}?offset=0&limit=1
    ${LIST}                  | GET    | /v1/data/db/t%6fdos
    ${LIST}                  | DELETE | ${LIST}
  `)(
    "rejects $method $sent with the signature of GET $signed",
    async ({ signed, method, sent }) => {
      const headers = signHeaders({ ...READ(), target: signed });
      const accepted = await fetch(url + signed, { headers });
      const response = await fetch(url + sent, { method, headers });
      expect([accepted.status, response.status]).toEqual([200, 401]);
    },
  );

  const { context, nonce, signature } = SIGNED_HEADERS;
  test.each(
    Object.entries<Partial<SignedCall>>({
      "a signature with the identity service's secret": { secret: TEST_SECRETS.identity },
      "another context": { headers: { [context]: "e30" } },
      "the context of another app": {
        headers: { [context]: contextOf({ id: OTHER_APP, key: "rh_other.secret" }) },
      },
      "a write with another nonce": { body: {}, headers: { [nonce]: "m".repeat(22) } },
      "a write with another body": { body: {}, sentBody: "[]" },
      "two signatures": { headers: { [signature]: "v1=00, v1=11" } },
    }),
  )("rejects %s with one response", async (_, change) => {
    expect(await sendSigned(url, { ...READ(), ...change })).toMatchObject(REJECTED);
  });

  const SCHEMA = "/v1/data/schema";
  const DEFINE = { kind: "define", definition: { version: 1, tables: [] } };
  /** A push, and what it reads. */
  const push = (context: string) =>
    Promise.all(
      [SCHEMA, SCHEMA, `${SCHEMA}/migrations/1`, `${SCHEMA}/migrations/99`].map((target, at) =>
        sendSigned(url, {
          ...{ ...READ(), target, context },
          ...(at === 0 && { body: { steps: [DEFINE], dryRun: true } }),
        }),
      ),
    );

  test("accepts a push, and returns it, for a valid key with the scope", async () => {
    const responses = await push(contextOf(app, { scopes: ["schema:push"] }));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 404]);
  });

  test.each(
    Object.entries<() => Promise<{ id: string; key: string }>>({
      "a missing key": async () => ({ id: app.id, key: "rh_made.up" }),
      "another app's key": async () => ({ id: app.id, key: (await service.makeApp()).key }),
      "a key without the scope": () =>
        service.makeApp(undefined, { scopes: ["data:read", "data:write"] }),
      "an unknown app": async () => ({ id: OTHER_APP, key: app.key }),
    }),
  )("rejects a signed push and reveals nothing for %s", async (_, of) => {
    for (const { status, text } of await push(contextOf(await of(), { scopes: ["schema:push"] })))
      expect([status, JSON.parse(text).error]).toEqual([401, "unauthenticated"]);
  });

  test("rejects an endless body with limited time and memory", async () => {
    const lines = [`POST ${LIST} HTTP/1.1`, "Host: h", "Transfer-Encoding: chunked", "", ""];
    const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;
    let open = true;
    const response = await sendRaw(url, lines.join("\r\n"), {
      more: (socket) => {
        socket.on("close", () => {
          open = false;
        });
        const flood = () => open && socket.write(chunk, () => setTimeout(flood, 0));
        flood();
      },
    });
    expect([response.status === 401 || response.status === 0, response.closed]).toEqual([
      true,
      true,
    ]);
  });

  test("reports the reason only in the log, and never a secret", async () => {
    expect((await fetch(url + LIST)).status).toBe(401);
    const reasons = log.join("\n");
    for (const reason of ["unsigned", "signature differs"])
      expect(reasons).toContain(`"reason":"${reason}"`);
    for (const secret of Object.values(TEST_SECRETS)) expect(reasons).not.toContain(secret);
  });
});
