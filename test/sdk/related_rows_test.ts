/** Related rows of the client: the requests fit the service, and a watch follows the tables of related rows. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { createDataClient, type DataClient } from "../../src/sdk/data.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

const schema = defineSchema({
  vendors: { name: t.string().required() },
  projects: t
    .model({ name: t.string().required(), vendor: t.ref("vendors") })
    .index("vendor", "id")
    .index("vendor", "name"),
  todos: t
    .model({ title: t.string().required(), project: t.ref("projects") })
    .index("project", "id")
    .index("project", "title"),
  matches: t
    .model({ home: t.ref("vendors").required(), away: t.ref("vendors").required() })
    .index("home", "id")
    .index("away", "id"),
});
const NEVER_MS = 3_600_000;

let service: TestService;
let app: TestApp;
let db: DataClient<typeof schema>;
let vendor: string;
let project: string;
beforeAll(async () => {
  service = await openTestService({ service: { previews: ["filters", "live"] } });
  app = await service.makeApp(schema);
  await setAppSwitch(service.service, app.slug, ["live", true]);
  db = createDataClient({ baseUrl: service.url, apiKey: app.key, schema });
  vendor = (await db.vendors.create({ name: "Ann" })).id;
  project = (await db.projects.create({ name: "House", vendor })).id;
  await db.todos.createMany(["b", "a", "c"].map((title) => ({ title, project })));
  await db.todos.create({ title: "alone" });
  await db.matches.create({ home: vendor, away: vendor });
});
afterAll(() => service.close());

test("the rows of references, two levels deep", async () => {
  const { rows } = await db.todos.list({
    select: ["title", { project: ["name", { vendor: ["id", "name"] }] }],
    where: { title: { in: ["a", "alone"] } },
  });
  expect(rows).toEqual([
    { title: "a", project: { name: "House", vendor: { id: vendor, name: "Ann" } } },
    { title: "alone", project: null },
  ]);
});

test("the rows that refer to a row, with their limit and order", async () => {
  const { rows } = await db.vendors.list({
    select: [
      "name",
      {
        projects: {
          select: [
            "name",
            { todos: { select: ["title"], limit: 2, orderBy: [{ title: "desc" }] } },
          ],
        },
        "matches!home": ["home"],
      },
    ],
  });
  expect(rows).toEqual([
    {
      name: "Ann",
      projects: {
        rows: [{ name: "House", todos: { rows: [{ title: "c" }, { title: "b" }], hasMore: true } }],
        hasMore: false,
      },
      matches: { rows: [{ home: vendor }], hasMore: false },
    },
  ]);
});

test("a watch reports a change of a related row, without polling", async () => {
  const pages = db.todos.watch({
    select: ["id", { project: [{ vendor: ["name"] }] }],
    where: { title: "a" },
    everyMs: NEVER_MS,
  });
  const until = async (name: string) => {
    for (;;) {
      const { value } = await pages.next();
      if (value?.rows[0]?.project?.vendor?.name === name) return;
    }
  };
  await until("Ann");
  await db.vendors.update(vendor, { name: "Anna" });
  await until("Anna");
  await pages.return();
});

test("a watch without a schema polls for related rows of a reference", async () => {
  const open: object = createDataClient({ baseUrl: service.url, apiKey: app.key });
  const { todos } = open as Pick<DataClient<typeof schema>, "todos">;
  const pages = todos.watch({ select: ["id", { project: ["name"] }], limit: 1, everyMs: 5 });
  await pages.next();
  await db.projects.update(project, { name: "Home" });
  expect((await pages.next()).value?.rows[0]?.project?.name).toBe("Home");
  await pages.return();
});
