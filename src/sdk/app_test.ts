/** The key of the app client: when it is opened, shared, renewed and forgotten. A stub issues keys; app_test.ts uses the service. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createAppClient } from "./app.ts";
import type { DataError } from "./data.ts";

type Tables = {
  todos: {
    row: { id: string; title: string };
    insert: { title: string };
    update: { title?: string };
  };
};

const NOBODY = { displayName: null, avatarUrl: null, role: "lead" };
const ADA = { ...NOBODY, id: "ada", email: "ada@example.org" };
const BOB = { ...ADA, id: "bob", email: "bob@example.org" };
const ROW = { id: "0190163d-8694-739b-aea5-966c26f8ad91", title: "Milk" };
const LIFE_S = 600;

/** A gateway and pages: whose session the browser has, and which keys are valid. */
type Stub = {
  person: typeof ADA | undefined;
  lifeS: number;
  keys: string[];
  opened: number;
  sessions: number;
  sessionStatus: number;
  calls: { method: string; key: string; ifNoneMatch: string | null }[];
  /** Holds the calls that arrive. */
  hold: Promise<void> | undefined;
  /** What the exchange returns instead of a key. */
  failure: (() => Response | Promise<Response>) | undefined;
};

let stub: Stub;
let server: ReturnType<typeof Bun.serve>;
const realNow = performance.now.bind(performance);
const realDate = Date.now;
let laterMs = 0;

beforeEach(() => {
  stub = {
    ...{ person: ADA, lifeS: LIFE_S, keys: [], opened: 0, sessions: 0, sessionStatus: 200 },
    ...{ calls: [], hold: undefined, failure: undefined },
  };
  laterMs = 0;
  performance.now = () => realNow() + laterMs;
  server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: respond });
});
afterEach(async () => {
  performance.now = realNow;
  Date.now = realDate;
  await server.stop(true);
});

async function respond(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === "/session-key") return await openKey();
  if (pathname === "/v1/auth/me") {
    stub.sessions++;
    return stub.person === undefined || stub.sessionStatus !== 200
      ? Response.json(
          { error: "unauthenticated" },
          { status: stub.person ? stub.sessionStatus : 401 },
        )
      : Response.json(stub.person);
  }
  const key = request.headers.get("authorization")?.slice("Bearer ".length) ?? "";
  const { method, headers } = request;
  stub.calls.push({ method, key, ifNoneMatch: headers.get("if-none-match") });
  await stub.hold;
  if (!stub.keys.includes(key)) return Response.json({ error: "unauthenticated" }, { status: 401 });
  if (pathname.endsWith("/changes")) return openStream();
  if (method !== "GET") return Response.json(ROW);
  return Response.json(
    { rows: [ROW], limit: 1000, offset: 0, hasMore: false },
    { headers: { etag: '"a"' } },
  );
}

async function openKey(): Promise<Response> {
  stub.opened++;
  if (stub.failure !== undefined) return await stub.failure();
  const { person: user, lifeS: expiresInS } = stub;
  if (user === undefined) return Response.json({ error: "unauthenticated" }, { status: 401 });
  const key = `key-${stub.opened}`;
  stub.keys.push(key);
  return Response.json({ key, expiresInS, user });
}

/** A stream that stays open. */
function openStream(): Response {
  const start = (controller: ReadableStreamDefaultController<string>) =>
    controller.enqueue(`id: ${stub.calls.length}\nevent: ready\ndata: []\n\n`);
  return new Response(new ReadableStream({ start }), {
    headers: { "content-type": "text/event-stream" },
  });
}

function connect(options: { cache?: boolean; retries?: number; onSignedOut?: () => void } = {}) {
  const url = `http://127.0.0.1:${server.port}`;
  return createAppClient<Tables>({ url, identityUrl: `${url}/`, app: "wiki", ...options });
}

const keysOfCalls = () => stub.calls.map(({ key }) => key);
const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable("The call has no error"),
    (error: unknown) => error as DataError,
  );

describe("a key", () => {
  test("is opened once for concurrent calls, and shared by later ones", async () => {
    const { db } = connect();
    await Promise.all([db.todos.list(), db.todos.list(), db.todos.create({ title: "Milk" })]);
    await db.todos.list();
    expect([stub.opened, new Set(keysOfCalls())]).toEqual([1, new Set(["key-1"])]);
  });

  test.each([
    ["is used until 30 s before its end", 600, 569, "key-1"],
    ["is renewed 30 s before its end", 600, 571, "key-2"],
    ["of a session that ends soon is used for half its life", 20, 9, "key-1"],
    ["of a session that ends soon is then renewed", 20, 11, "key-2"],
  ])("%s", async (_, lifeS, afterS, key) => {
    stub.lifeS = lifeS;
    const { db } = connect();
    await db.todos.list();
    laterMs = afterS * 1000;
    await db.todos.list();
    expect(keysOfCalls()).toEqual(["key-1", key]);
  });

  test("does not depend on the page's clock", async () => {
    const { db } = connect();
    Date.now = () => realDate() + 86_400_000;
    await db.todos.list();
    Date.now = () => realDate() - 86_400_000;
    await db.todos.list();
    expect(keysOfCalls()).toEqual(["key-1", "key-1"]);
  });

  test("outlives an outage of the pages until its end", async () => {
    const { db } = connect({ retries: 0 });
    await db.todos.list();
    stub.failure = () => Response.json({ error: "unavailable" }, { status: 503 });
    laterMs = (LIFE_S - 10) * 1000;
    await db.todos.list();
    laterMs = (LIFE_S + 1) * 1000;
    expect(await failureOf(db.todos.list())).toMatchObject({
      code: "unavailable",
      retryable: true,
    });
    expect(keysOfCalls()).toEqual(["key-1", "key-1"]);
  });

  test("that is rejected is renewed once for all calls, also of calls that are never retried", async () => {
    const { db } = connect({ retries: 0 });
    await db.todos.list();
    stub.keys = [];
    await Promise.all([db.todos.update(ROW.id, { title: "Bread" }), db.todos.list()]);
    expect([stub.opened, keysOfCalls().slice(3)]).toEqual([2, ["key-2", "key-2"]]);
  });

  test("stays if an earlier key is rejected late", async () => {
    const { db } = connect();
    await db.todos.list();
    const late = Promise.withResolvers<void>();
    stub.hold = late.promise;
    const held = db.todos.list();
    while (stub.calls.length < 2) await Bun.sleep(1);
    stub.hold = undefined;
    stub.keys = [];
    await db.todos.list();
    late.resolve();
    await held;
    expect([stub.opened, keysOfCalls().at(-1)]).toEqual([2, "key-2"]);
  });

  test("that is rejected again is an error", async () => {
    const { db } = connect();
    stub.failure = () => Response.json({ key: `other-${stub.opened}`, expiresInS: 600, user: ADA });
    expect(await failureOf(db.todos.list())).toMatchObject({
      status: 401,
      code: "unauthenticated",
    });
    expect([stub.opened, keysOfCalls()]).toEqual([2, ["other-1", "other-2"]]);
  });

  test("does not hold a call beyond its signal, and other calls still wait", async () => {
    const released = Promise.withResolvers<Response>();
    stub.failure = () => released.promise;
    const { db } = connect();
    const stop = new AbortController();
    const aborted = db.todos.list({ signal: stop.signal });
    const other = db.todos.list();
    while (stub.opened === 0) await Bun.sleep(1);
    stop.abort();
    expect((await failureOf(aborted)).name).toBe("AbortError");
    stub.keys.push("late");
    released.resolve(Response.json({ key: "late", expiresInS: 600, user: ADA }));
    expect((await other).rows).toEqual([ROW]);
    expect(stub.opened).toBe(1);
  });
});

describe("without a session", () => {
  test("each call asks again and rejects; the page learns it once, and again after a session", async () => {
    let signedOut = 0;
    const { db } = connect({ onSignedOut: () => void signedOut++ });
    stub.person = undefined;
    for (let call = 0; call < 2; call++)
      expect(await failureOf(db.todos.create({ title: "Milk" }))).toMatchObject({
        name: "DataError",
        status: 401,
        code: "unauthenticated",
        retryable: false,
        message: "todos.create: No one is signed in: call login() to sign in",
      });
    expect([stub.opened, signedOut, stub.calls]).toEqual([2, 1, []]);
    stub.person = ADA;
    await db.todos.create({ title: "Milk" });
    stub.keys = [];
    stub.person = undefined;
    await failureOf(db.todos.list());
    expect(signedOut).toBe(2);
  });

  test("a watch rejects instead of polling", async () => {
    stub.person = undefined;
    const { db } = connect();
    expect(await failureOf(db.todos.watch().next())).toMatchObject({ code: "unauthenticated" });
    expect(await failureOf(db.todos.changes().next())).toMatchObject({
      code: "unauthenticated",
      message: "todos.changes: No one is signed in: call login() to sign in",
    });
  });
});

describe("another person", () => {
  test("is not the page's person: nothing is read or written until that person returns", async () => {
    let signedOut = 0;
    const app = connect({ onSignedOut: () => void signedOut++ });
    await app.db.todos.list();
    stub.keys = [];
    stub.person = BOB;
    const sent = stub.calls.length;
    for (const call of [() => app.db.todos.create({ title: "Milk" }), () => app.db.todos.list()])
      expect(await failureOf(call())).toMatchObject({
        code: "unauthenticated",
        message: expect.stringMatching(
          /^todos\.\w+: bob@example\.org is signed in now, .* load the page again$/,
        ),
      });
    await app.authorization().then(
      () => expect.unreachable("A header of another person"),
      () => 0,
    );
    // The request whose key was rejected is the only one.
    expect([stub.calls.length - sent, signedOut]).toEqual([1, 1]);
    expect(await app.getSession()).toEqual({ status: "unauthenticated" });
    stub.person = ADA;
    expect(await app.getSession()).toEqual({ status: "authenticated", user: ADA });
    await app.db.todos.create({ title: "Milk" });
    expect(stub.calls.at(-1)?.key).toBe(stub.keys.at(-1) ?? "");
  });

  test("who is found by the session takes the key of the page's person", async () => {
    const app = connect();
    expect(await app.getSession()).toMatchObject({ user: ADA });
    await app.db.todos.list();
    stub.person = BOB;
    expect(await app.getSession()).toEqual({ status: "unauthenticated" });
    expect((await failureOf(app.db.todos.list())).message).toContain("bob@example.org");
    expect(keysOfCalls()).toEqual(["key-1"]);
  });

  test("in the same session, with another role, gets no page of the cache", async () => {
    const { db } = connect({ cache: true });
    await db.todos.list();
    stub.keys = [];
    stub.person = { ...ADA, role: "member" };
    await db.todos.create({ title: "Milk" });
    await db.todos.list();
    expect(stub.calls.at(-1)?.ifNoneMatch).toBeNull();
  });

  test("in the same session, with another role, starts the streams again", async () => {
    const { db } = connect();
    const changes = db.todos.changes();
    expect((await changes.next()).value).toMatchObject({ type: "ready", cursor: "1" });
    stub.person = { ...ADA, role: "member" };
    stub.keys = [];
    await db.todos.list();
    // The first list is rejected; the key is renewed, which starts the stream with it.
    expect((await changes.next()).value).toMatchObject({ type: "ready" });
    expect(new Set(keysOfCalls().slice(2))).toEqual(new Set(["key-2"]));
    await changes.return();
  });
});

describe("the session", () => {
  test("comes from the key at first, and from the service later", async () => {
    const app = connect();
    const [first, access] = await Promise.all([app.getSession(), app.hasAccess("lead")]);
    expect([first, access]).toEqual([{ status: "authenticated", user: ADA }, true]);
    await app.db.todos.list();
    expect([stub.opened, stub.sessions]).toEqual([1, 0]);
    expect(await app.requireUser()).toEqual(ADA);
    expect([stub.opened, stub.sessions]).toEqual([1, 1]);
  });

  test("is asked for after a call has opened the key", async () => {
    const app = connect();
    await app.db.todos.list();
    expect(await app.getSession()).toEqual({ status: "authenticated", user: ADA });
    expect([stub.opened, stub.sessions]).toEqual([1, 1]);
  });

  test("without a person is unauthenticated after one request, and tells no call", async () => {
    let signedOut = 0;
    stub.person = undefined;
    const app = connect({ onSignedOut: () => void signedOut++ });
    expect(await app.getSession()).toEqual({ status: "unauthenticated" });
    expect([stub.opened, stub.sessions, signedOut]).toEqual([1, 0, 0]);
  });

  test("is asked for if the service has no exchange", async () => {
    stub.failure = () => new Response("Not found", { status: 404 });
    expect(await connect().getSession()).toEqual({ status: "authenticated", user: ADA });
  });
});

describe("an exchange that fails", () => {
  test.each([
    {
      name: "without the preview names it",
      reply: () => new Response("<h1>Page not found</h1>", { status: 404 }),
      error: { status: 404, code: "not_implemented", retryable: false },
      message: /^todos\.list: .*PREVIEW=browser/,
    },
    {
      name: "because the person has no role is forbidden",
      status: 403,
      reply: () => Response.json({ error: "forbidden" }, { status: 403 }),
      error: { status: 403, code: "forbidden", retryable: false },
      message: /^todos\.list: The person has no role on wiki$/,
    },
    {
      name: "because the app has no browser access names the command",
      reply: () => Response.json({ error: "forbidden" }, { status: 403 }),
      error: { status: 403, code: "forbidden", retryable: false },
      message: /^todos\.list: .*\(rowhouse admin set-app <app> browser on\)$/,
    },
    {
      name: "for the rate limit has its wait",
      reply: () =>
        Response.json({ error: "rate_limited" }, { status: 429, headers: { "retry-after": "60" } }),
      error: { status: 429, code: "rate_limited", retryable: true, retryAfterMs: 60_000 },
      message: /^todos\.list: /,
    },
    {
      name: "with another text is not a key",
      reply: () => Response.json({ key: "a b", expiresInS: 600, user: ADA }),
      error: { status: 200, code: "not_implemented", retryable: false },
      message: /identityUrl/,
    },
  ])("$name", async ({ reply, error, message, status = 200 }) => {
    stub.failure = reply;
    stub.sessionStatus = status;
    const failure = await failureOf(connect({ retries: 0 }).db.todos.list());
    expect(failure).toMatchObject(error);
    expect(failure.message).toMatch(message);
    expect(stub.calls).toEqual([]);
  });

  test.each([503, 521])("is repeated after a temporary failure, such as %d", async (status) => {
    stub.failure = () => {
      stub.failure = undefined;
      return Response.json({ error: "unavailable" }, { status, headers: { "retry-after": "0" } });
    };
    expect((await connect().db.todos.list()).rows).toEqual([ROW]);
    expect(stub.opened).toBe(2);
  });

  const AWAY = "http://127.0.0.1:1";
  test.each([
    ["names the preview if the API responds", undefined, 200, /PREVIEW=browser/],
    [
      "names the origin if it does not respond",
      AWAY,
      200,
      /page's origin must be an origin of the app/,
    ],
    ["names an app that does not exist", undefined, 404, /has no app wiki$/],
  ])("without a response, as in a browser, %s", async (_, away, session, message) => {
    stub.sessionStatus = session;
    const url = away ?? server.url.origin;
    const app = createAppClient<Tables>({ url, identityUrl: AWAY, app: "wiki", retries: 0 });
    const failure = await failureOf(app.db.todos.list());
    expect(failure).toMatchObject({ status: 0, code: "network_error", retryable: true });
    expect(failure.message).toMatch(message);
  });

  test("is the reason why the first getSession() cannot reach the service", async () => {
    const app = createAppClient<Tables>({ url: AWAY, identityUrl: AWAY, app: "wiki" });
    expect((await failureOf(app.getSession())).message).toMatch(/must be an origin of the app$/);
  });
});
