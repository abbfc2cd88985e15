/**
 * Pipelined reads: each caller gets its own response, and only calls with the same lock wait for each other, despite
 * errors of the server and the network.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  type Database,
  echoColumn,
  openDatabase,
  type ReadLength,
  SERVICE_QUEUE,
} from "../../src/db/mod.ts";
import { Problem } from "../../src/problem.ts";
import { makeDatabase } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { makeMessage, makeRow, splitRow } from "../support/postgres_protocol.ts";
import { type Action, openPostgresProxy, type PostgresProxy } from "../support/postgres_proxy.ts";
import { share } from "../support/share.ts";

/** One of these connections is for pipelining. */
const CONNECTIONS = 5;
/** Fewer calls than one connection accepts, and than one queue can use of it. */
const CALLS = 20;
const READ = `select $1::text as body, ${echoColumn(2)}`;
const OBSERVE = { retry: "safe", queue: SERVICE_QUEUE } as const;

let proxy: PostgresProxy;
let pool: Database;
let mismatches = 0;
const database = await share(makeDatabase());
const admin = await share(
  openDatabase({ url: database.adminUrl, connections: 2, prepare: true, name: "observer" }),
);
await admin.message(`create table public.notes (note text primary key);
    insert into public.notes values ('first'); select 1`);
beforeEach(async () => {
  proxy = await openPostgresProxy();
  pool = openPool();
  mismatches = 0;
});
afterEach(async () => {
  await pool.close(0);
  await proxy.close();
});

function openPool(prepare = true, connections = CONNECTIONS): Database {
  return openDatabase({
    url: proxy.toUrl(database.adminUrl),
    connections,
    prepare,
    name: "rowhouse test",
    onMismatch: () => void mismatches++,
  });
}

type ReadOptions = {
  text?: string;
  queue?: string;
  signal?: AbortSignal;
  through?: Database;
  length?: ReadLength;
};

/** Returns the text that the database returns for a text: the same text. */
async function read(body: string, options: ReadOptions = {}): Promise<string | null> {
  const { text = READ, queue = "app", signal, through = pool, length = "short" } = options;
  const bytes = await through.bytes(text, [body], {
    retry: "safe",
    queue,
    ...(signal === undefined ? {} : { caller: { signal } }),
    length,
  });
  return bytes === null ? null : Buffer.from(bytes).toString();
}

const bodies = Array.from({ length: CALLS }, (_, index) => `body ${index}`);
const readAll = (options?: ReadOptions) => Promise.all(bodies.map((body) => read(body, options)));

/** Returns the proxy's numbers of the pipelined connections, and of the connections that sent statements. */
function watchConnections(decide: (message: Message) => Action | undefined = () => undefined) {
  const pipelines = new Set<number>();
  const used: number[] = [];
  proxy.onMessage((message) => {
    const { connection, from, type, body, statement } = message;
    if (from === "client" && type === "" && body.includes("rowhouse test pipeline"))
      pipelines.add(connection);
    if (type === "B" && statement?.includes("echo") === true) used.push(connection);
    return pipelines.has(connection) ? decide(message) : undefined;
  });
  return { pipelines, used };
}
type Message = Parameters<Parameters<PostgresProxy["onMessage"]>[0]>[0];

/** Reads until all reads are pipelined. A read waits only briefly for the shared connection to open. */
async function untilPipelined(
  { pipelines, used }: ReturnType<typeof watchConnections>,
  readOnce: () => Promise<unknown> = () => read("nothing of the test"),
): Promise<void> {
  await eventually(async () => {
    used.length = 0;
    await readOnce();
    return used.every((connection) => pipelines.has(connection));
  });
}

test("reads are sent on one connection before the first response", async () => {
  const opened = watchConnections();
  await untilPipelined(opened, () => readAll());
  const sent = watchConnections(({ from }) => (from === "server" ? { hold: true } : undefined));
  for (const connection of opened.pipelines) sent.pipelines.add(connection);
  const responses = readAll();
  await eventually(() => sent.used.length >= CALLS);
  expect(new Set(sent.used.slice(0, CALLS))).toEqual(opened.pipelines);
  proxy.release();
  expect(await responses).toEqual(bodies);
});

test("without prepared statements, as behind an old pooler, no statement is sent before a result", async () => {
  const through = openPool(false);
  const inProgress = new Map<number, number>();
  let most = 0;
  proxy.onMessage(({ connection, from, type }) => {
    const sent = from === "client" && type === "S" ? 1 : 0;
    const ended = from === "server" && type === "Z" ? 1 : 0;
    const count = Math.max((inProgress.get(connection) ?? 0) + sent - ended, 0);
    inProgress.set(connection, count);
    most = Math.max(most, count);
    return undefined;
  });
  const write = async (body: string) => {
    const options = { retry: "unsafe", queue: "app", brief: READ } as const;
    return (await through.bytes("select $1::text as body", [body], options))?.toString();
  };
  for (let round = 0; round < 5; round++) {
    const [read, written] = await Promise.all([
      readAll({ through }),
      Promise.all(bodies.map((body) => write(body))),
    ]);
    expect([read, written]).toEqual([bodies, bodies]);
  }
  expect([inProgress.size, most]).toEqual([CONNECTIONS, 1]);
  await through.close(0);
});

describe("a pending response is never delivered to another caller:", () => {
  const tamper: Record<string, (row: Buffer, before: Buffer) => Action> = {
    "rows in another order": (_, before) => ({ send: [makeMessage("D", before)] }),
    "a duplicated row": (row) => ({ send: [makeMessage("D", row), makeMessage("D", row)] }),
    "a duplicated row with its end": (row) => ({
      send: [makeMessage("D", row), makeMessage("Z", Buffer.from("I"))],
    }),
    "no row": () => ({ send: [] }),
    "an error instead of a row": () => ({
      send: [makeMessage("E", Buffer.from("SERROR\0VERROR\0C22012\0Mno\0\0"))],
    }),
  };
  test.each(Object.entries(tamper))("%s", async (_, change) => {
    let before: Buffer | undefined;
    let changed = 0;
    const watched = watchConnections(({ type, from, body }) => {
      if (from !== "server" || type !== "D" || !body.includes("body")) return undefined;
      const last = before;
      before = Buffer.from(body);
      // Change only the first connection: repeated calls can be pipelined again later.
      if (last === undefined || watched.pipelines.size > 1) return undefined;
      changed++;
      return change(body, last);
    });
    await untilPipelined(watched);
    for (let round = 0; round < 5; round++) expect(await readAll()).toEqual(bodies);
    expect(changed).toBeGreaterThan(0);
  });

  test("the mismatch is logged once, and the connection is closed", async () => {
    const watched = watchConnections(({ type, from, body }) =>
      from === "server" && type === "D" && body.includes("body 7") && mismatches === 0
        ? { send: [makeRow([splitRow(body)[0] ?? body, splitRow(body)[0] ?? body])] }
        : undefined,
    );
    await untilPipelined(watched);
    expect(await readAll()).toEqual(bodies);
    expect(mismatches).toBe(1);
    await untilPipelined(watched, async () => expect(await readAll()).toEqual(bodies));
    expect(watched.pipelines.size).toBe(2);
    expect(mismatches).toBe(1);
  });
});

test("without rows, a result is read again on a separate connection; a row without a value is not", async () => {
  const text = `select note as body, ${echoColumn(2)} from public.notes where note = $1`;
  const nothing = `select null::text as body, ${echoColumn(2)} where $1 <> ''`;
  const watched = watchConnections();
  const { pipelines, used } = watched;
  await untilPipelined(watched);
  used.length = 0;
  expect(await read("second", { text })).toBeNull();
  expect(await read("second", { text: nothing })).toBeNull();
  expect(used.map((connection) => pipelines.has(connection))).toEqual([true, false, true]);
  expect(mismatches).toBe(0);
});

test("an error is attributed to the caller's own attempt", async () => {
  const text = `select (1 / $1::int4)::text as body, ${echoColumn(2)}`;
  const ends = await Promise.allSettled([
    ...bodies.map((body) => read(body)),
    read("0", { text }),
    ...bodies.map((body) => read(body)),
  ]);
  expect(ends.filter(({ status }) => status === "rejected")).toMatchObject([
    { reason: { code: "22012" } },
  ]);
});

/** Holds a lock on the notes while `use` runs. */
async function whileLocked(use: () => Promise<void>): Promise<void> {
  const mark = crypto.randomUUID();
  const lock = admin.message(
    `lock table public.notes in access exclusive mode; select pg_sleep(20) /* ${mark} */`,
  );
  const ask = (what: string) =>
    admin.query(
      `select ${what} from pg_stat_activity join pg_locks using (pid) where position($1::text in query) > 0
        and mode = 'AccessExclusiveLock' and granted and pid <> pg_backend_pid()`,
      [mark],
      OBSERVE,
    );
  const ended = lock.catch(() => undefined);
  await eventually(async () => (await ask("true")).length > 0);
  await use();
  await ask("pg_cancel_backend(pid)");
  await ended;
}

const LOCKED = `select note as body, ${echoColumn(2)} from public.notes where note = $1`;

test("only the caller behind a lock waits, and its queue is not pipelined for a while", async () => {
  const lockedOn = new Set<number>();
  const watched = watchConnections(({ connection, type, body }) => {
    if (type === "P" && body.includes("public.notes")) lockedOn.add(connection);
    return undefined;
  });
  const { pipelines, used } = watched;
  await untilPipelined(watched);
  expect(await read("first", { text: LOCKED })).toBe("first");
  let waiting: Promise<unknown> = Promise.resolve();
  await whileLocked(async () => {
    const isOver: string[] = [];
    waiting = read("first", { text: LOCKED, queue: "locked" }).then((found) =>
      isOver.push(found ?? ""),
    );
    expect(await readAll({ queue: "other" })).toEqual(bodies);
    await eventually(() => pipelines.has(used.at(-1) ?? 0) === false);
    const again = read("first", { text: LOCKED, queue: "locked" });
    expect(await readAll({ queue: "other" })).toEqual(bodies);
    expect(isOver).toEqual([]);
    waiting = Promise.all([waiting, again]);
  });
  await waiting;
  // The caller was pipelined before the lock and once behind it, then not again.
  expect(lockedOn.size).toBe(1);
});

test("callers that cancel or time out cancel nothing on a shared connection", async () => {
  const processes = new Map<number, number>();
  const cancelled: number[] = [];
  const pipelines = new Set<number>();
  proxy.onMessage(({ connection, from, type, body }) => {
    if (from === "server" && type === "K") processes.set(body.readInt32BE(0), connection);
    if (from !== "client" || type !== "") return undefined;
    if (body.includes("rowhouse test pipeline")) pipelines.add(connection);
    if (body.readInt32BE(0) === CANCEL_CODE) cancelled.push(body.readInt32BE(4));
    return undefined;
  });
  await readAll();
  const callers = bodies.map(() => new AbortController());
  await whileLocked(async () => {
    const locked = callers.map(({ signal }) =>
      read("first", { text: LOCKED, queue: "locked", signal }).catch(() => undefined),
    );
    for (const caller of callers) caller.abort();
    expect(await readAll({ queue: "other" })).toEqual(bodies);
    await Promise.all(locked);
  });
  expect(pipelines.size).toBeGreaterThan(0);
  expect(cancelled.filter((pid) => pipelines.has(processes.get(pid) ?? 0))).toEqual([]);
});
const CANCEL_CODE = 80877102;

test("reads continue while their connection is frozen, and on a new connection afterwards", async () => {
  const watched = watchConnections(({ from, body, connection }) =>
    from === "server" && body.includes("body 7") && connection === Math.min(...watched.pipelines)
      ? { failure: "freeze" }
      : undefined,
  );
  expect(await readAll()).toEqual(bodies);
  await untilPipelined(watched, async () =>
    expect(await readAll({ queue: "other" })).toEqual(bodies),
  );
  expect(watched.pipelines.size).toBe(2);
});

test("a queue that floods the pool leaves slots on the shared connection to other queues", async () => {
  await untilPipelined(watchConnections());
  const { used, pipelines } = watchConnections();
  proxy.onMessage(({ from, type, statement, connection }) => {
    if (type === "B" && statement?.includes("echo") === true) used.push(connection);
    return from === "server" ? { hold: true } : undefined;
  });
  const flood = Promise.all(Array.from({ length: 5 }, () => readAll({ queue: "flood" })));
  await eventually(() => used.length >= CALLS);
  const before = used.length;
  const other = read("other", { queue: "other" });
  await eventually(() => used.length > before);
  await proxy.heal();
  expect(await other).toBe("other");
  expect(await flood).toEqual(Array.from({ length: 5 }, () => bodies));
  expect(pipelines.size).toBe(0);
});

test("every read ends when connections are killed, and no read gets another read's response", async () => {
  const ends = new Set<string>();
  let isOver = false;
  const workers = Array.from({ length: 40 }, async (_, index) => {
    for (let count = 0; !isOver; count++) {
      const body = `${index} ${count}`;
      const found = await read(body, { queue: `${index % 4}` }).catch((error: unknown) =>
        error instanceof Problem ? body : "an unexpected error",
      );
      ends.add(found === body ? "right" : `${body} got ${found}`);
    }
  });
  for (let round = 0; round < 60; round++) {
    await admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'rowhouse test%'
      order by random() limit 1`,
      [],
      OBSERVE,
    );
    await Bun.sleep(5);
  }
  isOver = true;
  await Promise.all(workers);
  expect([...ends]).toEqual(["right"]);
  expect(mismatches).toBe(0);
  expect(pool.stats()).toMatchObject({ busy: 0, waiting: 0 });
}, 60_000);

test("a short read never waits behind a longer read, and a long read is never pipelined", async () => {
  const through = openPool(true, 10);
  const watched = watchConnections();
  const { pipelines, used } = watched;
  const lengths = ["short", "longer"] as const;
  await untilPipelined(watched, () =>
    Promise.all(lengths.map((length) => read("first", { text: LOCKED, through, length }))),
  );
  await read("first", { text: LOCKED, through, length: "long" });
  expect(used.map((connection) => pipelines.has(connection))).toEqual([true, true, false]);
  expect([pipelines.size, new Set(used).size]).toEqual([2, 3]);
  used.length = 0;
  let longer: Promise<unknown> = Promise.resolve();
  await whileLocked(async () => {
    longer = read("first", { text: LOCKED, through, length: "longer" });
    await eventually(() => used.length > 0);
    expect(await read("short", { through })).toBe("short");
  });
  expect(await longer).toBe("first");
  await through.close(0);
});
