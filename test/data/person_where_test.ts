/** Writes of all rows that match conditions, by people: they find only rows that the person sees and may write. */
import { expect, test } from "bun:test";
import { planWrite } from "../../src/data/query/plan.ts";
import { readWriteQuery, toList } from "../../src/data/write_where.ts";
import { defineSchema, type TableRules, t } from "../../src/schema/mod.ts";
import { definitionFor } from "../../src/tables/catalog/mod.ts";
import { openPersonViews, type TestCaller } from "../support/person_views.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({
  teams: t.model({ name: t.string().required(), lead: t.uuid() }),
  todos: t.model({
    title: t.string().required(),
    status: t.enum(["open", "done", "approved"]).required().default("open"),
    owner: t.uuid().required(),
    team: t.ref("teams"),
    cost: t.decimal(),
    note: t.string(),
  }),
});
const rules: Record<string, TableRules> = {
  teams: { allow: { member: { read: [{ lead: "me" }] } } },
  todos: {
    allow: {
      member: {
        read: [{ owner: "me" }, { status: "approved" }],
        update: {
          from: [{ owner: "me", status: "open" }],
          to: [{ owner: "me", status: ["open", "done"] }],
        },
        delete: [{ owner: "me", status: "open" }],
      },
      giver: { read: [{ owner: "me" }], update: { from: [{ owner: "me" }], to: [{}] } },
      viewer: { read: [{}] },
    },
    only: { cost: ["viewer"] },
    setBy: { note: ["viewer"] },
  },
};

type Row = Record<string, unknown>;

const service = await share(openTestService({ service: { previews: ["filters", "live"] } }));
const app = await service.makeApp(schema);
const views = await share(
  openPersonViews(service, { app, schema, rules }, ["update_where", "delete_where"]),
);
const ada = await views.makeCaller("member");
const bob = await views.makeCaller("member");

/** Rows of both people in all states. */
async function fill(): Promise<void> {
  await views.admin`delete from data.todos`;
  const rows = [ada, bob].flatMap(({ id }, person) =>
    ["open", "open", "done", "approved"].map((status, n) => ({
      ...{ title: `${person}${n}`, status, owner: id },
    })),
  );
  const { status } = await service.call(app, "/v1/data/db/todos", { method: "POST", json: rows });
  expect(status).toBe(201);
}

async function read(): Promise<Row[]> {
  return await views.admin`select title, status::text, owner, cost, note from data.todos order by title`;
}

async function write(
  caller: TestCaller,
  text: string,
  body?: object,
  claim: Uint8Array | null = null,
): Promise<unknown> {
  const whole = views.tables.find(({ name }) => name === "todos");
  const view = views.find("todos", caller.role)?.view;
  if (whole === undefined || view === undefined) throw new Error("no view");
  const table = { name: "todos", whole, definition: definitionFor(whole, view) };
  const tables = { appId: app.id, find: () => undefined };
  const { isDry, limit, ...query } = readWriteQuery(text, table.definition, tables);
  const options = { appId: app.id, missing: new Set<string>(), isUnselective: false };
  const { plan, values } = planWrite(toList({ ...query, isDry, limit }, 1000, false), table, {
    ...options,
    ...{ isCounted: false, visits: 10_000, work: 1e8 },
  });
  const all = { plan, values, limit: limit ?? 1000, isPart: limit !== undefined, isDry, claim };
  const found = await views.call(
    caller,
    "todos",
    body === undefined
      ? { endpoint: "delete_where", values: all }
      : {
          endpoint: "update_where",
          values: { ...all, body: JSON.stringify(body), bytes: 8_000_000 },
        },
  );
  return JSON.parse(found ?? "null");
}

const titles = (rows: readonly Row[], wanted: (row: Row) => boolean) =>
  rows.filter(wanted).map(({ title }) => title);

test("an update changes and counts the rows that the person sees and may change", async () => {
  await fill();
  const dry = (await write(ada, "all=true&dryRun=true", { title: "x" })) as Row;
  expect(dry).toMatchObject({ count: 2 });
  expect(dry["ids"]).toHaveLength(2);
  expect(await write(ada, "status=in.(open,done,approved)", { status: "done" })).toEqual({
    count: 2,
  });
  const rows = await read();
  expect(titles(rows, ({ owner, status }) => owner === ada.id && status === "done")).toEqual([
    "00",
    "01",
    "02",
  ]);
  expect(titles(rows, ({ owner, status }) => owner === bob.id && status === "done")).toEqual([
    "12",
  ]);
  // Rows of others match nothing, also by their exact values.
  expect(await write(ada, "title=eq.10", { title: "mine" })).toEqual({ count: 0 });
  // An approved row of another person is visible, and not changed.
  expect(await write(ada, "title=eq.13", { title: "mine" })).toEqual({ count: 0 });
});

test("a new state that the rule does not allow undoes the whole update", async () => {
  await fill();
  await expect(write(ada, "all=true", { status: "approved" })).rejects.toMatchObject({
    code: "23R01",
  });
  await expect(write(ada, "all=true", { owner: bob.id })).rejects.toMatchObject({ code: "23R01" });
  const before = await read();
  expect(before.filter(({ status }) => status === "approved")).toHaveLength(2);
  const giver = await views.makeCaller("giver", { id: ada.id });
  expect(await write(giver, "title=eq.00", { owner: bob.id })).toEqual({ count: 1 });
});

test("columns that the person cannot set, and hidden columns, are rejected", async () => {
  await fill();
  for (const [column, value] of [
    ["cost", "1"],
    ["note", "x"],
  ] as const) {
    const body = { [column]: value };
    await expect(write(ada, "all=true&dryRun=true", body)).rejects.toMatchObject({
      code: "23R01",
      column_name: column,
    });
    await expect(write(ada, "all=true", body)).rejects.toMatchObject({ code: "23R01" });
  }
  await expect(write(ada, "cost=eq.1", { title: "x" })).rejects.toMatchObject({
    code: "invalid_query",
  });
});

test("a reference to an invisible row is a missing row", async () => {
  await fill();
  const team = async (lead: string) =>
    (
      (await service.call(app, "/v1/data/db/teams", { method: "POST", json: { name: "t", lead } }))
        .json as Row
    )["id"];
  const [own, other] = [await team(ada.id), await team(bob.id)];
  expect(await write(ada, "title=eq.00", { team: own })).toEqual({ count: 1 });
  const errors = [];
  for (const id of [other, crypto.randomUUID()])
    errors.push(
      await write(ada, "title=eq.00", { team: id }).catch(({ code, constraint_name: name }) => ({
        code,
        name,
      })),
    );
  expect(errors[0]).toEqual(errors[1] as object);
  expect(errors[0]).toMatchObject({ code: "23503" });
});

test("a delete removes and counts the rows that the person may delete", async () => {
  await fill();
  expect(await write(ada, "all=true&dryRun=true")).toMatchObject({ count: 2 });
  expect(await write(ada, "title=like.*")).toEqual({ count: 2 });
  expect((await read()).map(({ title }) => title)).toEqual(["02", "03", "10", "11", "12", "13"]);
  expect(views.find("todos", "viewer")).toBeDefined();
});

test("an idempotency key of one person is not another person's", async () => {
  await fill();
  const claim = new Uint8Array(65).fill(7);
  claim[0] = 1;
  expect(await write(ada, "all=true", { title: "once" }, claim)).toEqual({ count: 2 });
  const again = views.call(ada, "todos", {
    endpoint: "update_where",
    values: {
      plan: "{}",
      values: [],
      limit: 1,
      isPart: false,
      isDry: false,
      body: "{}",
      bytes: 1000,
      claim,
    },
  });
  expect(await again).toBe('R{"count":2}');
  expect(await write(bob, "all=true", { title: "once" }, claim)).toEqual({ count: 2 });
});
