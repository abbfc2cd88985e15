/** What a stolen login of the data service gets, with a person's key, from the functions of the apps' tables. */
import { describe, expect, test } from "bun:test";
import { openDatabase, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { printedArguments } from "../../src/tables/catalog/mod.ts";
import { narrowSchema, openPersonWorld, path, rowOf } from "../support/person_app.ts";
import { proofOf } from "../support/person_keys.ts";
import { shapeOfRun } from "../support/shape.ts";
import { share } from "../support/share.ts";

const READ = { retry: "safe", queue: SERVICE_QUEUE } as const;
let names: readonly string[] = [];

const world = await share(openPersonWorld());
const { ada, bob, wiki, post, patch, service } = world;
const bobs = rowOf(await post(bob, "todos", { title: "Bob's secret", code: "X-1" }));
const adas = rowOf(await post(ada, "todos", { title: "Ada's" }));
await patch(wiki, path("todos", `/${adas.id}`), { cost: "99.5" });
await patch(wiki, path("todos", `/${bobs.id}`), { cost: "12.5" });
const { roleUrls, servingUrl } = service.database;
const url = shapeOfRun() === "split" ? roleUrls.data : servingUrl;
const thief = await share(openDatabase({ url, connections: 1, prepare: true, name: "thief" }));
names = await listNames();

async function listNames(): Promise<string[]> {
  const found = await world.service.service.admin.query<{ name: string }>(
    "select proname::text as name from pg_proc where pronamespace = 'api'::regnamespace order by 1",
    [],
    READ,
  );
  return found.map(({ name }) => name);
}

type Values = readonly (string | Buffer)[];
/** The rows as text, or the error. */
async function run(text: string, parameters: Values = []): Promise<string> {
  try {
    return JSON.stringify(await thief.query(text, parameters, { retry: "unsafe", queue: "thief" }));
  } catch (error) {
    const { code, signal } = Object(error) as { code?: string; signal?: string };
    return `error ${signal ?? code ?? (error as Error).message}`;
  }
}

const listOf = (table: string) =>
  names.filter((name) => name.startsWith(`${table}__`) && name.endsWith("_list"));
const list = (name: string, app: string, proof: Buffer) =>
  run(`select api."${name}"($1, $2, 1000, 0, 1000000, '', null) as body`, [app, proof]);

async function findOpen(app: string, proof: Buffer, table = "todos"): Promise<string[]> {
  const open: string[] = [];
  for (const name of listOf(table))
    if (!(await list(name, app, proof)).startsWith("error")) open.push(name);
  return open;
}

test("no table of rows or keys is readable or writable", async () => {
  for (const table of [
    "rowhouse.proofs",
    "rowhouse.person_keys",
    "rowhouse.api_keys",
    "data.todos",
    "data.team_members",
  ]) {
    expect(await run(`select * from ${table}`)).toStartWith("error");
    expect(await run(`delete from ${table}`)).toStartWith("error");
  }
  expect(await run("insert into rowhouse.person_keys values ('a')")).toStartWith("error");
  for (const call of [
    "rowhouse.reject_rule('x')",
    "rowhouse.claim_of(gen_random_uuid(), null)",
    "rowhouse.put_proof(gen_random_uuid(), '\\x00', 32::int2, null, gen_random_uuid(), 'admin')",
  ])
    expect(await run(`select ${call}`)).toStartWith("error");
});

test("no function that finds rows can be called", async () => {
  for (const call of [
    "find.page(gen_random_uuid(), null, '{\"table\":\"todos\"}', null, '{\"parts\":[{}]}', '{}', 1, null)",
    "find.groups(gen_random_uuid(), null, '{\"table\":\"todos\"}', '{}', '{}')",
    "find.children(gen_random_uuid(), null, '{}', 1, 'todos', 'true', 'id', '')",
    "rowhouse.keep_seen(gen_random_uuid(), null, '{\"table\":\"todos\"}', null, '{}')",
    "rowhouse.find_referenced(gen_random_uuid(), '\\x00', '[]', '{}')",
    "rowhouse.find_statement('{\"table\":\"todos\"}', null, '{}', false)",
  ])
    expect({ call, answer: await run(`select ${call}`) }).toEqual({ call, answer: "error 42501" });
});

test("a proof opens the functions of one view of its own app, and no others", async () => {
  const { ada, vera, lena, grace, carl, wiki, blog } = world;
  expect(listOf("todos").length).toBeGreaterThan(4);
  const views = new Set<string>();
  for (const person of [ada, vera, lena, grace]) {
    const open = await findOpen(wiki.id, proofOf(person.key));
    expect(open).toHaveLength(1);
    for (const name of open) views.add(name);
    expect(await findOpen(blog.id, proofOf(person.key))).toEqual([]);
  }
  // Grace's role on the app is admin, whose rules are not Lena's.
  expect(views.size).toBe(4);
  expect(await findOpen(wiki.id, proofOf(carl.key))).toEqual([]);
  const [own = ""] = await findOpen(wiki.id, proofOf(wiki.key));
  expect(views.has(own)).toBe(false);
  expect(await findOpen(wiki.id, Buffer.alloc(32, 7))).toEqual([]);
});

test("a person's proof opens no other endpoint of another view", async () => {
  const { ada, wiki, service } = world;
  const [own = ""] = await findOpen(wiki.id, proofOf(ada.key));
  const prefix = own.slice(0, -"list".length);
  const others = names.filter((name) => name.startsWith("todos__") && !name.startsWith(prefix));
  expect(others.length).toBeGreaterThan(20);
  const found = await service.service.admin.query<{ name: string; types: string }>(
    "select proname::text as name, oidvectortypes(proargtypes) as types from pg_proc where pronamespace = 'api'::regnamespace and proname = any ($1)",
    [`{${others.map((name) => `"${name}"`).join(",")}}`],
    READ,
  );
  for (const { name, types } of found) {
    const values = types
      .split(", ")
      .slice(2)
      .map((type) => SAMPLES[type] ?? "null");
    const text = `select api."${name}"($1, $2${values.map((value) => `, ${value}`).join("")}) as body`;
    for (const app of [wiki.id, world.blog.id]) {
      const answer = await run(text, [app, proofOf(ada.key)]);
      expect({ name, answer }).toMatchObject({ answer: expect.stringMatching(/^error/) });
    }
  }
  expect(printedArguments("get")).toContain("uuid");
});

/** A value of each type of arguments. */
const SAMPLES: Readonly<Record<string, string>> = {
  uuid: "gen_random_uuid()",
  "uuid[]": "array[gen_random_uuid()]",
  integer: "100000",
  "integer[]": "'{1}'::int4[]",
  boolean: "false",
  text: "'[{}]'",
  "text[]": "'{a}'::text[]",
  bytea: "null::bytea",
  "bytea[]": "null::bytea[]",
};

describe("plans of the thief's own", () => {
  const by = (column: string) => ({ sort: [[column, false]] });
  const base = {
    ...{ limit: 10, offset: 0, cursor: "id.asc", order: ["id"], picked: [] },
    ...{ where: ["lte", "id", 1], parts: [by("id")] },
  };
  const columns = [
    ...["id", "title", "status", "team", "project", "code", "tag", "note", "noted_at", "owner"],
    ...["cost", "approved_by"],
  ];
  const parts = columns.map((column) => `${column}.start`);
  const plans = [...columns, ...parts].flatMap((cost) => [
    { ...base, order: [cost, "id"] },
    { ...base, picked: [cost] },
    { ...base, where: ["and", ["gt", cost, 2]] },
    { ...base, where: ["or", ["not", ["null", cost]], ["null", "id"]] },
    { ...base, where: ["row", "gte", [cost, "id"], [2, 1]] },
    { ...base, parts: [{ ...by("id"), where: ["gt", cost, 2] }] },
    { ...base, parts: [by(cost)] },
  ]);
  const others = [
    { ...base, order: [0] },
    { ...base, order: ["app_id"] },
    { ...base, where: ["and", ["gt", "app_id", 2]] },
    { ...base, where: ["and", ["gt", "id); drop table data.todos; --", 2]] },
    { ...base, where: ["or", ["null", "id) or true or (id"], ["null", "id"]] },
    { ...base, cursor: '","x' },
    { ...base, limit: 100_000, offset: -1 },
  ];

  test("show no hidden column and no row of others", async () => {
    const { ada, wiki } = world;
    const [own = ""] = await findOpen(wiki.id, proofOf(ada.key));
    const set = own.replace(/_list$/, "");
    let answered = 0;
    for (const plan of [...plans, ...others])
      for (const values of ["{ffffffff-ffff-ffff-ffff-ffffffffffff,1}", "{0,1}"]) {
        const answer = await run(
          "select rowhouse.find_rows($1, $2, $3, $4, $5, 1000000, '') as body",
          [...[wiki.id, proofOf(ada.key), set, JSON.stringify(plan), values]],
        );
        if (!answer.startsWith("error")) answered++;
        expect({ plan, answer }).toMatchObject({
          answer: expect.not.stringMatching(/99\.5|12\.5|Bob|"cost"/),
        });
      }
    // Some plans are correct, so that the others are rejected for what they name.
    expect(answered).toBeGreaterThan(10);
  });

  test("of groups, walks and related rows do not either", async () => {
    const { ada, wiki } = world;
    const [own = ""] = await findOpen(wiki.id, proofOf(ada.key));
    const proof = proofOf(ada.key);
    const set = own.replace(/_list$/, "");
    for (const [index, column] of columns.entries()) {
      // The number of the hidden column, however a walk numbers the columns.
      const number = index + 1;
      for (const call of [
        `rowhouse.find_groups($1, $2, '${set}', '${JSON.stringify({ by: [column], max: [column] })}', '{}', 1000000, '')`,
        `api."${set}_walk"($1, $2, '', false, null, null, null, 100, '{${number}}', '{${number}}', 'x', 1000000, '', null)`,
      ]) {
        const answer = await run(`select ${call} as body`, [wiki.id, proof]);
        expect({ call, answer }).toMatchObject({
          answer: expect.not.stringMatching(/99\.5|12\.5|Bob/),
        });
      }
    }
  });
});

test("a push of other rules leaves no function of the rules before", async () => {
  const { service, ada, wiki, send } = world;
  const before = new Set(await listNames());
  const [own = ""] = await findOpen(wiki.id, proofOf(ada.key));
  const prefix = own.slice(0, -"list".length);
  await service.pushSchema(wiki, narrowSchema);
  const after = await listNames();
  expect(after.filter((name) => name.startsWith(prefix))).toEqual([]);
  // The functions for API keys, and those of the other app, remain.
  expect(after.filter((name) => before.has(name)).length).toBeGreaterThan(50);
  // A process that has not read the push yet reads it before it answers.
  const found = await send(ada, path("todos"));
  expect({ status: found.status, text: found.text }).toMatchObject({ status: 200 });
  expect(found.text).not.toContain("noted_at");
});
