/** Groups and counts of the client: its requests fit the service, and its types fit the responses. */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { createDataClient } from "../../src/sdk/data.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({
  tasks: t.model({
    title: t.string().required(),
    status: t.enum(["open", "done"]),
    hours: t.number(),
    price: t.decimal().required(),
    due: t.date(),
    // The name of a parameter.
    sum: t.number(),
  }),
});

const service = await share(openTestService({ service: { previews: ["filters"] } }));
const { key } = await service.makeApp(schema);
const db = createDataClient({ baseUrl: service.url, apiKey: key, schema });
await db.tasks.createMany([
  { title: "a", status: "open", hours: 0.1, price: "1.50", due: "2026-01-31", sum: 1 },
  { title: "b", status: "open", hours: 0.2, price: "2.50", due: "2026-01-01", sum: 2 },
  { title: "c", status: "done", price: "3" },
  { title: "d", price: "4" },
]);

test("groups have their columns, their count and exact sums", async () => {
  const groups = await db.tasks.groups({
    by: ["status"],
    sum: ["hours", "price"],
    min: ["due"],
    max: ["due"],
  });
  expect(groups).toEqual([
    {
      by: { status: "open" },
      count: 2,
      sum: { hours: "0.3", price: "4.00" },
      min: { due: "2026-01-01" },
      max: { due: "2026-01-31" },
    },
    {
      by: { status: "done" },
      count: 1,
      sum: { hours: null, price: "3" },
      min: { due: null },
      max: { due: null },
    },
    {
      by: { status: null },
      count: 1,
      sum: { hours: null, price: "4" },
      min: { due: null },
      max: { due: null },
    },
  ]);
});

test("without columns, all rows that match are one group, also if no row does", async () => {
  const [all] = await db.tasks.groups({ where: { status: "open" }, avg: ["price"] });
  expect(all).toMatchObject({
    by: {},
    count: 2,
    avg: { price: expect.stringMatching(/^2(\.0+)?$/) },
  });
  const [none] = await db.tasks.groups({ where: { title: "none" }, by: [], sum: ["price"] });
  expect(none).toEqual({ by: {}, count: 0, sum: { price: null } });
});

test("a column with the name of a parameter can be a condition", async () => {
  const groups = await db.tasks.groups({ where: { sum: { gt: 1 } }, sum: ["sum"] });
  expect(groups).toEqual([{ by: {}, count: 1, sum: { sum: "2" } }]);
});

test("the service rejects what groups do not support", async () => {
  const untyped = db.tasks as unknown as { groups: (options: object) => Promise<unknown> };
  for (const options of [{ by: ["status"], orderBy: [{ status: "asc" }] }, { sum: ["title"] }])
    await expect(untyped.groups(options)).rejects.toMatchObject({ name: "DataError", status: 400 });
});

test("a page counts the rows that match", async () => {
  const where = { status: "open" } as const;
  expect(await db.tasks.list({ where, limit: 1, count: "exact" })).toMatchObject({ count: 2 });
  expect((await db.tasks.list({ where, limit: 1, count: "estimated" })).count).toBeNumber();
  expect(await db.tasks.list({ where, limit: 1 })).not.toHaveProperty("count");
});
