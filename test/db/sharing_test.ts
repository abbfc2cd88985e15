/**
 * Short writes that share a connection: each has its own transaction and its own result, and neither a caller that leaves, nor
 * one that waits for a lock, nor a lost connection harms the others more than an own connection would.
 */
import { afterEach, beforeEach, expect, mock, spyOn, test } from "bun:test";
import { type Database, echoColumn, openDatabase, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { openConnection } from "../../src/db/pool/connection.ts";
import { makeSharing } from "../../src/db/pool/sharing.ts";
import { Problem } from "../../src/problem.ts";
import { makeDatabase } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { whileLocked } from "../support/held_lock.ts";
import { openPostgresProxy, type PostgresProxy } from "../support/postgres_proxy.ts";
import { share } from "../support/share.ts";

const CONNECTIONS = 2;
/** As many as these connections accept. */
const WRITES = 8;
const TEXT = "select public.store($1::text) as body";
const BRIEF = `select case when pg_catalog.set_config('lock_timeout', '100ms', true) <> ''
  then public.store($1::text) end as body, ${echoColumn(2)}`;
const OBSERVE = { retry: "safe", queue: SERVICE_QUEUE } as const;

let proxy: PostgresProxy;
let pool: Database;
let mismatches = 0;
const database = await share(makeDatabase());
const admin = await share(
  openDatabase({ url: database.adminUrl, connections: 2, prepare: true, name: "observer" }),
);
await admin.message(`create table public.notes (note text primary key);
    create table data.gate (name text primary key);
    create function public.store(note text) returns text language plpgsql as $$
    begin
      if note like 'locked%' then
        lock table data.gate in share mode;
      end if;
      if note like 'bad%' then
        raise check_violation;
      end if;
      insert into public.notes values (note);
      return note;
    end $$;
    select 1`);
beforeEach(async () => {
  await admin.message("truncate public.notes; select 1");
  proxy = await openPostgresProxy();
  mismatches = 0;
  pool = openDatabase({
    url: proxy.toUrl(database.adminUrl),
    connections: CONNECTIONS,
    prepare: true,
    name: "rowhouse sharing test",
    onMismatch: () => void mismatches++,
  });
});
afterEach(async () => {
  mock.restore();
  await pool.close(0);
  await proxy.close();
});

type Options = { queue?: string; signal?: AbortSignal; retry?: "safe" | "unsafe" };

/** Stores the note. Returns the function's result, or the code of the error. */
async function write(
  note: string,
  { queue = "app", signal, retry = "unsafe" }: Options = {},
): Promise<string> {
  const call = { retry, queue, brief: BRIEF, ...(signal && { caller: { signal } }) };
  try {
    return Buffer.from((await pool.bytes(TEXT, [note], call)) ?? []).toString();
  } catch (error) {
    return error instanceof Problem ? error.code : (error as Error).name;
  }
}

const notes = Array.from({ length: WRITES }, (_, index) => `note ${index}`);
/** Each write is in the queue of another app: a queue never uses more than its share of calls in progress. */
const writeAll = (names = notes, options?: Options) =>
  Promise.all(names.map((note) => write(note, { queue: `app of ${note}`, ...options })));

async function stored(): Promise<string[]> {
  const text = "select note from public.notes order by note";
  return (await admin.query<{ note: string }>(text, [], OBSERVE)).map(({ note }) => note);
}

/** Opens every connection, and prepares the statement on it. */
async function warm(): Promise<void> {
  await eventually(async () => {
    await writeAll(notes.map((note) => `warm ${note} ${crypto.randomUUID()}`));
    return pool.stats().open === CONNECTIONS;
  });
  await writeAll(notes.map((note) => `warm ${note} ${crypto.randomUUID()}`));
  await admin.message("truncate public.notes; select 1");
}

type Watched = {
  /** The connections that ran the writes, in the order of sending. */
  used: number[];
  /** Cancellations, by the process that they named. */
  canceled: number;
};

const CANCEL_CODE = 80877102;

/** Holds all messages of the server until `release`, and watches the client's. */
function holdResponses(): Watched {
  const watched: Watched = { used: [], canceled: 0 };
  proxy.onMessage(({ connection, from, type, body, statement }) => {
    if (from === "server") return { hold: true };
    if (type === "" && body.readInt32BE(0) === CANCEL_CODE) watched.canceled++;
    if (type === "B" && statement?.includes("public.store") === true) watched.used.push(connection);
    return undefined;
  });
  return watched;
}

/**
 * Stops the clock until `mockRestore`. A connection accepts no write after its first one has lasted for some milliseconds, which a
 * busy machine needs to send them all.
 */
function stopClock() {
  return spyOn(performance, "now").mockReturnValue(performance.now());
}

function release(): void {
  proxy.onMessage(() => undefined);
  proxy.release();
}

test("writes are sent behind others while no connection is free, and each gets its own result", async () => {
  await warm();
  const { used } = holdResponses();
  const clock = stopClock();
  const writing = writeAll();
  await eventually(() => used.length === WRITES);
  clock.mockRestore();
  expect(new Set(used).size).toBe(CONNECTIONS);
  expect(pool.stats()).toMatchObject({ open: CONNECTIONS, busy: CONNECTIONS, waiting: 0 });
  const more = write("one more");
  expect(pool.stats()).toMatchObject({ waiting: 1 });
  release();
  expect(await writing).toEqual(notes);
  expect(await more).toBe("one more");
  expect(await stored()).toEqual([...notes, "one more"]);
  expect(pool.stats()).toMatchObject({ busy: 0, waiting: 0 });
});

test("a write that fails leaves the others on its connection alone", async () => {
  await warm();
  const mixed = notes.map((note, index) => (index % 3 === 0 ? `bad ${note}` : note));
  const results = await writeAll(mixed);
  expect(results).toEqual(mixed.map((note) => (note.startsWith("bad") ? "ViolationError" : note)));
  expect(await stored()).toEqual(mixed.filter((note) => !note.startsWith("bad")).sort());
});

test("callers that leave cancel no other caller's write", async () => {
  await warm();
  const watched = holdResponses();
  const left = new AbortController();
  const clock = stopClock();
  const leaving = write("left", { signal: left.signal });
  const writing = writeAll(notes.slice(1));
  await eventually(() => watched.used.length === WRITES);
  clock.mockRestore();
  left.abort();
  // Longer than any number of ticks in which a cancellation would be sent.
  await Bun.sleep(100);
  expect(watched.canceled).toBe(0);
  release();
  expect(await writing).toEqual(notes.slice(1));
  expect(await leaving).toBe("left");
  expect(await stored()).toEqual(["left", ...notes.slice(1)]);
});

test("a caller that leaves cancels a write that is alone, and its connection gets no others", async () => {
  await warm();
  const watched = holdResponses();
  const left = new AbortController();
  const leaving = write("left", { signal: left.signal });
  await eventually(() => watched.used.length === 1);
  left.abort();
  await eventually(() => watched.canceled === 1);
  const clock = stopClock();
  const writing = writeAll(notes.slice(0, 4));
  await eventually(() => watched.used.length === 5);
  clock.mockRestore();
  expect(watched.used.slice(1)).not.toContain(watched.used[0]);
  release();
  expect(await writing).toEqual(notes.slice(0, 4));
  await leaving;
});

test.each([
  { retry: "unsafe", result: "unknown_outcome" },
  { retry: "safe", result: "ViolationError" },
] as const)(
  "after a lost connection each $retry write on it has the result $result",
  async ({ retry, result }) => {
    await warm();
    const { used } = holdResponses();
    const clock = stopClock();
    const writing = writeAll(notes, { retry });
    await eventually(() => used.length === WRITES);
    clock.mockRestore();
    await eventually(async () => (await stored()).length === WRITES);
    const lost = used[0];
    proxy.onMessage(({ connection, from }) =>
      connection === lost && from === "server" ? { send: [], failure: "reset" } : undefined,
    );
    proxy.release();
    // A repeated write finds that it has happened: the function violates the primary key.
    const results = await writing;
    const failed = results.filter((found, index) => found !== notes[index]);
    const onLost = used.filter((connection) => connection === lost);
    expect(failed).toEqual(onLost.map(() => result));
    expect(failed.length).toBeGreaterThan(1);
    expect(await stored()).toEqual(notes);
  },
);

test("writes that wait for a lock are sent alone, and delay the others only briefly", async () => {
  await warm();
  let waiting: Promise<string> | undefined;
  let again: Promise<string> | undefined;
  await whileLocked(database.adminUrl, "gate", async () => {
    waiting = write("locked", { queue: "locked" });
    expect(await writeAll()).toEqual(notes);
    // It waits on a connection of its own, as later writes of its queue do.
    await eventually(async () => (await countPatient()) === 1);
    expect(await writeAll(["a", "b"])).toEqual(["a", "b"]);
    again = write("locked again", { queue: "locked" });
    await eventually(async () => (await countPatient()) === 2);
  });
  expect(await Promise.all([waiting, again])).toEqual(["locked", "locked again"]);
  expect((await stored()).length).toBe(WRITES + 4);
});

/** How many writes wait without a short limit. */
async function countPatient(): Promise<number> {
  const text = `select count(*)::int4 as count from pg_catalog.pg_stat_activity
    where wait_event_type = 'Lock' and query = $1 and datname = current_database()`;
  const [row] = await admin.query<{ count: number }>(text, [TEXT], OBSERVE);
  return row?.count ?? 0;
}

test("a result with the echo of another write is not delivered", async () => {
  await warm();
  proxy.onMessage(({ from, type, body }) =>
    from === "server" && type === "D" && body.includes("note 3")
      ? { send: [tamper(body)] }
      : undefined,
  );
  const results = await writeAll();
  expect(results[3]).toBe("unknown_outcome");
  expect(mismatches).toBe(1);
  for (const [index, result] of results.entries())
    expect([notes[index], "unknown_outcome"]).toContain(result);
});

/** The row with another echo of the same length. */
function tamper(body: Buffer): Buffer {
  const message = Buffer.alloc(body.length + 5);
  message.write("D");
  message.writeInt32BE(body.length + 4, 1);
  body.copy(message, 5);
  message.write("x", message.length - 1);
  return message;
}

test("a call that needs its own connection gets one while short writes continue", async () => {
  await warm();
  let isOver = false;
  const writers = notes.map(async (note) => {
    for (let n = 0; !isOver; n++) expect(await write(`${note} ${n}`)).toBe(`${note} ${n}`);
  });
  for (let n = 0; n < 20; n++)
    expect(await pool.query("select 1 as one", [], { ...OBSERVE, queue: "patient" })).toEqual([
      { one: 1 },
    ]);
  isOver = true;
  await Promise.all(writers);
});

test("a statement that the server has forgotten is prepared again, also behind others", async () => {
  await warm();
  const discard = () => pool.message("deallocate all");
  await Promise.all(Array.from({ length: CONNECTIONS }, discard));
  expect(await writeAll()).toEqual(notes);
  expect(await stored()).toEqual(notes);
});

test("a connection is sealed for a cancellation only while it has one caller, and then accepts no other", async () => {
  stopClock();
  const url = database.adminUrl;
  const connection = await openConnection({ url, prepare: true, name: "rowhouse sharing test" });
  const sharing = makeSharing();
  sharing.start(connection);
  expect(sharing.find()).toBe(connection);
  sharing.join(connection);
  expect(sharing.seal(connection)).toBe(false);
  expect(sharing.leave(connection, false)).toEqual({ isLast: false, isSuspect: false });
  expect(sharing.find()).toBe(connection);
  expect(sharing.seal(connection)).toBe(true);
  expect(sharing.find()).toBeUndefined();
  expect(sharing.leave(connection, false)).toEqual({ isLast: true, isSuspect: true });
  connection.end();
});
