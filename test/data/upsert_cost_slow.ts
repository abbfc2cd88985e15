/** The buffers that upserts read and write in an app of 100,000 rows, on PostgreSQL 18 and 15, with plans of the empty table. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import postgres from "postgres";
import { readRows } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { buffersOf, EXPLAIN, freezeStatistics } from "../support/buffers.ts";
import { renderCall } from "../support/functions.ts";
import { openOnVersion, POSTGRES_VERSIONS } from "../support/postgres_versions.ts";
import { proofOf } from "../support/proof.ts";
import { type TestApp, type TestService, UNGUARDED } from "../support/service.ts";

const schema = defineSchema({
  parts: t
    .model({
      tag: t.string().required().unique(),
      url: t.string(),
      kind: t.enum(["a", "b"]),
      price: t.number(),
      note: t.string(),
    })
    .unique("url", "kind")
    .unique("price", "kind"),
});
const ROWS = 100_000;
const PART = 5000;
const LIST = 100;
const LONG = "x".repeat(200);
const row = (n: number) => ({ tag: `tag ${n}`, url: `${LONG} ${n}`, kind: "b", price: n / 4 });
const INDEXES: Readonly<Record<string, { unique: string; name: string }>> = {
  tag: { unique: "{1}", name: "parts__tag" },
  "url,kind": { unique: "{2,3}", name: "parts__url__kind" },
  "price,kind": { unique: "{4,3}", name: "parts__price__kind" },
};

describe.each(POSTGRES_VERSIONS)("on $name", ({ isDebian }) => {
  let service: TestService;
  let app: TestApp;
  let login: postgres.Sql;
  beforeAll(async () => {
    service = await openOnVersion(isDebian, { service: { previews: ["filters"], ...UNGUARDED } });
    app = await service.makeApp(schema);
    const admin = service.service.admin;
    // Statistics of the empty table, and a session that planned with them.
    await freezeStatistics(service, "parts");
    login = postgres(service.database.servingUrl, { max: 1, prepare: false });
    await measure("tag", [{ tag: "first" }]);
    for (let start = 0; start < ROWS; start += PART)
      await readRows(
        admin,
        `insert into data.parts (app_id, id, tag, url, kind, price)
        select $1, gen_random_uuid(), 'tag ' || n, $2 || ' ' || n, 'b', n / 4.0
        from generate_series($3::int4, $4::int4) as s (n)`,
        [app.id, LONG, start, start + PART - 1],
      );
  }, 300_000);
  afterAll(async () => {
    await login?.end();
    await service?.close();
  });

  async function measure(columns: string, rows: readonly object[], isIgnored = false) {
    const { unique, name } = INDEXES[columns] ?? { unique: "", name: "" };
    const ids = rows.map(() => Bun.randomUUIDv7()).sort();
    const call = `select ${renderCall(schema, "parts", "upsert", {
      ...{ app: "$1", proof: proofOf(app.key) },
      values:
        "$2::text::uuid[], $3, $4::text::int4[], $5::text::text[], $6::text::int4[], $7, 8388608, null",
    })}`;
    const explained = await login.unsafe(`${EXPLAIN} ${call}`, [
      ...[app.id, `{${ids}}`, JSON.stringify(rows), unique],
      ...[`{${name}__key,${name}__search_key}`, `{${rows.map((_, n) => n + 1)}}`, isIgnored],
    ]);
    return buffersOf(explained);
  }

  const list = (start: number, extra: object) =>
    Array.from({ length: LIST }, (_, n) => ({ ...row(start + n * 7), ...extra }));

  test.each(Object.keys(INDEXES))("a list by %s reads few buffers a row", async (columns) => {
    // The first call of a session also reads the system's tables.
    await measure(columns, [{ ...row(1), note: columns }]);
    const perRow = async (rows: readonly object[], isIgnored = false) =>
      (await measure(columns, rows, isIgnored)) / LIST;
    const found = {
      updated: await perRow(list(1000, { note: columns })),
      unchanged: await perRow(list(1000, { note: columns })),
      ignored: await perRow(list(1000, { note: "other" }), true),
      created: await perRow(list(ROWS * (2 + Object.keys(INDEXES).indexOf(columns)), {})),
    };
    console.log(columns, found);
    for (const [what, buffers] of Object.entries(found))
      expect([what, Math.min(buffers, MAX_BUFFERS)]).toEqual([what, buffers]);
  });
});
const MAX_BUFFERS = 60;
