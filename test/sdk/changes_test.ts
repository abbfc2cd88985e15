/** `changes()` of the client: no change is missed through lost connections, slow loops and several loops, and no stream stays open. */
import { expect, test } from "bun:test";
import { passOn } from "../../src/gateway/mod.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { createDataClient, type TableChanges } from "../../src/sdk/data.ts";
import { eventually } from "../support/eventually.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({ todos: { title: t.string().required() } });
type Todo = Awaited<ReturnType<ReturnType<typeof connect>["todos"]["create"]>>;
type Events = AsyncGenerator<TableChanges<Todo>, void, undefined>;

/** The streams that the client opened: which are open, and how to interrupt them. */
const open = new Set<AbortController>();
let opened = 0;
const service = await share(openTestService({ service: { previews: ["live"] } }));
const app = await makeLiveApp();
const proxy = await share(Bun.serve({ port: 0, idleTimeout: 0, fetch: serve }));

async function makeLiveApp(): Promise<TestApp> {
  const made = await service.makeApp(schema);
  await setAppSwitch(service.service, made.slug, ["live", true]);
  return made;
}

async function serve(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const { method } = request;
  const headers = new Headers(request.headers);
  headers.set("accept-encoding", "identity");
  const body = method === "GET" ? null : await request.text();
  if (!pathname.endsWith("/changes"))
    return fetch(service.url + pathname + search, { method, headers, body });
  const stop = new AbortController();
  opened++;
  open.add(stop);
  const end = () => {
    open.delete(stop);
    stop.abort();
  };
  request.signal.addEventListener("abort", end);
  stop.signal.addEventListener("abort", end);
  const response = await fetch(service.url + pathname, { headers, signal: stop.signal });
  // Bun prints the reason why a passed on body breaks off.
  return new Response(response.body && passOn(response.body, () => undefined), response);
}

const connect = (key = app.key) =>
  createDataClient({ baseUrl: `http://127.0.0.1:${proxy.port}`, apiKey: key, schema });

async function next(events: Events): Promise<TableChanges<Todo>> {
  const { value } = await events.next();
  if (value === undefined) throw new Error("The loop has ended");
  return value;
}

/** Reads until a row has this title. */
async function untilTitle(events: Events, title: string): Promise<TableChanges<Todo>> {
  for (;;) {
    const event = await next(events);
    if (event.put.some((row) => row.title === title)) return event;
  }
}

test("the loop reports the rows and ids of the stream, and continues after a cursor", async () => {
  const db = connect();
  const events = db.todos.changes();
  expect(await next(events)).toMatchObject({ type: "ready", put: [], deleted: [] });
  const row = await db.todos.create({ title: "one" });
  const created = await untilTitle(events, "one");
  expect(created).toMatchObject({ type: "changes", put: [row], deleted: [] });
  await events.return();
  await db.todos.delete(row.id);
  const later = db.todos.changes({ since: created.cursor });
  expect(await next(later)).toMatchObject({ type: "changes", put: [], deleted: [row.id] });
  await later.return();
  const unknown = db.todos.changes({ since: "unknown" });
  expect(await next(unknown)).toMatchObject({ type: "reset", put: [], deleted: [] });
  await unknown.return();
  await eventually(() => open.size === 0);
});

test("the loop rejects a text that is no cursor", async () => {
  for (const since of ["", "two words", "a\nb"])
    await expect(next(connect().todos.changes({ since }))).rejects.toThrow(TypeError);
});

test("loops share one stream, and each begins with ready", async () => {
  const db = connect();
  const before = opened;
  const first = db.todos.changes();
  await next(first);
  const second = db.todos.changes();
  expect((await next(second)).type).toBe("ready");
  await db.todos.create({ title: "shared" });
  for (const events of [first, second]) await untilTitle(events, "shared");
  expect(opened - before).toBe(1);
  await first.return();
  expect(open.size).toBe(1);
  await second.return();
  await eventually(() => open.size === 0);
});

test("a change during a lost connection is not missed", async () => {
  const db = connect();
  const events = db.todos.changes();
  await next(events);
  for (const stream of open) stream.abort();
  await db.todos.create({ title: "meanwhile" });
  await untilTitle(events, "meanwhile");
  await events.return();
  await eventually(() => open.size === 0);
});

test("a loop that does not read gets a reset instead of an unlimited queue", async () => {
  const db = connect();
  const slow = db.todos.changes();
  await next(slow);
  const fast = db.todos.changes();
  const text = "x".repeat(90_000);
  let title = "";
  for (let number = 0; number < 14; number++) {
    title = `${number} ${text}`;
    await db.todos.create({ title });
    await untilTitle(fast, title);
  }
  expect((await next(slow)).type).toBe("reset");
  await Promise.all([slow.return(), fast.return()]);
  await eventually(() => open.size === 0);
});

test.each<{ name: string; end: (events: Events, abort: AbortController) => unknown }>([
  { name: "return()", end: (events) => events.return() },
  { name: "its signal", end: (_events, abort) => abort.abort() },
])("a waiting loop ends by $name, and closes the stream", async ({ name, end }) => {
  const abort = new AbortController();
  const events = connect().todos.changes({ signal: abort.signal });
  await next(events);
  const waiting = events.next().catch((error: unknown) => (error as Error).name);
  await end(events, abort);
  expect(await waiting).toEqual(
    name === "return()" ? { done: true, value: undefined } : "AbortError",
  );
  await eventually(() => open.size === 0);
});

test("a waiting watch ends by return(), although its caller passed no signal", async () => {
  const pages = connect().todos.watch({ everyMs: 3_600_000 });
  await pages.next();
  const waiting = pages.next();
  await pages.return();
  expect(await waiting).toEqual({ done: true, value: undefined });
  await eventually(() => open.size === 0);
});

test("waits leave no listener on the caller's signal", async () => {
  const { signal } = new AbortController();
  let listeners = 0;
  const counted = new Proxy(signal, {
    get: (target, name) => {
      if (name === "addEventListener") listeners++;
      if (name === "removeEventListener") listeners--;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const db = connect();
  const pages = db.todos.watch({ signal: counted, limit: 1, everyMs: 1 });
  const events = db.todos.changes({ signal: counted });
  await Promise.all([pages.next(), events.next()]);
  const { id } = await db.todos.create({ title: "first" });
  for (let number = 0; number < 6; number++) {
    await db.todos.update(id, { title: `number ${number}` });
    await untilTitle(events, `number ${number}`);
  }
  expect(listeners).toBe(2);
  await Promise.all([pages.return(), events.return()]);
  expect(listeners).toBe(0);
});

test("the loop says what is missing if the app is not live, and ends with a rejected key", async () => {
  const plain = await service.makeApp(schema);
  const error = await next(connect(plain.key).todos.changes()).catch((error: unknown) => error);
  expect(error).toMatchObject({ name: "DataError", status: 501, code: "not_implemented" });
  expect((error as Error).message).toContain("live");
  const rejected = next(connect("rh_wrong").todos.changes());
  await expect(rejected).rejects.toMatchObject({ code: "unauthenticated" });
  // The next loop tries again.
  const db = connect(plain.key);
  await expect(next(db.todos.changes())).rejects.toMatchObject({ code: "not_implemented" });
  await setAppSwitch(service.service, plain.slug, ["live", true]);
  const events = db.todos.changes();
  expect((await next(events)).type).toBe("ready");
  await events.return();
});
