/**
 * Writes that share connections, also with idempotency keys, while connections are killed and replaced, callers leave, and other callers' writes wait for locks, directly
 * and through PgBouncer: every write ends, gets its own result, and is canceled only if its own caller left; what was confirmed is
 * stored once, and what was rejected is not.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Database, echoColumn, openDatabase, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { Problem } from "../../src/problem.ts";
import { makeDatabase, type TestDatabase } from "../support/cluster.ts";
import { PGBOUNCER, startPooler } from "../support/pgbouncer.ts";
import { countRuns } from "../support/tier.ts";

const SECONDS = countRuns(10);
const CONNECTIONS = 5;
const WRITERS = 40;
const NAME = "rowhouse write storm";
const TEXT = "select public.store($1::text, $2::int4, $3::text) as body";
const BRIEF = `select case when pg_catalog.set_config('lock_timeout', '100ms', true) <> ''
  then public.store($1::text, $2::int4, $3::text) end as body, ${echoColumn(4)}`;
const OBSERVE = { retry: "safe", queue: SERVICE_QUEUE } as const;
/** The tables that a write seems to touch: each session is replaced after about 22 writes. */
const TABLES = Array.from({ length: 100 }, (_, n) => `table ${n}`);
/** Longer than all limits of a call together. */
const LOST_MS = 20_000;

let database: TestDatabase;
let admin: Database;
beforeAll(async () => {
  database = await makeDatabase();
  admin = openDatabase({ url: database.adminUrl, connections: 4, prepare: true, name: "observer" });
  await admin.message(`create table public.stored (note text not null, pid int4 not null);
    create table public.slots (slot int4 primary key, changes int4 not null default 0);
    insert into public.slots select generate_series(0, 19);
    create table public.keys (key text primary key);
    create function public.store(note text, slot int4, key text) returns text language plpgsql as $$
    begin
      -- As rowhouse.claim_key(): waits for a claim in progress, and then repeats nothing.
      if store.key is not null then
        insert into public.keys values (store.key) on conflict do nothing;
        if not found then
          return note;
        end if;
      end if;
      update public.slots as s set changes = changes + 1 where s.slot = store.slot;
      insert into public.stored values (note, pg_backend_pid());
      return note;
    end $$;
    grant select, insert on public.stored to public;
    grant select, update on public.slots to public;
    grant select, insert on public.keys to public;
    select 1`);
});
afterAll(async () => {
  await admin.close();
  await database.drop();
});

type Storm = { pool: Database; count: (result: string) => void; isOver: () => boolean };

async function writeInTurn({ pool, count, isOver }: Storm, writer: number): Promise<void> {
  for (let n = 0; !isOver(); n++) {
    const note = crypto.randomUUID();
    const isKeyed = n % 3 === 0;
    const leaves = n % 7 === 0;
    const caller = new AbortController();
    if (leaves) setTimeout(() => caller.abort(), Math.random() * 30);
    const send = (signal?: AbortSignal) =>
      pool.bytes(TEXT, [note, (writer * 7 + n) % 20, isKeyed ? note : null], {
        retry: isKeyed ? "safe" : "unsafe",
        queue: `app ${writer % 8}`,
        brief: BRIEF,
        touched: TABLES.map((table) => ({
          table: `${table} of ${note}`,
          code: `${table} of ${note}`,
          bytes: 0,
        })),
        ...(signal === undefined ? {} : { caller: { signal } }),
      });
    const toEnd = (writing: Promise<Uint8Array | null>) =>
      Promise.race([toResult(writing, note), Bun.sleep(LOST_MS).then(() => "lost")]);
    // Another process can repeat a write with a key while it is in progress.
    const [result, repeat] = await Promise.all([
      toEnd(send(caller.signal)),
      isKeyed && n % 2 === 0 ? toEnd(send()) : undefined,
    ]);
    const stored = await countStored(note);
    count(`${leaves ? "left" : "stayed"}: ${result}${toFault({ result, stored, isKeyed })}`);
    if (repeat !== undefined)
      count(`stayed: ${repeat}${toFault({ result: repeat, stored, isKeyed })}`);
  }
}

async function toResult(writing: Promise<Uint8Array | null>, note: string): Promise<string> {
  try {
    return Buffer.from((await writing) ?? []).toString() === note ? "right" : "another's";
  } catch (error) {
    return error instanceof Problem ? error.code : `${error}`;
  }
}

/**
 * A confirmed write is stored once, and a write with a key never twice. Only a write of unknown outcome can be stored without
 * confirmation.
 */
function toFault({
  result,
  stored,
  isKeyed,
}: {
  result: string;
  stored: number;
  isKeyed: boolean;
}): string {
  const fault = `, ${stored} rows`;
  if (result === "right") return stored === 1 ? "" : fault;
  // A write with a key can have happened in an earlier attempt, or by its repeat.
  if (result === "unknown_outcome" || isKeyed) return stored <= 1 ? "" : fault;
  return stored === 0 ? "" : fault;
}

async function countStored(note: string): Promise<number> {
  const text = "select count(*)::int4 as count from public.stored where note = $1";
  const [row] = await admin.query<{ count: number }>(text, [note], OBSERVE);
  return row?.count ?? 0;
}

/** Locks a slot for longer than a short wait, then kills a connection of the pool; again and again. */
async function disturb({ isOver }: Pick<Storm, "isOver">): Promise<number> {
  let killed = 0;
  while (!isOver()) {
    await admin.message(
      `select from public.slots where slot = 3 for update; select pg_sleep(0.15)`,
    );
    const rows = await admin.query<{ killed: boolean }>(
      `select pg_terminate_backend(pid) as killed from (
        select pid from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()
          and (query like '%public.store(%' and application_name <> 'observer')
        order by random() limit 1 offset 0) as one`,
      [],
      OBSERVE,
    );
    killed += rows.length;
  }
  return killed;
}

async function storm(url: string, prepare: boolean): Promise<void> {
  const results = new Map<string, number>();
  let mismatches = 0;
  const pool = openDatabase({
    ...{ url, prepare, connections: CONNECTIONS, name: NAME },
    onMismatch: () => void mismatches++,
  });
  const endsAt = performance.now() + SECONDS * 1000;
  const parts: Storm = {
    pool,
    count: (result) => void results.set(result, (results.get(result) ?? 0) + 1),
    isOver: () => performance.now() > endsAt,
  };
  const disturbing = disturb(parts);
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => writeInTurn(parts, writer)));
  const killed = await disturbing;
  const lines = [...results].toSorted().map(([result, times]) => `${times} × ${result}`);
  console.log(`${killed} kills: ${lines.join(", ")}`);
  // Only a caller that left gets a timeout.
  const allowed = /^(stayed|left): (right|unknown_outcome|unavailable|overloaded)$|^left: timeout$/;
  expect([...results.keys()].filter((result) => !allowed.test(result))).toEqual([]);
  expect(mismatches).toBe(0);
  expect(results.get("stayed: right")).toBeGreaterThan(countRuns(100));
  expect(killed).toBeGreaterThan(countRuns(10));
  expect(pool.stats()).toMatchObject({ busy: 0, waiting: 0 });
  await pool.close(0);
}

test("writes that share connections end, and only their own callers cancel them", async () => {
  await storm(database.servingUrl, database.prepare);
}, 90_000);

test.skipIf(PGBOUNCER === null)(
  "the same through PgBouncer in transaction mode",
  async () => {
    const { username, password } = new URL(database.servingUrl);
    const pooler = await startPooler(database.servingUrl, {
      poolSize: 4,
      clients: 50,
      users: { [decodeURIComponent(username)]: decodeURIComponent(password) },
    });
    try {
      await storm(pooler.toUrl(database.servingUrl), false);
    } finally {
      await pooler.close();
    }
  },
  90_000,
);
