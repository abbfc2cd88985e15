/** The event stream of a table's page in the Console: the changed rows of one app, for an administrator's live session. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { removeConsoleRole, runOnPerson } from "../../src/records/people/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import {
  type EventReader,
  names,
  openEvents,
  type StreamEvent,
  until,
} from "../support/event_stream.ts";
import { eventually } from "../support/eventually.ts";
import {
  type Jar,
  makePerson,
  type Person,
  signInAs,
  toCookieHeader,
  visit,
} from "../support/people.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { SHAPES } from "../support/shape.ts";

const SCHEMA = defineSchema({
  projects: { name: t.string().required() },
  todos: {
    title: t.string().required(),
    project: t.ref("projects", { onDelete: "cascade" }),
    meta: t.json(),
  },
});
const TODOS = "/v1/data/db/todos";
/** Shorter than the lifetime of a key for rows. */
const IDLE_S = 120;
const toPagePath = ({ slug }: TestApp) => `/console/apps/${slug}/tables/todos`;
const toDataPath = ({ slug }: TestApp) => `/console/apps/${slug}/data/todos`;

type StoredRow = { id: string };

describe.each([...SHAPES])("in the shape %s", (shape) => {
  let service: TestService;
  let admin: Person;
  let jar: Jar;
  let app: TestApp;
  /** Created in advance: the first stream of a table waits until every process serves its last push. */
  const apps: TestApp[] = [];
  const open: EventReader[] = [];
  beforeAll(async () => {
    service = await openTestService({
      shape,
      service: { previews: ["live"], maxStreams: { app: 3, key: 2 } },
      identity: () => ({ cookieDomain: "example.org", sessionIdleS: IDLE_S }),
    });
    while (apps.length < 20) apps.push(await makeLiveApp());
  });
  afterAll(() => service.close());
  beforeEach(async () => {
    admin = await makePerson(service, { consoleRole: "admin" });
    jar = await signInAs(service, admin);
    app = apps.pop() ?? (await makeLiveApp());
  });
  afterEach(async () => {
    for (const events of open.splice(0)) await events.close();
  });

  async function makeLiveApp(): Promise<TestApp> {
    const made = await service.makeApp(SCHEMA);
    await setAppSwitch(service.service, made.slug, ["live", true]);
    return made;
  }

  async function listen(query = ""): Promise<EventReader> {
    const events = await openEvents(`${service.url}${toDataPath(app)}/changes${query}`, {
      headers: { cookie: toCookieHeader(jar) },
    });
    open.push(events);
    return events;
  }

  /** A stream after its first event. */
  async function listenOn(): Promise<EventReader> {
    const events = await listen();
    expect(await events.next()).toMatchObject({ kind: "changes", data: [] });
    return events;
  }

  async function create(as: TestApp, json: object, path = TODOS): Promise<StoredRow> {
    const made = await service.call(as, path, { method: "POST", json });
    expect(made.status).toBe(201);
    return made.json as StoredRow;
  }

  test("a stream has the changed rows as the endpoints send them", async () => {
    const events = await listenOn();
    const { headers } = events.response;
    expect(headers.get("content-type")).toBe("text/event-stream");
    expect(headers.get("x-accel-buffering")).toBe("no");
    expect(headers.get("cache-control")).toBe("no-store, no-transform");
    const row = await create(app, { title: "secret }{", meta: { put: [{ id: "x" }] } });
    const created = await until(events, names(row.id));
    expect(created.data).toEqual([{ put: row }]);
    await service.call(app, `${TODOS}/${row.id}`, { method: "DELETE" });
    expect((await until(events, names("delete"))).data).toEqual([{ delete: row.id }]);
  });

  test("a stream has the rows that a delete of another row deletes", async () => {
    const project = await create(app, { name: "Garden" }, "/v1/data/db/projects");
    const row = await create(app, { title: "in it", project: project.id });
    const events = await listenOn();
    await service.call(app, `/v1/data/db/projects/${project.id}`, { method: "DELETE" });
    expect((await until(events, names("delete"))).data).toEqual([{ delete: row.id }]);
  });

  test("the page is unchanged without live updates of the app, and the path is unknown", async () => {
    const { text } = await visit(service, jar, toPagePath(app));
    const [, address = "", cursor = ""] =
      /data-changes="([^"]+)" data-cursor="([^"]+)"/.exec(text) ?? [];
    expect(address).toBe(`${toDataPath(app)}/changes`);
    const row = await create(app, { title: "since then" });
    const events = await listen(`?since=${cursor}`);
    expect(await events.next()).toMatchObject({ kind: "changes", data: [{ put: { id: row.id } }] });
  });

  test.each(["", "x", "a%0Ab", "%C3%A9", "1".repeat(5000)])(
    "an unknown cursor leads to a reset",
    async (since) => {
      expect(await (await listen(`?since=${since}`)).next()).toMatchObject({ kind: "reset" });
    },
  );

  test("the stream contains no change of another app", async () => {
    const other = await makeLiveApp();
    const events = await listenOn();
    const theirs = await create(other, { title: "same" });
    const ours = await create(app, { title: "same" });
    const seen: StreamEvent[] = [];
    await until(events, (event) => seen.push(event) > 0 && names(ours.id)(event));
    expect(JSON.stringify(seen)).not.toContain(theirs.id);
  });

  test.each([
    { name: "the session", end: () => runOnPerson(service.service, "end_sessions", admin.email) },
    { name: "the person's role", end: () => removeConsoleRole(service.service, admin.email) },
    { name: "the app", end: () => setAppSwitch(service.service, app.slug, ["disabled", true]) },
    {
      name: "the app's live updates",
      end: () => setAppSwitch(service.service, app.slug, ["live", false]),
    },
  ])("a stream ends with $name", async ({ end }) => {
    const events = await listenOn();
    await end();
    expect(await events.next()).toBeUndefined();
    expect((await listen()).response.headers.get("content-type")).not.toBe("text/event-stream");
  });

  test("a visitor who closes the page frees the stream, and a session has a limited number of streams", async () => {
    const [first, second] = [await listenOn(), await listenOn()];
    expect((await listen()).response.status).toBe(429);
    await first.close();
    await eventually(async () => (await listen()).response.ok);
    expect(second.response.status).toBe(200);
  });

  test("an app without live updates has an unchanged page and an unknown path", async () => {
    const { text } = await visit(service, jar, toPagePath(app));
    await setAppSwitch(service.service, app.slug, ["live", false]);
    const missing = await visit(service, jar, `${toPagePath(app)}/nothing-here`);
    const { response } = await listen();
    expect(response.status).toBe(missing.status);
    expect(withoutIds(await response.text())).toBe(withoutIds(missing.text));
    const after = await visit(service, jar, toPagePath(app));
    const isAdded = / data-changes="[^"]+" data-cursor="[^"]+"/;
    expect(text).toMatch(isAdded);
    expect(withoutIds(after.text)).toBe(withoutIds(text.replace(isAdded, "")));
  });

  test("a request for another type, or for only the headers, opens no stream", async () => {
    expect((await visit(service, jar, `${toDataPath(app)}/changes`)).status).toBe(404);
    const headers = { cookie: toCookieHeader(jar), accept: "text/event-stream" };
    // More streams than a session can open.
    for (let count = 0; count < 3; count++) {
      const url = `${service.url}${toDataPath(app)}/changes`;
      expect((await fetch(url, { method: "HEAD", headers })).status).toBe(404);
    }
    await listenOn();
  });

  test("the visitor's key for rows expires with the session's idle limit", async () => {
    await listenOn();
    const { admin: connection } = service.service;
    const [key] = await connection.query<{ seconds: number }>(
      "select extract(epoch from expires_at - now())::float8 as seconds from rowhouse.person_keys where app_id = $1",
      [app.id],
      { retry: "safe", queue: "service" },
    );
    expect(key?.seconds).toBeLessThanOrEqual(IDLE_S);
  });
});

/** A page without the reference of its request. */
const withoutIds = (page: string) => page.replaceAll(/(id="reference">)[0-9a-f]+/g, "$1");

test("the path is unknown without the preview, even to visitors who are not signed in", async () => {
  await using service = await openTestService({ service: { previews: [] } });
  const app = await service.makeApp(SCHEMA);
  const url = `${service.url}${toDataPath(app)}/changes`;
  expect((await openEvents(url, {})).response.status).toBe(404);
  const jar = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));
  const headers = { cookie: toCookieHeader(jar) };
  expect((await openEvents(url, { headers })).response.status).toBe(404);
  expect((await visit(service, jar, toPagePath(app))).text).not.toContain("data-changes");
});

test.each([
  { shape: "one", process: "the only process", index: 0 },
  { shape: "split", process: "the gateway", index: 0 },
  { shape: "split", process: "the data service", index: 1 },
  { shape: "split", process: "the identity service", index: 2 },
] as const)("a stream ends when $process drains", async ({ shape, index }) => {
  await using service = await openTestService({ shape, service: { previews: ["live"] } });
  const app = await service.makeApp(SCHEMA);
  await setAppSwitch(service.service, app.slug, ["live", true]);
  const jar = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));
  const listen = () =>
    openEvents(`${service.url}${toDataPath(app)}/changes`, {
      headers: { cookie: toCookieHeader(jar) },
    });
  const events = await listen();
  await events.next();
  service.processes[index]?.drain();
  expect(await events.next()).toBeUndefined();
  expect((await listen()).response.status).toBe(503);
});
