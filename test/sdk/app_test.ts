/** The client of an app without a server, on a real service: rows by rules, roles that change, and what a service lacks. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { grantRole, revokeRole } from "../../src/records/people/mod.ts";
import { defineSchema, type Insert, t } from "../../src/schema/mod.ts";
import { type AppClient, createAppClient } from "../../src/sdk/app.ts";
import { DataError } from "../../src/sdk/data.ts";
import { openPageNetwork, type PageNetwork } from "../support/as_browser.ts";
import { makePerson, type Person, signInAs } from "../support/people.ts";
import { openToBrowsers } from "../support/person_keys.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const ORIGIN = "https://wiki.example.org";
const schema = defineSchema({
  todos: t
    .model({
      title: t.string().required(),
      status: t.enum(["open", "done"]).required().default("open"),
      owner: t.uuid().required().owner(),
      code: t.string().unique(),
      cost: t.decimal().only("lead"),
    })
    .index("owner", "id")
    .allow("member", {
      read: { owner: "me" },
      create: true,
      update: { owner: "me" },
      delete: { owner: "me", status: "open" },
    })
    .allow("lead", { read: true, create: true, update: true, delete: true }),
});

let network: PageNetwork;
let client: AppClient<typeof schema>;
let ada: Person;
const service = await share(
  openTestService({ service: { previews: ["browser", "filters", "live"] } }),
);
const app = await service.makeApp(schema, { origins: [ORIGIN] });
await openToBrowsers(service, app);
await service.service.warm();
beforeEach(async () => {
  network = openPageNetwork(service.url, ORIGIN);
  client = connect(network);
  ada = await signIn("member");
});
afterEach(() => network.stop());

const admin = () => ({ admin: service.service.admin });
const connect = ({ url }: PageNetwork, to: TestApp = app) =>
  createAppClient({ url, identityUrl: url, app: to.slug, schema, cache: true, retries: 0 });

/** Signs a new person in, in the page's browser. */
async function signIn(role: string, to: TestApp = app): Promise<Person> {
  const person = await makePerson(service, { app: to, role });
  network.jar = await signInAs(service, person);
  return person;
}

const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => "done",
    (error: unknown) => (error instanceof DataError ? error.code : error),
  );
const titlesOf = async (page: ReturnType<typeof client.db.todos.list>) =>
  (await page).rows.map(({ title }) => title);

describe("a page without a server", () => {
  test("writes rows of its person, without naming the owner, and reads no others", async () => {
    const values: Insert<typeof schema, "todos"> = { title: "Milk" };
    const created = await client.db.todos.create(values);
    expect(created.owner).toBe(ada.id);
    const done = await client.db.todos.update(created.id, { status: "done" }, { ifMatch: created });
    expect(await client.db.todos.get(created.id)).toEqual(done);
    expect(await titlesOf(client.db.todos.list())).toEqual(["Milk"]);
    expect(await codeOf(client.db.todos.delete(created.id))).toBe("forbidden");
    await signIn("member");
    const other = connect(network);
    expect(await titlesOf(other.db.todos.list())).toEqual([]);
    expect(await codeOf(other.db.todos.get(created.id))).toBe("not_found");
  });

  test("uses conditions, counts, groups, upserts and writes by conditions", async () => {
    const code = crypto.randomUUID();
    await client.db.todos.createMany([{ title: "a" }, { title: "b", code }]);
    await client.db.todos.upsert({ title: "c", code }, { onConflict: "code" });
    const { count } = await client.db.todos.updateMany(
      { status: "done" },
      { where: { title: "a" } },
    );
    expect(count).toBe(1);
    const page = await client.db.todos.list({
      where: { status: "open" },
      orderBy: [{ title: "asc" }],
      select: ["title"],
      count: "exact",
    });
    expect([page.rows, page.count]).toEqual([[{ title: "c" }], 1]);
    expect(await client.db.todos.groups({ by: ["status"] })).toHaveLength(2);
    expect(await client.db.todos.find({ code })).toMatchObject({ title: "c" });
    const titles: string[] = [];
    for await (const { title } of client.db.todos.all({ limit: 1 })) titles.push(title);
    expect(titles).toEqual(["a", "c"]);
  });

  test("sends one exchange for its session and all calls", async () => {
    expect(await client.getSession()).toMatchObject({
      status: "authenticated",
      user: { id: ada.id },
    });
    await Promise.all([client.db.todos.list(), client.db.todos.list()]);
    expect(network.requests).toEqual([
      "POST /session-key",
      "GET /v1/data/db/todos",
      "GET /v1/data/db/todos",
    ]);
  });

  test("goes on with the rights of another role, from the moment that it is granted", async () => {
    await client.db.todos.create({ title: "Milk" });
    expect(await codeOf(client.db.todos.create({ title: "Bread", cost: "1.5" }))).toBe("forbidden");
    await grantRole(admin(), { email: ada.email, slug: app.slug, role: "lead" });
    const created = await client.db.todos.create({ title: "Bread", cost: "1.5" });
    expect(created.cost).toBe("1.5");
    await revokeRole(admin(), { email: ada.email, slug: app.slug });
    expect(await codeOf(client.db.todos.list())).toBe("forbidden");
    expect((await client.getSession()).status).toBe("forbidden");
  });

  test("learns that no one is signed in, and goes on after a sign-in", async () => {
    network.jar = new Map();
    expect(await client.getSession()).toEqual({ status: "unauthenticated" });
    expect(await codeOf(client.db.todos.list())).toBe("unauthenticated");
    await signIn("member");
    expect(await titlesOf(client.db.todos.list())).toEqual([]);
  });

  test("reads and writes nothing as another person who signed in", async () => {
    await client.db.todos.create({ title: "Of Ada" });
    const watch = client.db.todos.watch();
    expect((await watch.next()).value).toMatchObject({ rows: [{ title: "Of Ada" }] });
    await signIn("member");
    // Her key is still valid: the page learns of the change by its session.
    expect((await client.getSession()).status).toBe("unauthenticated");
    for (const call of [client.db.todos.list(), watch.next()])
      expect(await codeOf(call)).toBe("unauthenticated");
    expect(await codeOf(client.db.todos.create({ title: "As another" }))).toBe("unauthenticated");
    expect((await service.call(app, "/v1/data/db/todos")).text).not.toContain("As another");
  });

  test("follows changes of its rows, and not those of others", async () => {
    await setAppSwitch(admin(), app.slug, ["live", true]);
    const changes = client.db.todos.changes();
    expect((await changes.next()).value).toMatchObject({ type: "ready" });
    const { id } = await client.db.todos.create({ title: "Milk" });
    expect((await changes.next()).value).toMatchObject({ type: "changes", put: [{ id }] });
    await changes.return();
  });
});

describe("a missing preview is named", () => {
  test("for conditions, groups, upserts, writes by conditions and changes", async () => {
    await using plain = await openTestService({ service: { previews: ["browser"] } });
    const plainApp = await plain.makeApp(schema, { origins: [ORIGIN] });
    await openToBrowsers(plain, plainApp);
    await plain.service.warm();
    const page = openPageNetwork(plain.url, ORIGIN);
    page.jar = await signInAs(plain, await makePerson(plain, { app: plainApp, role: "lead" }));
    const { db } = connect(page, plainApp);
    const messageOf = (call: Promise<unknown>) =>
      call.then(String, ({ message }: Error) => message);
    for (const call of [
      () => db.todos.list({ where: { status: "open" } }),
      () => db.todos.list({ orderBy: [{ title: "asc" }] }),
      () => db.todos.groups({ by: ["status"] }),
      () => db.todos.upsert({ title: "a", code: "b" }, { onConflict: "code" }),
      () => db.todos.updateMany({ title: "b" }, { where: { status: "open" } }),
      () => db.todos.deleteMany({ where: { status: "open" } }),
    ])
      expect(await messageOf(call())).toEndWith("this call needs PREVIEW=filters in the service");
    expect(await messageOf(db.todos.changes().next())).toContain("PREVIEW=live");
    await page.stop();
  });

  test("for any call, and sign-in still works", async () => {
    await using plain = await openTestService({ service: { previews: [] } });
    const plainApp = await plain.makeApp(undefined, { origins: [ORIGIN] });
    await plain.service.warm();
    const page = openPageNetwork(plain.url, ORIGIN);
    page.jar = await signInAs(plain, await makePerson(plain, { app: plainApp, role: "lead" }));
    const unready = connect(page, plainApp);
    expect((await unready.getSession()).status).toBe("authenticated");
    const failure = await unready.db.todos.list().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "not_implemented" });
    expect((failure as Error).message).toContain("PREVIEW=browser");
    await page.stop();
  });

  test("and an app without browser access", async () => {
    const closed = await service.makeApp(undefined, { origins: [ORIGIN] });
    await service.service.warm();
    await signIn("member", closed);
    const failure = await connect(network, closed)
      .db.todos.list()
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "forbidden" });
    expect((failure as Error).message).toContain(`is off for ${closed.slug}: an operator`);
  });
});
