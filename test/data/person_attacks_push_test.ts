/** A push that tightens rules, at a process that has not read it yet: cached pages, tags, cursors, writes and open event streams. */
import { afterAll, expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { withDatabase } from "../support/cluster.ts";
import { type EventReader, openEvents } from "../support/event_stream.ts";
import { eventually } from "../support/eventually.ts";
import { makePerson, signInAs } from "../support/people.ts";
import { getPersonKey, openToBrowsers } from "../support/person_keys.ts";
import { openTestService, type TestApp, type TestResponse } from "../support/service.ts";

const ORIGIN = "https://wiki.example.org";
const TODOS = "/v1/data/db/todos";
const SECRET = "secret of the server";

type Rules = Parameters<ReturnType<typeof t.model>["allow"]>[1];

/** `read`: what members read. Leads read all, so that the table always has rules. */
function schemaWith(rules: Rules | undefined, isCostHidden = false) {
  const cost = t.string();
  const model = t
    .model({
      title: t.string().required(),
      owner: t.uuid(),
      cost: isCostHidden ? cost.only("lead") : cost,
    })
    .index("owner", "id")
    .index("title")
    .allow("lead", "everything");
  return defineSchema({ todos: rules === undefined ? model : model.allow("member", rules) });
}

const streams: EventReader[] = [];
const service = await openTestService({ service: { previews: ["filters", "live", "browser"] } });
afterAll(async () => {
  for (const events of streams) await events.close();
  await service.close();
});

async function enter(rules: Rules) {
  const app = await service.makeApp(schemaWith(rules), { origins: [ORIGIN] });
  await openToBrowsers(service, app);
  await setAppSwitch(service.service, app.slug, ["live", true]);
  const ada = await makePerson(service, { app, role: "member" });
  await service.service.warm();
  const cookies = await signInAs(service, ada);
  const { key } = await getPersonKey(service, { cookies, app, origin: ORIGIN });
  return { app, ada, key };
}

async function create(app: TestApp, json: object): Promise<string> {
  const { status, json: row } = await service.call(app, TODOS, { method: "POST", json });
  expect(status).toBe(201);
  return (row as { id: string }).id;
}

const READS = [
  "",
  "?limit=1",
  "?title=like.secret*",
  "?order=title",
  "?order=title.desc&limit=1&select=id,title,cost",
  "/groups?by=title",
  "/groups?by=cost",
];

/** Each read with its tag from before, without it, and the next page by its cursor. */
async function readAll(
  key: string,
  id: string,
  before: readonly TestResponse[],
): Promise<TestResponse[]> {
  const found: TestResponse[] = [];
  for (const [n, path] of [...READS, `/${id}`].entries()) {
    const tag = before[n]?.headers.get("etag");
    const cached = { headers: tag == null ? {} : { "if-none-match": tag } };
    found.push(await service.call(undefined, TODOS + path, { key, ...cached }));
    found.push(await service.call(undefined, TODOS + path, { key }));
    const { next } = Object(before[n]?.json) as { next?: string };
    if (typeof next === "string") {
      const query = `${path}${path.includes("?") ? "&" : "?"}after=${next}`;
      found.push(await service.call(undefined, TODOS + query, { key }));
    }
  }
  return found;
}

test.each([
  ["own rows", { read: { owner: "me" }, update: true, delete: true } as Rules],
  ["no rows of a role", undefined],
])("after a push that leaves %s, no read shows a row from before", async (_, tightened) => {
  const { app, key } = await enter({ read: true, create: true, update: true, delete: true });
  const id = await create(app, { title: SECRET, cost: SECRET });
  await create(app, { title: `${SECRET} 2`, cost: SECRET });
  const before: TestResponse[] = [];
  for (const path of [...READS, `/${id}`]) {
    await service.call(undefined, TODOS + path, { key });
    before.push(await service.call(undefined, TODOS + path, { key }));
  }
  expect(before.map(({ status }) => status)).toEqual(before.map(() => 200));
  const events = await openEvents(`${service.url}${TODOS}/changes`, { key });
  streams.push(events);
  expect(await events.next()).toMatchObject({ kind: "ready" });

  await service.pushSchema(app, schemaWith(tightened));
  const after = await readAll(key, id, before);
  for (const { status, text } of after) {
    expect([200, 403, 404]).toContain(status);
    expect(text).not.toContain(SECRET);
  }
  const writes = [
    await service.call(undefined, `${TODOS}/${id}`, { key, method: "PATCH", json: { cost: "x" } }),
    await service.call(undefined, `${TODOS}/${id}`, { key, method: "DELETE" }),
    await service.call(undefined, `${TODOS}?title=eq.${SECRET}`, { key, method: "DELETE" }),
    await service.call(undefined, TODOS, { key, method: "PATCH", json: [{ id, cost: "x" }] }),
  ];
  for (const { status } of writes) expect([200, 403, 404]).toContain(status);
  expect((await service.call(app, `${TODOS}/${id}`)).json).toMatchObject({ cost: SECRET });

  // The server's next row is no event of the open stream.
  await create(app, { title: `${SECRET} 3` });
  const seen: unknown[] = [];
  for (;;) {
    const event = await events.next();
    seen.push(event);
    if (event === undefined || event.kind === "reset") break;
  }
  expect(JSON.stringify(seen)).not.toContain(SECRET);
});

test("after a push that hides a column, no read, repeat or event has its values", async () => {
  const rules: Rules = { read: true, create: true, update: true };
  const { app, key } = await enter(rules);
  const id = await create(app, { title: "shown", cost: SECRET });
  const before: TestResponse[] = [];
  for (const path of [...READS, `/${id}`])
    before.push(await service.call(undefined, TODOS + path, { key }));
  const headers = { "idempotency-key": "once" };
  const repeat = () =>
    service.call(undefined, TODOS, {
      ...{ key, method: "POST", headers },
      json: { title: "made by Ada", cost: SECRET },
    });
  expect((await repeat()).status).toBe(201);
  const events = await openEvents(`${service.url}${TODOS}/changes`, { key });
  streams.push(events);
  await events.next();

  await service.pushSchema(app, schemaWith(rules, true));
  for (const { status, text } of await readAll(key, id, before)) {
    expect([200, 400]).toContain(status);
    expect(text).not.toContain(SECRET);
  }
  expect((await repeat()).text).not.toContain(SECRET);
  await service.call(app, `${TODOS}/${id}`, { method: "PATCH", json: { cost: `${SECRET} 2` } });
  await create(app, { title: "last", cost: SECRET });
  const seen: string[] = [];
  while (!seen.some((text) => text.includes("last") || text.includes("reset")))
    seen.push(JSON.stringify((await events.next()) ?? "reset"));
  expect(seen.join()).not.toContain(SECRET);
});

test("a write that waits for a lock during the push ends by the former rules, and the next one does not", async () => {
  const { app, key } = await enter({ read: true, update: true });
  const id = await create(app, { title: "first" });
  const change = (title: string) =>
    service.call(undefined, `${TODOS}/${id}`, { key, method: "PATCH", json: { title } });
  await change("second");
  const ask = (text: string) => service.query(text);
  const statuses = await withDatabase(service.database.adminUrl, async (holder) => {
    const lock = `begin; select from data.todos where id = '${id}' for update; select pg_sleep(60)`;
    const held = holder.message(lock).catch(() => "ended");
    const hasAny = async (condition: string) =>
      (await ask(`select 1 as found from pg_stat_activity where ${condition}`)).length > 0;
    await eventually(() =>
      // Other connections that have asked this have the text too, and this one has it before it has the lock.
      hasAny("query ~ 'for update; select pg_sleep' and wait_event = 'PgSleep'"),
    );
    const write = change("third");
    // The first attempt waits for only 100 ms; one that is sent again after the push ends by the new rules.
    await eventually(() => hasAny("wait_event_type = 'Lock' and query ~ '^select api.*_update'"));
    await service.pushSchema(app, schemaWith({ read: true }));
    const next = await change("fourth");
    await ask(
      "select pg_cancel_backend(pid) from pg_stat_activity where query ~ 'for update; select pg_sleep' and wait_event = 'PgSleep'",
    );
    await held;
    return [(await write).status, next.status];
  });
  expect(statuses).toEqual([200, 403]);
  expect((await service.call(app, `${TODOS}/${id}`)).json).toMatchObject({ title: "third" });
});
