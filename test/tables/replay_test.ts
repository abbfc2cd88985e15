/**
 * Replays of a project's migrations in services that lack them: one migration at a time, from the definition in its
 * text, and with hostile input.
 */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { type Applied, checksumOf } from "../../src/tables/history/migration_text.ts";
import { casesBy } from "../support/cases.ts";
import { eventually } from "../support/eventually.ts";
import { countLockWaits, whileDone } from "../support/held_lock.ts";
import { makeHistory, postMigrations } from "../support/history.ts";
import { dumpDatabase, freshName, postSchema, postSteps, readMigrations } from "../support/push.ts";
import { definitionOf, openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const PUSHES_PER_HOUR = 20;
const JOURNAL_BYTES = 40_000;
const service = await share(
  openTestService({
    service: { pushLimits: { pushesPerHour: PUSHES_PER_HOUR, journalBytes: JOURNAL_BYTES } },
  }),
);

/** Returns four schemas of a project, each with more columns than the previous schema. */
function makeSchemas(name = freshName()) {
  const columns = [
    { title: t.string().required() },
    { title: t.string().required(), note: t.string() },
    { title: t.string().required().unique(), note: t.string() },
    { title: t.string().required().unique(), note: t.string(), count: t.number() },
  ];
  const schemas = columns.map((table) => defineSchema({ [name]: table }));
  return { name, schemas, now: schemas.at(-1), history: makeHistory(schemas) };
}

const dump = () => dumpDatabase(service.service.admin);

/** Applies migrations in order, and returns the status or error of each response. */
async function applyAll(app: TestApp, history: readonly string[], now: unknown) {
  const responses: string[] = [];
  for (const text of history) {
    const { json } = await postMigrations({ service, app }, [text], now);
    const { status, error } = json as { status?: string; error?: string };
    responses.push(status ?? error ?? "");
  }
  return responses;
}

test("a replay applies each definition, and records the project's text and the executed SQL", async () => {
  const { name, history, now } = makeSchemas();
  const app = await service.makeApp();

  expect(await applyAll(app, history, now)).toEqual(["applied", "applied", "applied", "applied"]);

  const recorded = await readMigrations(service, app);
  expect(recorded.map(({ text }) => text)).toEqual(history);
  expect(recorded.map(({ sql }) => sql.split(" ").slice(0, 2).join(" "))).toEqual([
    "create table",
    "alter table",
    "create unique",
    "alter table",
  ]);
  expect((await postSchema(service, app, now)).json).toMatchObject({ status: "unchanged" });
  const row = { title: "one", note: "two", count: 3 };
  const created = await service.call(app, `/v1/data/db/${name}`, { method: "POST", json: row });
  expect(created).toMatchObject({ status: 201, json: row });
});

test("many migrations of one table are applied without waiting for the removal of old functions", async () => {
  const name = freshName();
  const makeColumns = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`column_${n}`, t.string()]));
  const schemas = Array.from({ length: 12 }, (_, n) =>
    defineSchema({ [name]: makeColumns(n + 1) }),
  );
  const app = await service.makeApp();

  const responses = await applyAll(app, makeHistory(schemas), schemas.at(-1));

  expect(responses).toEqual(schemas.map(() => "applied"));
});

test("an applied migration changes nothing, a migration out of order is rejected, and a prefix is continued", async () => {
  const { history, now, schemas } = makeSchemas();
  const app = await service.makeApp();
  const [first = "", second = "", third = "", fourth = ""] = history;
  expect(await applyAll(app, [first, second], now)).toEqual(["applied", "applied"]);
  const before = await dump();

  expect(await applyAll(app, [first, fourth, second], now)).toEqual([
    "unchanged",
    "diverged_history",
    "unchanged",
  ]);
  const [, other = ""] = makeHistory([schemas[0], schemas[3]]);
  const response = await postMigrations({ service, app }, [other], now);
  expect(response).toMatchObject({ status: 409, json: { error: "diverged_history" } });
  expect((response.json as { details: unknown[] }).details).toEqual([
    { path: "/project/0002_step_2", message: "not applied at the service" },
    { path: "/service/0002_step_2", message: "not in the project" },
  ]);
  expect(await dump()).toBe(before);

  expect(await applyAll(app, [third, fourth], now)).toEqual(["applied", "applied"]);
});

test("a migration without changes is recorded", async () => {
  const { schemas, now } = makeSchemas();
  const app = await service.makeApp();
  const history = makeHistory([schemas[0], schemas[0], ...schemas.slice(1)]);

  expect(await applyAll(app, history, now)).toEqual(Array(5).fill("applied"));

  expect((await readMigrations(service, app))[1]).toMatchObject({ seq: 2, sql: "" });
});

test("a table of another app is checked only against the last definition", async () => {
  const name = freshName();
  const owned = freshName();
  await service.makeApp(
    defineSchema({ [name]: { title: t.string().required(), note: t.string() } }),
  );
  const schemas = [
    defineSchema({ [name]: { note: t.string() }, [owned]: {} }),
    defineSchema({ [name]: { note: t.number(), title: t.string() }, [owned]: {} }),
    defineSchema({ [name]: { title: t.string().required() }, [owned]: { done: t.boolean() } }),
  ];
  const history = makeHistory(schemas);
  const app = await service.makeApp();

  expect(await applyAll(app, history, schemas[2])).toEqual(["applied", "applied", "applied"]);

  const { json } = await service.call(app, "/v1/data/schema");
  expect((json as { tables: unknown[] }).tables.toSorted(byName)).toEqual(
    [
      { name, owned: false },
      { name: owned, owned: true },
    ].toSorted(byName),
  );
  expect((await postSchema(service, app, schemas[2])).json).toMatchObject({ status: "unchanged" });

  // The last migration conflicts. The earlier migrations remain.
  const second = await service.makeApp();
  const conflicting = [schemas[0], defineSchema({ [name]: { title: t.number() } })];
  const rejected = makeHistory(conflicting);
  expect(await applyAll(second, rejected, conflicting[1])).toEqual([
    "applied",
    "incompatible_schema",
  ]);
  const response = await postMigrations(
    { service, app: second },
    rejected.slice(1),
    conflicting[1],
  );
  expect(response.text).toContain("Cannot apply 0002_step_2: ");
  expect((await readMigrations(service, second)).length).toBe(1);
});

function byName(a: unknown, b: unknown): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}

test("existing rows reject a migration in the middle by name, and earlier migrations remain", async () => {
  const { name, history, now } = makeSchemas();
  const app = await service.makeApp();
  await applyAll(app, history.slice(0, 2), now);
  const json = { title: "twice" };
  for (const _ of [1, 2]) await service.call(app, `/v1/data/db/${name}`, { method: "POST", json });

  const rejected = await postMigrations({ service, app }, history.slice(2, 3), now);

  expect(rejected).toMatchObject({ status: 409, json: { error: "incompatible_schema" } });
  expect(rejected.text).toContain("Cannot apply 0003_step_3");
  expect(rejected.text).toContain(`/${name}/title`);
  expect((await readMigrations(service, app)).length).toBe(2);
});

test("a dry run plans all migrations and the remaining changes, and writes nothing", async () => {
  const { name, history, schemas } = makeSchemas();
  const app = await service.makeApp();
  await applyAll(app, history.slice(0, 1), schemas[3]);
  const before = await dump();
  const now = defineSchema({
    [name]: { title: t.string().required().unique(), last: t.boolean() },
  });

  const planned = await postMigrations({ service, app }, history, now, { dryRun: true });

  expect(planned.json).toMatchObject({
    status: "planned",
    earlier: [
      { migration: null, steps: [] },
      { migration: { seq: 2 }, steps: [`add column ${name}.note`] },
      { migration: { seq: 3 }, steps: [`add unique (title) to ${name} (rows are checked)`] },
      { migration: { seq: 4 }, steps: [`add column ${name}.count`] },
    ],
    migration: { seq: 5, name: `add_column_${name}_last` },
    steps: [`add column ${name}.last`],
  });
  expect(await dump()).toBe(before);
  const missing = defineSchema({ [name]: { title: t.number() } });
  const rejected = makeHistory([...schemas, missing]).slice(1);
  const response = await postMigrations({ service, app }, rejected, now, { dryRun: true });
  expect(response).toMatchObject({ status: 409, json: { error: "incompatible_schema" } });
  expect(response.text).toContain("Cannot apply 0005_step_5: ");
  expect(await dump()).toBe(before);
});

test("two simultaneous replays apply each migration once", async () => {
  const { history, now } = makeSchemas();
  const app = await service.makeApp();
  const applyPatiently = async () => {
    for (const text of history)
      while ((await postMigrations({ service, app }, [text], now)).status === 409)
        await Bun.sleep(20);
  };

  await Promise.all([applyPatiently(), applyPatiently()]);

  expect((await readMigrations(service, app)).map(({ text }) => text)).toEqual(history);
});

test("migrations of a replay count as one push, and the journal has a limit", async () => {
  const { history, now } = makeSchemas();
  const app = await service.makeApp();
  await applyAll(app, history, now);
  await postSchema(service, app, now);
  const statuses: number[] = [];
  for (let n = 0; n < PUSHES_PER_HOUR; n++)
    statuses.push((await postSchema(service, app, now)).status);
  expect(statuses).toEqual([...Array(PUSHES_PER_HOUR - 1).fill(200), 429]);
  expect((await postMigrations({ service, app }, history, now, { dryRun: true })).status).toBe(429);

  const large = await service.makeApp();
  const big = makeHistory([now], { sql: `-- ${"x".repeat(JOURNAL_BYTES)}\n` });
  const response = await postMigrations({ service, app: large }, big, now);
  expect(response).toMatchObject({ status: 413, json: { error: "journal_full" } });
});

test("an app has one dry run at a time, which does not block other apps and counts in any case", async () => {
  const { history, now } = makeSchemas();
  const [app, other] = [await service.makeApp(), await service.makeApp()];
  const dryRun = (as: TestApp) =>
    postMigrations({ service, app: as }, history, now, { dryRun: true });
  expect((await dryRun(app)).status).toBe(200);
  const held = {
    text: "select from rowhouse.push_allowances where app_id = $1 for update",
    values: [app.id],
  };
  const first = await whileDone(service.database.adminUrl, held, async () => {
    const waiting = dryRun(app);
    await eventually(async () => (await countLockWaits(service.service.admin)) === 1);
    const second = await dryRun(app);
    expect([second.status, second.json]).toMatchObject([409, { error: "push_busy" }]);
    expect((await dryRun(other)).status).toBe(200);
    return { waiting };
  });
  expect((await first.waiting).status).toBe(200);

  const statuses: number[] = [];
  for (let n = 0; n < PUSHES_PER_HOUR; n++)
    statuses.push((await postMigrations({ service, app }, ["x"], now, { dryRun: true })).status);
  expect(statuses).toEqual([...Array(PUSHES_PER_HOUR - 2).fill(422), ...Array(2).fill(429)]);
});

const table = freshName();
const [valid = ""] = makeHistory([defineSchema({ [table]: { title: t.string().default("x") } })]);
/** Replaces the checksum with the correct checksum of a text. */
function reseal(text: string): string {
  const body = text.slice(0, text.lastIndexOf("-- checksum "));
  return `${body}-- checksum ${checksumOf("", body)}\n`;
}
const define = (definition: string) =>
  reseal(valid.replace(/^-- definition .*$/m, () => `-- definition ${definition}`));
const deep = `${"[".repeat(70_000)}${"]".repeat(70_000)}`;
const plain = /^-- definition (.*)$/m.exec(valid)?.[1] ?? "";

test.each(
  casesBy({
    "push did not write it in this form": {
      "statements instead of a header": `drop table data.x;\n${valid}`,
      "a missing checksum": valid.replace(/-- checksum .*\n/, ""),
      "number 0": reseal(valid.replace("0001_", "0000_")),
      "a name that leaves the folder": reseal(valid.replace("0001_step_1", "0001_../x")),
      "a missing definition": reseal(valid.replace("-- definition ", "-- ")),
    },
    "0001_step_1.sql": {
      "a definition that is not JSON": define("{"),
    },
    "nested deeper than": {
      "a definition that is nested too deeply": define(deep),
    },
    reserved: {
      "a definition of a reserved table": define(plain.replaceAll(table, "users")),
    },
    "Cannot name a column": {
      "a name that ends a statement": define(plain.replaceAll('"title"', `"a\\"; drop table x"`)),
    },
    "canonical form": {
      "spaces in the definition": define(plain.replace(",", ", ")),
      "keys in another order": define(plain.replace(/^\{(.*),"version":1\}$/, '{"version":1,$1}')),
      "a duplicate key": define(plain.replace('"version":1', '"version":1,"version":1')),
    },
    "U+0000": {
      "U+0000 in a comment": reseal(valid.replace("made", "\u0000")),
      "an unpaired surrogate in a comment": reseal(valid.replace("made", "\ud800")),
    },
    "larger than 2097152 bytes": {
      "more bytes than the limit of a migration": reseal(
        `${valid.replace("made", "x".repeat(2_100_000))}`,
      ),
    },
    "": {
      "two million line ends before another line": reseal(
        valid.replace("-- made", `${"\n".repeat(2_000_000)}-- made`),
      ),
    },
  }),
)("a text with $name is rejected, and nothing is written", async ({ value: text, expected }) => {
  const app = await service.makeApp();
  const before = await dump();

  const response = await postMigrations({ service, app }, [text], defineSchema({}));

  if (expected === "") expect(response.json).toMatchObject({ error: "journal_full" });
  else expect(response).toMatchObject({ status: 422, json: { error: "invalid_schema" } });
  expect(response.text).toContain(expected);
  expect(await dump()).toBe(before);
});

test.each([
  { name: "its statements", change: (text: string) => text.replace("made", "Made") },
  {
    name: "its definition",
    change: (text: string) => text.replace('"default":"x"', '"default":"y"'),
  },
  {
    name: "its checksum",
    change: (text: string) => text.replace(/sha256:.{64}/, `sha256:${"0".repeat(64)}`),
  },
])("a text with $name edited is rejected", async ({ change }) => {
  const app = await service.makeApp();
  const response = await postMigrations({ service, app }, [change(valid)], defineSchema({}));
  expect(response).toMatchObject({ status: 409, json: { error: "edited_migration" } });
  expect(response.text).toContain("0001_step_1 was edited");
});

test("an applied text that was edited is rejected, at any place and in plans", async () => {
  const { history, now } = makeSchemas();
  const app = await service.makeApp();
  await applyAll(app, history, now);
  for (const text of history.slice(0, 2)) {
    const edited = text.replace("made", "Made");
    for (const more of [{}, { dryRun: true }]) {
      const response = await postMigrations({ service, app }, [edited], now, more);
      expect(response).toMatchObject({ status: 409, json: { error: "edited_migration" } });
      expect(response.text).toContain("was edited after it was applied");
    }
  }
  expect(await applyAll(app, history, now)).toEqual(history.map(() => "unchanged"));
});

test("line ends of a checkout do not count as an edit", async () => {
  const app = await service.makeApp();
  const text = `\uFEFF${valid.trimEnd().replaceAll("\n", "\r\n")}`;
  expect(await applyAll(app, [text], defineSchema({}))).toEqual(["applied"]);
  const [recorded] = (await readMigrations(service, app)) as [Applied];
  expect(recorded.text).toBe(valid);
});

const step = (tables: unknown = []) => ({ kind: "define", definition: { version: 1, tables } });
const rename = { kind: "rename_table", table: "a", to: "b" };
test.each([
  { name: "no steps", json: { steps: undefined }, path: "/steps" },
  { name: "an empty list", json: { steps: [] }, path: "/steps" },
  { name: "an unknown kind", json: { steps: [{ kind: "drop" }] }, path: "/steps/0/kind" },
  { name: "two steps to apply", json: { steps: [step(), step()] }, path: "/steps" },
  {
    name: "a migration and a definition to apply",
    json: { steps: [{ kind: "migration", text: valid }, step()] },
    path: "/steps",
  },
  { name: "a number", json: { steps: [1], dryRun: true }, path: "/steps/0" },
  {
    name: "a migration that is a number",
    json: { steps: [{ kind: "migration", text: 1 }] },
    path: "/steps/0/text",
  },
  {
    name: "102 steps to plan",
    json: { steps: Array(102).fill(step()), dryRun: true },
    path: "/steps",
  },
  {
    name: "a missing definition",
    json: { steps: [{ kind: "define" }] },
    path: "/steps/0/definition",
  },
  {
    name: "an invalid table in the second definition",
    json: { steps: [step(), step([{}])], dryRun: true },
    path: "/steps/1/definition",
  },
  {
    name: "an unknown key of a step",
    json: { steps: [{ ...step(), sql: "x" }] },
    path: "/steps/0/sql",
  },
  { name: "an unknown key", json: { sql: "x" }, path: "/sql" },
  { name: "the fields of a definition", json: step().definition, path: "/version" },
  { name: "an invalid flag", json: { dryRun: 1 }, path: "/dryRun" },
  { name: "an invalid list to share", json: { share: [1] }, path: "/share/0" },
  {
    name: "an invalid change after a text that is no migration",
    json: {
      steps: [
        { kind: "migration", text: "x" },
        { kind: "change", change: { ...rename, to: 1 } },
      ],
      dryRun: true,
    },
    path: "/steps/1/change/to",
  },
])("a push with $name gets 422", async ({ json, path }) => {
  const app = await service.makeApp();
  const call = { method: "POST", json: { steps: [step()], ...json } };
  const response = await service.call(app, "/v1/data/schema", call);
  expect(response).toMatchObject({ status: 422, json: { error: "invalid_schema" } });
  expect(Object(response.json).details[0].path).toStartWith(path);
});

test("a push lists the errors of all its steps, texts included", async () => {
  const app = await service.makeApp();
  const bad = reseal(valid.replace(table, "users"));
  const join = {
    kind: "join",
    migrations: ["x", bad, 3, "y"],
    definition: 1,
    declared: step().definition,
  };
  const cases = [
    {
      steps: [
        { kind: "migration", text: "garbage" },
        { kind: "migration", text: "other" },
        { kind: "define", definition: 3 },
      ],
      paths: ["/steps/0/text", "/steps/1/text", "/steps/2/definition"],
    },
    {
      steps: [join],
      paths: ["/steps/0/definition", ...[0, 1, 2, 3].map((nth) => `/steps/0/migrations/${nth}`)],
    },
  ];
  for (const { steps, paths } of cases) {
    const { status, json } = await postSteps(service, app, steps, { dryRun: true });
    expect(status).toBe(422);
    const found = (Object(json).details as { path: string }[]).map(({ path }) => path);
    expect([...new Set(found)].sort()).toEqual(paths.sort());
  }
});

test.each([
  {
    name: "define",
    last: (name: string) => ({
      kind: "define",
      definition: definitionOf(defineSchema({ [name]: { title: t.number() } })),
    }),
    path: true,
  },
  {
    name: "change",
    last: (name: string) => ({
      kind: "change",
      change: { kind: "drop_column", table: name, column: "none" },
    }),
    path: false,
  },
  {
    name: "join",
    last: (name: string) => ({
      kind: "join",
      migrations: makeHistory([defineSchema({ [name]: {} })]),
      definition: definitionOf(defineSchema({})),
      declared: definitionOf(defineSchema({})),
    }),
    path: true,
  },
  {
    name: "migration",
    last: (name: string) => ({
      kind: "migration",
      text: makeHistory([defineSchema({ [name]: { title: t.number() } })])[0],
    }),
    path: true,
  },
])("a plan that fails in a step of the kind $name names the step", async ({ last, path }) => {
  const name = freshName();
  const schema = defineSchema({ [name]: { title: t.string() } });
  const app = await service.makeApp(schema);
  const steps = [{ kind: "define", definition: definitionOf(schema) }, last(name)];
  const { status, json } = await postSteps(service, app, steps, { dryRun: true });
  expect(status).toBe(409);
  expect(Object(json).message).toEndWith("(step 2 of 2)");
  if (path) for (const detail of Object(json).details) expect(detail.path).toStartWith("/steps/1/");
});

test("a dry run plans steps of several kinds as they are applied one by one", async () => {
  const name = freshName();
  const app = await service.makeApp(defineSchema({ [name]: { title: t.string() } }));
  const define = (columns: string[]) => {
    const types = Object.fromEntries(columns.map((column) => [column, t.string()]));
    return { kind: "define", definition: definitionOf(defineSchema({ [name]: types })) };
  };
  const change = { kind: "rename_column", table: name, column: "note", to: "text" };
  const steps = [
    define(["title", "note"]),
    { kind: "change", change },
    define(["title", "text", "more"]),
  ];
  const checksumOfPlan = (planned: unknown) => Object(planned).migration?.checksum;
  const before = await dump();

  const { json } = await postSteps(service, app, steps, { dryRun: true });

  expect(await dump()).toBe(before);
  const planned = [...Object(json).earlier, json].map(checksumOfPlan);
  const applied: unknown[] = [];
  for (const step of steps)
    applied.push(checksumOfPlan((await postSteps(service, app, [step])).json));
  expect(planned).toEqual(applied);
});
