/**
 * The responses of pipelined reads are swapped, repeated, dropped and mixed on their way, some of every hundred: every caller
 * gets a response, none with another's row, page or person, and the log records it.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import schema from "../../schema/mod.ts";
import { type Jar, makePerson, sharedCookie, signInAs } from "../support/people.ts";
import { makeMessage, makeRow, splitRow } from "../support/postgres_protocol.ts";
import { type Action, openPostgresProxy, type PostgresProxy } from "../support/postgres_proxy.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

const SECONDS = 6;
const CALLERS = 32;
const ROWS = 50;
/** How many of a hundred rows meet something. */
const PERCENT = 6;
const TODOS = "/v1/data/db/todos";

let proxy: PostgresProxy;
let service: TestService;
let apps: { app: TestApp; rows: { path: string; title: string }[] }[];
let people: { id: string; cookie: string }[];
beforeAll(async () => {
  proxy = await openPostgresProxy();
  service = await openTestService({
    connections: 10,
    shape: "one",
    toServingUrl: proxy.toUrl,
    identity: () => ({ cookieDomain: "example.org" }),
  });
  apps = [await makeApp(), await makeApp()];
  people = await Promise.all([makeVisitor(), makeVisitor(), makeVisitor()]);
});
afterAll(async () => {
  await service.close();
  await proxy.close();
});

async function makeApp() {
  const app = await service.makeApp(schema);
  const titles = Array.from({ length: ROWS }, () => crypto.randomUUID());
  const rows = titles.map(async (title) => {
    const made = await service.call(app, TODOS, { method: "POST", json: { title } });
    return { path: made.headers.get("location") ?? "", title };
  });
  const made = await Promise.all(rows);
  // In the order of their ids, as a list has them.
  return { app, rows: made.toSorted((one, other) => (one.path < other.path ? -1 : 1)) };
}

async function makeVisitor() {
  const { id, email } = await makePerson(service);
  const jar: Jar = await signInAs(service, { id, email });
  return { id, cookie: sharedCookie(jar) };
}

const CHANGES: readonly ((row: Buffer, before: Buffer) => Action)[] = [
  (_, before) => ({ send: [makeMessage("D", before)] }),
  (row, before) => ({
    send: [makeRow([...splitRow(before).slice(0, -1), ...splitRow(row).slice(-1)])],
  }),
  (row, before) => ({ send: [makeMessage("D", before), makeMessage("D", row)] }),
  () => ({ send: [] }),
  (row) => ({ send: [makeMessage("D", row), makeMessage("Z", Buffer.from("I"))] }),
];

/** Changes some rows of the connections for pipelining; counts how many. */
function tamper(): () => number {
  const pipelines = new Set<number>();
  /** By connection and number of values, so that what is mixed has the right shape. */
  const last = new Map<string, Buffer>();
  let count = 0;
  proxy.onMessage(({ connection, from, type, body }) => {
    if (type === "" && body.includes("rowhouse pipeline")) pipelines.add(connection);
    if (from !== "server" || type !== "D" || !pipelines.has(connection)) return undefined;
    const kind = `${connection} ${body.readUInt16BE(0)}`;
    const before = last.get(kind);
    last.set(kind, Buffer.from(body));
    if (before === undefined || Math.random() * 100 >= PERCENT) return undefined;
    count++;
    return CHANGES[Math.floor(Math.random() * CHANGES.length)]?.(body, before);
  });
  return () => count;
}

function draw<One>(all: readonly One[]): One {
  const one = all[Math.floor(Math.random() * all.length)];
  if (one === undefined) throw new Error("There is nothing to draw from");
  return one;
}

/** Whether a page, perhaps one that is known already, got the right response. */
async function askList(): Promise<string> {
  const { app, rows } = draw(apps);
  const limit = draw([10, 1000, 1 + Math.floor(Math.random() * ROWS)]);
  const offset = draw([0, Math.floor(Math.random() * ROWS)]);
  const { status, json } = await service.call(app, `${TODOS}?limit=${limit}&offset=${offset}`);
  const page = rows.slice(offset, offset + limit).map(({ title }) => title);
  const found = (json as { rows?: { title: string }[] }).rows?.map(({ title }) => title);
  return status === 200 && found?.join() === page.join() ? "right" : `list: ${status}`;
}

/** Whether a get, a list, or a visitor's /me, got the right response. */
async function ask(): Promise<string> {
  if (Math.random() < 0.3) return await askList();
  if (Math.random() < 0.4) {
    const { id, cookie } = draw(people);
    const { status, json } = await service.call(undefined, "/v1/auth/me", { headers: { cookie } });
    return status === 200 && (json as { id: string }).id === id ? "right" : `/me: ${status}`;
  }
  const { app, rows } = draw(apps);
  const { path, title } = draw(rows);
  const { status, json } = await service.call(app, path);
  return status === 200 && (json as { title: string }).title === title ? "right" : `get: ${status}`;
}

test("a pool discards responses out of order", async () => {
  // Connections of before are not known to be for pipelining.
  const countChanged = tamper();
  await service.service.db
    .message(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'rowhouse pipeline'",
    )
    .catch(() => undefined);
  const ends = new Map<string, number>();
  const endsAt = performance.now() + SECONDS * 1000;
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      while (performance.now() < endsAt) {
        const end = await ask();
        ends.set(end, (ends.get(end) ?? 0) + 1);
      }
    }),
  );
  const told = service.log.filter((line) => line.includes("response mismatch")).length;
  console.log(
    `${ends.get("right")} responses, ${countChanged()} changed on their way, ${told} mismatches`,
  );
  expect([...ends.keys()]).toEqual(["right"]);
  expect(countChanged()).toBeGreaterThan(20);
  expect(told).toBeGreaterThan(10);
}, 60_000);
