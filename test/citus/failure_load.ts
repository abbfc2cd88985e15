/**
 * Callers of several apps that record their responses: whether each write is done, not done or unknown, whether each response
 * is correct, and the duration of each.
 *
 * @module
 */
import type { TestApp } from "../support/service.ts";

export const TABLE = "loaded";
const PATH = `/v1/data/db/${TABLE}`;
/** Longer than every deadline of the service. A later response counts as lost. */
const LOST_MS = 45_000;
const BATCH = 3;

/** The result of a request: `ok`, or its error's code. */
export type End = { app: string; kind: string; end: string; startedAt: number; endedAt: number };

export type LoadRecord = {
  ends: End[];
  /** Responses with another caller's rows or an impossible count. */
  wrong: string[];
  /** Titles of rows, by the response to their create. */
  done: Set<string>;
  notDone: Set<string>;
  unknown: Set<string>;
  batches: string[][];
  /** By the title of an updated row: the last acknowledged value, and values with an unknown outcome. */
  counters: Map<string, Counter>;
};
export type Counter = { id: string; acknowledged: number; unknown: Set<number> };

export type Load = { record: LoadRecord; stop: () => Promise<void> };

export function startLoad(url: string, apps: readonly TestApp[], callersPerApp: number): Load {
  const record: LoadRecord = {
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
    Array.from({ length: callersPerApp }, () =>
      call({ url, app, record, state, title: nonce(app) }),
    ),
  );
  return {
    record,
    stop: async () => {
      state.isRunning = false;
      await Promise.all(callers);
    },
  };
}

type Caller = {
  url: string;
  app: TestApp;
  record: LoadRecord;
  state: { isRunning: boolean };
  title: string;
};

async function call(caller: Caller): Promise<void> {
  const { app, record, state, title } = caller;
  const created = await send(caller, "create", { method: "POST", json: { title, count: 0 } });
  const counter = { id: String(created.body["id"]), acknowledged: 0, unknown: new Set<number>() };
  record.counters.set(title, counter);
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
  const { url, app, record } = caller;
  const { method = "GET", path = "", json } = request;
  const headers = new Headers(request.headers);
  headers.set("authorization", `Bearer ${app.key}`);
  headers.set("content-type", "application/json");
  const startedAt = performance.now();
  const end = (result: string, body: Record<string, unknown> = {}) => {
    record.ends.push({ app: app.id, kind, end: result, startedAt, endedAt: performance.now() });
    return { end: result, body };
  };
  try {
    const request = (isAgain: boolean) =>
      fetch(`${url}${PATH}${path}`, {
        method,
        headers,
        keepalive: !isAgain,
        signal: AbortSignal.timeout(LOST_MS),
        ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      });
    // A worker that ends closes idle connections: then clients send once more on a new one.
    const response = await request(false).catch((error: unknown) => {
      if (Object(error).code !== "ECONNRESET") throw error;
      return request(true);
    });
    const body = (await response.json()) as Record<string, unknown>;
    if (response.ok) return end("ok", body);
    const failed = end(String(body["error"]));
    // Rejected callers pause, as Retry-After asks.
    await Bun.sleep(50);
    return failed;
  } catch {
    return end("lost");
  }
}

/** Creates rows without an idempotency key. Unless the outcome is unknown, exactly the acknowledged rows are stored. */
async function create(caller: Caller, titles: readonly string[]): Promise<void> {
  const { record } = caller;
  const rows = titles.map((title) => ({ title, count: 0 }));
  const isBatch = rows.length > 1;
  if (isBatch) record.batches.push([...titles]);
  const { end } = await send(caller, isBatch ? "batch" : "create", {
    method: "POST",
    json: isBatch ? rows : rows[0],
  });
  const titlesByEnd = { ok: record.done, unknown_outcome: record.unknown, lost: record.unknown };
  const target = titlesByEnd[end as keyof typeof titlesByEnd] ?? record.notDone;
  for (const title of titles) target.add(title);
}

/** Creates a row with an idempotency key, and retries until it is done. The row is created only once. */
async function createOnce(caller: Caller): Promise<void> {
  const { app, record, state } = caller;
  const title = nonce(app);
  const headers = { "idempotency-key": crypto.randomUUID() };
  const request = { method: "POST", json: { title, count: 0 }, headers };
  let last = "";
  while (last !== "ok" && state.isRunning)
    last = (await send(caller, "create with a key", request)).end;
  (last === "ok" ? record.done : record.unknown).add(title);
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

export type StoredRow = { title: string; count: number };
/** The query of all rows, of a superuser. */
export const STORED_ROWS = `select title, count::float8 as count from data.${TABLE}`;

/** Responses and rows that contradict each other, acknowledged writes that are not stored, and rows that are stored twice. */
export function compareRecord(record: LoadRecord, rows: readonly StoredRow[]) {
  const counted = new Map<string, number>();
  for (const { title } of rows) counted.set(title, (counted.get(title) ?? 0) + 1);
  const isStored = (title: string) => counted.has(title);
  const counters = new Map(rows.map(({ title, count }) => [title, count]));
  const isStale = ([title, counter]: [string, Counter]) =>
    !isExpected(counter, counters.get(title));
  const isTorn = (batch: string[]) => new Set(batch.map(isStored)).size > 1;
  return {
    wrong: [
      ...record.wrong,
      ...[...record.notDone].filter(isStored),
      ...record.batches.filter(isTorn).map(String),
    ],
    lost: [
      ...[...record.done].filter((title) => !isStored(title)),
      ...[...record.counters].filter(isStale).map(String),
    ],
    doubled: [...counted].filter(([, count]) => count > 1).map(String),
  };
}

/** Returns whether a counter can have this value. */
function isExpected({ acknowledged, unknown }: Counter, count: unknown): boolean {
  return count === acknowledged || (typeof count === "number" && unknown.has(count));
}

async function get(caller: Caller, counter: Counter): Promise<void> {
  const { end, body } = await send(caller, "get", { path: `/${counter.id}` });
  const isOwn = body["title"] === caller.title && isExpected(counter, body["count"]);
  if (end === "ok" && !isOwn)
    caller.record.wrong.push(
      `${caller.title} at ${counter.acknowledged} got ${JSON.stringify(body)}`,
    );
}

async function list(caller: Caller): Promise<void> {
  const { end, body } = await send(caller, "list", { path: "?limit=20" });
  if (end !== "ok") return;
  const rows = body["rows"] as { title: string }[];
  if (rows.length === 0 || rows.some(({ title }) => !title.startsWith(caller.app.slug)))
    caller.record.wrong.push(`a list of ${caller.app.slug} got ${JSON.stringify(rows)}`);
}
