/** Rows over HTTP with a person's key: responses, errors and caches. */
import { describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makePerson, signInAs } from "../support/people.ts";
import { getPersonKey, openToBrowsers } from "../support/person_keys.ts";
import { type Call, openTestService, type TestResponse } from "../support/service.ts";
import { serveAnother } from "../support/shape.ts";
import { share } from "../support/share.ts";
import { testUnlessCitus } from "../support/skip.ts";

const ORIGIN = "https://wiki.example.org";
const ROLES = ["member", "lead", "clerk", "stranger"] as const;

const makeSchema = (statuses: readonly ("open" | "done")[] = ["open"]) =>
  defineSchema({
    teams: t
      .model({ name: t.string().required() })
      .allow("member", { read: { name: "open" } })
      .allow("lead", "everything"),
    hidden: t.model({ name: t.string() }),
    seats: t
      .model({
        team: t.ref("teams").required(),
        who: t.uuid().required().owner(),
        code: t.string().unique(),
      })
      .allow("member", { read: { team: { memberOf: "seats" } }, update: { from: {}, to: {} } }),
    todos: t
      .model({
        title: t.string().required(),
        status: t.enum(["open", "done"]).required().default("open"),
        owner: t.uuid().required().owner(),
        team: t.ref("teams"),
        cost: t.enum(["low", "high"]).default("low").only("lead"),
        approved_by: t.string().setBy("lead"),
        code: t.string().unique(),
      })
      .index("owner", "id")
      .allow("member", {
        read: { owner: "me" },
        create: { status: [...statuses] },
        update: { from: { status: "open" }, to: {} },
        delete: { status: "open" },
      })
      .allow("clerk", { create: true })
      .allow("lead", "everything"),
  });

const PATH = "/v1/data/db/todos";

type Caller = { readonly id: string; readonly key: string };
const callers: Record<string, Caller> = {};
const service = await share(
  openTestService({
    identity: () => ({ cookieDomain: "example.org" }),
    service: { previews: ["browser", "filters"], groupsCreates: true },
  }),
);
const app = await service.makeApp(makeSchema(), { origins: [ORIGIN] });
const other = await service.makeApp(makeSchema(), { origins: ["https://other.example.org"] });
await openToBrowsers(service, app);
await service.service.warm();
for (const name of [...ROLES, "bob"])
  callers[name] = await makeCaller(name === "bob" ? "member" : name);

async function makeCaller(role: string): Promise<Caller> {
  const person = await makePerson(service, { app, role });
  const cookies = await signInAs(service, person);
  const { key } = await getPersonKey(service, { cookies, app, origin: ORIGIN });
  service.secrets.add(key);
  return { id: person.id, key };
}

const caller = (name: string): Caller => {
  const found = callers[name];
  if (found === undefined) throw new Error(`No caller ${name}`);
  return found;
};
const as = (name: string, path: string, call: Call = {}): Promise<TestResponse> =>
  service.call(app, path, { ...call, key: caller(name).key });
const post = (name: string, json: unknown, call: Call = {}) =>
  as(name, PATH, { method: "POST", json, ...call });
const idOf = ({ json }: TestResponse) => (json as { id: string }).id;
const errorOf = ({ status, json }: TestResponse) => {
  const { error: code, details } = json as { error: string; details?: unknown };
  return { status, code, ...(details === undefined ? {} : { details }) };
};
const FORBIDDEN = { status: 403, code: "forbidden" };
const denied = (path: string) => ({
  ...FORBIDDEN,
  details: [{ path, message: "Your role does not allow this" }],
});

describe("a person's key", () => {
  test("reads and writes the rows of the person", async () => {
    const created = await post("member", { title: "mine" });
    expect(created.status).toBe(201);
    const id = idOf(created);
    expect(created.json).toMatchObject({ id, owner: caller("member").id, app_id: app.id });
    expect(created.json).not.toHaveProperty("cost");
    expect(created.headers.get("location")).toBe(`${PATH}/${id}`);
    const read = await as("member", `${PATH}/${id}`);
    expect(read.json).toEqual(created.json);
    expect(read.headers.get("etag")).toBe(created.headers.get("etag"));
    const changed = await as("member", `${PATH}/${id}`, {
      method: "PATCH",
      json: { title: "new" },
      headers: { "if-match": read.headers.get("etag") ?? "" },
    });
    expect(changed.json).toMatchObject({ title: "new" });
    const list = await as("member", PATH);
    expect(list.json).toMatchObject({ rows: [{ id, title: "new" }], hasMore: false });
    const gone = await as("member", `${PATH}/${id}`, { method: "DELETE" });
    expect(gone.status).toBe(204);
  });

  test("gets 403 with the column that it cannot set", async () => {
    for (const [body, path] of [
      [{ owner: caller("bob").id }, "/owner"],
      [{ cost: "low" }, "/cost"],
      [{ cost: "no such value" }, "/cost"],
      [{ approved_by: "me" }, "/approved_by"],
    ] as const) {
      const row = { title: "x", ...body };
      expect(errorOf(await post("member", row))).toEqual(denied(path));
      expect(errorOf(await post("member", [{ title: "x" }, row]))).toEqual(denied(`/1${path}`));
      const id = idOf(await post("member", { title: "y" }));
      const patched = { method: "PATCH", json: body };
      expect(errorOf(await as("member", `${PATH}/${id}`, patched))).toEqual(denied(path));
      const list = { method: "PATCH", json: [{ id, ...body }] };
      expect(errorOf(await as("member", PATH, list))).toEqual(denied(`/0${path}`));
    }
    const strict = { headers: { prefer: "handling=strict" } };
    expect(errorOf(await post("member", { title: "x", cost: "low" }, strict))).toEqual(
      denied("/cost"),
    );
    expect(errorOf(await post("member", { title: "x", status: "done" }))).toEqual(
      denied("/status"),
    );
    expect(errorOf(await post("member", [{ title: "x", status: "done" }]))).toEqual(
      denied("/0/status"),
    );
  });

  test("gets 422 for values before 403 for rules, and names no hidden column", async () => {
    const response = await post("member", { status: "none", cost: "none", owner: 7 });
    expect(response.status).toBe(422);
    expect(response.text).not.toContain("cost");
    expect(response.text).toContain("/title");
  });

  test("does not work elsewhere", async () => {
    for (const path of ["/v1/data/schema", "/v1/data/schema/migrations/1"])
      expect(errorOf(await as("lead", path))).toEqual(FORBIDDEN);
    const push = { method: "POST", json: {} };
    expect(errorOf(await as("lead", "/v1/data/schema", push))).toEqual(FORBIDDEN);
    const { text } = await service.call(other, PATH, { key: caller("lead").key });
    expect(text).not.toContain(other.id);
  });
});

test("a page belongs to its person", async () => {
  const [ada, bob] = [await makeCaller("member"), await makeCaller("member")];
  Object.assign(callers, { ada, pageBob: bob });
  const empty = [await as("ada", PATH), await as("pageBob", PATH)];
  await post("ada", { title: "a" });
  await post("pageBob", { title: "b" });
  const pages = [await as("ada", PATH), await as("pageBob", PATH), await as("lead", PATH)];
  expect(new Set([...empty, ...pages].map(({ headers }) => headers.get("etag"))).size).toBe(5);
  for (const [index, name] of ["ada", "pageBob", "lead"].entries())
    for (const [at, page] of pages.entries()) {
      const headers = { "if-none-match": page.headers.get("etag") ?? "" };
      const again = await as(name, PATH, { headers });
      expect(again.status).toBe(at === index ? 304 : 200);
      if (at !== index) expect(again.text).toBe(pages[index]?.text ?? "");
    }
  const both = await Promise.all(
    Array.from({ length: 40 }, (_, at) => as(at % 2 === 0 ? "ada" : "pageBob", PATH)),
  );
  for (const [at, { text }] of both.entries()) expect(text).toBe(pages[at % 2]?.text ?? "");
});

describe("a change", () => {
  test("of rules holds for the next request", async () => {
    expect(errorOf(await post("member", { title: "x", status: "done" }))).toEqual(
      denied("/status"),
    );
    await service.pushSchema(app, makeSchema(["open", "done"]));
    expect((await post("member", { title: "x", status: "done" })).status).toBe(201);
    await service.pushSchema(app, makeSchema());
    expect(errorOf(await post("member", { title: "x", status: "done" }))).toEqual(
      denied("/status"),
    );
  });

  testUnlessCitus("no app of a cluster is read-only")(
    "of an app to read-only stops its people",
    async () => {
      const { setAppSwitch } = await import("../../src/records/apps/mod.ts");
      const headers = { "idempotency-key": crypto.randomUUID() };
      const first = await post("member", { title: "before" }, { headers });
      await setAppSwitch(service.service, app.slug, ["read_only", true]);
      expect(errorOf(await post("member", { title: "x" }))).toEqual({
        status: 503,
        code: "read_only",
      });
      expect(errorOf(await post("member", { title: 7 }))).toEqual({
        status: 503,
        code: "read_only",
      });
      expect((await as("member", PATH)).status).toBe(200);
      const replay = await post("member", { title: "before" }, { headers });
      expect(replay.json).toEqual({ id: idOf(first) });
      await setAppSwitch(service.service, app.slug, ["read_only", false]);
      expect((await post("member", { title: "x" })).status).toBe(201);
    },
  );
});

test("a process without the preview browser rejects a live key of a person like an unknown key", async () => {
  const plain = await serveAnother(service.database, { previews: ["filters", "live"] });
  const get = (path: string, key: string) =>
    fetch(plain.url + path, { headers: { authorization: `Bearer ${key}` } });
  for (const path of [PATH, `${PATH}?status=eq.open`, "/v1/data/db/nothing", "/v1/data/schema"]) {
    const { status } = await get(path, caller("member").key);
    expect([path, status]).toEqual([path, 401]);
  }
  expect((await get(PATH, app.key)).status).toBe(200);
  await plain.close();
});

test("who reads a row by its own table is decided by what the request wrote", async () => {
  const create = async (table: string, json: object): Promise<string> => {
    const made = await service.call(app, `/v1/data/db/${table}`, { method: "POST", json });
    expect([made.status, made.text]).toEqual([201, expect.any(String)]);
    return idOf(made);
  };
  const [left, joined] = [
    await create("teams", { name: "open" }),
    await create("teams", { name: "open" }),
  ];
  const who = caller("member").id;
  const seat = await create("seats", { team: left, who });
  const beside = await create("seats", { team: left, who: caller("bob").id });
  await create("seats", { team: left, who, code: "a" });
  const moved = await as("member", `/v1/data/db/seats/${seat}`, {
    method: "PATCH",
    json: { team: joined },
  });
  expect(moved.json).toMatchObject({ id: seat, team: joined, who });
  const last = await create("teams", { name: "open" });
  const found = await as("member", "/v1/data/db/seats?onConflict=code&existing=only", {
    method: "POST",
    json: { code: "a", team: last },
  });
  expect(found.json).toMatchObject({ team: last, who });
  expect((await as("member", `/v1/data/db/seats/${beside}`)).status).toBe(404);
});
