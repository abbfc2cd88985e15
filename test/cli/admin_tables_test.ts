/** `rowhouse admin` on apps' tables: ends an app's use of a table, and drops an unused table. */
import { expect, test } from "bun:test";
import { readRows } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { readDrift } from "../../src/tables/mod.ts";
import { openAdmin } from "../support/admin.ts";
import { freshName, postSchema } from "../support/push.ts";
import { expectSentences } from "../support/sentences.ts";
import { share } from "../support/share.ts";

const admin = await share(openAdmin());

const post = (json: object) => ({ method: "POST", json });

test("tables are listed with their owners, apps, columns and differences, of all apps or of one", async () => {
  const { service, run, json } = admin;
  const name = freshName();
  const owner = await service.makeApp(
    defineSchema({ [name]: { title: t.string(), done: t.boolean() }, [`${name}_own`]: {} }),
  );
  const user = await service.makeApp(defineSchema({ [name]: { title: t.string() } }));
  const table = {
    ...{ name, owner: owner.slug, apps: 2, firstApps: [owner.slug, user.slug].sort() },
    ...{ columns: ["title", "done"], rows: 0, bytes: null, differences: 0 },
  };
  const { tables, ...page } = await json("list-tables");
  expect(page).toEqual({ app: null, hasMore: false });
  expect(tables).toContainEqual(table);
  expect(await json("list-tables", "--app", user.slug)).toEqual({
    app: user.slug,
    tables: [{ ...table, columns: ["title"] }],
    hasMore: false,
  });
  expect(await json("list-tables", "--app", owner.slug, "--after", name)).toMatchObject({
    tables: [{ name: `${name}_own`, apps: 1 }],
  });
  await service.service.admin.message(
    `alter table data.${name} add column planted text; analyze data.${name}; select 1`,
  );
  const { out, err } = await run("list-tables", "--app", owner.slug, "--limit", "1");
  expect(out).toStartWith(
    `${name}  owned by ${owner.slug}  apps 2  2 columns  rows 0  bytes 16384  1 difference\n`,
  );
  expect(out + err).toContain(`More tables follow: add --after ${name}`);
  const csv = await run("list-tables", "--app", user.slug, "--csv");
  expect(csv.out).toBe(
    `\uFEFFname,owner,apps,columns,rows,bytes,differences\r\n${name},${owner.slug},2,title,0,16384,1\r\n`,
  );
  await service.service.admin.message(`alter table data.${name} drop column planted; select 1`);
  expect(await run("list-tables", "--app", "nowhere")).toMatchObject({
    code: 1,
    err: expect.stringContaining("nowhere"),
  });
});

test.each([
  {
    what: "a trigger",
    plant: (name: string) =>
      `create trigger spy before delete on data.${name} for each row execute function data.${name}_spy()`,
    spy: (name: string, body: string) =>
      `create function data.${name}_spy() returns trigger language plpgsql as $$ ${body} return old; end $$`,
    words: ["--yes"],
  },
  {
    what: "a view that replaces the table",
    plant: (name: string) =>
      `alter table data.${name} rename to ${name}_old; create view data.${name} as select data.${name}_spy() as app_id`,
    spy: (name: string, body: string) =>
      `create function data.${name}_spy() returns uuid language plpgsql as $$ ${body} return null; end $$`,
    words: [],
  },
])(
  "$what that the pushing login created gets no administrator rights when a use ends",
  async ({ plant, spy, words }) => {
    await using own = await openAdmin();
    const { service, run } = own;
    const name = freshName();
    const app = await service.makeApp(defineSchema({ [name]: { title: t.string() } }));
    await service.call(app, `/v1/data/db/${name}`, post({ title: "one" }));
    const isSuperuser = async () => {
      const [row] = await readRows<{ rolsuper: boolean }>(
        service.pushing,
        "select rolsuper from pg_catalog.pg_roles where rolname = current_user",
      );
      return row?.rolsuper;
    };
    const grab =
      "begin begin execute format('alter role %I superuser', session_user); exception when others then null; end; begin execute 'alter role rowhouse_test_push superuser'; exception when others then null; end;";
    await service.pushing.message(
      `set local role rowhouse_tables; ${spy(name, grab)}; ${plant(name)}; select 1`,
    );
    await run("end-registration", app.slug, name, ...words);
    expect(await isSuperuser()).toBe(false);
  },
);

test("ending a use deletes its rows, the owner ends the last use, and the dropped table's name is free", async () => {
  const { service, run, json } = admin;
  const name = freshName();
  const path = `/v1/data/db/${name}`;
  const schema = defineSchema({
    [name]: { title: t.string(), kind: t.enum(["a"]), parent: t.ref(name) },
  });
  const owner = await service.makeApp(schema);
  const user = await service.makeApp(schema);
  for (const app of [owner, user])
    for (const title of ["one", "two"]) await service.call(app, path, post({ title }));
  const kept = await service.call(owner, path);

  expect((await run("transfer-table", name, owner.slug)).out).toBe(
    `${owner.slug} already owns ${name}\n`,
  );
  expect(await run("drop-table", name, "--yes")).toMatchObject({
    code: 1,
    err: expect.stringContaining("run rowhouse admin end-registration for each app"),
  });
  expect(await run("end-registration", owner.slug, name, "--yes")).toMatchObject({
    code: 1,
    err: expect.stringContaining("the owner last"),
  });
  const unasked = await run("end-registration", user.slug, name);
  expect([unasked.code, unasked.err]).toEqual([
    1,
    expect.stringMatching(/its 2 rows in that table will be deleted.* add --yes/),
  ]);
  expect((await service.call(user, path)).status).toBe(200);

  expect(await json("end-registration", user.slug, name, "--yes")).toEqual({
    app: user.slug,
    tables: [{ name, rows: 2 }],
  });
  // An unknown name makes the process refresh.
  await service.call(owner, `/v1/data/db/${freshName()}`);
  expect((await service.call(user, path)).status).toBe(404);
  expect((await service.call(owner, path)).text).toBe(kept.text);
  expect(await readDrift(service.service.admin)).toEqual([]);
  const ended = (await json("audit"))["entries"] as unknown[];
  expect(ended[0]).toMatchObject({
    action: "end_registration",
    app: user.slug,
    details: { table: name, rows: 2 },
  });

  // An app that pushes the table again uses it again, without its earlier rows.
  await postSchema(service, user, schema);
  expect((await service.call(user, path)).json).toMatchObject({ rows: [] });
  await json("end-registration", user.slug, name, "--yes");
  await json("end-registration", owner.slug, name, "--yes");
  const undropped = await run("drop-table", name);
  expect([undropped.code, undropped.err]).toEqual([
    1,
    expect.stringMatching(/which app-\w+ owned and no app uses, will be dropped.* add --yes/),
  ]);
  const asked = admin.start("drop-table", name);
  await asked.until(/Type the name of the table to continue: $/);
  asked.type("y\n");
  expect(await asked.ended).toBe(1);
  await asked.until(/Nothing was changed/);
  expect(await json("drop-table", name, "--yes")).toEqual({
    tables: [{ name, owner: owner.slug }],
  });
  expect(((await json("audit"))["entries"] as unknown[])[0]).toMatchObject({
    action: "drop_table",
    app: owner.slug,
    details: { table: name },
  });
  expect(await readDrift(service.service.admin)).toEqual([]);
  expect((await service.call(undefined, "/ready")).status).toBe(200);

  const other = defineSchema({ [name]: { title: t.number().required(), kind: t.enum(["b"]) } });
  expect((await postSchema(service, user, other)).json).toMatchObject({
    status: "applied",
    notes: [`NEW: you become the owner of ${name}`],
  });
  expect((await service.call(user, path, post({ title: 1, kind: "b" }))).status).toBe(201);
  expect((await service.call(owner, path)).status).toBe(404);
});

test("a referenced table remains, and a missing table is rejected", async () => {
  const { service, run } = admin;
  const [parent, child] = [freshName("parent"), freshName("child")];
  const schema = defineSchema({ [parent]: { name: t.string() }, [child]: { of: t.ref(parent) } });
  const app = await service.makeApp(schema);
  const err = async (...words: string[]) => (await run(...words, "--yes")).err;
  const varies = { [parent]: "<parent>", [child]: "<child>", [app.slug]: "<app>" };
  expectSentences(await err("end-registration", app.slug, parent), { names: [parent], varies });
  await run("end-registration", app.slug, child, "--yes");
  await run("end-registration", app.slug, parent, "--yes");
  expectSentences(await err("drop-table", parent), { names: [parent], varies });
  const unused = await err("end-registration", app.slug, parent);
  expectSentences(unused, { names: [app.slug, parent], varies });
  expect(await err("end-registration", "nobody", parent)).toContain('"nobody"');
  expect(await err("drop-table", "nothing")).toContain('"nothing"');
  expect((await run("drop-table", child, "--yes")).code).toBe(0);
  expect((await run("drop-table", parent, "--yes")).code).toBe(0);
  expect(await readDrift(service.service.admin)).toEqual([]);
});

test("tables with circular references are dropped together, and their names are free", async () => {
  const { service, run, json } = admin;
  const names = [freshName("a"), freshName("b"), freshName("c")] as const;
  const [a, b, c] = names;
  const circle = {
    [a]: { to: t.ref(b) },
    [b]: { to: t.ref(c) },
    [c]: { to: t.ref(a), up: t.ref(c) },
  };
  const outside = freshName("outside");
  const squatter = await service.makeApp(defineSchema({ ...circle, [outside]: { to: t.ref(a) } }));
  const path = (name: string) => `/v1/data/db/${name}`;
  const make = async (name: string, json: object) =>
    ((await service.call(squatter, path(name), post(json))).json as { id: string }).id;
  const rowC = await make(c, {});
  const rowA = await make(a, { to: await make(b, { to: rowC }) });
  await service.call(squatter, `${path(c)}/${rowC}`, {
    method: "PATCH",
    json: { to: rowA, up: rowC },
  });

  expect((await run("end-registration", squatter.slug, b, "--yes")).err).toContain(b);
  await json("end-registration", squatter.slug, outside, "--yes");
  expect((await run("end-registration", squatter.slug, b)).err).toContain(
    `404 responses for ${names.join(", ")}`,
  );
  expect(await json("end-registration", squatter.slug, b, "--yes")).toEqual({
    app: squatter.slug,
    tables: names.map((name) => ({ name, rows: 1 })),
  });
  expect((await run("drop-table", c, "--yes")).err).toContain(c);
  await json("drop-table", outside, "--yes");
  expect((await run("drop-table", c)).err).toContain(`The tables ${names.join(", ")} (they refer`);
  expect(await json("drop-table", c, "--yes")).toEqual({
    tables: names.map((name) => ({ name, owner: squatter.slug })),
  });
  const { entries } = await json("audit", "--limit", "8");
  for (const action of ["end_registration", "drop_table"])
    for (const table of names)
      expect(entries).toContainEqual(
        expect.objectContaining({ action, details: expect.objectContaining({ table }) }),
      );
  expect(await readDrift(service.service.admin)).toEqual([]);

  const other = await service.makeApp();
  const pushed = await postSchema(
    service,
    other,
    defineSchema({ [a]: { n: t.number() }, [b]: { n: t.number() }, [c]: { of: t.ref(a) } }),
  );
  expect([pushed.status, pushed.json]).toMatchObject([200, { status: "applied" }]);
  for (const name of names)
    expect((await service.call(other, path(name), post({}))).status).toBe(201);
});
