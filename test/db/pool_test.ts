import { describe, expect, test } from "bun:test";
import { type Database, openDatabase, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { echoColumn } from "../../src/db/pool/echo.ts";
import { Problem } from "../../src/problem.ts";
import { cases } from "../support/cases.ts";
import { makeDatabase } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { openPostgresProxy } from "../support/postgres_proxy.ts";
import { share } from "../support/share.ts";

const CONNECTIONS = 4;
const READ = { retry: "safe", queue: SERVICE_QUEUE } as const;
const WRITE = { retry: "unsafe", queue: SERVICE_QUEUE } as const;

const database = await share(makeDatabase());
const admin = await share(open({ connections: 4 }));
await admin.message(`
create table public.notes (nonce text primary key);
create sequence public.attempts;
create table public.checked (id integer primary key);
-- Fails the given number of times, with any SQLSTATE; a rollback does not reset the sequence.
create function public.fail_first(times integer, state text) returns bigint language plpgsql as $$
begin
  if nextval('public.attempts') <= times then
    raise exception 'on purpose' using errcode = state;
  end if;
  return currval('public.attempts');
end $$;
create function public.reject_commit() returns trigger language plpgsql as $$
begin
  raise exception 'rejected at commit' using errcode = '23514';
end $$;
create constraint trigger reject_commit after insert on public.checked
  deferrable initially deferred for each row execute function public.reject_commit();
select 1`);

function open(options: { connections?: number; limitMs?: number; url?: string } = {}): Database {
  return openDatabase({
    url: options.url ?? database.adminUrl,
    connections: options.connections ?? CONNECTIONS,
    prepare: true,
    name: "rowhouse pool test",
    ...(options.limitMs === undefined ? {} : { limitMs: options.limitMs }),
  });
}

async function withPool<Result>(
  options: Parameters<typeof open>[0],
  use: (pool: Database) => Promise<Result>,
): Promise<Result> {
  const pool = open(options);
  try {
    return await use(pool);
  } finally {
    await pool.close(0);
  }
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "done";
  } catch (error) {
    if (error instanceof Problem) return error.code;
    throw error;
  }
}

describe("a statement that failed in the database is", () => {
  test.each(cases("name", "state", "times", "want")`
    sent again after a serialization failure          | 40001 | 2 | done
    sent again after a deadlock                       | 40P01 | 2 | done
    sent max three times                              | 40001 | 3 | unavailable
    sent again after one unexpected cancellation      | 57014 | 1 | done
    not sent again after two unexpected cancellations | 57014 | 2 | unavailable
    not sent again if the disk is full                | 53100 | 1 | unavailable
    of unknown outcome if the server crashed          | 57P02 | 1 | unknown_outcome
  `)("$name", async ({ state, times, want }) => {
    await admin.query("select setval('public.attempts', 1, false)", [], WRITE);
    const call = admin.query(
      "select public.fail_first($1::int4, $2)",
      [Number(times), state],
      WRITE,
    );
    expect(await codeOf(call)).toBe(want);
  });
});

test("a write that is rejected at its commit fails", async () => {
  const call = admin.query("insert into public.checked values ($1::int4) returning id", [1], WRITE);
  await expect(call).rejects.toMatchObject({ violation: { kind: "value" } });
});

test("a statement over its time limit is canceled in the database, and its connection is replaced", async () => {
  await withPool({ limitMs: 200 }, async (pool) => {
    const mark = crypto.randomUUID();
    expect(await codeOf(pool.query(`select pg_sleep(20) /* ${mark} */`, [], READ))).toBe("timeout");
    expect(await countRunning(mark)).toBe(0);
    expect(pool.stats()).toMatchObject({ busy: 0, open: 0 });
  });
});

test("a disconnected caller's statement is canceled in the database", async () => {
  await withPool({}, async (pool) => {
    const mark = crypto.randomUUID();
    const caller = new AbortController();
    const call = pool.query(`select pg_sleep(20) /* ${mark} */`, [], { ...READ, caller });
    await eventually(async () => (await countRunning(mark)) > 0);
    caller.abort();
    expect(await codeOf(call)).toBe("unavailable");
    expect(await countRunning(mark)).toBe(0);
  });
});

test("callers that disconnect never cancel another caller's statement", async () => {
  await withPool({}, async (pool) => {
    const ends: string[] = [];
    const ask = async (leaves: boolean) => {
      const caller = new AbortController();
      if (leaves) setTimeout(() => caller.abort(), Math.random() * 80);
      const end = await codeOf(pool.query("select pg_sleep(0.04)", [], { ...READ, caller }));
      if (!leaves) ends.push(end);
    };
    // Few enough callers that each gets a connection in time, even on a slow machine.
    const callers = Array.from({ length: 2 * CONNECTIONS }, async () => {
      for (let count = 0; count < 26; count++) await ask(count % 2 === 0);
    });
    await Promise.all(callers);
    expect([ends.length, new Set(ends)]).toEqual([104, new Set(["done"])]);
  });
});

test("an unprepared statement needs one round trip, regardless of its values", async () => {
  await using proxy = await openPostgresProxy();
  const pool = openDatabase({
    url: proxy.toUrl(database.adminUrl),
    connections: 1,
    prepare: false,
    name: "rowhouse pool test",
  });
  const sent: string[] = [];
  proxy.onMessage(({ from, type }) => {
    if (from === "client" && sent.at(-1) !== type) sent.push(type);
    return undefined;
  });
  const at = new Date("2026-01-02T03:04:05.678Z");
  const [row] = await pool.query(
    `select $1::text as text, $2::int4 as number, $3::bool as yes, $4::text as nothing,
      $5::timestamptz as at, encode($6::bytea, 'hex') as bytes, ($7::jsonb)->>'a' as json`,
    ["it's", 7, true, null, at, new Uint8Array([1, 255]), '{"a":"b"}'],
    READ,
  );
  expect(row).toEqual({
    ...{ text: "it's", number: 7, yes: true, nothing: null, at, bytes: "01ff", json: "b" },
  });
  // Parse, Bind, Describe, Execute and Sync are sent together. No Flush waits for a response.
  expect(sent).not.toContain("H");
  expect(sent.slice(-5)).toEqual(["P", "D", "B", "E", "S"]);
  await pool.close(0);
});

test("a write that was never sent before its connection was lost is sent again", async () => {
  await using proxy = await openPostgresProxy();
  await withPool({ connections: 2, url: proxy.toUrl(database.adminUrl) }, async (pool) => {
    await pool.query("select 1", [], READ);
    let isHeld = false;
    // Until the first statement is described, the driver keeps the second one of the connection back.
    proxy.onMessage(({ from, type, connection }) => {
      isHeld ||= from === "server" && type === "t";
      return isHeld && connection === 1 ? { hold: true, failure: "cut" } : undefined;
    });
    const write = (nonce: string) => {
      const text = "insert into public.notes values ($1) returning nonce";
      return pool.bytes(text, [nonce], { ...WRITE, brief: `${text}, ${echoColumn(2)}` });
    };
    const first = codeOf(write("first"));
    const second = codeOf(write("second"));
    await eventually(() => isHeld);
    proxy.release();
    expect(await Promise.all([first, second])).toEqual(["unknown_outcome", "done"]);
  });
});

test("no caller waits behind a slow statement while a connection is free", async () => {
  await withPool({}, async (pool) => {
    const caller = new AbortController();
    let ended = 0;
    const slow = [1, 2, 3].map(async () => {
      const end = await codeOf(pool.query("select pg_sleep(20)", [], { ...READ, caller }));
      ended++;
      return end;
    });
    await Promise.all(
      Array.from({ length: 50 }, () => pool.query("select 1", [], { ...READ, queue: "other" })),
    );
    expect(ended).toBe(0);
    caller.abort();
    expect(new Set(await Promise.all(slow))).toEqual(new Set(["unavailable"]));
  });
});

test("a flood in one queue gets 429, while another queue is served", async () => {
  await withPool({}, async (pool) => {
    const flood = Array.from({ length: 400 }, () =>
      codeOf(pool.query("select 1", [], { ...READ, queue: "flood" })),
    );
    const other = await codeOf(pool.query("select 1", [], { ...READ, queue: "other" }));
    const ends = await Promise.all(flood);
    expect(other).toBe("done");
    expect([...new Set(ends)].sort()).toEqual(["done", "rate_limited"]);
    expect(pool.stats().shed.queue_full).toBeGreaterThan(100);
  });
});

async function countRunning(mark: string): Promise<number> {
  const rows = await admin.query(
    "select from pg_stat_activity where state = 'active' and query like '%' || $1 || '%' and pid <> pg_backend_pid()",
    [mark],
    READ,
  );
  return rows.length;
}
