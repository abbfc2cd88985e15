/** The history of rows: every write that changes a row records who wrote it and the values before, and nothing else does. */
import { describe, expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { freshName } from "../support/push.ts";
import { type Call, openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const todos = () => ({
  title: t.string().required(),
  amount: t.decimal(),
  // An index of numbers has a hidden column.
  rank: t.number().index(),
  meta: t.json(),
  tag: t.string().unique(),
  project: t.ref("projects", { onDelete: "cascade" }),
  changed_at: t.timestamp().default("now").onUpdate("now"),
  // Names of the listeners without their "$".
  was: t.string(),
  actor: t.string(),
});
const schema = defineSchema({ projects: { name: t.string().required() }, todos: todos() });
const TODOS = "/v1/data/db/todos";
const PROJECTS = "/v1/data/db/projects";
type Row = Record<string, unknown> & { id: string };
type Change = {
  table: string;
  row: string;
  by: string;
  before: Record<string, unknown>;
  after: Record<string, unknown> | null;
  request: string;
  caused: boolean;
};

const service = await share(
  openTestService({ service: { previews: ["filters", "live", "history"] } }),
);
const app = await makeApp();

async function makeApp(isOn = true): Promise<TestApp> {
  const made = await service.makeApp(schema);
  if (isOn) await setAppSwitch(service.service, made.slug, ["history", true]);
  return made;
}

const send = async (to: string, call: Call, { as = app, status = 200 } = {}) => {
  const sent = await service.call(as, to, call);
  expect({ text: sent.text, status: sent.status }).toMatchObject({ status });
  return sent;
};
const create = async (json: object, { as = app, to = TODOS } = {}) =>
  (await send(to, { method: "POST", json }, { as, status: 201 })).json as Row;
const read = async ({ id }: Row) => (await send(`${TODOS}/${id}`, {})).json as Row;

/** All stored changes of an app, oldest first. */
async function readChanges({ id } = app): Promise<Change[]> {
  return await service.query<Change>(
    `with entered as materialized (select set_config('rowhouse.app_id', $1::text, true))
    select table_name as table, row_id as row, changed_by as by, changed_at::text as request, is_caused as caused,
      rowhouse.values_in_response(before, '{amount}') as before, rowhouse.values_in_response(after, '{amount}') as after
    from entered, rowhouse.row_changes where app_id = $1::uuid order by id`,
    [id],
  );
}
const changesOf = async ({ id }: Row, of = app) =>
  (await readChanges(of)).filter(({ row }) => row === id);
/** The values of a row without its ids. */
const valuesOf = ({ id: _, app_id: __, ...values }: Row) => values;

describe("a write is recorded", () => {
  const patch = { title: "after", amount: "2.50", rank: 2 };
  const isPatched = { title: "after", amount: "2.50", rank: 2 };
  const WRITES: Record<string, (row: Row) => Promise<unknown>> = {
    "of one row": ({ id }) => send(`${TODOS}/${id}`, { method: "PATCH", json: patch }),
    "of one row with a tag": async ({ id }) => {
      const { headers } = await send(`${TODOS}/${id}`, {});
      const call = {
        method: "PATCH",
        json: patch,
        headers: { "if-match": headers.get("etag") ?? "" },
      };
      await send(`${TODOS}/${id}`, call);
    },
    "of a list": ({ id }) => send(TODOS, { method: "PATCH", json: [{ id, ...patch }] }),
    "with a condition": ({ tag }) =>
      send(`${TODOS}?tag=eq.${tag}`, { method: "PATCH", json: patch }),
    "of an upsert": ({ tag }) =>
      send(`${TODOS}?onConflict=tag`, { method: "POST", json: { tag, ...patch } }, {}),
  };
  test.each(Object.entries(WRITES))("%s: an update", async (_, write) => {
    const row = await create({
      title: "before",
      amount: "1.50",
      rank: 1,
      meta: { a: [1] },
      tag: Bun.randomUUIDv7(),
    });
    expect(await changesOf(row)).toEqual([]);
    await write(row);
    const now = await read(row);
    const [change, ...others] = await changesOf(row);
    expect(others).toEqual([]);
    // Columns that the request neither names nor changes are not stored.
    const stored = Object.keys(change?.after ?? {});
    expect(stored).not.toContain("meta");
    const before = Object.entries(row).filter(([name]) => stored.includes(name));
    expect(change).toMatchObject({ table: "todos", before: Object.fromEntries(before) });
    expect(Object.keys(change?.before ?? {}).toSorted()).toEqual(stored.toSorted());
    expect(change?.after).toMatchObject({ ...isPatched, changed_at: now["changed_at"] });
    expect(change?.by).toMatch(/^key [0-9a-f]{64}$/);
    // The same values again are no change.
    const again = { method: "PATCH", json: { ...patch, changed_at: now["changed_at"] } };
    await send(`${TODOS}/${row.id}`, again);
    expect(await changesOf(row)).toHaveLength(1);
  });

  const DELETES: Record<string, (row: Row) => Promise<unknown>> = {
    "of one row": ({ id }) => send(`${TODOS}/${id}`, { method: "DELETE" }, { status: 204 }),
    "with a condition": ({ tag }) => send(`${TODOS}?tag=eq.${tag}`, { method: "DELETE" }),
  };
  test.each(Object.entries(DELETES))("%s: a delete", async (_, write) => {
    const row = await create({ title: "gone", meta: null, tag: Bun.randomUUIDv7() });
    await write(row);
    expect(await changesOf(row)).toMatchObject([{ before: valuesOf(row), after: null }]);
  });

  test("of one request with the same mark for all its rows", async () => {
    const tag = Bun.randomUUIDv7();
    const rows = await Promise.all([1, 2, 3].map((rank) => create({ title: tag, rank })));
    await send(`${TODOS}?title=eq.${tag}`, { method: "PATCH", json: { rank: 9 } });
    await send(`${TODOS}?title=eq.${tag}`, { method: "DELETE" });
    const marks = await Promise.all(
      rows.map(async (row) => (await changesOf(row)).map(({ request }) => request)),
    );
    expect(marks).toEqual([marks[0] ?? [], marks[0] ?? [], marks[0] ?? []]);
    expect(new Set(marks[0]).size).toBe(2);
  });
});

test("small updates of a large row store little, so that no one fills the history with them", async () => {
  const row = await create({
    title: Buffer.from(crypto.getRandomValues(new Uint8Array(60_000)))
      .toString("hex")
      .slice(0, 90_000),
  });
  for (const rank of [1, 2, 3]) {
    await send(`${TODOS}/${row.id}`, { method: "PATCH", json: { rank } });
    await send(TODOS, { method: "PATCH", json: [{ id: row.id, rank: -rank }] });
    await send(`${TODOS}?id=eq.${row.id}`, { method: "PATCH", json: { rank: rank + 9 } });
  }
  const sizes = await service.query<{ bytes: number }>(
    `with entered as materialized (select set_config('rowhouse.app_id', $1::text, true))
    select bytes from entered, rowhouse.row_changes where app_id = $1::uuid and row_id = $2::uuid`,
    [app.id, row.id],
  );
  expect(sizes).toHaveLength(9);
  expect(Math.max(...sizes.map(({ bytes }) => bytes))).toBeLessThan(1000);
});

test("a change has the changed columns of the app, also if only digits changed", async () => {
  const row = await create({ title: "a", amount: "1.5", rank: 1 });
  const json = { title: "a", amount: "1.50", rank: 1 };
  await send(`${TODOS}/${row.id}`, { method: "PATCH", json });
  await send(`${TODOS}/${row.id}`, { method: "PATCH", json: { rank: 2 } });
  await send(`${TODOS}/${row.id}`, { method: "DELETE" }, { status: 204 });
  const changes = await changesOf(row);
  expect(changes.map(({ before, after }) => Object.keys(after ?? before).toSorted())).toEqual([
    ["amount", "changed_at"],
    ["changed_at", "rank"],
    Object.keys(todos()).toSorted(),
  ]);
});

test("two references to a deleted row that a row had are recorded once each", async () => {
  const person = () => t.ref(name, { onDelete: "set null" });
  const [name, tasks] = [freshName(), freshName()];
  const made = await service.makeApp(
    defineSchema({ [name]: {}, [tasks]: { author: person(), reviewer: person() } }),
  );
  await setAppSwitch(service.service, made.slug, ["history", true]);
  const { id } = await create({}, { as: made, to: `/v1/data/db/${name}` });
  const task = { author: id, reviewer: id };
  for (let n = 0; n < 2; n++) await create(task, { as: made, to: `/v1/data/db/${tasks}` });
  await send(`/v1/data/db/${name}/${id}`, { method: "DELETE" }, { as: made, status: 204 });
  const caused = (await readChanges(made)).filter((change) => change.caused);
  const changes = caused.map(({ before, after }) => JSON.stringify([before, after]));
  const cleared = ["author", "reviewer"].map((column) =>
    JSON.stringify([{ [column]: id }, { [column]: null }]),
  );
  expect(changes.toSorted()).toEqual([...cleared, ...cleared].toSorted());
});

test("a write that writes nothing is not recorded", async () => {
  const row = await create({ title: "kept", tag: Bun.randomUUIDv7() });
  const other = await create({ title: "other", tag: Bun.randomUUIDv7() });
  const patch = (json: unknown, headers = {}) => ({ method: "PATCH", json, headers });
  await send(`${TODOS}/${row.id}`, patch({}));
  await send(`${TODOS}/${row.id}`, patch({ title: "x" }, { "if-match": '"no"' }), { status: 412 });
  await send(`${TODOS}/${row.id}`, patch({ tag: other["tag"] }), { status: 409 });
  await send(
    TODOS,
    patch([
      { id: row.id, title: "x" },
      { id: app.id, title: "y" },
    ]),
    { status: 404 },
  );
  await send(`${TODOS}?tag=eq.${row["tag"]}&dryRun=true`, patch({ title: "x" }));
  await send(`${TODOS}?tag=eq.${row["tag"]}&dryRun=true`, { method: "DELETE" });
  expect(await changesOf(row)).toEqual([]);
  expect(await read(row)).toEqual(row);
});

test("rows that a reference deletes are recorded as effects of the delete", async () => {
  const project = await create({ name: "Garden" }, { to: PROJECTS });
  const todo = await create({ title: "dig", project: project.id });
  await send(`${PROJECTS}/${project.id}`, { method: "DELETE" }, { status: 204 });
  expect(await changesOf(todo)).toMatchObject([
    { table: "todos", before: valuesOf(todo), after: null, caused: true },
  ]);
  expect(await changesOf(project)).toMatchObject([
    { before: { name: "Garden" }, after: null, caused: false },
  ]);
});

test("concurrent updates lose no value before: each begins where the other ended", async () => {
  const row = await create({ title: "0" });
  const titles = Array.from({ length: 24 }, (_, index) => `${index + 1}`);
  await Promise.all(
    titles.map((title) => send(`${TODOS}/${row.id}`, { method: "PATCH", json: { title } })),
  );
  const changes = await changesOf(row);
  const afters = changes.map(({ after }) => String(after?.["title"]));
  expect(changes.map(({ before }) => before["title"])).toEqual(["0", ...afters.slice(0, -1)]);
  expect(afters.toSorted()).toEqual(titles.toSorted());
  expect((await read(row))["title"]).toBe(afters.at(-1) ?? "");
});

test("an app without a history records nothing, and turning it off deletes it", async () => {
  const quiet = await makeApp(false);
  const row = await create({ title: "a" }, { as: quiet });
  const patch = (title: string) =>
    send(`${TODOS}/${row.id}`, { method: "PATCH", json: { title } }, { as: quiet });
  await patch("b");
  expect(await readChanges(quiet)).toEqual([]);
  await setAppSwitch(service.service, quiet.slug, ["history", true]);
  await patch("c");
  expect(await readChanges(quiet)).toMatchObject([{ before: { title: "b" } }]);
  await setAppSwitch(service.service, quiet.slug, ["history", false]);
  expect(await readChanges(quiet)).toEqual([]);
  await patch("d");
  expect(await readChanges(quiet)).toEqual([]);
});
