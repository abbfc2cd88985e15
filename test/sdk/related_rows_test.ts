/** Related rows of the client: the requests fit the service, and a watch follows the tables of related rows. */
import { expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { createDataClient, type DataClient, matches } from "../../src/sdk/data.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

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

const service = await share(openTestService({ service: { previews: ["filters", "live"] } }));
const app = await service.makeApp(schema);
await setAppSwitch(service.service, app.slug, ["live", true]);
const db = createDataClient({ baseUrl: service.url, apiKey: app.key, schema });
const vendor = (await db.vendors.create({ name: "Ann" })).id;
const project = (await db.projects.create({ name: "House", vendor })).id;
await db.todos.createMany(["b", "a", "c"].map((title) => ({ title, project })));
await db.todos.create({ title: "alone" });
await db.matches.create({ home: vendor, away: vendor });

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

/** Conditions, and the todos that meet them. */
const CONDITIONS = [
  { where: { project: { vendor: "$vendor" } }, titles: ["a", "b", "c"] },
  { where: { project: { vendor: "$vendor", name: { ilike: "h*" } }, title: "a" }, titles: ["a"] },
  { where: { project: { vendor: { name: "Ann" } } }, titles: ["a", "b", "c"] },
  { where: { project: { vendor: { name: { neq: "Ann" } } } }, titles: [] },
  { where: { project: { vendor: null } }, titles: [] },
  { where: { project: null }, titles: ["alone"] },
  { where: { not: { project: { vendor: "$vendor" } } }, titles: [] },
  { where: { project: { not: { vendor: null } } }, titles: ["a", "b", "c"] },
  { where: { project: { not: { vendor: "$vendor", name: "x" } } }, titles: ["a", "b", "c"] },
  { where: { or: [{ project: { vendor: "$vendor" } }, { title: "alone" }] }, all: true },
  { where: { project: { or: [{ name: "x" }, { vendor: { name: "Ann" } }] } }, titles: "abc" },
  { where: { project: { and: [{ name: { in: ["Ho,me", "Home"] } }] } }, titles: "abc" },
  { where: { or: [{ project: { name: 'a "b", (c)' } }, { title: "b" }] }, titles: ["b"] },
] as const;

test.each(CONDITIONS)(
  "conditions on referenced rows: $where",
  async ({ where: drawn, ...found }) => {
    const text = JSON.stringify(drawn).replaceAll("$vendor", vendor);
    const where: NonNullable<Parameters<typeof db.todos.list>[0]>["where"] = JSON.parse(text);
    const titles = "titles" in found ? [...found.titles] : ["a", "alone", "b", "c"];
    await db.projects.update(project, { name: "Home" });
    await db.vendors.update(vendor, { name: "Ann" });
    const { rows, count } = await db.todos.list({
      where,
      orderBy: [{ title: "asc" }],
      count: "exact",
    });
    expect(rows.map(({ title }) => title)).toEqual(titles);
    expect(count).toBe(titles.length);
    expect(await db.todos.groups({ where })).toEqual([{ by: {}, count: titles.length }]);
    const all: string[] = [];
    for await (const { title } of db.todos.all({ where, limit: 1 })) all.push(title);
    expect(all.sort()).toEqual(titles);
    // `matches` decides the same about rows that contain the row of the reference.
    const selected = await db.todos.list({
      select: ["title", { project: ["name", { vendor: ["id", "name"] }] }],
      orderBy: [{ title: "asc" }],
    });
    const asRows = JSON.parse(
      JSON.stringify(where).replaceAll(`"vendor":"${vendor}"`, `"vendor":{"id":"${vendor}"}`),
    );
    const matching = selected.rows.filter((row) =>
      matches(row, asRows, schema.tables.todos, schema.tables),
    );
    expect(matching.map(({ title }) => title)).toEqual(titles);
  },
);

test("matches needs the row of a reference", () => {
  const row: { title: string; project: { vendor: string } | null } = { title: "a", project: null };
  expect(matches(row, { project: { vendor } })).toBe(false);
  expect(matches({ ...row, project: { vendor } }, { project: { vendor } })).toBe(true);
  const unread = { ...row, project: project as unknown as { vendor: string } };
  expect(() => matches(unread, { project: { vendor } })).toThrow(TypeError);
});

test("a watch follows the table of a condition: rows enter and leave", async () => {
  const other = await db.vendors.create({ name: "Eve" });
  const pages = db.todos.watch({
    where: { project: { vendor: other.id } },
    orderBy: [{ title: "asc" }],
    everyMs: NEVER_MS,
  });
  const titles = async () => (await pages.next()).value?.rows.map(({ title }) => title);
  expect(await titles()).toEqual([]);
  const entered = titles();
  await db.projects.update(project, { vendor: other.id });
  expect(await entered).toEqual(["a", "b", "c"]);
  const left = titles();
  await db.projects.update(project, { vendor });
  expect(await left).toEqual([]);
  await pages.return();
});
