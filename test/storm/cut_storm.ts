/**
 * The network fails behind every single message of the server: the stream is cut, reset or goes silent. Every call
 * ends, none brings another's response, and the pool is whole afterwards.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Database, openDatabase, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { Problem } from "../../src/problem.ts";
import { makeDatabase, type TestDatabase } from "../support/cluster.ts";
import { type Failure, openPostgresProxy, type PostgresProxy } from "../support/postgres_proxy.ts";

const CONNECTIONS = 3;
const LIMIT_MS = 400;
/** Messages of a connection's life in these tests: signing in takes about 18, a call about 5. */
const MESSAGES = 40;
/** Connecting may take 3 s, the statement its limit and a second for its cancellation; three attempts at the most. */
const LOST_MS = 15_000;

let database: TestDatabase;
let admin: Database;
let proxy: PostgresProxy;
/** The most messages that a connection had from the server. */
let longest = 0;
beforeAll(async () => {
  database = await makeDatabase();
  admin = openDatabase({ url: database.adminUrl, connections: 4, prepare: true, name: "observer" });
  await admin.message(`create table public.notes (nonce text primary key);
    grant select, insert on public.notes to public; select 1`);
  proxy = await openPostgresProxy();
});
afterAll(async () => {
  await proxy.close();
  await admin.close();
  await database.drop();
});

const MOMENTS = Array.from({ length: MESSAGES }, (_, index) => index + 1);

test.each(["cut", "reset"] as const)(
  "calls recover after the connection is %s after each message",
  async (failure) => {
    for (const messages of MOMENTS) await check(failure, messages);
    expect(longest).toBeGreaterThan(MESSAGES);
  },
  120_000,
);

test("calls recover after the connection freezes after each message", async () => {
  // Each of these takes the time limits that it is about: they run side by side, as many as the observer can follow.
  for (const rest of [0, 1]) {
    const half = MOMENTS.filter((messages) => messages % 2 === rest);
    await Promise.all(half.map((messages) => checkAlone(messages)));
  }
}, 120_000);

async function checkAlone(messages: number): Promise<void> {
  const alone = await openPostgresProxy();
  try {
    await check("freeze", messages, alone);
  } finally {
    await alone.close();
  }
}

/** A new pool whose first connection fails behind so many messages; then calls until none is hurt any more. */
async function check(failure: Failure, messages: number, through = proxy): Promise<void> {
  const pool = openDatabase({
    url: through.toUrl(database.servingUrl),
    connections: CONNECTIONS,
    prepare: true,
    name: "rowhouse storm",
    limitMs: LIMIT_MS,
  });
  try {
    failNext(through, messages, failure);
    const ends = await Promise.all(Array.from({ length: 12 }, () => callInTurn(pool)));
    expect(ends.flat().filter((end) => end === "foreign" || end === "lost")).toEqual([]);
    const after = await Promise.all(Array.from({ length: CONNECTIONS }, () => sleep(pool)));
    expect(after).toEqual(after.map(() => "slept"));
    expect(pool.stats()).toMatchObject({ busy: 0, waiting: 0 });
  } finally {
    await pool.close(0);
  }
}

/** The next connection fails behind so many messages of the server. */
function failNext(
  { connections, onMessage }: PostgresProxy,
  messages: number,
  failure: Failure,
): void {
  const next = connections() + 1;
  onMessage(({ connection, from, number }) => {
    if (from !== "server") return undefined;
    longest = Math.max(longest, number);
    return connection === next && number === messages ? { failure } : undefined;
  });
}

type Outcome = "right" | "rejected" | "foreign" | "lost";

/** A read and a write, one after the other; the write's response is compared with the table. */
async function callInTurn(pool: Database): Promise<Outcome[]> {
  const read = await within(readNonce(pool));
  const write = await within(writeNonce(pool));
  return [read, write];
}

async function readNonce(pool: Database): Promise<Outcome> {
  const nonce = crypto.randomUUID();
  try {
    const rows = await pool.query<{ nonce: string }>("select $1::text as nonce", [nonce], {
      retry: "safe",
      queue: SERVICE_QUEUE,
    });
    return rows.length === 1 && rows[0]?.nonce === nonce ? "right" : "foreign";
  } catch (error) {
    if (error instanceof Problem) return "rejected";
    throw error;
  }
}

async function writeNonce(pool: Database): Promise<Outcome> {
  const nonce = crypto.randomUUID();
  try {
    const rows = await pool.query<{ nonce: string }>(
      "insert into public.notes values ($1) returning nonce",
      [nonce],
      { retry: "unsafe", queue: SERVICE_QUEUE },
    );
    if (rows[0]?.nonce !== nonce) return "foreign";
    expect(await isThere(nonce)).toBe(true);
    return "right";
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.code !== "unknown_outcome") expect(await isThere(nonce)).toBe(false);
    return "rejected";
  }
}

async function isThere(nonce: string): Promise<boolean> {
  const rows = await admin.query("select from public.notes where nonce = $1", [nonce], {
    retry: "safe",
    queue: SERVICE_QUEUE,
  });
  return rows.length > 0;
}

async function sleep(pool: Database): Promise<string> {
  await pool.query("select pg_sleep(0.1)", [], { retry: "safe", queue: SERVICE_QUEUE });
  return "slept";
}

async function within(outcome: Promise<Outcome>): Promise<Outcome> {
  return await Promise.race([outcome, Bun.sleep(LOST_MS).then((): Outcome => "lost")]);
}
