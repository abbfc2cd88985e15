/** Changes of tables for people: a row that the person sees, or a reset without an id. */
import { expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, type TableRules, t } from "../../src/schema/mod.ts";
import { openPersonViews, type TestCaller } from "../support/person_views.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({
  teams: t.model({ name: t.string().required() }),
  team_members: t.model({ person: t.uuid().required(), team: t.ref("teams").required() }),
  todos: t.model({
    title: t.string().required(),
    owner: t.uuid(),
    team: t.ref("teams"),
    cost: t.decimal(),
  }),
});
const rules: Record<string, TableRules> = {
  todos: {
    allow: {
      member: { read: [{ owner: "me" }, { team: { memberOf: "team_members" } }] },
      own: { read: [{ owner: "me" }] },
      all: { read: [{}] },
    },
    only: { cost: ["admin"] },
  },
};

const service = await share(openTestService({ service: { previews: ["filters", "live"] } }));
const app = await service.makeApp(schema);
await setAppSwitch(service.service, app.slug, ["live", true]);
const views = await share(openPersonViews(service, { app, schema, rules }, ["changes"]));
const ada = await views.makeCaller("member");
const own = await views.makeCaller("own", { id: ada.id });
const all = await views.makeCaller("all");

type News = { cursor: string; kind: string; events: Record<string, unknown>[]; text: string };

async function read(caller: TestCaller, since: string | null): Promise<News> {
  const text = await views.call(caller, "todos", {
    endpoint: "changes",
    values: { since, limit: 100, bytes: 1_000_000 },
  });
  const [cursor = "", kind = "", events = ""] = text?.split("\n") ?? [];
  return { cursor, kind, events: JSON.parse(events), text: text ?? "" };
}

async function write(method: string, path: string, json?: object): Promise<{ id: string }> {
  const response = await service.call(app, `/v1/data/db/${path}`, { method, json });
  expect(response.status).toBeLessThan(300);
  return response.json as { id: string };
}

/** The news for each of them after a write. */
async function after<Made>(make: () => Promise<Made>): Promise<[Made, News, News, News]> {
  const before = await Promise.all([ada, own, all].map((caller) => read(caller, null)));
  expect(before.map(({ kind }) => kind)).toEqual(["ready", "ready", "ready"]);
  const made = await make();
  const [first, second, third] = await Promise.all(
    [ada, own, all].map((caller, n) => read(caller, before[n]?.cursor ?? null)),
  );
  if (first === undefined || second === undefined || third === undefined)
    throw new Error("no news");
  return [made, first, second, third];
}

test("a change of memberships makes a reset for people whose rows depend on it", async () => {
  const team = await write("POST", "teams", { name: "red" });
  const [, ofAda, ofOwn, ofAll] = await after(() =>
    write("POST", "team_members", { person: ada.id, team: team.id }),
  );
  expect([ofAda.kind, ofOwn.kind, ofAll.kind]).toEqual(["reset", "changes", "changes"]);
  expect([ofOwn.events, ofAll.events]).toEqual([[], []]);
});

test("the cursor of another role, or of an API key, leads to a reset", async () => {
  const { cursor } = await read(own, null);
  expect((await read(ada, cursor)).kind).toBe("reset");
});

test("the check for changes accepts keys of people of live apps, until they end", async () => {
  const deaf = await views.makeCaller("own", { bits: 32 });
  const callers = [ada, deaf, own];
  const poll = async () =>
    await views.admin`select state, ended from rowhouse.poll_changes(null, ${callers.map(() => app.id)}::uuid[],
      array(select decode(hex, 'hex') from unnest(${callers.map(({ proof }) => proof.toHex())}::text[])
        with ordinality as listed (hex, n) order by n))`;
  expect((await poll())[0]?.["ended"]).toEqual([1]);
  await views.admin`delete from rowhouse.proofs where person_id = ${own.id} and role = 'own'`;
  expect((await poll())[0]?.["ended"]).toEqual([1, 2]);
});
