/** Stored keys of numbers and decimals, by which lists search and sort if `PREVIEW` contains `filters`. */
import { expect } from "bun:test";
import { readRows } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeIsolationCheck } from "../../src/tables/catalog/mod.ts";
import { readDrift } from "../../src/tables/mod.ts";
import { makeProject, runHere, startCommand } from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { countLockWaits, whileDone } from "../support/held_lock.ts";
import { textOf } from "../support/page_text.ts";
import { makePerson, signInAs, visit } from "../support/people.ts";
import { postChange, postSchema } from "../support/push.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";
import { testUnlessCitus } from "../support/skip.ts";

const testOne = testUnlessCitus("a cluster has no query functions");
const ITEMS = "/v1/data/db/items";
const LONG = "a_column_with_the_longest_name_that_an_app_can_give_to_one_of_it";
const makeTable = (more: object = {}) =>
  t
    .model({
      place: t.integer().required(),
      price: t.number().index(),
      amount: t.decimal().index(),
      code: t.number().unique(),
      total: t.decimal().unique(),
      name: t.string().required(),
      [LONG.slice(0, 63)]: t.number().index(),
      ...more,
    })
    .index("name", "price")
    .index("price", "name")
    .unique("amount", "name");
const makeSchema = (more: object = {}) => defineSchema({ items: makeTable(more) });

/** In the order of the decimals; some share a double, and some have none. */
const AMOUNTS = [
  `-1${"0".repeat(320)}`,
  `-1${"0".repeat(308)}`,
  "-0.1",
  `-0.${"0".repeat(310)}1`,
  "0",
  `0.${"0".repeat(310)}1`,
  `0.${"0".repeat(299)}1`,
  "0.09999999999999999999999999",
  "0.10",
  "0.10000000000000000000000001",
  "12.5",
  `9${"9".repeat(307)}`,
  `1${"0".repeat(308)}`,
  `1${"0".repeat(390)}`,
];
const PRICES = [
  -1e300, -2.5, -5e-324, 0, 5e-324, 1e-7, 0.1, 0.30000000000000004, 3, 1e21, 1e300,
  1.7976931348623157e308,
];

const project = await share(makeProject());
const service = await share(openTestService({ service: { previews: ["filters"], maxVisits: 5 } }));
const app = await service.makeApp(makeSchema());
const create = (json: object) => service.call(app, ITEMS, { method: "POST", json });
const rows = Array.from({ length: 18 }, (_, place) => ({
  place,
  price: PRICES[place] ?? null,
  amount: AMOUNTS[place] ?? null,
  code: PRICES[place] ?? null,
  total: AMOUNTS[place] ?? null,
  name: `n${place % 3}`,
}));
for (const row of rows) expect((await create(row)).status).toBe(201);

async function expectClean(): Promise<void> {
  expect(await readDrift(service.service.admin)).toEqual([]);
  const { issues } = await makeIsolationCheck(service.service.admin)();
  expect(issues).toEqual([]);
}

async function listKeys(table = "items"): Promise<string[]> {
  const rows = await readRows<{ name: string }>(
    service.service.admin,
    `select attname as name from pg_catalog.pg_attribute where attrelid = pg_catalog.to_regclass($1)
    and attname like '#%' and not attisdropped order by attname collate "C"`,
    [`data.${table}`],
  );
  return rows.map(({ name }) => name);
}

/** The places of all rows, page by page. */
async function find(query: string): Promise<unknown[]> {
  const places: unknown[] = [];
  for (let after = ""; ; ) {
    const { json, status, text } = await service.call(app, `${ITEMS}?${query}${after}`);
    if (status !== 200) return [text];
    const page = json as { rows: { place: number }[]; next: string | null };
    places.push(...page.rows.map(({ place }) => place));
    if (page.next === null) return places;
    after = `&after=${page.next}`;
  }
}

const range = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => from + index);

testOne("a push adds keys for the indexed columns", async () => {
  expect(await listKeys()).toEqual([
    "#a_column_with_the_longest_name_that_an_app_can_give#f550218d1d",
    "#amount",
    "#code",
    "#price",
    "#total",
  ]);
  await expectClean();
});

testOne("lists of numbers and decimals are searched and sorted by index", async () => {
  for (const [column, values] of [
    ["price", PRICES],
    ["amount", AMOUNTS],
  ] as const) {
    const { length } = values;
    const nulls = await find(`${column}=is.null&limit=2`);
    expect(nulls.toSorted()).toEqual(range(length, 18));
    const listed = await find(`order=${column}&limit=3`);
    expect([column, listed.slice(0, length)]).toEqual([column, range(0, length)]);
    expect(listed.slice(length).toSorted()).toEqual(range(length, 18));
    const down = await find(`order=${column}.desc&limit=2`);
    expect([column, down.slice(0, length)]).toEqual([column, range(0, length).reverse()]);
    for (const [place, value] of values.entries()) {
      const text = encodeURIComponent(String(value));
      expect([value, await find(`${column}=eq.${text}`)]).toEqual([value, [place]]);
      expect(await find(`${column}=gt.${text}&order=${column}&limit=3`)).toEqual(
        range(place + 1, length),
      );
      expect(await find(`${column}=lte.${text}&order=${column}.desc&limit=3`)).toEqual(
        range(0, place + 1).reverse(),
      );
    }
    const some = [values[1], values[3], values[8]].map(String).join(",");
    expect((await find(`${column}=in.(${encodeURIComponent(some)})`)).toSorted()).toEqual([
      1, 3, 8,
    ]);
  }
});

const PREFER = { headers: { prefer: "count=exact" } };
testOne("every page of a list by decimals counts all matching rows", async () => {
  for (const way of ["", ".desc"]) {
    const query = `${ITEMS}?amount=gt.1&amount=lte.1${"0".repeat(308)}&order=amount${way}&limit=2`;
    const first = await service.call(app, query, PREFER);
    expect(first.json).toMatchObject({ count: 3 });
    const { next } = first.json as { next: string };
    expect((await service.call(app, `${query}&after=${next}`, PREFER)).json).toMatchObject({
      count: 3,
    });
  }
});

testOne("a lookup by a unique number or decimal is one search", async () => {
  expect(await find("code=eq.3")).toEqual([8]);
  expect(await find("total=eq.0.1")).toEqual([8]);
  expect(await find("total=eq.7")).toEqual([]);
  expect((await create({ place: 99, code: 3, name: "n" })).json).toMatchObject({
    error: "unique_violation",
    details: [{ path: "/code" }],
  });
  expect((await create({ place: 99, total: "0.1000", name: "n" })).json).toMatchObject({
    error: "unique_violation",
    details: [{ path: "/total" }],
  });
});

testOne("indexes of several columns are searched", async () => {
  expect(await find("name=eq.n1&order=price&limit=2")).toEqual([
    1,
    4,
    7,
    10,
    ...(await find("name=eq.n1&price=is.null")),
  ]);
  expect(await find("name=eq.n1&price=gt.0&order=price.desc&limit=1")).toEqual([10, 7, 4]);
  expect(await find("price=eq.3&order=name")).toEqual([8]);
});

testOne("more decimals that share a double than visits are each listed once", async () => {
  const rows = Array.from({ length: 8 }, (_, place) => ({
    place: 100 + place,
    amount: `55.${"0".repeat(20)}${place}1`,
    name: "many",
  }));
  for (const row of rows) expect((await create(row)).status).toBe(201);
  expect(await find("amount=gte.55&amount=lt.56&order=amount&limit=3")).toEqual(
    rows.map(({ place }) => place),
  );
  await service.call(app, `${ITEMS}?name=eq.many`);
});

testOne("no response and no type shows a key", async () => {
  const texts = await Promise.all(
    ["/v1/data/db/items?limit=1", "/v1/data/db/items?limit=1&order=price", "/v1/openapi.json"].map(
      async (path) => (await service.call(app, path)).text,
    ),
  );
  for (const text of texts) expect(text).not.toMatch(/#price|#amount/);
  const shown = await service.call(app, `${ITEMS}?${encodeURIComponent("#price")}=eq.1`);
  expect(shown.status).toBe(400);
});

testOne("keys follow the changes of a table", async () => {
  const change = async (request: { kind: string } & Record<string, unknown>) => {
    const { json } = await postChange(service, app, request);
    expect([request.kind, json]).toEqual([
      request.kind,
      expect.objectContaining({ status: "applied" }),
    ]);
    await expectClean();
  };
  const onItems = { table: "items" };
  await change({ kind: "rename_column", ...onItems, column: "code", to: "number" });
  expect(await listKeys()).toContain("#number");
  expect(await find("number=eq.3")).toEqual([8]);
  await change({ kind: "rename_column", ...onItems, column: "number", to: "code" });
  await change({ kind: "rename_table", ...onItems, to: "things" });
  await change({ kind: "rename_table", table: "things", to: "items" });
  await change({ kind: "retype_column", ...onItems, column: "code", type: { kind: "decimal" } });
  expect(await find("code=eq.3.0")).toEqual([8]);
  await change({ kind: "retype_column", ...onItems, column: "code", type: { kind: "string" } });
  expect(await listKeys()).not.toContain("#code");
  await change({ kind: "retype_column", ...onItems, column: "code", type: { kind: "number" } });
  expect(await find("code=eq.3")).toEqual([8]);
  await postSchema(service, app, makeSchema({ note: t.decimal().index() }));
  expect(await listKeys()).toContain("#note");
  await change({ kind: "drop_column", ...onItems, column: "note" });
  expect(await listKeys()).not.toContain("#note");
});

async function run(command: string[], preview: string) {
  const { adminUrl, servingUrl, prepare } = service.database;
  const env = {
    ADMIN_DATABASE_URL: adminUrl,
    DATABASE_URL: servingUrl,
    DATABASE_PREPARE: prepare ? "on" : "off",
    IDENTITY_SECRET: TEST_IDENTITY_SECRET,
    PREVIEW: preview,
  };
  const { code, out, err } = await runHere(command, { ...project, env });
  expect([command, code, err]).toEqual([command, 0, expect.any(String)]);
  return { out, err };
}

testOne("migrate drops the keys without the preview, and adds them to small tables", async () => {
  const before = await listKeys();
  await run(["migrate", "--end-preview", "filters", "--yes"], "");
  expect(await listKeys()).toEqual([]);
  await expectClean();
  await run(["migrate"], "filters");
  expect(await listKeys()).toEqual(before);
  await expectClean();
  expect(await find("total=eq.0.1")).toEqual([8]);
});

testOne("a shared table gets keys only by build-keys", async () => {
  const other = await service.makeApp(makeSchema());
  expect(
    (await service.call(other, ITEMS, { method: "POST", json: { place: 1, price: 3, name: "o" } }))
      .status,
  ).toBe(201);
  const added = { weight: t.number().index(), twin: t.ref("items") };
  const items = makeTable(added).index("twin", "weight");
  expect(await postSchema(service, app, defineSchema({ items }))).toMatchObject({ status: 200 });
  await eventually(async () => {
    const [row] = await readRows<{ count: number }>(
      service.service.admin,
      "select count(*)::integer as count from rowhouse.deferred_steps where state <> 'done'",
    );
    return row?.count === 0;
  });
  expect(await listKeys()).not.toContain("#weight");
  await expectClean();
  const { err } = await run(["migrate"], "filters");
  expect(err).toContain("rowhouse admin build-keys");
  const planned = JSON.parse(
    (await run(["admin", "build-keys", "--dry-run", "--json"], "filters")).out,
  );
  expect(planned).toMatchObject({
    isDryRun: true,
    tables: [{ name: "items", columns: ["weight"] }],
  });
  expect(await listKeys()).not.toContain("#weight");
  const due =
    "Lists cannot search the indexes on weight of table items until rowhouse admin build-keys has run";
  expect(err).toContain(due);
  const pages = ["/console/tables/items", "/console/tables", `/console/apps/${app.slug}/tables`];
  const show = async () => {
    const admin = await makePerson(service, { consoleRole: "admin" });
    const jar = await signInAs(service, admin);
    return await Promise.all(pages.map(async (path) => textOf(await visit(service, jar, path))));
  };
  const [table, ...lists] = await show();
  expect(table).toContain(`${due}.`);
  for (const list of lists) expect(list).toContain("keys due");
  const sorted = await find("order=weight");
  expect(sorted.length).toBeGreaterThan(18);
  expect(await find("select=id,items(id)&items.order=weight&limit=9")).toEqual([
    expect.stringContaining("rowhouse admin build-keys"),
  ]);
  await run(["admin", "build-keys", "--yes"], "filters");
  expect(await listKeys()).toContain("#weight");
  for (const page of await show()) expect(page).not.toMatch(/build-keys|keys due/);
  await expectClean();
  const again = JSON.parse((await run(["admin", "build-keys", "--yes", "--json"], "filters")).out);
  expect(again).toMatchObject({ tables: [], waiting: [] });
  expect(await find("order=weight")).toEqual(sorted);
});

testOne("build-keys loses no write, and a killed run is continued by the next", async () => {
  const { admin } = service.service;
  const weights = makeSchema({ weight: t.number().index(), depth: t.decimal().index() });
  await service.makeApp(makeSchema());
  await postSchema(service, app, weights);
  const isBuilt = async () => {
    const [row] = await readRows<{ count: number }>(
      admin,
      "select count(*)::integer as count from rowhouse.deferred_steps where state <> 'done'",
    );
    return row?.count === 0;
  };
  await eventually(isBuilt);
  const countLogged = async () =>
    (await readRows(admin, "select from rowhouse.audit where action = 'build_keys'")).length;
  const logged = await countLogged();
  const { adminUrl, servingUrl } = service.database;
  const start = () =>
    startCommand(["admin", "build-keys", "--yes"], {
      ...project,
      env: {
        ADMIN_DATABASE_URL: adminUrl,
        DATABASE_URL: servingUrl,
        IDENTITY_SECRET: TEST_IDENTITY_SECRET,
        PREVIEW: "filters",
      },
    });
  // A transaction that uses the table keeps the command waiting: nothing is added or logged.
  const reads = { text: "select count(*) from data.items" };
  await whileDone(adminUrl, reads, async () => {
    const waiting = start();
    await waiting.until(/Adding keys/);
    await waiting.kill("SIGKILL");
    // PostgreSQL does not see the end of a client while its statement waits, up to its lock_timeout.
    await eventually(async () => (await countLockWaits(admin)) === 0);
  });
  expect(await listKeys()).not.toContain("#depth");
  expect(await countLogged()).toBe(logged);
  const written: Promise<{ status: number; json: unknown }>[] = [];
  const write = async (place: number) => {
    written.push(create({ place, depth: `${place}.5`, name: "written" }));
    written.push(service.call(app, `${ITEMS}?name=eq.written&limit=1`));
    await Bun.sleep(5);
  };
  let place = 1000;
  // A transaction with an old snapshot keeps the indexes from being built after the keys.
  const old = {
    text: "set transaction isolation level repeatable read; select 1 from rowhouse.apps",
  };
  await whileDone(adminUrl, old, async () => {
    const building = start();
    while (!(await listKeys()).includes("#depth")) await write(place++);
    await building.kill("SIGKILL");
  });
  expect(await countLogged()).toBe(logged + 1);
  while (place < 1020) await write(place++);
  const statuses = (await Promise.all(written)).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([201, 200]));
  await run(["admin", "build-keys", "--yes"], "filters");
  await eventually(isBuilt);
  expect(await countLogged()).toBe(logged + 1);
  await expectClean();
  expect((await find("depth=gte.1000&order=depth&limit=5")).length).toBe(place - 1000);
});

testOne("a push and migrate add no keys to a table that takes long to write again", async () => {
  const { admin } = service.service;
  const makeStore = (price: ReturnType<typeof t.number>) =>
    defineSchema({ stores: { note: t.string().required(), price } });
  const owner = await service.makeApp(makeStore(t.number()));
  await readRows(
    admin,
    `insert into data.stores (app_id, id, note, price)
    select $1, gen_random_uuid(), repeat('x', 1500), n from generate_series(1, 8000) n returning 1`,
    [owner.id],
  );
  await admin.message("vacuum analyze data.stores");
  const pushed = await postSchema(service, owner, makeStore(t.number().index()));
  expect(pushed.status).toBe(200);
  expect(await listKeys("stores")).toEqual([]);
  const { err } = await run(["migrate"], "filters");
  expect(err).toContain("on price of table stores until rowhouse admin build-keys has run");
  expect(await listKeys("stores")).toEqual([]);
  await run(["admin", "build-keys", "--yes"], "filters");
  expect(await listKeys("stores")).toEqual(["#price"]);
  await expectClean();
});

testOne("a push builds the form that the keys of a large table permit", async () => {
  const { admin } = service.service;
  const make = (values: readonly [string, ...string[]], more: "keyed" | "indexed" | "new") => {
    const stage = t.enum(values);
    const price = more === "indexed" ? t.number() : t.number().index();
    const columns = { note: t.string().required(), stage, price };
    return defineSchema({
      shops: t
        .model(more === "new" ? { ...columns, size: t.number() } : columns)
        .index("stage", "price")
        .index(...(more === "new" ? (["note", "price"] as const) : (["note"] as const))),
    });
  };
  const few = ["a", "b"] as const;
  const many = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"] as const;
  const listIndexes = async () => {
    const rows = await readRows<{ name: string }>(
      admin,
      `select indexrelid::regclass::text as name from pg_index
      where indrelid = 'data.shops'::regclass and indisvalid order by name`,
    );
    return rows.map(({ name }) => name);
  };
  const push = async (schema: ReturnType<typeof make>) => {
    const { status, text } = await postSchema(service, owner, schema);
    expect([status, text]).toEqual([200, expect.any(String)]);
    await eventually(async () => {
      const steps = await readRows<{ state: string }>(
        admin,
        "select distinct state from rowhouse.deferred_steps where table_name = 'shops'",
      );
      return steps.every(({ state }) => state === "done");
    });
    await expectClean();
  };
  const plain = defineSchema({
    shops: { note: t.string().required(), stage: t.enum(few), price: t.number() },
  });
  const owner = await service.makeApp(plain);
  await readRows(
    admin,
    `insert into data.shops (app_id, id, note, price)
    select $1, gen_random_uuid(), repeat('x', 1500), n from generate_series(1, 8000) n returning 1`,
    [owner.id],
  );
  await admin.message("vacuum analyze data.shops");
  await push(make(few, "indexed"));
  expect(await listIndexes()).toContain("data.shops__stage__price__idx");
  // Other values of the enum, for partial indexes and for one of all values, need no keys.
  await push(make([...few, "c"], "indexed"));
  await push(make(many, "indexed"));
  await push(make(many, "keyed"));
  expect(await listKeys("shops")).toEqual([]);
  expect(await listIndexes()).toContain("data.shops__stage__price__idx");
  expect(await listIndexes()).toContain("data.shops__price__idx");
  await run(["admin", "build-keys", "--yes"], "filters");
  expect(await listKeys("shops")).toEqual(["#price"]);
  await push(make(many, "new"));
  const built = await listIndexes();
  for (const name of ["price__search_idx", "note__price__search_idx"])
    expect(built).toContain(`data.shops__${name}`);
  expect(await listKeys("shops")).toEqual(["#price"]);
});
