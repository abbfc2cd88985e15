/** `rowhouse admin delete-app`: what goes, what stays, and in steps of which size. */
import { expect, test } from "bun:test";
import { readRows } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { readDrift } from "../../src/tables/mod.ts";
import { openAdmin } from "../support/admin.ts";
import { withDatabase } from "../support/cluster.ts";
import { makePerson } from "../support/people.ts";
import { freshName, postSchema } from "../support/push.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const admin = await share(openAdmin());

const path = (name: string) => `/v1/data/db/${name}`;

type RowOptions = { by?: TestService };

async function makeRow(
  app: TestApp,
  name: string,
  json: object = {},
  { by = admin.service }: RowOptions = {},
): Promise<string> {
  const made = await by.call(app, path(name), { method: "POST", json });
  return (made.json as { id: string }).id;
}

/** The remains of an app: rows in the service's tables and in a table, and the number of all functions. */
async function readRest(app: TestApp, table: string): Promise<Record<string, number>> {
  const tables = [
    ...["apps:id", "api_keys", "proofs", "targets", "grants", "migrations", "registrations"],
  ];
  const more = ["column_sets", "ended_registrations", "deferred_steps", "push_allowances"];
  const counts = [...tables, ...more].map((one) => {
    const [name, column = "app_id"] = one.split(":");
    return `'${name}', (select count(*) from rowhouse.${name} where ${column} = $1)`;
  });
  const [row] = await admin.service.query<{ rest: string }>(
    `select json_build_object(${counts.join(", ")}, 'rows', (select count(*) from data.${table} where app_id = $1))::text as rest`,
    [app.id],
  );
  return JSON.parse(row?.rest ?? "{}");
}

test("an app is deleted with its rows, keys, grants and own tables, and other apps' tables, rows and functions remain", async () => {
  const { service, json, run } = admin;
  const [tree, branch, leaf, ring] = [freshName(), freshName(), freshName(), freshName()];
  const [shared, alone] = [freshName("shared"), freshName("alone")];
  const whole = { title: t.string(), note: t.string() };
  const owner = await service.makeApp(defineSchema({ [shared]: whole, [alone]: whole }));
  // Served by the functions that serve the app.
  const twin = await service.makeApp(defineSchema({ [shared]: { title: t.string() } }));
  const own = (required: boolean) => ({
    [tree]: { up: t.ref(tree), to: t.ref(branch) },
    [branch]: { of: t.ref(tree, { onDelete: "cascade" }) },
    [leaf]: { of: t.ref(tree).required() },
    [ring]: { self: required ? t.ref(ring).required() : t.ref(ring) },
    [shared]: { title: t.string() },
    [alone]: { title: t.string() },
  });
  const app = await service.makeApp(defineSchema(own(false)), {
    origins: ["https://gone.example.org"],
  });
  await makePerson(service, { app });
  await makeRow(owner, shared, { title: "kept", note: "kept" });
  for (let n = 0; n < 3; n++) await makeRow(app, shared, { title: "gone" });
  const root = await makeRow(app, tree);
  const of = await makeRow(app, branch, { of: root });
  await service.call(app, `${path(tree)}/${root}`, { method: "PATCH", json: { up: root, to: of } });
  await makeRow(app, leaf, { of: root });
  const self = await makeRow(app, ring);
  await service.call(app, `${path(ring)}/${self}`, { method: "PATCH", json: { self } });
  expect((await postSchema(service, app, defineSchema(own(true)))).status).toBe(200);
  const kept = (await service.call(owner, path(shared))).text;

  // The command deletes nothing before it shows the plan and the name is typed.
  const unasked = await run("delete-app", app.slug);
  expect([unasked.code, unasked.out]).toEqual([1, ""]);
  expect(unasked.err).toContain("2 migrations and 7 rows");
  expect(unasked.err).toContain(`${alone} (0 rows), ${shared} (3 rows)`);
  const asked = admin.start("delete-app", app.slug);
  await asked.until(/Type the name of the app to continue: $/);
  asked.type("yes\n");
  expect(await asked.ended).toBe(1);
  expect((await service.call(app, path(ring))).status).toBe(200);

  // Not while another app uses a table that it owns.
  const guest = await service.makeApp(defineSchema({ [ring]: { self: t.ref(ring).required() } }));
  const rejected = await run("delete-app", app.slug, "--yes");
  expect([rejected.code, rejected.err]).toEqual([
    1,
    expect.stringContaining(`/tables/${ring}: used by ${guest.slug}; `),
  ]);
  expect((await service.call(app, path(ring))).status).toBe(200);
  await run("end-registration", guest.slug, ring, "--yes");

  expect(await json("delete-app", app.slug, "--yes")).toEqual({
    app: app.slug,
    id: app.id,
    rows: 7,
    tables: [branch, leaf, ring, tree].sort(),
  });
  expect((await service.call(app, path(shared))).status).toBe(401);
  for (const count of Object.values(await readRest(app, shared))) expect(count).toBe(0);
  expect(await readDrift(service.service.admin)).toEqual([]);
  expect((await service.call(undefined, "/ready")).status).toBe(200);
  expect((await service.call(owner, path(shared))).text).toBe(kept);
  expect(await makeRow(twin, shared, { title: "new" })).toBeString();
  expect((await run("delete-app", app.slug, "--yes")).err).toContain("No app has the slug");
  const entries = ((await json("audit"))["entries"] as { app: string; action: string }[]).filter(
    (entry) => entry.app === app.slug,
  );
  expect(entries.slice(0, 6).map(({ action }) => action)).toEqual([
    "delete_app",
    ...[1, 2, 3, 4].map(() => "drop_table"),
    "set_disabled_on",
  ]);
  expect(entries[0]).toMatchObject({ actor: "operator", details: { id: app.id, rows: 7 } });

  const names = defineSchema({ [tree]: { n: t.number() }, [ring]: { n: t.number() } });
  expect((await postSchema(service, guest, names)).status).toBe(200);
});

test("a step changes only a limited number of rows, even with references, and the next step continues", async () => {
  await using service = await openTestService();
  const [a, b] = [freshName("a"), freshName("b")];
  const app = await service.makeApp(
    defineSchema({ [a]: { to: t.ref(b) }, [b]: { to: t.ref(a), up: t.ref(b) } }),
  );
  for (let n = 0, to = await makeRow(app, b, {}, { by: service }), up = to; n < 4; n++) {
    to = await makeRow(app, a, { to }, { by: service });
    up = await makeRow(app, b, { to, up }, { by: service });
    to = up;
  }
  // A running data service would execute the job, with larger steps.
  for (const process of service.processes) await process.close();
  type Step = { is_done: boolean; job: string | null; deleted: number | null };
  const step = async () => {
    const [row] = await service.query<Step>(
      "select is_done, job::text as job, deleted::int4 as deleted from rowhouse.delete_app_step($1, 'operator')",
      [app.slug],
    );
    return row;
  };
  expect(await step()).toEqual({ is_done: false, job: null, deleted: 0 });
  const job = (await step())?.job ?? "";
  const left: number[] = [];
  await withDatabase(service.database.rowsUrl, async (rows) => {
    for (let isEmptied = false; !isEmptied && left.length < 50; ) {
      const [row] = await readRows<{ is_emptied: boolean }>(
        rows,
        "select rowhouse.run_rows_job($1::uuid, 2) as is_emptied",
        [job],
      );
      isEmptied = row?.is_emptied === true;
      const [counted] = await service.query<{ rows: number }>(
        `select (select count(*) from data.${a})::int4 + (select count(*) from data.${b})::int4 as rows`,
      );
      left.push(counted?.rows ?? 0);
    }
  });
  expect(left.at(-1)).toBe(0);
  const drops = left.map((rows, index) => (left[index - 1] ?? 9) - rows);
  expect(Math.max(...drops)).toBe(2);
  expect((await step())?.is_done).toBe(false);
  expect(await step()).toEqual({ is_done: true, job: null, deleted: 9 });
  expect(await readDrift(service.service.admin)).toEqual([]);
});
