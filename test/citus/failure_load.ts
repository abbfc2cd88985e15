/**
 * Callers of several apps who record their responses: each write is done, not done or unknown, each response
 * is the caller's own or not, and each took its time.
 *
 * @module
 */
import type { TestApp } from "../support/service.ts";

export const TABLE = "stormed";
const PATH = `/v1/data/db/${TABLE}`;
/** Past every deadline of the service's own: a response that takes longer counts as lost. */
const LOST_MS = 45_000;
const BATCH = 3;

/** How one request ended: `ok`, or its error's code. */
export type End = { app: string; kind: string; end: string; startedAt: number; endedAt: number };

export type Book = {
  ends: End[];
  /** Responses that no caller may get. */
  wrong: string[];
  /** Titles of rows by the response to their create; of one that was sent until it was done, once. */
  done: Set<string>;
  notDone: Set<string>;
  unknown: Set<string>;
  batches: string[][];
  /** By the title of an updated row: what was acknowledged last, and what may have been written. */
  counters: Map<string, Counter>;
};
export type Counter = { id: string; acknowledged: number; unknown: Set<number> };

export type Load = { book: Book; stop: () => Promise<void> };

export function startLoad(url: string, apps: readonly TestApp[], callersPerApp: number): Load {
  const book: Book = {
    ends: [],
    wrong: [],
    done: new Set(),
    notDone: new Set(),
    unknown: new Set(),
    batches: [],
    counters: new Map(),
  };
  const state = { isRunning: true };
  const callers = apps.flatMap((app) =>
    Array.from({ length: callersPerApp }, () => call({ url, app, book, state, title: nonce(app) })),
  );
  return {
    book,
    stop: async () => {
      state.isRunning = false;
      await Promise.all(callers);
    },
  };
}

type Caller = {
  url: string;
  app: TestApp;
  book: Book;
  state: { isRunning: boolean };
  title: string;
};

async function call(caller: Caller): Promise<void> {
  const { app, book, state, title } = caller;
  const made = await send(caller, "create", { method: "POST", json: { title, count: 0 } });
  const counter = { id: String(made.body["id"]), acknowledged: 0, unknown: new Set<number>() };
  book.counters.set(title, counter);
  const turns = [
    () => get(caller, counter),
    () => update(caller, counter),
    () => createOnce(caller),
    () => list(caller),
    () => create(caller, [nonce(app)]),
    () =>
      create(
        caller,
        Array.from({ length: BATCH }, () => nonce(app)),
      ),
  ];
  for (let turn = Math.floor(Math.random() * turns.length); state.isRunning; turn++) {
    await turns[turn % turns.length]?.();
    await Bun.sleep(5);
  }
}

const nonce = ({ slug }: TestApp) => `${slug} ${crypto.randomUUID()}`;

type Request = { method?: string; path?: string; json?: unknown; headers?: HeadersInit };
type CallResult = { end: string; body: Record<string, unknown> };

async function send(caller: Caller, kind: string, request: Request): Promise<CallResult> {
  const { url, app, book } = caller;
  const { method = "GET", path = "", json } = request;
  const headers = new Headers(request.headers);
  headers.set("authorization", `Bearer ${app.key}`);
  headers.set("content-type", "application/json");
  const startedAt = performance.now();
  const note = (end: string, body: Record<string, unknown> = {}) => {
    book.ends.push({ app: app.id, kind, end, startedAt, endedAt: performance.now() });
    return { end, body };
  };
  try {
    const response = await fetch(`${url}${PATH}${path}`, {
      method,
      headers,
      signal: AbortSignal.timeout(LOST_MS),
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    const body = (await response.json()) as Record<string, unknown>;
    if (response.ok) return note("ok", body);
    const failed = note(String(body["error"]));
    // Who is rejected at once comes again a little later, as Retry-After asks.
    await Bun.sleep(50);
    return failed;
  } catch {
    return note("lost");
  }
}

/** Without a key: it is there if it was acknowledged, and only then, unless its outcome is unknown. */
async function create(caller: Caller, titles: readonly string[]): Promise<void> {
  const { book } = caller;
  const rows = titles.map((title) => ({ title, count: 0 }));
  const isBatch = rows.length > 1;
  if (isBatch) book.batches.push([...titles]);
  const { end } = await send(caller, isBatch ? "batch" : "create", {
    method: "POST",
    json: isBatch ? rows : rows[0],
  });
  const as = { ok: book.done, unknown_outcome: book.unknown, lost: book.unknown }[end];
  for (const title of titles) (as ?? book.notDone).add(title);
}

/** With a key, again and again until it is done: it happens once. */
async function createOnce(caller: Caller): Promise<void> {
  const { app, book, state } = caller;
  const title = nonce(app);
  const headers = { "idempotency-key": crypto.randomUUID() };
  const request = { method: "POST", json: { title, count: 0 }, headers };
  let last = "";
  while (last !== "ok" && state.isRunning)
    last = (await send(caller, "create with a key", request)).end;
  (last === "ok" ? book.done : book.unknown).add(title);
}

async function update(caller: Caller, counter: Counter): Promise<void> {
  const count = Math.max(counter.acknowledged, ...counter.unknown) + 1;
  const { end } = await send(caller, "update", {
    method: "PATCH",
    path: `/${counter.id}`,
    json: { count },
  });
  if (end === "ok") counter.acknowledged = count;
  if (end === "unknown_outcome" || end === "lost") counter.unknown.add(count);
}

/** Whether a counter may have this value. */
export function isExpected({ acknowledged, unknown }: Counter, count: unknown): boolean {
  return count === acknowledged || (typeof count === "number" && unknown.has(count));
}

async function get(caller: Caller, counter: Counter): Promise<void> {
  const { end, body } = await send(caller, "get", { path: `/${counter.id}` });
  const isOwn = body["title"] === caller.title && isExpected(counter, body["count"]);
  if (end === "ok" && !isOwn)
    caller.book.wrong.push(
      `${caller.title} at ${counter.acknowledged} got ${JSON.stringify(body)}`,
    );
}

async function list(caller: Caller): Promise<void> {
  const { end, body } = await send(caller, "list", { path: "?limit=20" });
  if (end !== "ok") return;
  const rows = body["rows"] as { title: string }[];
  if (rows.length === 0 || rows.some(({ title }) => !title.startsWith(caller.app.slug)))
    caller.book.wrong.push(`a list of ${caller.app.slug} got ${JSON.stringify(rows)}`);
}
