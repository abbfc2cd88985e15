/** An app that is read-only: each write and push is rejected in every process, and no write commits after the switch. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { SERVICE_QUEUE, SIGNALS } from "../../src/db/mod.ts";
import { issueKey, setAppSwitch, waitForWriters } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { routes } from "../../src/service/routes.ts";
import type { Change } from "../../src/tables/mod.ts";
import { renderBatch, renderBegin } from "../../src/tables/plan/retype_messages.ts";
import { type Admin, openAdmin } from "../support/admin.ts";
import { LOGIN } from "../support/cluster.ts";
import { testDeps } from "../support/deps.ts";
import { names, openEvents, until } from "../support/event_stream.ts";
import { eventually } from "../support/eventually.ts";
import { countLockWaits, whileLocked } from "../support/held_lock.ts";
import { makeHistory } from "../support/history.ts";
import { makePerson, readHidden, signInAs, visit } from "../support/people.ts";
import { proofOf } from "../support/proof.ts";
import { dumpDatabase, freshName, postChange, postSchema } from "../support/push.ts";
import { applyChange, pushDefinition } from "../support/push_steps.ts";
import {
  type Call,
  callService,
  definitionOf,
  openTestService,
  type TestApp,
} from "../support/service.ts";
import { previewsOfRun, serveAnother } from "../support/shape.ts";
import { share } from "../support/share.ts";

type Columns = Readonly<Record<string, ReturnType<typeof t.string | typeof t.number>>>;

const REJECTED = { error: "read_only" };

/** Another process on the same database. */
const admin = await share(
  openAdmin(
    {},
    {
      identity: () => ({ cookieDomain: "example.org" }),
      connections: 10,
      service: { groupsCreates: true },
    },
  ),
);
const { service } = admin;
const second = await share(
  serveAnother(service.database, { groupsCreates: false, previews: previewsOfRun() }),
);

let table: string;
let app: TestApp;
let path: string;
let row: string;
beforeEach(async () => {
  table = freshName();
  app = await service.makeApp(schemaOf());
  path = `/v1/data/db/${table}`;
  row = (await create({ title: "first" })).headers.get("location") ?? "";
  expect(row).not.toBe("");
});
afterEach(() => setReadOnly(false));

function schemaOf(more: Columns = {}) {
  return defineSchema({ [table]: { title: t.string().required().unique(), ...more } });
}

const setReadOnly = (isOn: boolean, slug = app.slug) =>
  setAppSwitch(service.service, slug, ["read_only", isOn]);

const create = (json: unknown, call: Call = {}) =>
  service.call(app, path, { method: "POST", json, ...call });

const keyed = (key: string) => ({ headers: { "idempotency-key": key } });

async function ask<Row>(text: string, values: string[] = []): Promise<Row[]> {
  const options = { retry: "safe", queue: SERVICE_QUEUE } as const;
  return await service.service.admin.query<Row>(text, values, options);
}

async function countRows(): Promise<number> {
  const [found] = await ask<{ count: number }>(
    `select count(*)::int4 as count from data."${table}" where app_id = $1`,
    [app.id],
  );
  return found?.count ?? -1;
}

/** Everything that a write or a push of the app can change. */
async function readAll(): Promise<string> {
  const rows = await ask(
    `select xmin::text, "$row"::text as line from data."${table}" as "$row" order by id`,
  );
  const stored = await ask(`select * from rowhouse.idempotency_keys where app_id = $1`, [app.id]);
  const allowance = await ask(`select * from rowhouse.push_allowances where app_id = $1`, [app.id]);
  const dump = await dumpDatabase(service.service.admin);
  return JSON.stringify([rows, stored.length, allowance, dump]);
}

type Ask = Call & { to?: string };

/** A request of each route that needs a key, by method and path. */
function requests(): Readonly<Record<string, Ask | readonly Ask[]>> {
  const id = row.split("/").at(-1);
  const hasFilters = previewsOfRun().includes("filters");
  const grown = schemaOf({ note: t.string() });
  const definition = definitionOf(grown);
  const [applied = "", next = ""] = makeHistory([schemaOf(), grown]);
  return {
    "GET /v1/data/db/:table": [{ to: path }, { to: `${path}?limit=1` }],
    "GET /v1/data/db/:table/groups": hasFilters ? { to: `${path}/groups?by=title` } : [],
    "GET /v1/data/db/:table/:id": { to: row },
    // "its event streams stay open" below.
    "GET /v1/data/db/:table/changes": [],
    "POST /v1/data/db/:table": [
      { to: path, json: { title: "new" } },
      { to: path, json: { title: "new" }, headers: { "idempotency-key": "new" } },
      { to: path, json: [{ title: "a" }, { title: "b" }] },
      { to: path, json: [{ title: "a" }], headers: { "idempotency-key": "many" } },
      { to: path, json: { title: "first" } },
      { to: path, json: { title: 7 } },
    ],
    "PATCH /v1/data/db/:table": [
      { to: path, json: [{ id, title: "changed" }] },
      { to: path, json: [{ id }], headers: { "idempotency-key": "changed many" } },
      { to: path, json: [{ id: crypto.randomUUID() }] },
      ...(hasFilters ? [{ to: `${path}?all=true`, json: { title: "changed" } }] : []),
    ],
    // Without the preview, the table has no such method.
    "DELETE /v1/data/db/:table": hasFilters
      ? [{ to: `${path}?all=true` }, { to: `${path}?title=eq.first&dryRun=true` }]
      : [],
    "PATCH /v1/data/db/:table/:id": [
      { to: row, json: { title: "changed" } },
      { to: row, json: { title: "changed" }, headers: { "idempotency-key": "changed" } },
      { to: row, json: {} },
      { to: row, json: { title: "changed" }, headers: { "if-match": '"0"' } },
      { to: `${path}/${crypto.randomUUID()}`, json: { title: "none" } },
    ],
    "DELETE /v1/data/db/:table/:id": [{ to: row }, { to: `${path}/${crypto.randomUUID()}` }],
    "GET /v1/data/me": { to: "/v1/data/me?app=wiki" },
    "GET /v1/data/schema": { to: "/v1/data/schema" },
    "GET /v1/data/schema/migrations/:seq": { to: "/v1/data/schema/migrations/1" },
    "POST /v1/data/schema": [
      { kind: "define", definition },
      { kind: "define", definition: definitionOf(schemaOf()) },
      ...["rename_column", "drop_column"].map((kind) => ({
        kind: "change",
        change: { kind, table, column: "title", ...(kind === "rename_column" && { to: "name" }) },
      })),
      { kind: "migration", text: next },
      { kind: "join", migrations: [applied, next], definition, declared: definition },
    ].map((step) => ({ to: "/v1/data/schema", json: { steps: [step] } })),
    "GET /v1/openapi.json": { to: "/v1/openapi.json" },
  };
}

type Scoped = { method: string; path: string; access: string; scope?: string };
const KEYED = (routes as readonly Scoped[]).filter(({ access }) => access.endsWith("key"));
const isWrite = ({ scope = "" }: Scoped) => ["data:write", "schema:push"].includes(scope);
const nameOf = (route: Scoped) => `${route.method} ${route.path}`;

test("the table of routes has a request for each route with a key", () => {
  expect(KEYED.filter(isWrite).length).toBeGreaterThan(3);
  expect(Object.keys(requests()).toSorted()).toEqual(KEYED.map(nameOf).toSorted());
});

test.each(KEYED.filter(isWrite).map(nameOf))("%s is 503 and changes nothing", async (name) => {
  await setReadOnly(true);
  const before = await readAll();
  for (const { to = "", ...call } of [requests()[name] ?? []].flat())
    for (const url of [service.url, second.url]) {
      const method = name.split(" ")[0] ?? "";
      const response = await callService({ ...service, url }, app, to, { ...call, method });
      expect([name, call.json, response.status, response.json]).toMatchObject([
        name,
        call.json,
        503,
        REJECTED,
      ]);
      expect(response.headers.has("retry-after")).toBe(false);
    }
  expect(await readAll()).toBe(before);
});

/** An API key is of no person. */
const OF_PEOPLE = "GET /v1/data/me";
const NO_PERSON = previewsOfRun().includes("browser") ? 403 : 404;

test.each(KEYED.filter((route) => !isWrite(route)).map(nameOf))("%s goes on", async (name) => {
  await setReadOnly(true);
  for (const { to = "", ...call } of [requests()[name] ?? []].flat())
    expect((await service.call(app, to, call)).status).toBe(name === OF_PEOPLE ? NO_PERSON : 200);
});

test("a dry run plans, and a key that ended is still rejected", async () => {
  await setReadOnly(true);
  const planned = await postSchema(service, app, schemaOf({ note: t.string() }), { dryRun: true });
  expect([planned.status, planned.json]).toMatchObject([200, { status: "planned" }]);
  const weak = await issueKey(testDeps(service.service), {
    slug: app.slug,
    name: "reads",
    scopes: ["data:read"],
    expiresAt: undefined,
  });
  service.secrets.add(weak.text);
  const response = await service.call({ ...app, key: weak.text }, row, { method: "DELETE" });
  expect([response.status, response.json]).toMatchObject([403, { error: "forbidden" }]);
});

test("stored responses replay, and other writes with a key store none", async () => {
  const [one, many] = [keyed("one"), keyed("many")];
  const first = await create({ title: "kept" }, one);
  const batch = await create([{ title: "x" }, { title: "y" }], many);
  const patch = { method: "PATCH", json: { title: "patched" }, ...keyed("patch") };
  const patched = await service.call(app, row, patch);
  await setReadOnly(true);

  for (const [again, expected] of [
    [await create({ title: "kept" }, one), first],
    [await create([{ title: "x" }, { title: "y" }], many), batch],
    [await service.call(app, row, patch), patched],
  ] as const)
    expect([again.status, again.text, again.headers.get("idempotency-replayed")]).toEqual([
      expected.status,
      expected.text,
      "true",
    ]);
  // Creates that arrive together are one statement.
  const together = await Promise.all(
    [1, 2, 3, 4].map((n) =>
      create({ title: n % 2 === 0 ? "kept" : `new ${n}` }, n % 2 === 0 ? one : keyed(`k${n}`)),
    ),
  );
  expect(together.map(({ status }) => status)).toEqual([503, 201, 503, 201]);
  expect((await create({ title: "other" }, one)).json).toMatchObject(REJECTED);
  expect((await create({ title: "later" }, keyed("later"))).json).toMatchObject(REJECTED);
  await setReadOnly(false);
  const later = await create({ title: "later" }, keyed("later"));
  expect([later.status, later.headers.has("idempotency-replayed")]).toEqual([201, false]);
});

test("writes of a live app are rejected, and its event streams stay open", async () => {
  await using live = await openTestService({
    service: { previews: ["live"], groupsCreates: true },
  });
  const columns = { title: t.string() };
  const own = await live.makeApp(defineSchema({ notes: columns }));
  const notes = "/v1/data/db/notes";
  const write = (method: string, to: string, json?: unknown) =>
    live.call(own, to, { method, ...(json === undefined ? {} : { json }) });
  await setAppSwitch(live.service, own.slug, ["live", true]);
  const { location = "" } = Object.fromEntries(
    (await write("POST", notes, { title: "a" })).headers,
  );
  await using events = await openEvents(`${live.url}${notes}/changes`, { key: own.key });
  await until(events, ({ kind }) => kind === "ready");

  await setAppSwitch(live.service, own.slug, ["read_only", true]);
  for (const { json } of [
    await write("POST", notes, { title: "b" }),
    await write("POST", notes, [{ title: "b" }]),
    await write("PATCH", location, { title: "b" }),
    await write("DELETE", location),
    ...(await Promise.all([1, 2, 3].map(() => write("POST", notes, { title: "b" })))),
  ])
    expect(json).toMatchObject(REJECTED);
  await setAppSwitch(live.service, own.slug, ["read_only", false]);
  await write("PATCH", location, { title: "later" });

  const changed = await until(events, names("later"));
  expect(changed.data).toMatchObject([{ put: { title: "later" } }]);
});

test("new keys, and keys after the app was disabled, are read-only too", async () => {
  await setReadOnly(true);
  const scopes = ["data:read", "data:write"] as const;
  const added = { slug: app.slug, name: "added", scopes, expiresAt: undefined };
  const { text: key } = await issueKey(testDeps(service.service), added);
  service.secrets.add(key);
  expect((await service.call({ ...app, key }, row, { method: "DELETE" })).json).toMatchObject(
    REJECTED,
  );
  for (const isOn of [true, false])
    await setAppSwitch(service.service, app.slug, ["disabled", isOn]);
  expect((await service.call({ ...app, key }, row, { method: "DELETE" })).json).toMatchObject(
    REJECTED,
  );
  expect((await service.call({ ...app, key }, row)).status).toBe(200);
});

test("a write whose key was restored since it was checked is repeated, neither read-only nor lost", async () => {
  const superuser = postgres(service.database.superuserUrl, { max: 1, prepare: false });
  const reject = async () => {
    try {
      return await superuser.unsafe(
        `select rowhouse.reject_write('${app.id}', ${proofOf(app.key)}, '${table}', null)`,
      );
    } catch (error) {
      return error instanceof postgres.PostgresError ? error.code : error;
    }
  };
  try {
    // As when the app was enabled, or the setting turned off, after the function had found no valid proof.
    expect(await reject()).toBe("40001");
    await setReadOnly(true);
    expect(await reject()).toBe(SIGNALS.writesStopped);
    await setAppSwitch(service.service, app.slug, ["disabled", true]);
    expect(await reject()).toBe(SIGNALS.keyRejected);
  } finally {
    await superuser.end();
  }
});

test("no write of 12 writers commits after the command has returned", async () => {
  let isOver = false;
  let rejected = 0;
  let stored = 0;
  const writers = Array.from({ length: 12 }, async (_, writer) => {
    for (let n = 0; !isOver; n++) {
      const url = writer % 2 === 0 ? service.url : second.url;
      const json = { title: `${writer} ${n}` };
      const call = { method: "POST", json, ...(writer % 3 === 0 && keyed(`${writer} ${n}`)) };
      const { status } = await callService({ ...service, url }, app, path, call);
      if (status === 201) stored++;
      else rejected++;
      expect([201, 503]).toContain(status);
    }
  });
  await eventually(() => stored > 100);

  const { code, err } = await admin.run("set-app", app.slug, "read-only", "on");
  const atReturn = await countRows();

  expect([code, err.replace(/^Waiting.*\n/, "")]).toEqual([0, ""]);
  await eventually(() => rejected > 200);
  isOver = true;
  await Promise.all(writers);
  expect(await countRows()).toBe(atReturn);
  expect(atReturn).toBe(stored + 1);
});

describe("a transaction that passed the check before", () => {
  /** Runs `act` while the transaction waits, and the command after it; ends the lock, and returns both results. */
  async function race<Result>(act: () => Promise<Result>) {
    let acting: Promise<Result> | undefined;
    const command = Promise.withResolvers<Awaited<ReturnType<Admin["run"]>>>();
    let isEnded = false;
    await whileLocked(service.database.adminUrl, table, async () => {
      acting = act();
      await eventually(async () => (await countLockWaits(service.service.admin)) > 0);
      const [before] = await ask<{ now: string }>("select clock_timestamp()::text as now");
      const run = admin.run("set-app", app.slug, "read-only", "on").finally(() => {
        isEnded = true;
      });
      command.resolve(run);
      await eventually(async () => {
        const [found] = await ask<{ on: boolean }>(
          "select 'read_only' = any (switches) as on from rowhouse.apps where id = $1",
          [app.id],
        );
        return found?.on === true;
      });
      expect((await waitForWriters(service.service, { limitMs: 0 })).length).toBeGreaterThan(0);
      // The command has read the list of transactions, and reports them.
      await eventually(async () => {
        const [found] = await ask(
          `select from pg_stat_activity where datname = current_database() and state = 'idle'
            and application_name = 'rowhouse command' and query like '%list_writers%'
            and query_start > $1::text::timestamptz`,
          [before?.now ?? ""],
        );
        return found !== undefined;
      });
      expect(isEnded).toBe(false);
    });
    return { result: await acting, command: await command.promise };
  }

  test("commits a row before the command returns", async () => {
    // A list: while no connection is free, a single row would be sent again after 100 ms, and be rejected.
    const { result, command } = await race(() => create([{ title: "in time" }]));
    const atReturn = await countRows();
    expect([result?.status, command.code, atReturn]).toEqual([201, 0, 2]);
    // A script that stopped waiting runs it again.
    expect(await admin.run("set-app", app.slug, "read-only", "on")).toMatchObject({ code: 0 });
    expect(command.err).toMatch(
      /^Waiting for transactions that began before: process \d+ of login /,
    );
  });

  test("is named if it does not end, and the setting stays on", async () => {
    const serving = postgres(service.database.servingUrl, { max: 1 });
    await serving.begin(async (transaction) => {
      await transaction`select 1`;
      await setReadOnly(true);
      const left = await waitForWriters(service.service, { limitMs: 0 });
      const [{ pid } = {}] = await transaction`select pg_backend_pid() as pid`;
      expect(left).toContainEqual(expect.objectContaining({ login: LOGIN, pid }));
      expect((await create({ title: "late" })).json).toMatchObject(REJECTED);
    });
    await serving.end();
    expect(await waitForWriters(service.service)).toEqual([]);
  });
});

describe("a push", () => {
  const deps = () => ({ admin: service.pushing, log: () => undefined });
  const request = (definition: unknown) => ({
    app,
    definition: definitionOf(definition),
    options: { dryRun: false },
  });

  test("that was counted before is rejected by its transaction", async () => {
    await setReadOnly(true);
    const before = await readAll();
    const pushed = pushDefinition(deps(), request(schemaOf({ note: t.string() })));
    expect(await pushed.catch((error: unknown) => error)).toMatchObject({ code: "read_only" });
    expect(await readAll()).toBe(before);
  });

  test("that retypes a column pauses, also after its first rows, and continues later", async () => {
    await pushDefinition(deps(), request(schemaOf({ note: t.string() })));
    await create({ title: "second", note: "text" });
    const change: Change = { kind: "retype_column", table, column: "note", type: { kind: "json" } };
    const retype = () =>
      applyChange(deps(), { app, change, options: { dryRun: false } }).catch(
        (error: unknown) => error,
      );
    const rejectRetype = async () => {
      await setReadOnly(true);
      const before = await readAll();
      expect(await retype()).toMatchObject({ code: "read_only" });
      expect(await readAll()).toBe(before);
      await setReadOnly(false);
    };
    await rejectRetype();
    const plain = { name: "note", required: false, unique: false, index: false };
    const [before, column] = [
      { ...plain, kind: "string" as const },
      { ...plain, kind: "json" as const },
    ];
    const swap = { kind: "swap_column", appId: app.id, table, before, column } as const;
    await service.pushing.message(renderBegin(swap, { change, lock: "select 1" }));
    await rejectRetype();
    await service.pushing.message(renderBatch(swap));
    await rejectRetype();
    expect(await ask("select from rowhouse.retypes where table_name = $1", [table])).toHaveLength(
      1,
    );
    expect(await retype()).toMatchObject({ status: "applied" });
  });

  test("continues no build of the app's tables, and later does", async () => {
    const sizes = { dryRun: false, largeTablePages: 0 };
    const definition = definitionOf(schemaOf({ note: t.string().index() }));
    await pushDefinition(deps(), { app, definition, options: { dryRun: false } });
    await ask(
      `insert into rowhouse.deferred_steps (app_id, table_name, kind, name, columns)
      values ($1, $2, 'index', $2 || '__note__idx', '["note"]') returning 1 as done`,
      [app.id, table],
    );
    await setReadOnly(true);
    const other = await service.makeApp();
    const others = definitionOf(defineSchema({ [freshName()]: { title: t.string() } }));
    await (await pushDefinition(deps(), { app: other, definition: others, options: sizes }))
      .deferred;
    const readStates = () =>
      ask("select state from rowhouse.deferred_steps where app_id = $1", [app.id]);
    expect(await readStates()).toEqual([{ state: "waiting" }]);
    await setReadOnly(false);
    await (await pushDefinition(deps(), { app: other, definition: others, options: sizes }))
      .deferred;
    expect(await readStates()).toEqual([{ state: "done" }]);
  });

  test("of another app that owns the table changes no row of this app", async () => {
    const shared = freshName();
    const owner = await service.makeApp(defineSchema({ [shared]: { title: t.string() } }));
    const user = await service.makeApp(defineSchema({ [shared]: { title: t.string() } }));
    for (const one of [owner, user])
      await service.call(one, `/v1/data/db/${shared}`, { method: "POST", json: { title: "a" } });
    await setReadOnly(true, user.slug);
    const readRows = () =>
      ask(`select xmin::text, ctid::text, id, title from data."${shared}" where app_id = $1`, [
        user.id,
      ]);
    const before = await readRows();
    const grown = defineSchema({
      [shared]: {
        title: t.string(),
        size: t.number(),
        count: t.number().required().default(3),
        at: t.timestamp().default("now"),
        kind: t.enum(["a", "b"]).default("a"),
      },
    });
    expect((await postSchema(service, owner, grown)).status).toBe(200);
    const change = {
      kind: "retype_column",
      table: shared,
      column: "size",
      type: { kind: "string" },
    };
    const retyped = await postChange(service, owner, change);
    expect([retyped.status, retyped.json]).toMatchObject([200, {}]);
    expect(await readRows()).toEqual(before);
    expect(before).toHaveLength(1);
  });
});

test("the Console rejects changes of rows with the reason, and shows them", async () => {
  const jar = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));
  const rows = `/console/apps/${app.slug}/tables/${table}`;
  const id = row.split("/").at(-1) ?? "";
  await setReadOnly(true);
  const before = await countRows();
  for (const [page, typed] of [
    [`${rows}/new`, { "value.title": "typed" }],
    [`${rows}/rows/${id}`, { "value.title": "typed" }],
    [`${rows}/rows/${id}/delete`, {}],
  ] as const) {
    const shown = await visit(service, jar, page);
    const fields = { ...readHidden(shown.text), ...typed };
    const sent = await visit(service, jar, page, { fields });
    expect([page, shown.status, sent.status, sent.text]).toEqual([
      page,
      200,
      503,
      expect.stringContaining("read-only"),
    ]);
  }
  expect([await countRows(), (await service.call(app, row)).json]).toMatchObject([
    before,
    { title: "first" },
  ]);
});

test("people, roles, keys and limits of the app go on", async () => {
  await setReadOnly(true);
  await admin.json("set-limit", app.slug, "--per-minute", "60000");
  await admin.json("create-user", "di@example.org");
  await admin.json("grant", "di@example.org", app.slug, "editor", "--new-role");
  await admin.json("issue-key", app.slug);
  const { out } = await admin.run("audit", "--json");
  expect(out).toContain('"set_read_only_on"');
});

test("an import does not write into the app, and an archive never names the setting", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "rowhouse-read-only-")), "app.archive");
  await setReadOnly(true);
  expect((await admin.run("export-app", app.slug, file)).code).toBe(0);
  expect(await Bun.file(file).text()).not.toContain("read");
  const { slug } = await service.makeApp();
  await setReadOnly(true, slug);
  const rejected = await admin.run("import-app", file, "--into", slug);
  expect([rejected.code, rejected.err]).toEqual([
    1,
    expect.stringContaining("read-only off first"),
  ]);
});
