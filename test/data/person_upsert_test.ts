/** Upserts by people: each row is created, or found and updated, as far as the rules for all of these allow. */
import { beforeEach, expect, test } from "bun:test";
import { defineSchema, type TableRules, t } from "../../src/schema/mod.ts";
import { definitionFor, keysOf } from "../../src/tables/catalog/mod.ts";
import { openPersonViews, type TestCaller } from "../support/person_views.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({
  teams: t.model({ name: t.string().required(), lead: t.uuid() }),
  todos: t
    .model({
      code: t.string().required().unique(),
      title: t.string().required(),
      status: t.enum(["open", "done", "approved"]).required().default("open"),
      owner: t.uuid().required(),
      team: t.ref("teams"),
      cost: t.decimal(),
      note: t.string(),
    })
    .unique("owner", "title"),
});
const rules: Record<string, TableRules> = {
  teams: { allow: { member: { read: [{ lead: "me" }] }, lead: { read: [{}] } } },
  todos: {
    allow: {
      member: {
        read: [{ owner: "me" }, { status: "approved" }],
        create: [{ status: "open" }],
        update: {
          from: [{ owner: "me", status: "open" }],
          to: [{ owner: "me", status: ["open", "done"] }],
        },
      },
      editor: { read: [{ owner: "me" }], update: { from: [{}], to: [{}] } },
      lead: { read: [{ owner: "me" }], create: [{}], update: { from: [{}], to: [{}] } },
    },
    owner: ["owner"],
    only: { cost: ["lead"] },
    setBy: { note: ["lead"] },
  },
};

type Row = Record<string, unknown>;

const service = await share(openTestService({ service: { previews: ["filters", "live"] } }));
const app = await service.makeApp(schema);
const views = await share(
  openPersonViews(service, { app, schema, rules }, ["upsert", "update_keyed"]),
);
const ada = await views.makeCaller("member");
const bob = await views.makeCaller("member");
beforeEach(async () => {
  await views.admin`delete from data.todos`;
});

async function upsert(
  caller: TestCaller,
  bodies: readonly Row[],
  { columns = ["code"], isIgnored = false, isOnly = false, claim = null as Uint8Array | null } = {},
): Promise<{ rows: Row[]; results: string[] }> {
  const whole = views.tables.find(({ name }) => name === "todos");
  const view = views.find("todos", caller.role)?.view;
  if (whole === undefined || view === undefined) throw new Error("no view");
  const names = definitionFor(whole, view).columns.map(({ name }) => name);
  const key = keysOf(whole).find((each) => each.columns.join() === columns.join());
  if (key === undefined) throw new Error("not unique");
  const ids = bodies.map(() => Bun.randomUUIDv7()).sort();
  const sequence = bodies.map((_, index) => index + 1);
  const values = {
    ...{ bodies: JSON.stringify(bodies), claim, bytes: 8_000_000 },
    unique: columns.map((name) => names.indexOf(name) + 1),
    indexes: [key.name, "", key.search ?? ""],
  };
  const text = await views.call(
    caller,
    "todos",
    isOnly
      ? { endpoint: "update_keyed", values }
      : { endpoint: "upsert", values: { ...values, ids, isIgnored, sequence } },
  );
  return JSON.parse(text?.replace(/^[RI]/, "") ?? "null");
}

const stored = async (): Promise<Row[]> =>
  await views.admin`select code, title, status::text, owner, cost, note from data.todos order by code`;
const failed = (result: Promise<unknown>) =>
  result.then(
    () => "succeeded",
    (error: Row) => ({
      code: error["code"],
      column: error["column_name"],
      constraint: error["constraint_name"],
      row: error["hint"],
    }),
  );

test("who may not create updates own rows only, and finds no others", async () => {
  const editor = await views.makeCaller("editor");
  await upsert(bob, [
    { code: "a", title: "of Bob" },
    { code: "b", title: "own" },
  ]);
  await views.admin`update data.todos set owner = ${editor.id} where code = 'b'`;
  for (const [columns, note] of [
    [["code"], undefined],
    [["owner", "title"], editor.id],
  ] as const) {
    const bodies = [
      { code: "a", title: "of Bob" },
      { code: "b", title: "own", status: "done", ...(note && { owner: note }) },
      { code: "c", title: "none" },
    ];
    const { rows, results } = await upsert(editor, bodies, { columns: [...columns], isOnly: true });
    expect(results).toEqual(["missing", expect.stringMatching(/updated|unchanged/), "missing"]);
    expect(rows).toMatchObject([{ code: "b", owner: editor.id, status: "done" }]);
  }
  expect((await stored()).map(({ title, status }) => [title, status])).toEqual([
    ["of Bob", "open"],
    ["own", "done"],
  ]);
});

test("rules hold for created rows and for the new state of updated rows", async () => {
  expect(
    await failed(
      upsert(ada, [
        { code: "a", title: "1" },
        { code: "b", title: "2", status: "done" },
      ]),
    ),
  ).toMatchObject({ ...{ code: "23R01", row: "1" } });
  expect(await stored()).toEqual([]);
  // An update is not a create: the rule for creates does not hold for it.
  await upsert(ada, [{ code: "a", title: "1" }]);
  expect((await upsert(ada, [{ code: "a", title: "1", status: "done" }])).results).toEqual([
    "updated",
  ]);
  await upsert(ada, [{ code: "b", title: "2" }]);
  expect(await failed(upsert(ada, [{ code: "b", title: "2", status: "approved" }]))).toMatchObject({
    code: "23R01",
  });
  // A done row is no longer one that the person may change.
  expect(await failed(upsert(ada, [{ code: "a", title: "1", status: "open" }]))).toMatchObject({
    code: "23R01",
  });
});

test("references of ignored rows are checked only for people who do not read all rows of their table", async () => {
  const post = { method: "POST", json: { name: "t", lead: bob.id } };
  const { id } = (await service.call(app, "/v1/data/db/teams", post)).json as Row;
  const lead = await views.makeCaller("lead");
  for (const [code, by] of [
    ["a", ada],
    ["b", lead],
  ] as const)
    await upsert(by, [{ code, title: "1" }]);
  const ignore = (by: TestCaller, row: Row) =>
    failed(upsert(by, [{ title: "2", ...row }], { isIgnored: true }));
  // Otherwise the response would tell whether the team exists.
  for (const team of [id, crypto.randomUUID()])
    expect(await ignore(ada, { code: "a", team })).toMatchObject({
      ...{ code: "23503", constraint: "todos__team__fkey" },
    });
  for (const team of [id, crypto.randomUUID()])
    expect(await ignore(lead, { code: "b", team })).toBe("succeeded");
  expect((await stored()).map(({ code, title }) => [code, title])).toEqual([
    ["a", "1"],
    ["b", "1"],
  ]);
});

test("the owner is a part of the key", async () => {
  const of = { columns: ["owner", "title"] };
  await upsert(bob, [{ code: "b", title: "same" }], of);
  expect((await upsert(ada, [{ code: "a", title: "same" }], of)).results).toEqual(["created"]);
  expect((await upsert(ada, [{ code: "c", title: "same" }], of)).results).toEqual(["updated"]);
  expect((await stored()).map(({ code, owner }) => [code, owner])).toEqual([
    ["b", bob.id],
    ["c", ada.id],
  ]);
});

test("a created row that the person does not read has only its id", async () => {
  const lead = await views.makeCaller("lead");
  await views.admin`insert into data.todos (app_id, id, code, title, status, owner)
    values (${app.id}, gen_random_uuid(), 'a', 'x', 'open', ${lead.id})`;
  const { rows, results } = await upsert(lead, [{ code: "a", title: "y", cost: "3.50" }]);
  expect(results).toEqual(["updated"]);
  expect(rows).toMatchObject([{ cost: "3.50", title: "y" }]);
  // Naming another's row as one's own does not take it.
  expect(await failed(upsert(ada, [{ code: "a", title: "z", owner: ada.id }]))).toMatchObject({
    code: "23505",
  });
});

test("a replay has the rows that the person reads, and of others only the ids", async () => {
  const claim = new Uint8Array(65).fill(7);
  claim[0] = 1;
  const body = { code: "a", title: "once" };
  const first = await upsert(ada, [body], { claim });
  expect(first.rows).toMatchObject([{ title: "once" }]);
  expect(await upsert(ada, [body], { claim })).toEqual(first);
  await views.admin`update data.todos set owner = ${bob.id}`;
  expect(await upsert(ada, [body], { claim })).toEqual({
    rows: [{ id: first.rows[0]?.["id"] }],
    results: ["created"],
  });
});
