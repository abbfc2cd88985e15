/** How the pool groups calls. Any statement that returns the ids of its rows can be grouped. */
import { expect, test } from "bun:test";
import {
  type Database,
  type DatabaseOptions,
  type Grouping,
  openDatabase,
} from "../../src/db/mod.ts";
import { Problem } from "../../src/problem.ts";
import { makeDatabase } from "../support/cluster.ts";
import { share } from "../support/share.ts";

const database = await share(makeDatabase());

const TEXT = "select pg_catalog.array_to_string($1::pg_catalog.text[], ',')";

type Sent = {
  count: number;
  bytes?: number;
  text?: string;
  /** The caller of the second call. */
  caller?: AbortController;
  /** Called when a group is sent. */
  onSend?: () => void;
  readLines?: Grouping["readLines"];
};

/** Sends calls in one turn. Returns the sizes of their groups, and the result or error code of each call. */
async function send(
  pool: Database,
  { count, bytes = 1, text = TEXT, caller, onSend, readLines }: Sent,
) {
  const sizes: number[] = [];
  const results = await Promise.all(
    Array.from({ length: count }, (_, index) => {
      const id = String(index).padStart(4, "0");
      const grouping: Grouping = {
        key: "k",
        row: { id, body: "{}", claim: null },
        bytes,
        touched: [],
        toCall: (rows) => {
          sizes.push(rows.length);
          onSend?.();
          return { text, parameters: [`{${rows.map((row) => row.id).join(",")}}`] };
        },
        readLines:
          readLines ??
          ((response) =>
            new TextDecoder()
              .decode(response)
              .split(",")
              .map((line) => new TextEncoder().encode(line))),
      };
      const call = { retry: "unsafe", queue: "app", grouping } as const;
      return pool
        .bytes(TEXT, [`{${id}}`], index === 1 && caller !== undefined ? { ...call, caller } : call)
        .then((found) => new TextDecoder().decode(found ?? undefined))
        .catch((error: unknown) => (error instanceof Problem ? error.code : error));
    }),
  );
  return { sizes, results };
}

async function withPool<Result>(
  use: (pool: Database) => Promise<Result>,
  options: Partial<DatabaseOptions> = {},
): Promise<Result> {
  const pool = openDatabase({
    url: database.adminUrl,
    connections: 10,
    prepare: database.prepare,
    name: "rowhouse groups test",
    ...options,
  });
  try {
    return await use(pool);
  } finally {
    await pool.close(0);
  }
}

const ids = (count: number) =>
  Array.from({ length: count }, (_, index) => String(index).padStart(4, "0"));

test.each([
  { name: "32 calls", count: 100, bytes: 1, max: 32 },
  { name: "256 KB", count: 20, bytes: 100_000, max: 2 },
])(
  "a group has max $name, and each call gets the line of its row",
  async ({ count, bytes, max }) => {
    await withPool(async (pool) => {
      const { sizes, results } = await send(pool, { count, bytes });
      expect(results).toEqual(ids(count));
      expect(Math.max(...sizes)).toBe(max);
    });
  },
);

test("a call that is larger than a group is sent separately", async () => {
  await withPool(async (pool) => {
    expect(await send(pool, { count: 10, bytes: 300_000 })).toEqual({
      sizes: [],
      results: ids(10),
    });
  });
});

test("waiting calls count against the limits of their queue", async () => {
  await withPool(async (pool) => {
    const { results } = await send(pool, { count: 300 });
    expect(results.slice(0, 256)).toEqual(ids(256));
    expect(new Set(results.slice(256))).toEqual(new Set(["rate_limited"]));
    expect(pool.stats()).toMatchObject({ busy: 0, waiting: 0, shed: { queue_full: 44 } });
  });
});

const fail = () => {
  throw new Error("malformed");
};

test.each([
  { name: "does not match the calls", readLines: () => undefined },
  { name: "is unreadable", readLines: fail },
])(
  "a response that $name leaves the outcome of the group's calls unknown, and is reported",
  async ({ readLines }) => {
    let reports = 0;
    const onMismatch = () => void reports++;
    await withPool(
      async (pool) => {
        const { results } = await send(pool, { count: 3, readLines });
        expect(results).toEqual(["unknown_outcome", "unknown_outcome", "unknown_outcome"]);
        expect([reports, pool.stats().busy]).toEqual([1, 0]);
      },
      { onMismatch },
    );
  },
);

test("calls of a group that reached the time limit are not sent again", async () => {
  const text = `select (select 'late' from pg_catalog.pg_sleep(30)) || ($1::pg_catalog.text[])[1]`;
  await withPool(
    async (pool) => {
      const { sizes, results } = await send(pool, { count: 3, text });
      expect([sizes, results]).toEqual([[3], ["timeout", "timeout", "timeout"]]);
    },
    // The server has the same limit, and enforces it more precisely.
    { limitMs: 300, url: `${database.adminUrl}?statement_timeout=300` },
  );
});

test("a waiting call with a canceled caller is not sent", async () => {
  await withPool(async (pool) => {
    const caller = new AbortController();
    caller.abort();
    const { sizes, results } = await send(pool, { count: 4, caller });
    expect([sizes, results]).toEqual([[3], ["0000", "overloaded", "0002", "0003"]]);
  });
});

test("after a group without an effect, its calls and later calls are sent separately for a while", async () => {
  await withPool(async (pool) => {
    const failing = `select (1 / (cardinality($1::pg_catalog.text[]) - 3))::text`;
    expect(await send(pool, { count: 3, text: failing })).toEqual({ sizes: [3], results: ids(3) });
    expect(await send(pool, { count: 3 })).toEqual({ sizes: [], results: ids(3) });
  });
});

test("a caller that cancels does not cancel the sent calls of other callers", async () => {
  await withPool(async (pool) => {
    const caller = new AbortController();
    const slow = `select array_to_string($1::text[], ',') from pg_sleep(0.3)`;
    const sent = { count: 4, text: slow, caller, onSend: () => caller.abort() };
    expect(await send(pool, sent)).toEqual({ sizes: [4], results: ids(4) });
  });
});
