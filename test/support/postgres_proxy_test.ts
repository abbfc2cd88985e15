/** The proxy's effects on messages, as a client of PostgreSQL sees them. @module */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import postgres, { type Sql } from "postgres";
import { makeEmptyDatabase } from "./cluster.ts";
import { eventually } from "./eventually.ts";
import { makeMessage } from "./postgres_protocol.ts";
import {
  type Action,
  type Message,
  openPostgresProxy,
  type PostgresProxy,
} from "./postgres_proxy.ts";
import { share } from "./share.ts";

/** A message that is not held arrives within this time. */
const QUIET_MS = 150;

let proxy: PostgresProxy;
let sql: Sql;
const database = await share(makeEmptyDatabase());
beforeEach(async () => {
  proxy = await openPostgresProxy();
  sql = connect();
  await sql`select 1`;
});
afterEach(async () => {
  await sql.end({ timeout: 0 });
  await proxy.close();
});

const connect = () => postgres(proxy.toUrl(database.url), { max: 1, fetch_types: false });
const ask = async () => (await sql`select 'one' as value`.simple()).map((row) => row["value"]);
const orNothing = (response: Promise<unknown>) =>
  Promise.race([response, Bun.sleep(QUIET_MS).then(() => "nothing")]);
/** Applies the action once, to the first matching message. */
const onFirst = (from: Message["from"], type: string, toAction: (message: Message) => Action) => {
  let isDone = false;
  proxy.onMessage((message) => {
    if (isDone || message.from !== from || message.type !== type) return undefined;
    isDone = true;
    return toAction(message);
  });
};

test.each([
  { name: "the client does not receive a dropped message", send: () => [], want: [] },
  {
    name: "the client receives a duplicated message twice",
    send: ({ type, body }: Message) => [makeMessage(type, body), makeMessage(type, body)],
    want: ["one", "one"],
  },
  {
    name: "the client receives a changed message",
    send: ({ type, body }: Message) => [
      makeMessage(type, Buffer.from(body.toString("latin1").replace("one", "two"), "latin1")),
    ],
    want: ["two"],
  },
])("from the server: $name", async ({ send, want }) => {
  onFirst("server", "D", (message) => ({ send: send(message) }));
  expect(await ask()).toEqual([...want]);
  expect(await ask()).toEqual(["one"]);
});

test("from a client: the server runs a changed message", async () => {
  onFirst("client", "Q", () => ({
    send: [makeMessage("Q", Buffer.from("select 'x' as value\0"))],
  }));
  expect(await ask()).toEqual(["x"]);
});

test("from a client: the server never runs a dropped message", async () => {
  onFirst("client", "Q", () => ({ send: [] }));
  const response = ask();
  expect(await orNothing(response)).toBe("nothing");
  proxy.refuse();
  await expect(response).rejects.toThrow();
});

test.each(["client", "server"] as const)(
  "from the %s: a held message delays later messages until it is released",
  async (from) => {
    let isHeld = false;
    onFirst(from, from === "client" ? "Q" : "D", () => {
      isHeld = true;
      return { hold: true };
    });
    const response = ask();
    await eventually(() => isHeld);
    expect(await orNothing(response)).toBe("nothing");
    proxy.release();
    expect(await response).toEqual(["one"]);
  },
);

test.each(["client", "server"] as const)("from the %s: a message is delayed", async (from) => {
  onFirst(from, from === "client" ? "Q" : "Z", () => ({ delayMs: QUIET_MS }));
  const startedAt = performance.now();
  expect(await ask()).toEqual(["one"]);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(QUIET_MS - 5);
});

describe("a connection", () => {
  test.each(["cut", "reset"] as const)(
    "is %s after a message, and a new connection works",
    async (failure) => {
      onFirst("server", "D", () => ({ failure }));
      await expect(ask()).rejects.toThrow();
      await sql.end({ timeout: 0 });
      sql = connect();
      expect(await ask()).toEqual(["one"]);
      expect(proxy.connections()).toBe(2);
    },
  );

  test("is frozen after a message, and closed when the proxy is healed", async () => {
    let isFrozen = false;
    const after = () => {
      isFrozen = true;
    };
    onFirst("server", "D", () => ({ failure: "freeze", after }));
    const response = ask();
    await eventually(() => isFrozen);
    expect(await orNothing(response)).toBe("nothing");
    await proxy.heal();
    await expect(response).rejects.toThrow();
    await sql.end({ timeout: 0 });
    sql = connect();
    expect(await ask()).toEqual(["one"]);
  });

  test("has a number, and each message in either direction has a number", async () => {
    const seen: string[] = [];
    await sql.end({ timeout: 0 });
    sql = connect();
    proxy.onMessage(({ connection, from, number, type }) => {
      seen.push(`${connection} ${from} ${number} ${type}`);
      return undefined;
    });
    await ask();
    expect(seen.slice(0, 2)).toEqual(["2 client 1 ", "2 server 1 R"]);
    expect(seen.at(-1)).toMatch(/^2 server \d+ Z$/);
  });
});

test("the proxy counts statements by their text, and prepared statements each time they run", async () => {
  const before = proxy.count("as counted");
  for (const n of [1, 2, 3]) await sql`select ${n}::int4 as counted`;
  await sql`select 1 as counted`.simple();
  expect(proxy.count("as counted") - before).toBe(4);
  expect(proxy.texts().filter((text) => text.includes("as counted"))).toHaveLength(2);
});
