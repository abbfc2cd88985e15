/** Pages by conditions and walks have rows that the person sees, whatever rows a rule removes before them. */
import { expect, test } from "bun:test";
import { planFind } from "../../src/data/query/find_plan.ts";
import { readListQuery } from "../../src/data/query/read_list_query.ts";
import { planWalk } from "../../src/data/query/walk.ts";
import { defineSchema, type TableRules, t } from "../../src/schema/mod.ts";
import { definitionFor, type RecordedTable } from "../../src/tables/catalog/mod.ts";
import { openPersonViews, type TestCaller } from "../support/person_views.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({
  teams: t.model({ name: t.string().required() }),
  team_members: t
    .model({ person: t.uuid().required(), team: t.ref("teams").required() })
    .index("person", "team"),
  todos: t
    .model({
      title: t.string().required(),
      status: t.enum(["open", "done", "approved"]).required().default("open"),
      owner: t.uuid().required(),
      team: t.ref("teams"),
      at: t.number(),
    })
    .index("owner", "id")
    .index("team", "id")
    .index("owner", "at", "id"),
});
const rules: Record<string, TableRules> = {
  teams: { allow: { member: { read: [{}] } } },
  todos: {
    allow: {
      lead: { read: [{}], create: [{}], update: { from: [{}], to: [{}] } },
      member: { read: [{ owner: "me" }, { team: { memberOf: "team_members" } }] },
      own: { read: [{ owner: "me" }] },
      viewer: { read: [{ status: ["done", "approved"] }] },
    },
  },
};

const callers: Record<string, TestCaller> = {};
const teams: Record<string, string> = {};

const service = await share(openTestService({ service: { previews: ["filters", "live"] } }));
const app = await service.makeApp(schema);
const views = await share(openPersonViews(service, { app, schema, rules }, ["find", "walk"]));
for (const [name, role] of Object.entries({
  ada: "member",
  bob: "member",
  own: "own",
  vera: "viewer",
  lea: "lead",
}))
  callers[name] = await views.makeCaller(role);
const post = async (path: string, json: object) =>
  (await service.call(app, `/v1/data/db/${path}`, { method: "POST", json })).json as { id: string };
for (const name of ["red", "blue"]) teams[name] = (await post("teams", { name })).id;
await post("team_members", { person: callers["ada"]?.id, team: teams["red"] });
const owners = [callers["ada"]?.id, callers["bob"]?.id, callers["own"]?.id];
const statuses = ["open", "done", "approved"];
const made = Array.from({ length: 60 }, (_, n) => ({
  title: `t${n}`,
  status: statuses[n % 3],
  owner: owners[Math.floor(n / 3) % 3],
  team: n % 4 === 0 ? teams["red"] : n % 4 === 1 ? teams["blue"] : null,
  at: n % 7,
}));
const { rows: all } = (await post("todos", made)) as unknown as Page;

const sees: Record<string, (row: Record<string, unknown>) => boolean> = {
  ada: (row) => row["owner"] === callers["ada"]?.id || row["team"] === teams["red"],
  bob: (row) => row["owner"] === callers["bob"]?.id,
  own: (row) => row["owner"] === callers["own"]?.id,
  vera: ({ status }) => status !== "open",
  lea: () => true,
};

/** The table as the service reads it for a person. */
function tableOf(name: string): RecordedTable {
  const { role = "" } = callers[name] ?? {};
  const view = views.find("todos", role)?.view;
  const whole = views.tables.find((table) => table.name === "todos");
  if (view === undefined || whole === undefined) throw new Error(`${name} has no view`);
  return { name: "todos", whole, definition: definitionFor(whole, view) };
}

type Page = { rows: Record<string, unknown>[]; next: string | null; count?: number | null };

async function query(name: string, text: string, counted?: number): Promise<Page> {
  const table = tableOf(name);
  const caller = callers[name];
  if (caller === undefined) throw new Error(name);
  const read = readListQuery(text, table.definition, { appId: app.id, find: () => undefined });
  const { plan, values: sent } = planFind(read, table, { appId: app.id, person: caller, counted });
  const values = { plan, values: sent, bytes: 8_388_608, known: "" };
  const found = await views.call(caller, "todos", { endpoint: "find", values });
  return JSON.parse(found?.slice(32) ?? "null");
}

const ids = (rows: readonly Record<string, unknown>[]) => rows.map(({ id }) => id);
const shownTo = (name: string) => all.filter((row) => sees[name]?.(row));

test("a page is full, also after rows of other owners", async () => {
  const addFirst = (owner: string, start: string) => views.admin`
    insert into data.todos (app_id, id, title, owner, status)
    select ${app.id}, (${start} || lpad(n::text, 12, '0'))::uuid, 'x', ${owner}, 'open' from generate_series(1, 10050) as n`;
  await addFirst(callers["lea"]?.id ?? "", "01000000-0000-7000-8000-");
  expect(ids((await query("bob", "limit=20")).rows)).toEqual(ids(shownTo("bob")).slice(0, 20));
  expect((await query("bob", "title=eq.t&limit=20")).next).toBeNull();
  // Rows of the person that the condition removes.
  const bob = callers["bob"]?.id ?? "";
  await addFirst(bob, "00000000-0000-7000-8000-");
  const late = shownTo("bob").filter(({ at }) => Number(at) > 2);
  const { rows, next } = await query("bob", `owner=eq.${bob}&at=gt.2&limit=3`);
  expect(ids(rows)).toEqual(ids(late).slice(0, 3));
  const [, id] = JSON.parse(Buffer.from(next ?? "", "base64url").toString());
  expect(id).toBe(late[3]?.["id"]);
  await views.admin`delete from data.todos where title = 'x'`;
  expect((await query("lea", "at=gt.2&limit=2", 30)).count).toBeNull();
});

async function walk(name: string, text: string): Promise<Page | undefined> {
  const table = tableOf(name);
  const read = readListQuery(text, table.definition, { appId: app.id, find: () => undefined });
  const caller = callers[name];
  const planned = planWalk(read, table, { appId: app.id, person: caller });
  if (planned === undefined || caller === undefined) return undefined;
  const found = await views.call(caller, "todos", {
    endpoint: "walk",
    values: { ...planned, bytes: 8_388_608, known: "", inline: null },
  });
  return JSON.parse(found?.slice(64) ?? "null");
}

test("a walk has only visible rows, or fails", async () => {
  for (const name of Object.keys(sees)) {
    const shown = shownTo(name);
    const id = callers[name]?.id;
    const own = shown.filter(({ owner }) => owner === id);
    if (name !== "vera") {
      const page = await walk(name, `owner=eq.${id}&limit=5`);
      expect(ids(page?.rows ?? [])).toEqual(ids(own).slice(0, 5));
    }
    const whole = walk(name, "limit=7&order=id.desc");
    if (name === "vera") await expect(whole).rejects.toMatchObject({ code: "RH021" });
    else expect(ids((await whole)?.rows ?? [])).toEqual(ids(shown).reverse().slice(0, 7));
  }
});
