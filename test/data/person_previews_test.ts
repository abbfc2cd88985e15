/** Conditions, related rows, groups, upserts, writes by conditions and event streams over HTTP with a person's key. */
import { afterAll, describe, expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { revokeRole } from "../../src/records/people/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { testDeps } from "../support/deps.ts";
import { type EventReader, openEvents } from "../support/event_stream.ts";
import { makePerson, signInAs } from "../support/people.ts";
import { getPersonKey, openToBrowsers } from "../support/person_keys.ts";
import { type Call, openTestService } from "../support/service.ts";
import { serveAnother } from "../support/shape.ts";

const ORIGIN = "https://wiki.example.org";
const TODOS = "/v1/data/db/todos";
type Row = Record<string, unknown>;

const schema = defineSchema({
  teams: t
    .model({ name: t.string().required(), lead: t.uuid(), budget: t.decimal().only("lead") })
    .allow("member", { read: { lead: "me" } })
    .allow("lead", "everything"),
  secrets: t.model({ text: t.string(), team: t.ref("teams") }).index("team", "id"),
  todos: t
    .model({
      title: t.string().required(),
      status: t.enum(["open", "done", "approved"]).required().default("open"),
      owner: t.uuid().required().owner(),
      team: t.ref("teams"),
      secret: t.ref("secrets"),
      cost: t.decimal().only("lead"),
      code: t.string(),
      at: t.number(),
    })
    .unique("owner", "code")
    .index("owner", "id")
    .index("owner", "at", "id")
    .index("team", "id")
    .allow("member", {
      read: { owner: "me" },
      create: { status: "open" },
      update: { from: { owner: "me" }, to: { owner: "me", status: ["open", "done"] } },
      delete: { owner: "me", status: "open" },
    })
    .allow("viewer", { read: [{ owner: "me" }, { status: "approved" }] })
    .allow("clerk", { create: true })
    .allow("lead", { read: true, create: true, update: true, delete: true }),
});

const callers: Record<string, { id: string; key: string }> = {};
const open: EventReader[] = [];
const service = await openTestService({
  identity: () => ({ cookieDomain: "example.org" }),
  service: { previews: ["filters", "live", "browser"], maxVisits: 50 },
});
const app = await service.makeApp(schema, { origins: [ORIGIN] });
await openToBrowsers(service, app);
await setAppSwitch(service.service, app.slug, ["live", true]);
await service.service.warm();
for (const [name, role] of Object.entries({
  ada: "member",
  bob: "member",
  vera: "viewer",
  carl: "clerk",
  lea: "lead",
})) {
  const person = await makePerson(service, { app, role });
  const cookies = await signInAs(service, person);
  const { key } = await getPersonKey(service, { cookies, app, origin: ORIGIN });
  service.secrets.add(key);
  callers[name] = { id: person.id, key };
}
const as = (name: string, path: string, call: Call = {}) =>
  service.call(app, path, { ...call, key: callers[name]?.key ?? null });
for (const name of ["ada", "bob"])
  for (let n = 0; n < 12; n++) {
    const json = { title: `${name} ${n}`, code: `c${n}`, at: n % 4, status: "open" };
    expect((await as(name, TODOS, { method: "POST", json })).status).toBe(201);
  }
afterAll(async () => {
  for (const events of open) await events.close();
  await service.close();
});

const idOf = (name: string) => callers[name]?.id ?? "";
const server = (path: string, call: Call = {}) => service.call(app, path, call);
const rowsOf = (json: unknown) => (json as { rows: Row[] }).rows;
const errorOf = ({ status, json }: { status: number; json: unknown }) => [
  status,
  (json as Row)["error"],
];

describe("lists", () => {
  test("have only rows that the person sees, also with conditions, orders and counts", async () => {
    const { json, headers } = await as(
      "ada",
      `${TODOS}?at=gte.2&order=at.desc,title&select=title,at`,
      { headers: { prefer: "count=exact" } },
    );
    expect(headers.get("etag")).not.toBeNull();
    expect(json).toMatchObject({ count: 6 });
    expect(rowsOf(json).map(({ title }) => title)).toEqual([
      ...["ada 11", "ada 3", "ada 7", "ada 10", "ada 2", "ada 6"],
    ]);
    expect((await as("lea", TODOS, { headers: { prefer: "count=exact" } })).json).toMatchObject({
      count: 24,
    });
    expect((await as("carl", `${TODOS}?at=eq.1`)).status).toBe(403);
    for (const query of [
      ...["cost=eq.1", "order=cost", "select=cost", "or=(cost.gt.1,at.eq.1)", "team.budget=eq.1"],
      ...["select=team(budget)"],
    ])
      expect(errorOf(await as("ada", `${TODOS}?${query}`))).toEqual([400, "invalid_query"]);
  });

  test("continue with next, from a plain page too", async () => {
    for (const [name, wanted] of [
      ["ada", 12],
      ["vera", 0],
      ["lea", 24],
    ] as const) {
      const found: unknown[] = [];
      let path = `${TODOS}?limit=5`;
      for (;;) {
        const { json, status } = await as(name, path);
        expect(status).toBe(200);
        found.push(...rowsOf(json).map(({ id }) => id));
        const { next } = json as { next: string | null };
        if (next === null) break;
        path = `${TODOS}?limit=5&after=${next}`;
      }
      expect(new Set(found).size).toBe(wanted);
      expect(found).toHaveLength(wanted);
    }
  });

  test("of one person are never another person's cached page", async () => {
    const path = `${TODOS}?order=at,title&limit=3`;
    for (let n = 0; n < 2; n++) {
      const [ada, bob] = [await as("ada", path), await as("bob", path)];
      expect(rowsOf(ada.json).every(({ owner }) => owner === idOf("ada"))).toBe(true);
      expect(rowsOf(bob.json).every(({ owner }) => owner === idOf("bob"))).toBe(true);
      const etag = ada.headers.get("etag") ?? "";
      expect((await as("ada", path, { headers: { "if-none-match": etag } })).status).toBe(304);
      expect((await as("bob", path, { headers: { "if-none-match": etag } })).status).toBe(200);
    }
  });

  test("find the same if a rule leaves out most rows", async () => {
    // With titles that other tests do not look for, before all others.
    await service.query(
      `insert into data.todos (app_id, id, title, owner)
      select $1::uuid, ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'x', gen_random_uuid()
      from generate_series(1, 10050) as n`,
      [app.id],
    );
    // Own rows are found by the index of the rule, whatever the table has.
    expect(rowsOf((await as("ada", `${TODOS}?title=like.ada*`)).json)).toHaveLength(12);
    expect(rowsOf((await as("vera", `${TODOS}?title=like.ada*`)).json)).toEqual([]);
    const groups = await as("vera", `${TODOS}/groups?by=status`);
    expect(groups.json).toEqual({ groups: [] });
  });
});

test("groups have only rows that the person sees", async () => {
  const { json } = await as("ada", `${TODOS}/groups?by=at&max=at`);
  expect(json).toEqual({
    groups: [0, 1, 2, 3].map((at) => ({ ...{ by: { at }, max: { at }, count: 3 } })),
  });
  expect(errorOf(await as("ada", `${TODOS}/groups?sum=cost`))).toEqual([400, "invalid_query"]);
  expect(errorOf(await as("carl", `${TODOS}/groups?by=at`))).toEqual([403, "forbidden"]);
});

test("related rows follow the rules of their table", async () => {
  const team = async (lead: string) =>
    (
      (
        await server("/v1/data/db/teams", {
          method: "POST",
          json: { name: "t", lead: idOf(lead), budget: "5" },
        })
      ).json as Row
    )["id"];
  const [own, other] = [await team("ada"), await team("bob")];
  const [one, two] = rowsOf((await as("ada", `${TODOS}?limit=2`)).json);
  for (const [row, to] of [
    [one, own],
    [two, other],
  ] as const)
    await server(`${TODOS}/${row?.["id"]}`, { method: "PATCH", json: { team: to } });
  const { json } = await as("ada", `${TODOS}?select=title,team(id,name)&limit=2`);
  expect(rowsOf(json).map(({ team }) => team)).toEqual([{ id: own, name: "t" }, null]);
  expect(rowsOf((await as("ada", `${TODOS}?team.name=eq.t&select=title`)).json)).toHaveLength(1);
  const parents = await as("ada", "/v1/data/db/teams?select=name,todos(title)");
  expect(rowsOf(parents.json)).toMatchObject([
    { name: "t", todos: { rows: [{ title: "ada 0" }] } },
  ]);
  // A table without rules does not exist for people.
  for (const query of ["select=title,secret(text)", "secret.text=eq.x"])
    expect(errorOf(await as("ada", `${TODOS}?${query}`))).toEqual([400, "invalid_query"]);
  expect(errorOf(await as("ada", "/v1/data/db/teams?select=name,secrets(text)"))).toEqual([
    400,
    "invalid_query",
  ]);
  for (const row of [one, two])
    await server(`${TODOS}/${row?.["id"]}`, { method: "PATCH", json: { team: null } });
});

test("an upsert creates and updates own rows", async () => {
  const upsert = (name: string, json: unknown) =>
    as(name, `${TODOS}?onConflict=owner,code`, { method: "POST", json });
  const made = await upsert("ada", [
    { title: "new", code: "c0" },
    { title: "new", code: "c99" },
  ]);
  expect(made.status).toBe(200);
  expect(made.json).toMatchObject({ results: ["updated", "created"] });
  expect(rowsOf(made.json).every(({ owner }) => owner === idOf("ada"))).toBe(true);
  const twice = await upsert("ada", [
    { title: "a", code: "x" },
    { title: "b", code: "x" },
  ]);
  expect(errorOf(twice)).toEqual([422, "validation_failed"]);
  const forged = await upsert("ada", [
    { title: "a", code: "y" },
    { title: "b", code: "z", owner: idOf("bob") },
  ]);
  expect(errorOf(forged)).toEqual([403, "forbidden"]);
  expect((forged.json as Row)["details"]).toEqual([
    { path: "/1/owner", message: "Your role does not allow this" },
  ]);
  expect(errorOf(await upsert("vera", { title: "a", code: "x" }))).toEqual([403, "forbidden"]);
  expect(errorOf(await upsert("carl", { title: "a", code: "x" }))).toEqual([403, "forbidden"]);
  const bobs = rowsOf((await as("bob", `${TODOS}?code=eq.c0`)).json);
  expect(bobs).toMatchObject([{ title: "bob 0" }]);
});

test("writes by conditions change own rows only", async () => {
  const dry = await as("bob", `${TODOS}?all=true&dryRun=true`, {
    method: "PATCH",
    json: { at: 9 },
  });
  expect(dry.json).toMatchObject({ count: 12 });
  const update = await as("bob", `${TODOS}?at=gte.2`, { method: "PATCH", json: { at: 9 } });
  expect([update.status, update.json]).toEqual([200, { count: 6 }]);
  expect(
    errorOf(await as("bob", `${TODOS}?at=eq.9`, { method: "PATCH", json: { status: "approved" } })),
  ).toEqual([403, "forbidden"]);
  expect(
    errorOf(await as("bob", `${TODOS}?at=eq.9`, { method: "PATCH", json: { cost: "1" } })),
  ).toEqual([403, "forbidden"]);
  expect((await as("ada", `${TODOS}?title=like.bob*`, { method: "DELETE" })).json).toEqual({
    count: 0,
  });
  expect((await as("bob", `${TODOS}?at=eq.9`, { method: "DELETE" })).json).toEqual({ count: 6 });
  expect(errorOf(await as("vera", `${TODOS}?all=true`, { method: "DELETE" }))).toEqual([
    403,
    "forbidden",
  ]);
  expect(
    (await server(`${TODOS}?title=like.ada*`, { headers: { prefer: "count=exact" } })).json,
  ).toMatchObject({ count: 11 });
});

describe("event streams", () => {
  test("have rows that the person sees, and resets without ids", async () => {
    const listen = async (name: string) => {
      const events = await openEvents(`${service.url}${TODOS}/changes`, {
        key: callers[name]?.key ?? "",
      });
      open.push(events);
      return events;
    };
    const [ada, lea] = [await listen("ada"), await listen("lea")];
    expect(await ada.next()).toMatchObject({ kind: "ready" });
    await lea.next();
    const { json } = await as("bob", TODOS, {
      method: "POST",
      json: { title: "Bob's secret", code: "s" },
    });
    const { id } = json as { id: string };
    expect(await lea.next()).toMatchObject({
      kind: "changes",
      data: [{ put: { title: "Bob's secret" } }],
    });
    const reset = await ada.next();
    expect(reset).toMatchObject({ kind: "reset", data: [] });
    expect(JSON.stringify(reset)).not.toContain(id);
    await as("ada", TODOS, { method: "POST", json: { title: "mine", code: "mine" } });
    expect(await ada.next()).toMatchObject({ kind: "changes", data: [{ put: { title: "mine" } }] });
    const refused = await fetch(`${service.url}${TODOS}/changes`, {
      headers: { authorization: `Bearer ${callers["carl"]?.key}`, accept: "text/event-stream" },
    });
    expect(refused.status).toBe(403);
  });

  test("end with the key, and resume after their last event", async () => {
    const person = await makePerson(service, { app, role: "member" });
    const cookies = await signInAs(service, person);
    const { key } = await getPersonKey(service, { cookies, app, origin: ORIGIN });
    service.secrets.add(key);
    const events = await openEvents(`${service.url}${TODOS}/changes`, { key });
    open.push(events);
    const ready = await events.next();
    expect(ready?.kind).toBe("ready");
    await events.close();
    const { json } = await service.call(app, TODOS, {
      ...{ method: "POST", json: { title: "meanwhile", owner: person.id } },
    });
    const again = await openEvents(`${service.url}${TODOS}/changes`, { key, since: ready?.id });
    open.push(again);
    expect(await again.next()).toMatchObject({
      kind: "changes",
      data: [{ put: { id: (json as Row)["id"], title: "meanwhile" } }],
    });
    await revokeRole(testDeps(service.service), { email: person.email, slug: app.slug });
    expect(await again.next()).toBeUndefined();
  });
});

test("a process without the preview browser rejects a live key of a person like an unknown key", async () => {
  const other = await serveAnother(service.database, { previews: ["filters", "live"] });
  const get = (path: string, key: string) =>
    fetch(other.url + path, { headers: { authorization: `Bearer ${key}` } });
  for (const path of [TODOS, `${TODOS}?status=eq.open`, "/v1/data/db/nothing", "/v1/data/schema"]) {
    const { status } = await get(path, callers["ada"]?.key ?? "");
    expect([path, status]).toEqual([path, 401]);
  }
  expect((await get(TODOS, app.key)).status).toBe(200);
  await other.close();
});
