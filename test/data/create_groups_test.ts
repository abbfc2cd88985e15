/** Concurrent creates in one statement. Each create gets the same response and writes the same row as a separate create. */
import { afterAll, afterEach, expect } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { withDatabase } from "../support/cluster.ts";
import { functionOf, signatureOf } from "../support/functions.ts";
import { whileDone } from "../support/held_lock.ts";
import { openPostgresProxy } from "../support/postgres_proxy.ts";
import {
  type Call,
  callService,
  openTestService,
  type TestApp,
  type TestResponse,
  UNGUARDED,
} from "../support/service.ts";
import { serveAnother } from "../support/shape.ts";
import { testUnlessCitus } from "../support/skip.ts";

const schema = defineSchema({
  projects: { name: t.string().required() },
  todos: {
    title: t.string().required().unique(),
    project: t.ref("projects"),
    size: t.number().default(3),
    kind: t.enum(["a", "b"]),
    data: t.json(),
  },
});
const PATH = "/v1/data/db/todos";
const GROUP = functionOf(schema, "todos", "create_group");
const SINGLE = functionOf(schema, "todos", "create");

/** The service groups creates. The single process does not. Both use the same database. */
let single: { url: string; close: () => Promise<void> };
const proxy = await openPostgresProxy();
const service = await openTestService({
  toServingUrl: proxy.toUrl,
  shape: "one",
  connections: 10,
  service: { ...UNGUARDED, groupsCreates: true },
});
single = await serveAnother(service.database, { groupsCreates: false });
afterEach(() => proxy.heal());
afterAll(async () => {
  await single.close();
  await service.close();
  await proxy.close();
});

const testGroups = testUnlessCitus("a cluster does not group creates");

function create(
  app: TestApp,
  json: unknown,
  { url = service.url, ...call }: Call & { url?: string } = {},
): Promise<TestResponse> {
  return callService({ url, secrets: service.secrets }, app, PATH, {
    method: "POST",
    json,
    ...call,
  });
}

const titles = (count: number, start = "t") =>
  Array.from({ length: count }, (_, index) => ({ title: `${start}${index}` }));

async function createAll(app: TestApp, count: number, start?: string): Promise<TestResponse[]> {
  return await Promise.all(titles(count, start).map((row) => create(app, row)));
}

/** Counts the responses by status. */
function countStatuses(responses: readonly TestResponse[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

async function readTitles({ id }: TestApp): Promise<string[]> {
  const rows = await service.query<{ title: string }>(
    "select title from data.todos where app_id = $1 order by title",
    [id],
  );
  return rows.map(({ title }) => title);
}

const KEYED = { headers: { "idempotency-key": "first" } };
const LARGE = "x".repeat(17_000);

/** Valid and invalid calls by number. */
const SENT: readonly ((index: number) => [unknown, Call?])[] = [
  (index) => [{ title: `valid ${index}` }],
  (index) => [{ title: `keyed ${index}` }, { headers: { "idempotency-key": `${index}` } }],
  () => [{ title: "taken" }],
  (index) => [
    { title: `default ${index}`, size: null, unknown: 1, data: { a: ["\n", "\\", "é\u2028"] } },
  ],
  (index) => [{ title: `dangling ${index}`, project: crypto.randomUUID() }],
  () => [{ title: "taken" }, { headers: { "idempotency-key": "other" } }],
  () => [{ title: 7, kind: "c" }],
  () => [{}],
  () => [{ title: "first" }, KEYED],
  () => [{ title: "not the first" }, KEYED],
  (index) => [
    { title: `large ${index}`, data: LARGE },
    { headers: { "idempotency-key": `large ${index}` } },
  ],
  () => [{ title: `first large`, data: LARGE }, { headers: { "idempotency-key": "first large" } }],
  (index) => [{ title: `with a project ${index}`, kind: "b", project: "PROJECT" }],
  () => [undefined, { body: "{", headers: { "content-type": "application/json" } }],
  (index) => [[{ title: `batch ${index}` }, { title: `batch ${index} too` }]],
];

/** Sends 300 requests, 60 at a time. Returns the responses and all rows, without values that differ between two apps. */
async function sendMany(url: string): Promise<unknown> {
  const app = await service.makeApp(schema);
  const path = "/v1/data/db/projects";
  const created = await service.call(app, path, { method: "POST", json: { name: "p" } });
  const project = (created.json as { id: string }).id;
  await create(app, { title: "taken" });
  await create(app, { title: "first" }, KEYED);
  await create(
    app,
    { title: "first large", data: LARGE },
    { headers: { "idempotency-key": "first large" } },
  );
  const mask = (text: string) =>
    text
      .replaceAll(app.id, "<app>")
      .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<id>");
  const send = async (index: number) => {
    const [json, call] = SENT[index % SENT.length]?.(index) ?? [];
    const text = JSON.stringify(json)?.replace("PROJECT", project);
    return await create(app, text === undefined ? undefined : JSON.parse(text), { ...call, url });
  };
  const responses: TestResponse[] = [];
  // 300 concurrent requests would overload a process without groups on a slow machine.
  while (responses.length < 300) {
    const wave = Array.from({ length: 60 }, (_, index) => send(responses.length + index));
    responses.push(...(await Promise.all(wave)));
  }
  const rows = await service.query<{ row: string }>(
    "select (row_to_json(t)::jsonb - 'id')::text as row from data.todos as t where app_id = $1 order by title",
    [app.id],
  );
  return {
    responses: responses.map(({ status, headers, text }) => ({
      status,
      text: mask(text),
      replayed: headers.get("idempotency-replayed"),
      preference: headers.get("preference-applied"),
      location: mask(headers.get("location") ?? ""),
    })),
    rows: rows.map(({ row }) => mask(row)),
  };
}

testGroups(
  "300 creates, many of them invalid, have the same results in groups as separately",
  async () => {
    const grouped = await sendMany(service.url);
    expect(proxy.count(GROUP)).toBeGreaterThan(0);
    expect(grouped).toEqual(await sendMany(single.url));
  },
);

testGroups(
  "a lost connection leaves the outcome of its group unknown, and no create is sent again",
  async () => {
    const app = await service.makeApp(schema);
    const lost: string[] = [];
    proxy.onMessage(({ statement = "", type }) => {
      if (type !== "B" || lost.length > 0 || !statement.includes(GROUP)) return undefined;
      lost.push(statement);
      return { failure: "cut" };
    });
    const before = proxy.count(GROUP) + proxy.count(SINGLE);
    const responses = await createAll(app, 64);
    const statements = proxy.count(GROUP) + proxy.count(SINGLE) - before;
    const stored = await readTitles(app);
    const unknown = responses.filter(({ status }) => status !== 201);
    expect(unknown.length).toBeGreaterThan(1);
    for (const { status, json } of unknown)
      expect([status, json]).toMatchObject([503, { error: "unknown_outcome" }]);
    // The group is aborted or complete, never partial.
    expect([64 - unknown.length, 64]).toContain(stored.length);
    expect(new Set(stored).size).toBe(stored.length);
    expect(statements).toBeLessThan(responses.length - unknown.length + 2);
  },
);

testGroups("creates of a group whose backend was terminated are sent separately", async () => {
  const app = await service.makeApp(schema);
  const run = (text: string) =>
    withDatabase(service.database.superuserUrl, (superuser) => superuser.message(text));
  await run(`create sequence public.groups;
    create function public.end_backend() returns trigger language plpgsql security definer as $$
    begin
      if current_query() like '%create_group%' and nextval('public.groups') = 1 then
        perform pg_terminate_backend(pg_backend_pid());
      end if;
      return new;
    end $$;
    create trigger end_backend before insert on data.todos
      for each row execute function public.end_backend(); select 1`);
  const responses = await createAll(app, 64);
  const [sequence] = (await run("select is_called from public.groups")) as { is_called: boolean }[];
  await run("drop function public.end_backend cascade; drop sequence public.groups; select 1");
  expect(sequence).toEqual({ is_called: true });
  expect(countStatuses(responses)).toEqual({ 201: 64 });
  const wanted = titles(64).map(({ title }) => title);
  expect(await readTitles(app)).toEqual(wanted.sort());
});

testGroups("a create that waits for a lock delays no other create", async () => {
  const app = await service.makeApp(schema);
  const text = "insert into data.todos (app_id, id, title) values ($1, gen_random_uuid(), 't7')";
  const responses = await whileDone(
    service.database.superuserUrl,
    { text, values: [app.id] },
    async () => {
      const pending = titles(40).map((row) => create(app, row));
      const others = await Promise.all(pending.filter((_, index) => index !== 7));
      expect(countStatuses(others)).toEqual({ 201: 39 });
      return pending;
    },
  );
  expect((await responses[7])?.json).toMatchObject({ error: "unique_violation" });
});

testGroups(
  "two processes that create the same values in opposite orders create each value once",
  async () => {
    const second = await serveAnother(service.database);
    const app = await service.makeApp(schema);
    for (let round = 0; round < 5; round++) {
      const rows = titles(40, `round ${round} `);
      const responses = await Promise.all([
        ...rows.map((row) => create(app, row)),
        ...rows.toReversed().map((row) => create(app, row, { url: second.url })),
      ]);
      expect(countStatuses(responses)).toEqual({ 201: 40, 409: 40 });
    }
    expect((await readTitles(app)).length).toBe(200);
    await second.close();
  },
);

testGroups(
  "creates of other apps, other keys and disconnected clients never affect each other",
  async () => {
    const [app, other, ended] = [
      await service.makeApp(schema),
      await service.makeApp(schema),
      await service.makeApp(schema),
    ];
    await createAll(ended, 1, "before");
    // Delete the proof only in the database: the gateway has cached the key.
    await service.service.admin.message(
      `delete from rowhouse.proofs where app_id = '${ended.id}' returning app_id`,
    );
    const gone = new AbortController();
    const leaving = titles(8, "gone").map(async ({ title }) => {
      await fetch(service.url + PATH, {
        method: "POST",
        headers: { authorization: `Bearer ${app.key}`, "content-type": "application/json" },
        body: JSON.stringify({ title }),
        signal: gone.signal,
      }).catch(() => undefined);
    });
    const all = [createAll(app, 40), createAll(other, 40), createAll(ended, 40)];
    setImmediate(() => gone.abort());
    const [own, others, rejected] = await Promise.all(all);
    await Promise.all(leaving);
    expect([own, others, rejected].map((responses) => countStatuses(responses ?? []))).toEqual([
      { 201: 40 },
      { 201: 40 },
      { 401: 40 },
    ]);
    expect((await readTitles(app)).filter((title) => title.startsWith("t")).length).toBe(40);
    expect((await readTitles(other)).length).toBe(40);
    expect(await readTitles(ended)).toEqual(["before0"]);
  },
);

testGroups("rows of a group have different default times", async () => {
  const at = t.timestamp().required().default("now");
  const times = defineSchema({ visits: { at, seen: at } });
  const app = await service.makeApp(times);
  const responses = await Promise.all(
    Array.from({ length: 40 }, () =>
      service.call(app, "/v1/data/db/visits", { method: "POST", json: {} }),
    ),
  );
  expect(countStatuses(responses)).toEqual({ 201: 40 });
  const rows = responses.map(({ json }) => json as { at: string; seen: string });
  for (const { at, seen } of rows) expect(seen).toBe(at);
  expect(proxy.count(functionOf(times, "visits", "create_group"))).toBeGreaterThan(0);
  // The creates of a failed group are sent again separately.
  expect(proxy.count(`${functionOf(times, "visits", "create")}"(`)).toBeLessThan(20);
  // Two groups can begin in the same moment, but the times of their rows differ.
  expect(new Set(rows.map(({ at }) => at)).size).toBeGreaterThan(20);
});

testGroups("creates with the same idempotency key happen once in a group", async () => {
  const app = await service.makeApp(schema);
  const before = proxy.count(GROUP);
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      create(app, { title: index % 2 === 0 ? "same" : "other" }, KEYED),
    ),
  );
  expect(proxy.count(GROUP)).toBeGreaterThan(before);
  expect(countStatuses(responses)).toEqual({ 201: 10, 422: 10 });
  expect((await readTitles(app)).length).toBe(1);
});

testGroups("creates work for a table without the function for groups", async () => {
  const app = await service.makeApp(
    defineSchema({ plain: { title: t.string().required().default("x") } }),
  );
  const name = signatureOf(
    defineSchema({ plain: { title: t.string().required().default("x") } }),
    "plain",
    "create_group",
  );
  const [plain] = name.split("(");
  await service.service.admin.message(
    `drop function api."${plain}"(${name.slice((plain ?? "").length + 1)}; select 1`,
  );
  const responses = await Promise.all(
    Array.from({ length: 40 }, () =>
      service.call(app, "/v1/data/db/plain", { method: "POST", json: {} }),
    ),
  );
  expect(countStatuses(responses)).toEqual({ 201: 40 });
  expect((await service.call(undefined, "/ready")).status).toBe(200);
  const bugs = service.log.filter((line) => line.includes("a group of creates"));
  expect(bugs).toEqual([expect.stringContaining('"code":"42883"')]);
});
