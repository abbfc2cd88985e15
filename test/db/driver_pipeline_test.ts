/**
 * Statements that the patched driver sends before earlier responses arrive. Each statement gets its own response or
 * error, and every statement ends, even if the connection fails.
 */
import { expect, test } from "bun:test";
import { openDatabase, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { type Connection, openConnection } from "../../src/db/pool/connection.ts";
import { errorCode } from "../../src/std/network.ts";
import { makeDatabase } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { openPostgresProxy } from "../support/postgres_proxy.ts";
import { share } from "../support/share.ts";

const NAME = "rowhouse driver test";
/** The number of concurrent statements. */
const DEPTH = 100;
/** Much longer than any of these statements runs. */
const LOST_MS = 10_000;
const CALL = { retry: "safe", queue: SERVICE_QUEUE } as const;

const database = await share(makeDatabase());
const admin = await share(
  openDatabase({ url: database.adminUrl, connections: 2, prepare: true, name: "observer" }),
);
await admin.message(`create table public.kinds as select 1::int4 as kind;
    create function public.fail() returns text language plpgsql as $$ begin raise 'on purpose'; end $$;
    select 1`);

async function withConnection<Result>(
  options: { url?: string; prepare?: boolean },
  use: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const { url = database.adminUrl, prepare = true } = options;
  const connection = await openConnection({ url, prepare, name: NAME, isPipelined: true });
  try {
    return await use(connection);
  } finally {
    connection.end();
  }
}

let count = 0;

/** Returns `right`, `wrong`, `lost`, or the code of the error. */
async function echo(connection: Connection, prepare = true): Promise<string> {
  const nonce = `${++count}`;
  const text = "select kind, $1 as nonce from public.kinds";
  const pending = connection.send({ text, parameters: [nonce], prepare, isRaw: false });
  const late = Bun.sleep(LOST_MS).then(() => [{ nonce: "late" }]);
  try {
    const [row] = (await Promise.race([pending, late])) as { nonce: string }[];
    if (row?.nonce === "late") return "lost";
    return row?.nonce === nonce ? "right" : "wrong";
  } catch (error) {
    return errorCode(error) ?? "an error without a code";
  }
}

/** Sends rounds of statements while `run` runs, and returns their results. */
async function echoDuring(
  connection: Connection,
  run: () => Promise<unknown>,
): Promise<Set<string>> {
  const ends = new Set<string>();
  let isOver = false;
  const workers = Array.from({ length: DEPTH }, async () => {
    while (!isOver && connection.isAlive()) ends.add(await echo(connection));
    ends.add(await echo(connection));
  });
  await run();
  isOver = true;
  await Promise.all(workers);
  return ends;
}

test("a prepared statement that the server has forgotten fails, and is then prepared again", async () => {
  await withConnection({}, async (connection) => {
    const ends = await echoDuring(connection, async () => {
      for (let round = 0; round < 10; round++) {
        await connection.send({
          text: "deallocate all",
          parameters: undefined,
          prepare: false,
          isRaw: false,
        });
        await Bun.sleep(5);
      }
    });
    expect([...ends].sort()).toEqual(["26000", "right"]);
    expect(await echo(connection)).toBe("right");
  });
});

test("a prepared statement with a changed result type fails, and is then prepared again", async () => {
  await withConnection({}, async (connection) => {
    const ends = await echoDuring(connection, async () => {
      for (const type of ["int8", "int4", "int8", "int4"]) {
        await admin.message(`alter table public.kinds alter kind type ${type}; select 1`);
        await Bun.sleep(20);
      }
    });
    expect([...ends].sort()).toEqual(["0A000", "right"]);
  });
});

test("only the statement with invalid values fails", async () => {
  await withConnection({}, async (connection) => {
    const send = (value: Date) =>
      connection
        .send({ text: "select $1 as value", parameters: [value], prepare: false, isRaw: false })
        .catch((error: unknown) => error);
    const unsendable = new Date(Number.NaN);
    const [first, second, failed, last] = await Promise.all(
      [new Date(1), new Date(2), unsendable, new Date(3)].map(send),
    );
    expect(failed).toBeInstanceOf(RangeError);
    expect([first, second, last]).toEqual([1, 2, 3].map((time) => [{ value: new Date(time) }]));
  });
});

test("no caller gets the error of the previous statement after a lost connection", async () => {
  await using proxy = await openPostgresProxy();
  await withConnection({ url: proxy.toUrl(database.adminUrl) }, async (connection) => {
    expect(await echo(connection)).toBe("right");
    proxy.onMessage(({ from, type }) =>
      from === "server" && type === "E" ? { failure: "cut" } : undefined,
    );
    const failed = connection
      .send({ text: "select public.fail()", parameters: [], prepare: false, isRaw: false })
      .catch(errorCode);
    const behind = await Promise.all(Array.from({ length: DEPTH }, () => echo(connection)));
    expect(await failed).toBe("P0001");
    expect([...new Set(behind)]).toEqual(["CONNECTION_CLOSED"]);
  });
});

test("statements end with their session, and no statement gets the response of another", async () => {
  const ends = new Set<string>();
  for (let round = 0; round < 20; round++) {
    const some = await withConnection({}, (connection) =>
      echoDuring(connection, async () => {
        await Bun.sleep(Math.random() * 10);
        await admin.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1",
          [NAME],
          CALL,
        );
        await eventually(() => !connection.isAlive());
      }),
    );
    for (const end of some) ends.add(end);
  }
  const others = [...ends].filter(
    (end) => !/^(right|57P01|CONNECTION_\w+|EPIPE|ECONNRESET)$/.test(end),
  );
  expect(others).toEqual([]);
  expect(ends).toContain("57P01");
}, 60_000);

test("unprepared statements are sent without waiting for a description", async () => {
  await using proxy = await openPostgresProxy();
  const url = proxy.toUrl(database.adminUrl);
  await withConnection({ url, prepare: false }, async (connection) => {
    proxy.onMessage(({ from }) => (from === "server" ? { hold: true } : undefined));
    const ends = Promise.all(Array.from({ length: DEPTH }, () => echo(connection, false)));
    await eventually(() => proxy.count("public.kinds") === DEPTH);
    await proxy.heal();
    expect([...new Set(await ends)]).toEqual(["right"]);
  });
});
