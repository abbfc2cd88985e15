/** Network failures of a call. The stub simulates proxies and cables; data_test.ts tests the service. */
import { afterEach, describe, expect, test } from "bun:test";
import { casesBy } from "../../test/support/cases.ts";
import { createDataClient, DataError } from "./data.ts";

type Tables = {
  todos: {
    row: { id: string; title: string };
    insert: { title: string };
    update: { title?: string };
  };
};
type Client = ReturnType<typeof createDataClient<Tables>>;
type Sent = { url: string; method: string; headers: Headers };
type Reply = () => Response | Promise<Response>;

const KEY = "rh_secretsecret00.key";
const ID = "0190163d-8694-739b-aea5-966c26f8ad91";
const ROW = { id: ID, title: "Milk" };
const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

/** A server that returns these replies in order, repeats the last reply, and counts the requests. */
function serve(...replies: readonly Reply[]): { url: string; requests: Sent[] } {
  const requests: Sent[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const { url, method, headers } = request;
      requests.push({ url, method, headers: new Headers(headers) });
      const reply = replies[Math.min(requests.length, replies.length) - 1];
      return reply?.() ?? new Response(null, { status: 500 });
    },
  });
  open.push(() => void server.stop(true));
  return { url: `http://127.0.0.1:${server.port}`, requests };
}

/** A server that sends these bytes on each connection, closes it, and counts the connections. */
function listen(...replies: readonly string[]): { url: string; count: () => number } {
  let count = 0;
  const server = Bun.listen({
    port: 0,
    hostname: "127.0.0.1",
    socket: {
      data(socket) {
        socket.end(replies[Math.min(count, replies.length - 1)] ?? "");
        count++;
      },
    },
  });
  open.push(() => server.stop(true));
  return { url: `http://127.0.0.1:${server.port}`, count: () => count };
}

function connect(url: string, options: { timeoutMs?: number; retries?: number } = {}): Client {
  return createDataClient<Tables>({ baseUrl: url, apiKey: KEY, ...options });
}

async function failureOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    (response) => new Error(`Cannot find a failure: the response was ${JSON.stringify(response)}`),
    (error: unknown) => error,
  );
}

const row: Reply = () => Response.json(ROW);
const gone: Reply = () => new Response(null, { status: 204 });
const missing: Reply = () =>
  Response.json({ error: "not_found", message: "No row" }, { status: 404 });
const reject =
  (status: number, error?: string, headers: Record<string, string> = {}): Reply =>
  () =>
    error === undefined
      ? new Response(null, { status, headers })
      : Response.json({ error }, { status, headers });
const never: Reply = () => new Promise(() => {});

const calls: { name: string; repeatable: boolean; call: (db: Client) => Promise<unknown> }[] = [
  { name: "list", repeatable: true, call: (db) => db.todos.list() },
  { name: "get", repeatable: true, call: (db) => db.todos.get(ID) },
  { name: "delete", repeatable: true, call: (db) => db.todos.delete(ID) },
  { name: "create", repeatable: true, call: (db) => db.todos.create({ title: "Milk" }) },
  { name: "update", repeatable: false, call: (db) => db.todos.update(ID, { title: "Milk" }) },
];

describe("a response of an intermediary", () => {
  test.each(
    casesBy<Reply>({
      302: { "a redirect": () => Response.redirect("/login", 302) },
      400: { "an empty 400": reject(400) },
      403: { "other text": () => Response.json({ error: {}, details: 1 }, { status: 403 }) },
      404: { "an empty 404 instead of a missing row": reject(404) },
      413: { "an empty 413": reject(413) },
      431: { "an empty 431": reject(431) },
      500: {
        "a page": () =>
          new Response("<h1>Oops</h1>", { status: 500, headers: { "x-request-id": "r1" } }),
        "a list": () => Response.json(["error"], { status: 500 }),
      },
    }),
  )("is a typed error: $name", async ({ name, value: reply, expected }) => {
    const { url, requests } = serve(reply);
    const error = await failureOf(connect(url).todos.create({ title: "Milk" }));
    const want = { status: Number(expected), ...(name === "a page" && { requestId: "r1" }) };
    expect(error).toBeInstanceOf(DataError);
    expect(error).toMatchObject({ code: "request_failed", details: [], retryable: false, ...want });
    expect(requests).toHaveLength(1);
  });

  const page: Reply = () => new Response("<h1>Welcome</h1>");
  test.each(
    casesBy<Reply>({
      get: {
        "with an HTML page": page,
        "with another object": () => Response.json({ ok: true }),
        "with an empty response": gone,
      },
      list: {
        "with one row": row,
        "with invalid rows": () => Response.json({ rows: [1], hasMore: false }),
      },
      delete: { "with an HTML page": page },
    }),
  )("is not a success: $expected $name", async ({ value: reply, expected }) => {
    const { todos } = connect(serve(reply).url);
    const error = await failureOf(
      expected === "list" ? todos.list() : todos[expected as "get"](ID),
    );
    expect(error).toMatchObject({
      name: "DataError",
      code: "unreadable_response",
      retryable: false,
    });
  });
});

describe("a temporary failure", () => {
  test.each(
    calls.flatMap((call) => [429, 502, 503, 504, 521].map((status) => ({ ...call, status }))),
  )(
    "is retried only for reads, deletes and creates: $name after $status",
    async ({ call, status, repeatable, name }) => {
      const responses = {
        list: () => Response.json({ rows: [], limit: 1, offset: 0, hasMore: false }),
        delete: gone,
      };
      const last = name === "list" ? responses.list : name === "delete" ? responses.delete : row;
      const { url, requests } = serve(reject(status, undefined, { "retry-after": "0" }), last);
      const outcome = await call(connect(url)).then(
        () => "done",
        (error: unknown) => error,
      );
      if (repeatable) expect(outcome).toBe("done");
      else expect(outcome).toMatchObject({ status, code: "request_failed", retryable: false });
      expect(requests).toHaveLength(repeatable ? 2 : 1);
    },
  );

  test.each(calls)(
    "of the connection is retried only for reads, deletes and creates: $name",
    async ({ call, repeatable }) => {
      const { url, count } = listen("");
      const error = await failureOf(call(connect(url, { retries: 1 })));
      expect(error).toMatchObject({
        name: "DataError",
        status: 0,
        code: "network_error",
        message: expect.stringContaining(`: Cannot reach the data service at ${url}`),
        retryable: repeatable,
      });
      expect(error).toHaveProperty("cause", expect.any(Error));
      expect(Bun.inspect(error)).not.toContain(KEY);
      // Some HTTP clients retry an interrupted GET, but never a POST or a PATCH.
      if (repeatable) expect(count()).toBeGreaterThanOrEqual(2);
      else expect(count()).toBe(1);
    },
  );

  test("in the middle of a response is retried", async () => {
    const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    const whole = JSON.stringify(ROW);
    const { url } = listen(
      `${head}content-length: 1000\r\n\r\n${whole}`,
      `${head}content-length: ${whole.length}\r\n\r\n${whole}`,
    );
    expect(await connect(url).todos.get(ID)).toEqual(ROW);
  });

  test("is an error after the last try", async () => {
    const { url, requests } = serve(reject(503, "overloaded", { "retry-after": "0" }));
    const error = await failureOf(connect(url, { retries: 3 }).todos.get(ID));
    const want = { status: 503, code: "overloaded", retryable: true, retryAfterMs: 0 };
    expect(error).toMatchObject(want);
    expect(requests).toHaveLength(4);
  });

  test("is not retried if retries are off", async () => {
    const { url, requests } = serve(reject(503, "overloaded"));
    await failureOf(connect(url, { retries: 0 }).todos.get(ID));
    expect(requests).toHaveLength(1);
  });

  test.each([
    { name: "an overloaded service", code: "overloaded", status: 503, retryable: true },
    { name: "too many requests", code: "rate_limited", status: 429, retryable: true },
    { name: "an unknown outcome", code: "unknown_outcome", status: 503, retryable: false },
    { name: "a timeout", code: "timeout", status: 504, retryable: false },
  ])("does not retry an update: $name", async ({ code, status, retryable }) => {
    const { url, requests } = serve(reject(status, code, { "retry-after": "7" }));
    const error = await failureOf(connect(url).todos.update(ID, { title: "Milk" }));
    expect(error).toMatchObject({ status, code, retryable, retryAfterMs: 7000 });
    expect(requests).toHaveLength(1);
  });
});

test.each([
  { name: "create", act: (db: ReturnType<typeof connect>) => db.todos.create({ title: "Milk" }) },
  { name: "delete", act: (db: ReturnType<typeof connect>) => db.todos.delete(ID) },
])("a $name of a read-only app is not retried", async ({ act }) => {
  const { url, requests } = serve(reject(503, "read_only", { "retry-after": "0" }), row);
  const error = await failureOf(act(connect(url)));
  expect(error).toMatchObject({ status: 503, code: "read_only", retryable: false });
  expect(requests).toHaveLength(1);
});

describe("a create", () => {
  const now = { "retry-after": "0" };
  const keyOf = ({ headers }: Sent) => headers.get("idempotency-key");

  test("has one key for all its attempts, and no other create has the key", async () => {
    const lost = reject(503, "unknown_outcome", now);
    const { url, requests } = serve(lost, lost, row, row);
    const db = connect(url);
    expect(await db.todos.create({ title: "Milk" })).toEqual(ROW);
    await db.todos.create({ title: "Milk" });
    const [first, second, third, other] = requests.map(keyOf);
    expect(first).toMatch(/^[0-9a-f]{32}$/);
    expect([second, third, other === first]).toEqual([first, first, false]);
  });

  test("is sent once without a key if the service has no space for keys", async () => {
    const { url, requests } = serve(
      reject(429, "idempotency_full", { "retry-after": "600" }),
      reject(503, "unknown_outcome", now),
      row,
    );
    const error = await failureOf(connect(url).todos.create({ title: "Milk" }));
    expect(error).toMatchObject({ code: "unknown_outcome", retryable: false });
    expect(requests.map((sent) => keyOf(sent) === null)).toEqual([false, true]);
  });

  test("is read again if its replayed response has only the id", async () => {
    const short: Reply = () =>
      Response.json(
        { id: ID },
        { status: 201, headers: { "preference-applied": "return=minimal" } },
      );
    const { url, requests } = serve(short, row);
    expect(await connect(url).todos.create({ title: "Milk" })).toEqual(ROW);
    expect(requests.map(({ method }) => method)).toEqual(["POST", "GET"]);
  });

  const many: Reply = () => Response.json({ rows: [ROW, ROW] }, { status: 201 });

  test("of many rows has one key", async () => {
    const { url, requests } = serve(reject(503, "unknown_outcome", now), many);
    const rows = await connect(url).todos.createMany([{ title: "Milk" }, { title: "Milk" }]);
    expect(rows).toEqual([ROW, ROW]);
    const [first, second] = requests.map(keyOf);
    expect([first?.length, second]).toEqual([32, first]);
  });

  test("of many rows is read row by row if its replayed response has only ids", async () => {
    const ids = Array.from({ length: 25 }, () => ({ id: ID }));
    const headers = { "preference-applied": "return=minimal" };
    const { url, requests } = serve(() => Response.json({ rows: ids }, { headers }), row);
    const rows = await connect(url).todos.createMany(ids.map(() => ({ title: "Milk" })));
    expect([rows.length, rows.at(-1), requests.length]).toEqual([25, ROW, 26]);
  });

  test.each([
    { name: "fewer rows than were sent", reply: many },
    { name: "a single row", reply: row },
    { name: "no rows", reply: () => Response.json({ rows: [1, 2, 3] }) },
  ])("of many rows rejects $name as the response", async ({ reply }) => {
    const values = Array.from({ length: 3 }, () => ({ title: "Milk" }));
    const error = await failureOf(connect(serve(reply).url).todos.createMany(values));
    expect(error).toMatchObject({ code: "unreadable_response", name: "DataError" });
  });

  test("is the only call with a key", async () => {
    const { url, requests } = serve(row);
    const db = connect(url);
    await db.todos.get(ID);
    await db.todos.update(ID, { title: "Milk" });
    expect(requests.map(keyOf)).toEqual([null, null]);
  });
});

describe("Retry-After", () => {
  test("of a second delays the next attempt", async () => {
    const { url } = serve(reject(503, "unavailable", { "retry-after": "1" }), row);
    const startedAt = performance.now();
    expect(await connect(url).todos.get(ID)).toEqual(ROW);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(990);
  });

  test.each([
    { name: "above the maximum wait", header: "3600" },
    { name: "of a date in the distant future", header: "Fri, 31 Dec 9999 23:59:59 GMT" },
  ])("$name is an immediate error", async ({ header }) => {
    const { url, requests } = serve(reject(429, "rate_limited", { "retry-after": header }), row);
    expect(await failureOf(connect(url).todos.get(ID))).toMatchObject({
      status: 429,
      retryable: true,
    });
    expect(requests).toHaveLength(1);
  });

  test("above the call's timeout is an immediate error", async () => {
    const { url } = serve(reject(503, "unavailable", { "retry-after": "5" }), row);
    const error = await failureOf(connect(url).todos.get(ID, { timeoutMs: 2000 }));
    expect(error).toMatchObject({ status: 503, code: "unavailable", retryAfterMs: 5000 });
  });
});

describe("a retried delete that finds no row", () => {
  const now = { "retry-after": "0" };
  test.each([
    { name: "after 502", reply: reject(502, undefined, now) },
    { name: "after 504", reply: reject(504, "timeout", now) },
    { name: "after an unknown outcome", reply: reject(503, "unknown_outcome", now) },
  ])("succeeds, because the first attempt can have deleted it: $name", async ({ reply }) => {
    const { url, requests } = serve(reply, missing);
    expect(await connect(url).todos.delete(ID)).toBeUndefined();
    expect(requests).toHaveLength(2);
  });

  test("succeeds after a lost response", async () => {
    const body = '{"error":"not_found"}';
    const response = `HTTP/1.1 404 Not Found\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    expect(await connect(listen("HTTP/1.1 204", response).url).todos.delete(ID)).toBeUndefined();
  });

  test.each([
    { name: "at the first attempt", replies: [missing] },
    { name: "after 429", replies: [reject(429, "rate_limited", now), missing] },
    { name: "after a full queue", replies: [reject(503, "overloaded", now), missing] },
  ])("is an error if no earlier attempt can have succeeded: $name", async ({ replies }) => {
    const error = await failureOf(connect(serve(...replies).url).todos.delete(ID));
    expect(error).toMatchObject({ status: 404, code: "not_found" });
  });

  test("is an error if the table is missing", async () => {
    const { url } = serve(reject(502, undefined, now), reject(404, "unknown_table"));
    expect(await failureOf(connect(url).todos.delete(ID))).toMatchObject({ code: "unknown_table" });
  });
});

describe("a call over its timeout", () => {
  test.each(calls)("ends with a timeout: $name", async ({ call, repeatable }) => {
    const { url } = serve(never);
    const error = await failureOf(call(connect(url, { timeoutMs: 50 })));
    const want = { name: "DataError", status: 0, code: "timeout", retryable: repeatable };
    expect(error).toMatchObject(want);
  });

  test("ends during its body", async () => {
    const slow = () =>
      new Response(new ReadableStream({ start: (body) => body.enqueue(new Uint8Array([123])) }));
    const error = await failureOf(connect(serve(slow).url).todos.get(ID, { timeoutMs: 50 }));
    expect(error).toMatchObject({ code: "timeout" });
  });

  test("can run without a timeout", async () => {
    const { url } = serve(row);
    const db = connect(url, { timeoutMs: Number.POSITIVE_INFINITY });
    expect(await db.todos.get(ID)).toEqual(ROW);
  });
});

describe("the caller's signal", () => {
  test("ends a call with an AbortError", async () => {
    const controller = new AbortController();
    const stub = serve(() => {
      controller.abort();
      return never();
    });
    const error = await failureOf(connect(stub.url).todos.get(ID, { signal: controller.signal }));
    expect(error).toMatchObject({ name: "AbortError" });
    expect(error).not.toBeInstanceOf(DataError);
    expect(stub.requests).toHaveLength(1);
  });

  test("ends the wait before the next attempt, with its reason", async () => {
    const controller = new AbortController();
    const reason = new Error("The page was left");
    const { url, requests } = serve(() => {
      setTimeout(() => controller.abort(reason), 20);
      return reject(503, "unavailable", { "retry-after": "9" })();
    });
    expect(await failureOf(connect(url).todos.get(ID, { signal: controller.signal }))).toBe(reason);
    expect(requests).toHaveLength(1);
  });

  test("ends an iteration", async () => {
    const controller = new AbortController();
    const { url } = serve(() => Response.json({ rows: [ROW], limit: 1, offset: 0, hasMore: true }));
    const rows: unknown[] = [];
    const iterate = async () => {
      for await (const one of connect(url).todos.all({ signal: controller.signal })) {
        if (rows.push(one) === 3) controller.abort();
      }
    };
    expect(await failureOf(iterate())).toMatchObject({ name: "AbortError" });
    expect(rows).toHaveLength(3);
  });
});

test("the client sends the key and JSON, and adds no other header", async () => {
  const { url, requests } = serve(row);
  await connect(url).todos.create({ title: "Milk" });
  await connect(`${url}/base//`).todos.get("ä/1?");
  const [created, got] = requests;
  expect(created?.headers.get("authorization")).toBe(`Bearer ${KEY}`);
  expect(created?.headers.get("content-type")).toBe("application/json");
  expect(got?.headers.has("content-type")).toBe(false);
  expect(got?.url).toBe(`${url}/base/v1/data/db/todos/%C3%A4%2F1%3F`);
});
