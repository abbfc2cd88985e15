import { expect, test } from "bun:test";
import { readRows } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { systemRandomBytes } from "../../src/std/random_text.ts";
import { readDrift } from "../../src/tables/mod.ts";
import { renewLease } from "../../src/tables/sql/deferred.ts";
import { byHand } from "../support/citus.ts";
import { withDatabase } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { whileDone } from "../support/held_lock.ts";
import { freshName, postDefinition, postSchema } from "../support/push.ts";
import { pushDefinition } from "../support/push_steps.ts";
import { definitionOf, openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService());

/** Pushes with a size limit that makes every existing table large. */
async function pushLarge(app: TestApp, schema: unknown) {
  const options = { dryRun: false, largeTablePages: 0 };
  const result = await pushDefinition(
    { admin: service.pushing, log: () => undefined },
    { app, definition: definitionOf(schema), options },
  );
  await result.deferred;
  return result;
}

async function readSteps(app: TestApp): Promise<unknown[]> {
  const response = await service.call(app, "/v1/data/schema");
  return (response.json as { deferredSteps: unknown[] }).deferredSteps;
}

async function makeTable(rows: number) {
  const name = freshName();
  const app = await service.makeApp(defineSchema({ [name]: { title: t.string() } }));
  for (let n = 0; n < rows; n++)
    await service.call(app, `/v1/data/db/${name}`, { method: "POST", json: { title: `row ${n}` } });
  return { name, app };
}

function run(...statements: string[]): Promise<unknown[]> {
  return service.service.admin.message(byHand(...statements));
}

test("an index and a reference on a large table are built after the push, as its status reports", async () => {
  const { name, app } = await makeTable(3);

  const result = await pushLarge(
    app,
    defineSchema({ [name]: { title: t.string().index(), parent: t.ref(name) } }),
  );

  expect(result.steps).toEqual([
    `add column ${name}.parent`,
    `add index (title) to ${name}, after the push`,
    `add index (parent) to ${name}, after the push`,
    `add reference ${name}.parent to ${name}`,
    `validate reference (parent) of ${name}, after the push`,
  ]);
  expect(result.migration?.sql).toContain(
    `-- after the push: create index concurrently "${name}__title__search_idx"`,
  );
  expect(await readSteps(app)).toMatchObject([
    { kind: "index", columns: ["title"], state: "done", attempts: 1, fault: null },
    { kind: "index", columns: ["parent"], state: "done" },
    { kind: "reference", columns: ["parent"], state: "done" },
  ]);
  expect(await readDrift(service.service.admin)).toEqual([]);
});

test("a renewed lease records the progress of an index build, and its end removes it", async () => {
  const { name, app } = await makeTable(1);
  const { pushing, service: opened, database } = service;
  const readStep = async () => {
    const [row] = await readRows<{ id: string; phase: string | null }>(
      opened.admin,
      "select id::text, progress ->> 'phase' as phase from rowhouse.deferred_steps where table_name = $1",
      [name],
    );
    return row;
  };
  const log = () => undefined;
  const schema = defineSchema({ [name]: { title: t.string().index() } });
  // The build waits for open write transactions.
  const text = `update data.${name} set title = 'x'`;
  const pushed = await whileDone(database.superuserUrl, { text }, async () => {
    const options = { dryRun: false, largeTablePages: 0 };
    const definition = definitionOf(schema);
    const result = await pushDefinition({ admin: pushing, log }, { app, definition, options });
    await eventually(async () => {
      await renewLease({ admin: pushing, log }, (await readStep())?.id ?? "0");
      return (await readStep())?.phase?.startsWith("waiting for writers") === true;
    });
    return result;
  });
  await pushed.deferred;
  expect(await readStep()).toMatchObject({ phase: null });
});

test("a table that has grown and was never analyzed counts as large", async () => {
  const { name, app } = await makeTable(0);
  // Insert like the restore of a dump: without row security, in a session that then ends.
  await withDatabase(service.database.superuserUrl, (loader) =>
    loader.message(`insert into data.${name} (app_id, id, title)
      select '${app.id}', gen_random_uuid(), repeat('x', 900) from generate_series(1, 40000); select 1`),
  );

  const definition = definitionOf(defineSchema({ [name]: { title: t.string().index() } }));
  const plan = async () => {
    const response = await postDefinition(service, app, definition, { dryRun: true });
    return (response.json as { steps: string[] }).steps;
  };

  // The session reports the statistics of its rows when it ends, with a short delay.
  await eventually(async () =>
    (await plan()).includes(`add index (title) to ${name}, after the push`),
  );
});

test("a unique constraint on a large table is never deferred, and violations are rejected without their values", async () => {
  const { name, app } = await makeTable(0);
  for (const title of ["same secret", "same secret"])
    await service.call(app, `/v1/data/db/${name}`, { method: "POST", json: { title } });

  const rejected = await pushLarge(
    app,
    defineSchema({ [name]: { title: t.string().unique() } }),
  ).catch((error) => error);

  expect(rejected).toMatchObject({
    code: "incompatible_schema",
    message: expect.stringContaining("existing rows share values"),
    details: [{ path: `/${name}/title`, message: expect.stringContaining("share values") }],
  });
  expect(JSON.stringify(rejected)).not.toContain("same secret");
  expect(await readSteps(app)).toEqual([]);
  expect(await readDrift(service.service.admin)).toEqual([]);
});

test.each([
  {
    name: "an optional column, empty in some rows, becomes required",
    rows: [{ note: "secret" }],
    schema: (name: string) => ({ [name]: { title: t.string().required() } }),
    says: "lack a value",
    columns: ["title"],
  },
  {
    name: "two columns become unique together",
    rows: [
      { title: "secret", note: "x" },
      { title: "secret", note: "x" },
    ],
    schema: (name: string) => ({
      [name]: t.model({ title: t.string(), note: t.string() }).unique("title", "note"),
    }),
    says: "share values",
    columns: ["title", "note"],
  },
])(
  "a push that existing rows prevent gets 409 with table and columns, without a value: $name",
  async ({ rows, schema, says, columns }) => {
    const { name, app } = await makeTable(0);
    const wide = defineSchema({ [name]: { title: t.string(), note: t.string() } });
    await pushLarge(app, wide);
    for (const json of rows)
      expect(
        (await service.call(app, `/v1/data/db/${name}`, { method: "POST", json })).status,
      ).toBe(201);

    const response = await postSchema(service, app, defineSchema(schema(name)));

    const message = expect.stringContaining(says);
    expect(response).toMatchObject({
      status: 409,
      json: { error: "incompatible_schema", message },
    });
    const { details } = response.json as { details: unknown };
    expect(details).toEqual(columns.map((column) => ({ path: `/${name}/${column}`, message })));
    expect(response.text).not.toContain("secret");
  },
);

test("an invalid index left by an interrupted build is dropped and rebuilt by a later push", async () => {
  const { name, app } = await makeTable(2);
  const index = `${name}__title__search_idx`;
  const schema = defineSchema({ [name]: { title: t.string().index() } });
  await pushLarge(app, schema);
  await run(`update pg_index set indisvalid = false where indexrelid = 'data.${index}'::regclass`);
  await run(
    `update rowhouse.deferred_steps set state = 'running', lease_until = now() - interval '1 second' where name = '${index}'`,
  );

  expect(await pushLarge(app, schema)).toMatchObject({ status: "unchanged" });

  expect(await readSteps(app)).toMatchObject([{ state: "done", attempts: 2 }]);
  expect(await readDrift(service.service.admin)).toEqual([]);
});

test("pushes of every app skip a step that another process is running", async () => {
  const { name, app } = await makeTable(1);
  const schema = defineSchema({ [name]: { title: t.string().index() } });
  await pushLarge(app, schema);
  const where = `where name = '${name}__title__search_idx'`;
  await run(
    `drop index data.${name}__title__search_idx`,
    `update rowhouse.deferred_steps set state = 'running', lease_until = now() + interval '1 minute' ${where}`,
  );

  await pushLarge(app, schema);
  expect(await readSteps(app)).toMatchObject([{ state: "running", attempts: 1 }]);
  await run(
    `update rowhouse.deferred_steps set lease_until = now() - interval '1 second' ${where}`,
  );
  const other = await makeTable(0);
  await pushLarge(other.app, defineSchema({ [other.name]: { title: t.string() } }));

  expect(await readSteps(app)).toMatchObject([{ state: "done", attempts: 2 }]);
});

test("a deferred index accepts rows of any length", async () => {
  const { name, app } = await makeTable(0);
  const title = Buffer.from(systemRandomBytes(9000)).toString("base64");
  await service.call(app, `/v1/data/db/${name}`, { method: "POST", json: { title } });

  await pushLarge(app, defineSchema({ [name]: { title: t.string().index() } }));

  expect(await readSteps(app)).toMatchObject([{ state: "done", fault: null, attempts: 1 }]);
  expect(await readDrift(service.service.admin)).toEqual([]);
});

test("another onDelete is rejected on a large or shared table, and changed on any other", async () => {
  const name = freshName();
  const schema = (options: object) => defineSchema({ [name]: { parent: t.ref(name, options) } });
  const app = await service.makeApp(schema({}));
  const path = `/v1/data/db/${name}`;
  const create = async (json: object): Promise<string> =>
    ((await service.call(app, path, { method: "POST", json })).json as { id: string }).id;
  const [first, second] = [await create({}), await create({})];
  await create({ parent: first });
  await create({ parent: second });
  const remove = async (id: string) =>
    (await service.call(app, `${path}/${id}`, { method: "DELETE" })).status;
  expect(await remove(first)).toBe(409);
  await expect(pushLarge(app, schema({ onDelete: "cascade" }))).rejects.toMatchObject({
    details: [{ message: expect.stringContaining("is too large to validate") }],
  });
  expect(await remove(first)).toBe(409);

  const pushed = await postSchema(service, app, schema({ onDelete: "cascade" }));
  expect(pushed.json).toMatchObject({
    status: "applied",
    steps: [`change onDelete of ${name}.parent to cascade`],
  });
  expect(await readDrift(service.service.admin)).toEqual([]);
  expect(await remove(first)).toBe(204);
  const { json } = await service.call(app, path);
  expect((json as { rows: object[] }).rows).toMatchObject([{ id: second }, { parent: second }]);

  const user = await service.makeApp(defineSchema({ [name]: {} }));
  const shared = await postSchema(service, app, schema({}));
  expect(shared.json).toMatchObject({
    error: "incompatible_schema",
    details: [
      { path: `/${name}/parent`, message: expect.stringContaining(", and other apps use") },
    ],
  });
  expect(shared.text).not.toContain(user.slug);
  expect(await remove(second)).toBe(204);
  expect((await service.call(app, path)).json).toMatchObject({ rows: [] });
});
