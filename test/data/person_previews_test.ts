/** Cached lists and event streams over HTTP with a person's key, and a process without the preview. */
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
  todos: t
    .model({
      title: t.string().required(),
      status: t.enum(["open", "done", "approved"]).required().default("open"),
      owner: t.uuid().required().owner(),
      code: t.string(),
      at: t.number(),
    })
    .unique("owner", "code")
    .index("owner", "id")
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
const rowsOf = (json: unknown) => (json as { rows: Row[] }).rows;

test("lists of one person are never another person's cached page", async () => {
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
