/**
 * A proxy swaps, repeats and drops rows in the responses to pipelined reads. Every caller gets a correct response, never another
 * caller's row, page or person, and the log records the mismatches.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import schema from "../../schema/mod.ts";
import { type Jar, makePerson, sharedCookie, signInAs } from "../support/people.ts";
import { makeMessage } from "../support/postgres_protocol.ts";
import { type Action, openPostgresProxy, type PostgresProxy } from "../support/postgres_proxy.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { countRuns } from "../support/tier.ts";

const SECONDS = countRuns(6);
const CALLERS = 32;
const ROWS = 50;
/** The share of rows that the proxy changes. */
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
    const created = await service.call(app, TODOS, { method: "POST", json: { title } });
    return { path: created.headers.get("location") ?? "", title };
  });
  const created = await Promise.all(rows);
  // Lists are ordered by id.
  return { app, rows: created.toSorted((a, b) => (a.path < b.path ? -1 : 1)) };
}

async function makeVisitor() {
  const { id, email } = await makePerson(service);
  const jar: Jar = await signInAs(service, { id, email });
  return { id, cookie: sharedCookie(jar) };
}

const CHANGES: readonly ((row: Buffer, before: Buffer) => Action)[] = [
  (_, before) => ({ send: [makeMessage("D", before)] }),
  (row, before) => ({ send: [makeMessage("D", before), makeMessage("D", row)] }),
  () => ({ send: [] }),
  (row) => ({ send: [makeMessage("D", row), makeMessage("Z", Buffer.from("I"))] }),
];

/** Changes some rows on the pipelined connections. Returns a function that counts the changes. */
function tamper(): () => number {
  const pipelines = new Set<number>();
  /** By connection and number of values, so that the driver can read the row. */
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

function draw<Item>(items: readonly Item[]): Item {
  const item = items[Math.floor(Math.random() * items.length)];
  if (item === undefined) throw new Error("The list is empty");
  return item;
}

/** Lists a page, which the service may have cached. Returns `right` for the right response. */
async function askList(): Promise<string> {
  const { app, rows } = draw(apps);
  const limit = draw([10, 1000, 1 + Math.floor(Math.random() * ROWS)]);
  const offset = draw([0, Math.floor(Math.random() * ROWS)]);
  const { status, json } = await service.call(app, `${TODOS}?limit=${limit}&offset=${offset}`);
  const page = rows.slice(offset, offset + limit).map(({ title }) => title);
  const found = (json as { rows?: { title: string }[] }).rows?.map(({ title }) => title);
  return status === 200 && found?.join() === page.join() ? "right" : `list: ${status}`;
}

/** Sends a get, a list, or a visitor's /me. Returns `right` for the right response. */
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
  // The proxy recognizes pipelined connections by their start, so existing connections must end.
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
  const mismatches = service.log.filter((line) => line.includes("response mismatch")).length;
  console.log(
    `${ends.get("right")} responses, ${countChanged()} changed by the proxy, ${mismatches} mismatches`,
  );
  expect([...ends.keys()]).toEqual(["right"]);
  expect(countChanged()).toBeGreaterThan(countRuns(20));
  expect(mismatches).toBeGreaterThan(countRuns(10));
}, 60_000);
