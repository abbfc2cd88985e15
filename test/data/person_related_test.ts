/** Related rows, children and conditions on referenced rows of people: the rules of the other table hold, and its hidden columns too. */
import { expect, test } from "bun:test";
import { planFind } from "../../src/data/query/find_plan.ts";
import { readListQuery } from "../../src/data/query/read_list_query.ts";
import { defineSchema, type TableRules, t } from "../../src/schema/mod.ts";
import { definitionFor, type RecordedTable, setName } from "../../src/tables/catalog/mod.ts";
import { openPersonViews, type TestCaller } from "../support/person_views.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({
  projects: t.model({ name: t.string().required(), lead: t.uuid(), budget: t.decimal() }),
  todos: t
    .model({ title: t.string().required(), owner: t.uuid(), project: t.ref("projects") })
    .index("project", "id"),
  comments: t
    .model({
      text: t.string().required(),
      writer: t.uuid(),
      todo: t.ref("todos"),
      score: t.number(),
    })
    .index("todo", "id"),
});
const rules: Record<string, TableRules> = {
  projects: { allow: { member: { read: [{ lead: "me" }] } }, only: { budget: ["admin"] } },
  todos: { allow: { member: { read: [{ owner: "me" }, { project: { readable: true } }] } } },
  comments: { allow: { member: { read: [{ writer: "me" }] } }, only: { score: ["admin"] } },
};

type Row = Record<string, unknown>;

const ids: Record<string, string> = {};
const service = await share(openTestService({ service: { previews: ["filters", "live"] } }));
const app = await service.makeApp(schema);
const views = await share(openPersonViews(service, { app, schema, rules }, ["find", "walk"]));
const ada = await views.makeCaller("member");
const bob = await views.makeCaller("member");
const post = async (table: string, name: string, json: Row) => {
  const made = await service.call(app, `/v1/data/db/${table}`, { method: "POST", json });
  ids[name] = (made.json as { id: string }).id;
};
await post("projects", "ofAda", { name: "Ada's", lead: ada.id, budget: "5" });
await post("projects", "ofBob", { name: "Bob's", lead: bob.id, budget: "7" });
await post("todos", "a", { title: "a", owner: ada.id, project: ids["ofAda"] });
await post("todos", "b", { title: "b", owner: ada.id, project: ids["ofBob"] });
await post("todos", "c", { title: "c", owner: bob.id, project: ids["ofAda"] });
await post("todos", "d", { title: "d", owner: bob.id, project: ids["ofBob"] });
for (const [n, writer] of [ada, bob, ada, bob, bob].entries())
  await post("comments", `c${n}`, { text: `c${n}`, writer: writer.id, todo: ids["a"], score: n });

function tableOf(name: string, role: string): RecordedTable | undefined {
  const view = views.find(name, role)?.view;
  const whole = views.tables.find((table) => table.name === name);
  return view && whole && { name, whole, definition: definitionFor(whole, view) };
}

async function list(
  caller: TestCaller,
  name: string,
  text: string,
  change = (plan: string) => plan,
): Promise<Row[]> {
  const table = tableOf(name, caller.role);
  if (table === undefined) throw new Error("no table");
  const tables = { appId: app.id, find: (of: string) => tableOf(of, caller.role) };
  const read = readListQuery(text, table.definition, tables);
  const { plan, values } = planFind(read, table, { appId: app.id, person: undefined });
  // The functions of the caller's role.
  let named = plan;
  for (const { name: of } of views.tables) {
    const set = views.find(of, caller.role);
    const definition = tableOf(of, caller.role)?.definition;
    if (set !== undefined && definition !== undefined)
      named = named.replaceAll(setName(definition), setName(set));
  }
  const found = await views.call(caller, name, {
    endpoint: "find",
    values: { plan: change(named), values, bytes: 8_000_000, known: "" },
  });
  return JSON.parse(found?.slice(32) ?? "null").rows;
}

test("functions of an API key, and of another role, reject the person", async () => {
  const plain = (of: string) =>
    setName(views.tables.find(({ name }) => name === of) ?? { name: of, columns: [] });
  const set = views.find("projects", "member");
  if (set === undefined) throw new Error("no view");
  const related = list(ada, "todos", "select=title,project(name)", (plan) =>
    plan.replaceAll(setName(set), plain("projects")),
  );
  await expect(related).rejects.toMatchObject({ code: "RH401" });
  const ofSet = list(ada, "todos", "project.name=like.*", (plan) =>
    plan.replaceAll(setName(set), plain("projects")),
  );
  await expect(ofSet).rejects.toMatchObject({ code: "RH401" });
});

test("rows that a rule removes from children count for no limit", async () => {
  const before = await list(ada, "todos", "title=eq.c&select=title,comments(text)");
  await views.admin`insert into data.comments (app_id, id, text, writer, todo)
    select ${app.id}, gen_random_uuid(), 'x', ${bob.id}, ${ids["c"] ?? ""} from generate_series(1, 10001)`;
  expect(await list(ada, "todos", "title=eq.c&select=title,comments(text)")).toEqual(before);
});
