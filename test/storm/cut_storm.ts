/**
 * The network fails after every single message of the server: the connection is cut, reset or frozen. Every call ends, no call
 * gets another call's response, and the pool recovers.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Database, openDatabase, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { Problem } from "../../src/problem.ts";
import { makeDatabase, type TestDatabase } from "../support/cluster.ts";
import { type Failure, openPostgresProxy, type PostgresProxy } from "../support/postgres_proxy.ts";
import { isFull } from "../support/tier.ts";

const CONNECTIONS = 3;
const LIMIT_MS = 400;
/** More than a connection's messages in these tests: about 18 to sign in, about 5 per call. */
const MESSAGES = 40;
/** Longer than three attempts of at most 3 s to connect, the statement's limit, and 1 s to cancel the statement. */
const LOST_MS = 15_000;

let database: TestDatabase;
let admin: Database;
let proxy: PostgresProxy;
/** The maximum number of messages that a connection received from the server. */
let maxMessages = 0;
beforeAll(async () => {
  database = await makeDatabase();
  admin = openDatabase({ url: database.adminUrl, connections: 4, prepare: true, name: "observer" });
  await admin.message(`create table public.nonces (nonce text primary key);
    grant select, insert on public.nonces to public; select 1`);
  proxy = await openPostgresProxy();
});
afterAll(async () => {
  await proxy.close();
  await admin.close();
  await database.drop();
});

const MOMENTS = Array.from({ length: MESSAGES }, (_, index) => index + 1).filter(
  // Every tenth in a reduced run.
  (messages) => isFull() || messages % 10 === 4,
);

test.each(["cut", "reset"] as const)(
  "calls recover after the connection is %s after each message",
  async (failure) => {
    for (const messages of MOMENTS) await check(failure, messages);
    expect(maxMessages).toBeGreaterThan(MESSAGES);
  },
  120_000,
);

test("calls recover after the connection freezes after each message", async () => {
  // Each check waits for time limits. The checks run in parallel, as many as the observer's connections allow.
  for (const remainder of [0, 1]) {
    const half = MOMENTS.filter((messages) => messages % 2 === remainder);
    await Promise.all(half.map((messages) => checkFreeze(messages)));
  }
}, 120_000);

async function checkFreeze(messages: number): Promise<void> {
  const ownProxy = await openPostgresProxy();
  try {
    await check("freeze", messages, ownProxy);
  } finally {
    await ownProxy.close();
  }
}

/** Opens a pool whose first connection fails after this many messages, and calls until the pool has recovered. */
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

/** Makes the next connection fail after this many messages of the server. */
function failNext(
  { connections, onMessage }: PostgresProxy,
  messages: number,
  failure: Failure,
): void {
  const next = connections() + 1;
  onMessage(({ connection, from, number }) => {
    if (from !== "server") return undefined;
    maxMessages = Math.max(maxMessages, number);
    return connection === next && number === messages ? { failure } : undefined;
  });
}

type Outcome = "right" | "rejected" | "foreign" | "lost";

/** Reads and then writes. Compares the response of the write with the table. */
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
      "insert into public.nonces values ($1) returning nonce",
      [nonce],
      { retry: "unsafe", queue: SERVICE_QUEUE },
    );
    if (rows[0]?.nonce !== nonce) return "foreign";
    expect(await isStored(nonce)).toBe(true);
    return "right";
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.code !== "unknown_outcome") expect(await isStored(nonce)).toBe(false);
    return "rejected";
  }
}

async function isStored(nonce: string): Promise<boolean> {
  const rows = await admin.query("select from public.nonces where nonce = $1", [nonce], {
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
