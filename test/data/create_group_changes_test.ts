/** Grouped creates during changes of their key, app or columns, the changes that they record, and large rows. */
import { afterEach, expect } from "bun:test";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { issueKey, revokeKey, setAppSwitch } from "../../src/records/apps/mod.ts";
import { type Columns, defineSchema, t } from "../../src/schema/mod.ts";
import { testDeps } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { functionOf } from "../support/functions.ts";
import { openPostgresProxy } from "../support/postgres_proxy.ts";
import { freshName, postChange, postSchema } from "../support/push.ts";
import {
  callService,
  openTestService,
  type TestApp,
  type TestResponse,
  UNGUARDED,
} from "../support/service.ts";
import { serveAnother } from "../support/shape.ts";
import { share } from "../support/share.ts";
import { testUnlessCitus } from "../support/skip.ts";

/** With the default of `rest`, the row exceeds the max response size. */
const LARGE = "x".repeat(90_000);
const MAX_RESPONSE_BYTES = 90_700;
const MAX_GROUP_BYTES = 262_144;
const REST = "r".repeat(1000);
const schema = defineSchema({
  todos: { title: t.string().required().unique(), rest: t.string().default(REST) },
});
const PATH = "/v1/data/db/todos";
const GROUP = functionOf(schema, "todos", "create_group");

const proxy = await share(openPostgresProxy());
const service = await share(
  openTestService({
    toServingUrl: proxy.toUrl,
    shape: "one",
    connections: 10,
    service: {
      ...UNGUARDED,
      groupsCreates: true,
      previews: ["live"],
      maxResponseBytes: MAX_RESPONSE_BYTES,
    },
  }),
);
afterEach(() => proxy.heal());

const testGroups = testUnlessCitus("a cluster does not group creates");

const create = (app: TestApp, json: unknown, headers: Record<string, string> = {}) =>
  service.call(app, PATH, { method: "POST", json, headers });
const toTitles = (count: number) => Array.from({ length: count }, (_, index) => `title ${index}.`);
const idsOf = (responses: readonly TestResponse[]) =>
  responses.map(({ json }) => (json as { id: string }).id);

async function readIds(text: string, { id }: TestApp): Promise<string[]> {
  const call = { retry: "safe", queue: SERVICE_QUEUE } as const;
  const rows = await service.service.admin.query<{ id: string }>(text, [id], call);
  return rows.map(({ id }) => id);
}
const readRows = (app: TestApp) =>
  readIds("select id from data.todos where app_id = $1 order by id", app);
const readChanges = (app: TestApp) =>
  readIds(
    "select row_id as id from rowhouse.changes where app_id = $1 and row_id is not null order by row_id",
    app,
  );

/** Returns the parameters of the groups that are sent after this call. If `hold` is set, the proxy holds the groups. */
function watchGroups(name: string, { hold = false } = {}): string[] {
  const sent: string[] = [];
  proxy.onMessage(({ type, statement = "", body }) => {
    if (type !== "B" || !statement.includes(name)) return undefined;
    sent.push(body.toString("latin1"));
    return { hold };
  });
  return sent;
}

testGroups("a group records one change for each created row of a live app", async () => {
  const [live, still] = [await service.makeApp(schema), await service.makeApp(schema)];
  await setAppSwitch(service.service, live.slug, ["live", true]);
  await create(still, { title: "taken" });
  await create(live, { title: "taken" });
  const sent = watchGroups(GROUP);
  for (const app of [live, still]) {
    const sets = [
      toTitles(30).map((title) => create(app, { title })),
      toTitles(30).map((title) =>
        create(app, { title: `keyed ${title}` }, { "idempotency-key": title }),
      ),
      // The second of two equal keys is a replay.
      toTitles(10).map((title) =>
        create(app, { title: `keyed ${title}` }, { "idempotency-key": title }),
      ),
      toTitles(10).map(() => create(app, { title: "taken" })),
    ];
    await Promise.all(sets.flat());
  }
  expect(sent.some((parameters) => parameters.includes('"taken"'))).toBe(true);
  for (const app of [live, still]) expect(await readRows(app)).toHaveLength(61);
  expect(await readChanges(live)).toEqual(await readRows(live));
  expect(await readChanges(still)).toEqual([]);
});

testGroups(
  "only the rows that are too large fail, and few large rows are sent together",
  async () => {
    const app = await service.makeApp(schema);
    const sent = watchGroups(GROUP);
    const bodies: { title: string; rest?: string }[] = toTitles(20).flatMap((title) => [
      { title, rest: "" },
      { title: `large ${title}`, rest: LARGE },
      { title: `too large ${title}${LARGE}` },
    ]);
    const responses = await Promise.all(bodies.map((body) => create(app, body)));
    for (const [index, { status, json }] of responses.entries()) {
      const body = bodies[index];
      if (body?.rest === undefined)
        expect([status, json]).toMatchObject([422, { error: "validation_failed" }]);
      else expect([status, json]).toMatchObject([201, body]);
    }
    expect(sent.some((parameters) => parameters.includes("too large"))).toBe(true);
    for (const parameters of sent) expect(parameters.length).toBeLessThan(MAX_GROUP_BYTES);
    expect(await readRows(app)).toHaveLength(40);
  },
);

type Ending = { name: string; end: (app: TestApp, keyId: string) => Promise<unknown> };
const ENDINGS: readonly Ending[] = [
  { name: "whose key is revoked", end: (_, keyId) => revokeKey(testDeps(service.service), keyId) },
  {
    name: "whose app is disabled",
    end: ({ slug }) => setAppSwitch(service.service, slug, ["disabled", true]),
  },
];
for (const { name, end } of ENDINGS)
  testGroups(`a group in progress ${name} creates no row, and each caller gets 401`, async () => {
    const [app, other] = [await service.makeApp(schema), await service.makeApp(schema)];
    const order = {
      slug: app.slug,
      name: "own",
      scopes: ["data:write"],
      expiresAt: undefined,
    } as const;
    const { text: key, keyId } = await issueKey(testDeps(service.service), order);
    service.secrets.add(key);
    const held = watchGroups(GROUP, { hold: true });
    const pending = toTitles(40).map(async (title) => ({
      title,
      response: await service.call(app, PATH, { method: "POST", json: { title }, key }),
    }));
    await eventually(() => held.length > 0);
    await end(app, keyId);
    await proxy.heal();
    const responses = await Promise.all(pending);
    const created = responses.filter(({ response }) => response.status === 201);
    for (const { title, response } of responses) {
      if (held.some((parameters) => parameters.includes(`"${title}"`)))
        expect([response.status, response.json]).toMatchObject([401, { error: "unauthenticated" }]);
      else expect([201, 401]).toContain(response.status);
    }
    expect(await readRows(app)).toEqual(idsOf(created.map(({ response }) => response)).sort());
    expect((await create(other, { title: "other" })).status).toBe(201);
  });

/** Creates rows in groups of eight until the load is stopped. Returns the responses by status. */
function startLoad(app: TestApp, path: string, url: string) {
  const load = {
    created: [] as TestResponse[],
    failed: [] as TestResponse[],
    hasDuplicates: false,
  };
  let isOver = false;
  const createSome = async (): Promise<void> => {
    while (!isOver) {
      const bodies = Array.from({ length: 8 }, (_, index) => {
        const title = load.hasDuplicates && index === 0 ? "taken" : crypto.randomUUID();
        // The app has the columns that it declares at this time.
        return { title, name: title, note: "a note" };
      });
      const responses = await Promise.all(
        bodies.map((json) =>
          callService({ url, secrets: service.secrets }, app, path, { method: "POST", json }),
        ),
      );
      for (const response of responses)
        (response.status === 201 ? load.created : load.failed).push(response);
    }
  };
  const work = Promise.all([createSome(), createSome()]);
  const end = async () => {
    isOver = true;
    await work;
  };
  return Object.assign(load, { end });
}

testGroups(
  "rows created by two processes during column changes are stored once, and match their responses",
  async () => {
    const table = freshName();
    const path = `/v1/data/db/${table}`;
    const toSchema = (columns: Columns) => defineSchema({ [table]: columns });
    const first = toSchema({ title: t.string() });
    const app = await service.makeApp(first);
    const second = await serveAnother(service.database, { previews: ["live"] });
    const loads = [service.url, second.url].map((url) => startLoad(app, path, url));
    const createMore = async () => {
      const goals = loads.map(({ created }) => created.length + 30);
      await eventually(() =>
        loads.every(({ created }, index) => created.length > (goals[index] ?? 0)),
      );
    };
    const push = (columns: Columns) => postSchema(service, app, toSchema(columns));
    const change = (change: object) => postChange(service, app, change);
    const rename = (column: string, to: string) =>
      change({ kind: "rename_column", table, column, to });
    const title = t.string();
    const note = t.string();
    for (const step of [
      () => push({ title, note }),
      () => rename("title", "name"),
      () => rename("name", "title"),
      () => push({ title: t.string().unique(), note }),
      () => change({ kind: "drop_column", table, column: "note" }),
    ]) {
      await createMore();
      // Creates can hold the table for longer than a push waits.
      await eventually(async () => {
        const { json } = await step();
        if (Object(json).error === "push_busy") return false;
        expect(json).toMatchObject({ status: "applied" });
        return true;
      });
    }
    for (const load of loads) load.hasDuplicates = true;
    await createMore();
    for (const load of loads) await load.end();
    await second.close();

    expect(proxy.count(functionOf(first, table, "create_group"))).toBeGreaterThan(0);
    for (const { failed } of loads)
      for (const { status, json } of failed)
        expect([status, json]).toMatchObject([409, { error: "unique_violation" }]);
    const stored = await service.service.admin.message<{ id: string; title: string }>(
      `select id, title from data."${table}" order by id`,
    );
    const created = loads.flatMap(({ created }) => created.map(({ json }) => json as NewRow));
    for (const { note } of created) expect([undefined, "a note"]).toContain(note);
    const responses = created.map(({ id, title, name }) => ({ id, title: title ?? name ?? "" }));
    expect(stored.map((row) => ({ ...row }))).toEqual(
      responses.sort((left, right) => (left.id < right.id ? -1 : 1)),
    );
    expect(stored.filter(({ title }) => title === "taken")).toHaveLength(1);
  },
);

type NewRow = { id: string; title?: string; name?: string; note?: string };
