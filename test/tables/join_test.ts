/** Joins of histories: hostile bodies are rejected, joins are exact, and repeated joins change nothing. */
import { beforeEach, expect, test } from "bun:test";
import { SIGNALS } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { toProjectHistory } from "../../src/tables/history/project_history.ts";
import { readPush, type StoredMigration, workInPlace } from "../../src/tables/mod.ts";
import { acquireTurn } from "../../src/tables/turns.ts";
import { makeHistory } from "../support/history.ts";
import { dumpDatabase, freshName, postSchema, postSteps, readMigrations } from "../support/push.ts";
import { definitionOf, openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

let app: TestApp;
let name: string;
let history: string[];
const service = await share(openTestService());

const title = t.string();
const MINE = () => defineSchema({ [name]: { title, mine: t.string() } });
const BOTH = () => defineSchema({ [name]: { title, mine: t.string(), theirs: t.number() } });
/** The project has two migrations that the service lacks. The service has one migration that the project lacks. */
beforeEach(async () => {
  name = freshName();
  app = await service.makeApp(defineSchema({ [name]: { title, theirs: t.number() } }));
  history = makeHistory([defineSchema({ [name]: { title } }), MINE()]);
});

const post = (step: object, as: TestApp | undefined = app, more = {}) =>
  postSteps(service, as, [step], more);
const body = (more: object = {}) => ({
  kind: "join",
  migrations: history,
  definition: definitionOf(BOTH()),
  declared: definitionOf(BOTH()),
  ...more,
});
const dump = () => dumpDatabase(service.service.admin);
const readRecord = () => readMigrations(service, app) as Promise<StoredMigration[]>;

test("a dry run lists the steps, and the join runs them once", async () => {
  const before = await dump();
  const planned = await post(body(), app, { dryRun: true });
  expect(planned).toMatchObject({
    status: 200,
    json: {
      status: "planned",
      migration: { seq: 2, name: "join_0002_step_2" },
      steps: [`add column ${name}.mine`],
    },
  });
  expect(await dump()).toBe(before);

  expect((await post(body())).json).toMatchObject({ status: "applied" });
  const joined = await dump();
  expect((await post(body())).json).toMatchObject({ status: "unchanged", migration: null });
  for (const at of [0, 1]) {
    const edited = history.map((text, index) =>
      index === at ? text.replace("made", "Made") : text,
    );
    const rejected = await post(body({ migrations: edited }));
    expect([rejected.status, rejected.json]).toMatchObject([409, { error: "edited_migration" }]);
  }
  expect(await dump()).toBe(joined);

  const record = await readRecord();
  expect(record.map(({ seq, joins }) => [seq, joins?.map((join) => join.text) ?? null])).toEqual([
    [1, null],
    [2, history],
  ]);
  expect(toProjectHistory(record).map(({ seq, name: step, at }) => [seq, step, at])).toEqual([
    [1, "step_1", 2],
    [2, "step_2", 2],
  ]);
});

test("a join without steps is recorded, and a later push follows the project's last migration", async () => {
  await postSchema(service, app, BOTH());
  expect((await post(body())).json).toMatchObject({ status: "applied", steps: [] });
  const [, , third = ""] = makeHistory([defineSchema({ [name]: { title } }), MINE(), BOTH()]);
  const replayed = await postSteps(service, app, [{ kind: "migration", text: third }]);
  expect(replayed.json).toMatchObject({ status: "applied", migration: { seq: 3 } });
  const record = await readRecord();
  expect(record.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
  expect(record.at(-1)).toMatchObject({ text: third, parent: record.at(-2)?.checksum });
  const again = await postSteps(service, app, [{ kind: "migration", text: third }]);
  expect(again.json).toMatchObject({ status: "unchanged" });
});

test("two histories can be joined repeatedly, each time they diverge", async () => {
  const theirs = (await readRecord()).map(({ text }) => text);
  expect((await post(body())).json).toMatchObject({ status: "applied" });
  expect((await post(body({ migrations: theirs }))).json).toMatchObject({ status: "applied" });
  expect((await post(body())).json).toMatchObject({ status: "applied" });
  expect((await readRecord()).length).toBe(4);
  expect(toProjectHistory(await readRecord()).map(({ name: step }) => step)).toEqual([
    "step_1",
    "step_2",
  ]);
});

test("two simultaneous joins count as one join", async () => {
  const responses = await Promise.all([post(body()), post(body())]);
  const codes = responses.map(({ status }) => status).sort();
  expect([
    [200, 200],
    [200, 409],
  ]).toContainEqual(codes);
  expect((await readRecord()).length).toBe(2);
});

test.each([
  {
    name: "an edited migration",
    change: () => ({ migrations: [history[0], history[1]?.replace("made", "Made")] }),
    status: 409,
    error: "edited_migration",
  },
  {
    name: "a missing migration in the middle",
    change: () => ({ migrations: [history[1]] }),
    status: 409,
    error: "diverged_history",
  },
  {
    name: "migrations in another order",
    change: () => ({ migrations: history.toReversed() }),
    status: 409,
    error: "diverged_history",
  },
  {
    name: "a declaration without a column of the service",
    change: () => ({ declared: definitionOf(MINE()) }),
    status: 409,
    error: "incompatible_schema",
  },
  {
    name: "no migrations",
    change: () => ({ migrations: [] }),
    status: 422,
    error: "invalid_schema",
  },
  {
    name: "a text that is not a migration",
    change: () => ({ migrations: ["drop table x;"] }),
    status: 422,
    error: "invalid_schema",
  },
  {
    name: "101 migrations",
    change: () => ({ migrations: Array.from({ length: 101 }, () => history[0]) }),
    status: 422,
    error: "invalid_schema",
  },
  {
    name: "a declaration of a reserved table",
    change: () => ({
      declared: { version: 1, tables: [{ name: "users", columns: [], indexes: [], uniques: [] }] },
    }),
    status: 422,
    error: "invalid_schema",
  },
  {
    name: "a missing declaration",
    change: () => ({ declared: undefined }),
    status: 422,
    error: "invalid_schema",
  },
  { name: "an unknown key", change: () => ({ sql: "drop" }), status: 422, error: "invalid_schema" },
])("a body with $name is rejected, and nothing is written", async ({ change, status, error }) => {
  const before = await dump();
  const response = await post(body(change()));
  expect(response).toMatchObject({ status, json: { error } });
  expect(await dump()).toBe(before);
});

test.each([
  { texts: "100 empty texts", migrations: Array.from({ length: 100 }, () => ""), errors: 100 },
  { texts: "10,000 empty texts", migrations: Array.from({ length: 10_000 }, () => ""), errors: 1 },
])("$texts are rejected without a turn of the CPU", async ({ migrations, errors }) => {
  const order: string[] = [];
  const turn = acquireTurn("earlier").then(() => void order.push("turn of an earlier push"));
  const rejected: unknown = await readPush(workInPlace, {
    appId: app.id,
    body: { steps: [body({ migrations })] },
  }).catch((error) => error);
  order.push("rejection");
  await turn;
  expect(order).toEqual(["rejection", "turn of an earlier push"]);
  expect(rejected).toMatchObject({ code: "invalid_schema" });
  expect(Object(rejected).details).toHaveLength(errors);
});

test("a service that only lacks migrations is not joined", async () => {
  const behind = await service.makeApp();
  const response = await post(body(), behind);
  expect(response).toMatchObject({ status: 409, json: { error: "diverged_history" } });
});

test("a table that another app owns is used exactly as the schema declares it, or rejected", async () => {
  const shared = freshName();
  const owner = await service.makeApp(defineSchema({ [shared]: { label: title, more: t.json() } }));
  const both = defineSchema({ [name]: { title, theirs: t.number() }, [shared]: { label: title } });
  const request = body({
    migrations: makeHistory([both]),
    definition: definitionOf(both),
    declared: definitionOf(both),
  });
  const rejected = await post(request, app, { share: [] });
  expect(rejected).toMatchObject({ status: 409, json: { error: "incompatible_schema" } });
  expect(rejected.text).not.toContain(owner.slug);
  const joined = await post(request);
  expect(joined.json).toMatchObject({ status: "applied", shared: [shared] });
});

test("the database rejects a join that its text does not name", async () => {
  const record = (await readRecord()).at(-1);
  const migration = { ...record, seq: 2, parent: record?.checksum, joins: [{ checksum: "x" }] };
  const text = "-- rowhouse migration 0002_x\n";
  const digest = new Bun.CryptoHasher("sha256").update(`${record?.checksum}${text}`).digest("hex");
  const forged = {
    ...migration,
    name: "x",
    checksum: `sha256:${digest}`,
    text: `${text}-- checksum sha256:${digest}\n`,
  };
  const recorded = service.pushing.query(
    "select rowhouse.record_push($1, $2::text::jsonb, '[]', '[]', '[]')",
    [app.id, JSON.stringify(forged)],
    { retry: "unsafe", queue: app.id },
  );
  expect(recorded).rejects.toMatchObject({ signal: SIGNALS.notItsPush });
});
