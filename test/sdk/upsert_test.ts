/** `upsert()` of the client: one row or a list, by the unique constraints of the schema only. */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { createDataClient } from "../../src/sdk/data.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({
  parts: t
    .model({ vendor: t.string(), sku: t.string(), tag: t.string().unique(), price: t.integer() })
    .unique("vendor", "sku"),
});

const service = await share(openTestService({ service: { previews: ["filters"] } }));
const app = await service.makeApp(schema);
const db = createDataClient({ baseUrl: service.url, apiKey: app.key, schema });

test("creates and updates one row, whose state a later update can require", async () => {
  const made = await db.parts.upsert({ tag: "a", price: 1 }, { onConflict: "tag" });
  const row = await db.parts.upsert({ tag: "a", price: 2 }, { onConflict: "tag" });
  expect(row).toEqual({ ...made, price: 2 });
  expect(await db.parts.update(row.id, { price: 3 }, { ifMatch: row })).toMatchObject({ price: 3 });
  const kept = await db.parts.upsert(
    { tag: "a", price: 4 },
    { onConflict: "tag", existing: "ignore" },
  );
  expect(kept.price).toBe(3);
  const only = { onConflict: "tag", existing: "only" } as const;
  expect((await db.parts.upsert({ tag: "a", price: 5 }, only)).price).toBe(5);
  const sent = await db.parts.upsert([{ tag: "none" }, { tag: "a", price: 3 }], only);
  expect(sent).toMatchObject({ rows: [{ price: 3 }], results: ["missing", "updated"] });
  const missing = await Promise.allSettled([db.parts.upsert({ tag: "none" }, only)]);
  expect(missing).toMatchObject([{ reason: { name: "DataError", code: "not_found" } }]);
});

test("says what happened to each row of a list", async () => {
  const options = { onConflict: ["vendor", "sku"] } as const;
  const parts = [1, 2].map((n) => ({ vendor: "Acme", sku: `${n}`, price: n }));
  expect((await db.parts.upsert(parts, options)).results).toEqual(["created", "created"]);
  const { rows, results } = await db.parts.upsert(
    [...parts, { vendor: "Acme", sku: "3" }, { vendor: "Acme" }].toReversed(),
    options,
  );
  expect(results).toEqual(["created", "created", "unchanged", "unchanged"]);
  expect(rows.map(({ price }) => price)).toEqual([null, null, 2, 1]);
  expect(await db.parts.upsert([], options)).toEqual({ rows: [], results: [] });
});

test("accepts only unique constraints", async () => {
  const rejected: Promise<unknown>[] = [
    // @ts-expect-error The column is not unique.
    db.parts.upsert({ price: 1 }, { onConflict: "price" }),
    // @ts-expect-error Only both columns together are unique.
    db.parts.upsert({ vendor: "Acme" }, { onConflict: "vendor" }),
    // @ts-expect-error The service chooses the id.
    db.parts.upsert({ vendor: "Acme" }, { onConflict: "id" }),
  ];
  for (const settled of await Promise.allSettled(rejected))
    expect(settled).toMatchObject({
      status: "rejected",
      reason: { name: "DataError", status: 400, code: "invalid_query" },
    });
});
