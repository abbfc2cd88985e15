/** Event streams of changes if the preview is on and the app is live. Otherwise, the response is the same as before. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { call } from "../../src/db/mod.ts";
import { issueKey, revokeKey, setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { openAdmin } from "../support/admin.ts";
import { testDeps } from "../support/deps.ts";
import {
  type EventReader,
  names,
  openEvents,
  type StreamEvent,
  until,
} from "../support/event_stream.ts";
import { eventually } from "../support/eventually.ts";
import { countLockWaits, whileLocked } from "../support/held_lock.ts";
import { listAudit } from "../support/lists.ts";
import { makePerson, signInAs, submitForm, visit } from "../support/people.ts";
import { codeOf } from "../support/problem.ts";
import { openTestService, type TestApp, type TestService, UNGUARDED } from "../support/service.ts";
import { SHAPES, serveAnother } from "../support/shape.ts";

const schema = defineSchema({
  projects: { name: t.string().required() },
  todos: {
    title: t.string().required(),
    project: t.ref("projects", { onDelete: "cascade" }),
    after: t.ref("todos", { onDelete: "set null" }),
    meta: t.json(),
  },
  comments: { todo: t.ref("todos", { onDelete: "set null" }) },
  votes: { comment: t.ref("comments", { onDelete: "cascade" }) },
});
const TODOS = "/v1/data/db/todos";
const CHANGES = `${TODOS}/changes`;

/** Created in advance: the first stream of a table waits until every process serves its last push. */
const unused: TestApp[] = [];
const open: EventReader[] = [];
const service = await openTestService({
  service: { previews: ["live"], maxStreams: { app: 30, key: 20 } },
});
const app = await makeLive();
const other = await makeLive();
for (let count = 0; count < 3; count++) unused.push(await makeLive());
afterAll(async () => {
  for (const events of open) await events.close();
  await service.close();
});

async function listen(as: TestApp, since?: string, path = CHANGES): Promise<EventReader> {
  const events = await openEvents(service.url + path, { key: as.key, since });
  open.push(events);
  return events;
}

async function makeLive(of = service): Promise<TestApp> {
  const made = await of.makeApp(schema);
  await setAppSwitch(of.service, made.slug, ["live", true]);
  return made;
}

const takeLive = async (): Promise<TestApp> => unused.pop() ?? (await makeLive());

async function create(as: TestApp, json: object, path = TODOS): Promise<{ id: string }> {
  const created = await service.call(as, path, { method: "POST", json });
  expect(created.status).toBe(201);
  return created.json as { id: string };
}

test("a stream begins with ready and sends rows in the format of a read", async () => {
  const events = await listen(app);
  expect(events.response.status).toBe(200);
  expect(events.response.headers.get("cache-control")).toBe("no-store, no-transform");
  expect(events.response.headers.get("x-accel-buffering")).toBe("no");
  expect(await events.next()).toMatchObject({ kind: "ready", data: [] });
  const row = await create(app, { title: "first", meta: { text: "two\nlines" } });
  const created = await until(events, names(row.id));
  expect(created).toMatchObject({ kind: "changes", data: [{ put: row }] });
  const path = `${TODOS}/${row.id}`;
  const changed = await service.call(app, path, { method: "PATCH", json: { title: "second" } });
  expect(await until(events, names("second"))).toMatchObject({ data: [{ put: changed.json }] });
  expect(await service.call(app, path, { method: "DELETE" })).toMatchObject({ status: 204 });
  expect(await until(events, names("delete"))).toMatchObject({ data: [{ delete: row.id }] });
});

test("a batch is one event with all its rows", async () => {
  const events = await listen(app);
  const created = await service.call(app, TODOS, {
    method: "POST",
    json: [{ title: "one" }, { title: "two" }],
  });
  const { rows } = created.json as { rows: { id: string }[] };
  const event = await until(events, names(rows[0]?.id ?? "-"));
  expect(event.data).toBeArrayOfSize(2);
});

test("a reader that reconnects with its last id gets the missed changes", async () => {
  const events = await listen(app);
  const ready = await events.next();
  await events.close();
  const row = await create(app, { title: "missed" });
  const again = await listen(app, ready?.id);
  expect(await again.next()).toMatchObject({ kind: "changes", data: [{ put: row }] });
});

test("changes whose event exceeds 1 MB, although the database stores less, are a reset", async () => {
  const events = await listen(app);
  const ready = await events.next();
  await events.close();
  const meta = { text: "a".repeat(90_000) };
  for (let count = 0; count < 12; count++) await create(app, { title: "long", meta });
  const again = await listen(app, ready?.id);
  expect(await again.next()).toMatchObject({ kind: "reset", data: [] });
  await again.close();
});

test.each(["", "x", "00000000-1-1.5:5:", "a.b:c", "1".repeat(2000)])(
  "an unknown cursor leads to a reset",
  async (since) => {
    const events = await listen(app, since);
    expect(await events.next()).toMatchObject({ kind: "reset", data: [] });
  },
);

test("a delete with cascading deletes reports the rows of each table", async () => {
  const app = await takeLive();
  const project = await create(app, { name: "Garden" }, "/v1/data/db/projects");
  const todo = await create(app, { title: "in it", project: project.id });
  const events = await listen(app);
  await events.next();
  await service.call(app, `/v1/data/db/projects/${project.id}`, { method: "DELETE" });
  expect(await events.next()).toMatchObject({ kind: "changes", data: [{ delete: todo.id }] });
});

test("a delete that sets references to null reports their rows, but no table behind them", async () => {
  const app = await takeLive();
  const project = await create(app, { name: "Garden" }, "/v1/data/db/projects");
  const first = await create(app, { title: "first" });
  const todo = await create(app, { title: "in it", project: project.id });
  const later = await create(app, { title: "later", after: first.id });
  const comments = "/v1/data/db/comments";
  const comment = await create(app, { todo: todo.id }, comments);
  await create(app, { comment: comment.id }, "/v1/data/db/votes");
  const [ofComments, ofVotes, ofTodos] = [
    await listen(app, undefined, `${comments}/changes`),
    await listen(app, undefined, "/v1/data/db/votes/changes"),
    await listen(app),
  ];
  for (const events of [ofComments, ofVotes, ofTodos]) await events.next();
  // The delete cascades to the todo, which sets the comment's reference to null.
  await service.call(app, `/v1/data/db/projects/${project.id}`, { method: "DELETE" });
  expect(await ofComments.next()).toMatchObject({
    kind: "changes",
    data: [{ put: { id: comment.id, todo: null } }],
  });
  expect(await ofTodos.next()).toMatchObject({ kind: "changes", data: [{ delete: todo.id }] });
  expect(await service.call(app, `${comments}/${comment.id}`)).toMatchObject({
    json: { todo: null },
  });
  const vote = await create(app, { comment: comment.id }, "/v1/data/db/votes");
  expect(await ofVotes.next()).toMatchObject({ kind: "changes", data: [{ put: vote }] });
  // The table references itself.
  await service.call(app, `${TODOS}/${first.id}`, { method: "DELETE" });
  const event = await ofTodos.next();
  expect(event?.kind).toBe("changes");
  expect(event?.data).toContainEqual({ delete: first.id });
  expect(event?.data).toContainEqual({
    put: expect.objectContaining({ id: later.id, after: null }),
  });
  for (const events of [ofComments, ofVotes, ofTodos]) await events.close();
});

test("a delete of a row that no row references resets no other table", async () => {
  // A stream that joins the table's earlier readers can get a reset that one of them was waiting for.
  const app = await takeLive();
  const project = await create(app, { name: "Empty" }, "/v1/data/db/projects");
  const events = await listen(app);
  await events.next();
  await service.call(app, `/v1/data/db/projects/${project.id}`, { method: "DELETE" });
  const row = await create(app, { title: "after the delete" });
  // Every change before this one would be in the same event or in an earlier one.
  expect(await events.next()).toMatchObject({ kind: "changes", data: [{ put: row }] });
  await events.close();
});

test("a cursor shows nothing of the database, and is valid only for its app and table", async () => {
  const events = await listen(app);
  const { id = "" } = (await events.next()) ?? {};
  const { json } = await service.call(app, TODOS, { method: "POST", json: { title: "one" } });
  const next = await until(events, names((json as { id: string }).id));
  await events.close();
  const text = Buffer.from(id, "base64url").toString("latin1");
  const [feed] = await service.service.admin.message<{ name: string }>(
    "select rowhouse.feed_name() as name",
  );
  const [name = "-", system = "-"] = feed?.name.split("-") ?? [];
  for (const shown of [id, text, next.id])
    expect([shown.includes(name), shown.includes(system)]).toEqual([false, false]);
  expect(id).toMatch(/^[\w-]+$/);
  // The length does not count transactions.
  expect(next.id.length).toBe(id.length);
  const opened = [
    await listen(app, next.id, "/v1/data/db/projects/changes"),
    await listen(other, next.id),
    await listen(app, `${next.id.slice(0, -1)}${next.id.endsWith("A") ? "B" : "A"}`),
  ];
  for (const stream of opened) {
    expect(await stream.next()).toMatchObject({ kind: "reset", data: [] });
    await stream.close();
  }
});

test("the check for changes reads nothing of an app without a valid proof", async () => {
  const { admin } = service.service;
  // Apart, the second process is the data service.
  const { db } = service.processes[1] ?? service.service;
  const since = await admin.message<{ state: string }>(
    "select rowhouse.feed_name() || '.' || pg_current_snapshot() as state",
  );
  await create(app, { title: "unseen" });
  const [found] = await call(db, "poll_changes", {
    since: since[0]?.state ?? null,
    apps: [app.id, other.id],
    presented_proofs: ["00".repeat(32), "11".repeat(32)],
  });
  expect(found).toMatchObject({ changed: [], ended: [0, 1] });
});

test("no event of an app reaches another app", async () => {
  const [mine, theirs] = await Promise.all([listen(app), listen(other)]);
  const inOther = await create(other, { title: "same title" });
  const inMine = await create(app, { title: "same title" });
  const seen = await until(theirs, names(inOther.id));
  expect(JSON.stringify(seen)).not.toContain(app.id);
  const own = await until(mine, names(inMine.id));
  expect(JSON.stringify(own)).not.toContain(other.id);
  expect(
    await service.call(other, CHANGES, { headers: { "last-event-id": own.id } }),
  ).toMatchObject({ status: 400 });
});

test("an app without live updates gets the same response as without the preview", async () => {
  const still = await service.makeApp(schema);
  await using plain = await openTestService({ service: { previews: [] } });
  const app = await plain.makeApp(schema);
  for (const accept of ["text/event-stream", "*/*", "text/event-stream, application/json"]) {
    const headers = { accept };
    const off = await service.call(still, CHANGES, { headers });
    const before = await plain.call(app, CHANGES, { headers });
    const toResponse = ({ status, json }: typeof off) => ({
      status,
      ...(json as object),
      requestId: 0,
    });
    expect(toResponse(off)).toEqual(toResponse(before));
  }
});

test("the stream of an unknown table is rejected as unknown", async () => {
  const headers = { accept: "text/event-stream" };
  const unknown = await service.call(app, "/v1/data/db/nothing/changes", { headers });
  expect([unknown.status, codeOf(unknown.text)]).toEqual([404, "unknown_table"]);
});

test("a service that stops serving rows sends no changes, even if it is reading them", async () => {
  await using guarded = await openTestService({
    service: { previews: ["live"], checkIntervalMs: 50 },
  });
  const owner = await makeLive(guarded);
  await using events = await openEvents(guarded.url + CHANGES, { key: owner.key });
  await events.next();
  const { admin } = guarded.service;
  const isolate = (mode: "force" | "no force") =>
    admin.message(`alter table data.projects ${mode} row level security; select 1`);
  let sent: StreamEvent | undefined;
  const next = events.next().then((event) => {
    sent = event;
  });
  await whileLocked(guarded.database.adminUrl, "todos", async () => {
    await admin.message(`set rowhouse.app_id = '${owner.id}';
        insert into rowhouse.changes (app_id, table_name, row_id)
        values ('${owner.id}', 'todos', gen_random_uuid());
        reset rowhouse.app_id; select 1`);
    await eventually(async () => (await countLockWaits(admin)) > 0);
    await isolate("no force");
    const projects = "/v1/data/db/projects";
    await eventually(async () => (await guarded.call(owner, projects)).status === 503);
    // Apart, the gateway can stop serving before the data service does.
    const stopped = () => guarded.log.filter((line) => line.includes("isolation broken"));
    await eventually(() => stopped().length >= guarded.processes.length);
  });
  await eventually(async () => (await countLockWaits(admin)) === 0);
  await Bun.sleep(300);
  expect(sent).toBeUndefined();
  await isolate("force");
  await next;
  expect(sent).toMatchObject({ kind: "changes" });
});

test("a failing check is logged once until it succeeds again", async () => {
  await using failing = await openTestService({ service: { previews: ["live"], ...UNGUARDED } });
  const owner = await makeLive(failing);
  await using events = await openEvents(failing.url + CHANGES, { key: owner.key });
  await events.next();
  const { admin } = failing.service;
  const failures = () => failing.log.filter((line) => line.includes("the check for changes"));
  for (const count of [1, 2]) {
    await admin.message("alter function rowhouse.feed_name() rename to hidden_name; select 1");
    await eventually(() => failures().length >= count);
    await Bun.sleep(700);
    expect(failures()).toBeArrayOfSize(count);
    await admin.message("alter function rowhouse.hidden_name() rename to feed_name; select 1");
    const { json } = await failing.call(owner, TODOS, { method: "POST", json: { title: "x" } });
    await until(events, names((json as { id: string }).id));
  }
});

test("a stream with a delayed end does not affect a later stream of its table", async () => {
  const owner = await takeLive();
  const ending = await issueKey(testDeps(service.service), {
    slug: owner.slug,
    name: "ending",
    scopes: ["data:read"],
    expiresAt: undefined,
  });
  const { admin } = service.service;
  const early = await listen({ ...owner, key: ending.text });
  await early.next();
  const later = await whileLocked(service.database.adminUrl, "todos", async () => {
    await admin.message(`select set_config('rowhouse.app_id', '${owner.id}', true);
      insert into rowhouse.changes (app_id, table_name, row_id)
      values ('${owner.id}', 'todos', gen_random_uuid())`);
    await eventually(async () => (await countLockWaits(admin)) > 0);
    await revokeKey(testDeps(service.service), ending.keyId);
    expect(await early.next()).toBeUndefined();
    const events = await listen(owner);
    await events.next();
    await admin.message(`select pg_cancel_backend(pid) from pg_stat_activity
      where wait_event_type = 'Lock' and datname = current_database()`);
    await eventually(async () => (await countLockWaits(admin)) === 0);
    return events;
  });
  const row = await create(owner, { title: "after" });
  expect(await until(later, names(row.id))).toBeDefined();
});

test("a database with other transaction ids resets the streams", async () => {
  const events = await listen(app);
  const row = await create(app, { title: "before" });
  await until(events, names(row.id));
  await service.service.admin.message("update rowhouse.change_feed set name = 'restored'");
  expect(await until(events, ({ kind }) => kind === "reset")).toBeDefined();
});

test("an operator and an administrator turn live updates on and off", async () => {
  const {
    run,
    service: commanded,
    close,
  } = await openAdmin({}, { service: { previews: ["live"] } });
  try {
    const { slug, key } = await commanded.makeApp(schema);
    expect(await run("set-app", slug, "live", "on")).toMatchObject({ code: 0 });
    // Again: a command that was stopped while it waited.
    expect(await run("set-app", slug, "live", "on")).toMatchObject({ code: 0 });
    const events = await openEvents(commanded.url + CHANGES, { key });
    await events.next();
    const admin = await makePerson(commanded, { consoleRole: "admin" });
    const jar = await signInAs(commanded, admin);
    const path = `/console/apps/${slug}`;
    const settings = await visit(commanded, jar, `${path}/settings`);
    expect(settings.text).toContain(`${path}/set-live`);
    expect((await submitForm(commanded, jar, { path: `${path}/set-live` })).status).toBe(303);
    expect(await events.next()).toBeUndefined();
    const entries = await listAudit(commanded.service, 20);
    expect(entries.filter(({ action }) => action.startsWith("set_live_"))).toMatchObject([
      { actor: admin.id, action: "set_live_off", app: slug },
      { actor: "operator", action: "set_live_on", app: slug },
    ]);
  } finally {
    await close();
  }
});

test("a push of other columns resets streams, also resumed ones, when every process serves them", async () => {
  const notes = "/v1/data/db/notes";
  const pushing = await service.makeApp(defineSchema({ notes: { title: t.string().required() } }));
  await setAppSwitch(service.service, pushing.slug, ["live", true]);
  const another = await serveAnother(service.database, { previews: ["live"] });
  try {
    const events = await listen(pushing, undefined, `${notes}/changes`);
    const row = await create(pushing, { title: "before" }, notes);
    const last = await until(events, names(row.id));
    await service.pushSchema(
      pushing,
      defineSchema({ notes: { title: t.string().required(), text: t.string() } }),
    );
    const resumed = [
      await openEvents(`${another.url}${notes}/changes`, { key: pushing.key, since: last.id }),
      await listen(pushing, last.id, `${notes}/changes`),
    ];
    open.push(...resumed);
    for (const stream of [events, ...resumed]) {
      await until(stream, ({ kind }) => kind === "reset");
      for (const url of [service.url, another.url]) {
        const list = await fetch(url + notes, {
          headers: { authorization: `Bearer ${pushing.key}` },
        });
        expect(await list.json()).toMatchObject({ rows: [{ id: row.id, text: null }] });
      }
    }
    const json = { text: "after" };
    await service.call(pushing, `${notes}/${row.id}`, { method: "PATCH", json });
    for (const stream of [events, ...resumed])
      expect(await until(stream, names("after"))).toBeDefined();
    for (const stream of [events, ...resumed]) await stream.close();
  } finally {
    await another.close();
  }
});

test("a key has a limited number of streams, even if they are opened in parallel", async () => {
  const busy = await takeLive();
  const opened = await Promise.all(Array.from({ length: 25 }, () => listen(busy)));
  const rejected = opened.filter(({ response }) => response.status === 429);
  expect(rejected).toBeArrayOfSize(5);
  expect(rejected[0]?.response.headers.get("retry-after")).toBe("5");
  await opened.find(({ response }) => response.ok)?.close();
  await eventually(async () => (await listen(busy)).response.ok);
});

describe.each([...SHAPES])("in the shape %s", (shape) => {
  let shaped: TestService;
  const owners: TestApp[] = [];
  beforeAll(async () => {
    shaped = await openTestService({ shape, service: { previews: ["live"] } });
    for (let count = 0; count < 3; count++) owners.push(await makeLive(shaped));
  });
  afterAll(() => shaped.close());

  /** Opens a stream of an app without other streams. */
  async function openStream(): Promise<{ owner: TestApp; events: EventReader }> {
    const owner = owners.pop() ?? (await makeLive(shaped));
    const events = await openEvents(shaped.url + CHANGES, { key: owner.key });
    await events.next();
    return { owner, events };
  }

  test("a revoked key ends only its own streams", async () => {
    const { owner, events } = await openStream();
    const ending = await issueKey(testDeps(shaped.service), {
      slug: owner.slug,
      name: "ending",
      scopes: ["data:read"],
      expiresAt: undefined,
    });
    const ended = await openEvents(shaped.url + CHANGES, { key: ending.text });
    await ended.next();
    await revokeKey(testDeps(shaped.service), ending.keyId);
    expect(await ended.next()).toBeUndefined();
    const created = await shaped.call(owner, TODOS, { method: "POST", json: { title: "after" } });
    expect(await events.next()).toMatchObject({ kind: "changes", data: [{ put: created.json }] });
    await events.close();
  });

  test("a disabled app's streams end", async () => {
    const { owner, events } = await openStream();
    await setAppSwitch(shaped.service, owner.slug, ["disabled", true]);
    expect(await events.next()).toBeUndefined();
  });

  // The last: the process serves no more requests.
  test("a stopping process ends its streams and opens no more", async () => {
    const { owner, events } = await openStream();
    shaped.service.drain();
    expect(await events.next()).toBeUndefined();
    const { response, close } = await openEvents(shaped.url + CHANGES, { key: owner.key });
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    await close();
  });
});

test("a stream rejects parameters", async () => {
  const response = await service.call(app, `${CHANGES}?limit=1`, {
    headers: { accept: "text/event-stream" },
  });
  expect(response.status).toBe(400);
});
