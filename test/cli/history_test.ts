/** One project folder and several services: missing migrations are applied in order, and different histories are rejected. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeProject, runHere, schemaText, startCommand } from "../support/command.ts";
import { openForwarder } from "../support/forwarder.ts";
import { makeHistory } from "../support/history.ts";
import { dumpDatabase, freshName, postSchema, postSteps, readMigrations } from "../support/push.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

let project: ReturnType<typeof makeProject>;
let name: string;
let app: TestApp;
const service = await share(openTestService());
/** A project with four migrations, and an app at a service that has none of them. */
beforeEach(async () => {
  name = freshName();
  app = await service.makeApp();
  project = makeProject({ "schema/mod.ts": schemaText(`{ ${name}: { ${COLUMNS[3]} } }`) });
  writeHistory(makeHistory(makeSchemas()));
});
afterEach(() => project.remove());

const COLUMNS = [
  "title: t.string().required()",
  "title: t.string().required(), note: t.string()",
  "title: t.string().required().unique(), note: t.string()",
  "title: t.string().required().unique(), note: t.string(), count: t.number()",
];

function makeSchemas(): ReturnType<typeof defineSchema>[] {
  const title = t.string().required();
  const note = t.string();
  return [
    { title },
    { title, note },
    { title: title.unique(), note },
    { title: title.unique(), note, count: t.number() },
  ].map((columns) => defineSchema({ [name]: columns }));
}

function writeHistory(texts: readonly string[], from = 1): void {
  for (const [index, text] of texts.entries())
    project.write(`schema/migrations/000${from + index}_step_${from + index}.sql`, text);
}

const run = (words: readonly string[], env: Record<string, string> = {}) =>
  runHere(["db", ...words], {
    folder: project.folder,
    env: { ROWHOUSE_URL: service.url, ROWHOUSE_API_KEY: app.key, ...env },
  });
const db = (...words: string[]) => run(words);
const listFiles = () =>
  readdirSync(join(project.folder, "schema/migrations"))
    .filter((file) => file.endsWith(".sql"))
    .sort();
const countApplied = async () => (await readMigrations(service, app)).length;

test("an empty service gets all migrations in order, and a plan lists them first and writes nothing", async () => {
  const before = await dumpDatabase(service.service.admin);
  const plan = await db("plan");
  expect(plan).toEqual({
    code: 0,
    err: "",
    out: `Would apply 0001_step_1
  + create table ${name}
Notice: NEW: you become the owner of ${name}
Would apply 0002_step_2
  + add column ${name}.note
Would apply 0003_step_3
  ? add unique (title) to ${name} (rows are checked)
Would apply 0004_step_4
  + add column ${name}.count
`,
  });
  expect((await db("check")).code).toBe(3);
  expect((await db("status")).out).toContain("Pending: 4 steps");
  expect(await dumpDatabase(service.service.admin)).toBe(before);

  const files = listFiles();
  const pushed = await db("push");
  expect(pushed.out).toBe(
    `${plan.out.replaceAll("Would apply", "Applied")}Wrote .rowhouse/types.d.ts\n`,
  );
  expect(listFiles()).toEqual(files);
  expect(await db("push")).toEqual({ code: 0, err: "", out: "Nothing to do\n" });
  const again = await readMigrations(service, app);
  expect(again.map(({ text }) => text)).toEqual(
    files.map((file) => readFileSync(join(project.folder, "schema/migrations", file), "utf8")),
  );
});

test("a service with the first two migrations gets the rest, and unrecorded changes get a new file", async () => {
  const files = listFiles().slice(2);
  const texts = files.map((file) =>
    readFileSync(join(project.folder, "schema/migrations", file), "utf8"),
  );
  for (const file of files) rmSync(join(project.folder, "schema/migrations", file));
  project.write("schema/mod.ts", schemaText(`{ ${name}: { ${COLUMNS[1]} } }`));
  expect((await db("push")).code).toBe(0);
  writeHistory(texts, 3);
  project.write("schema/mod.ts", schemaText(`{ ${name}: { ${COLUMNS[3]}, last: t.boolean() } }`));

  const pushed = await db("push", "--json");

  expect(JSON.parse(pushed.out)).toMatchObject({
    status: "applied",
    replays: [{ migration: { seq: 3 } }, { migration: { seq: 4 } }],
    migration: { seq: 5 },
    files: [`schema/migrations/0005_add_column_${name}_last.sql`],
  });
  // Another service gets all five, here by an operator directly on the database.
  app = await service.makeApp();
  const operator = {
    ROWHOUSE_URL: "",
    ROWHOUSE_API_KEY: "",
    ADMIN_DATABASE_URL: service.database.adminUrl,
  };
  const straight = await run(["push", "--app", app.slug], operator);
  expect(straight.code).toBe(0);
  expect(straight.out).toContain("Applied 0001_step_1");
  expect(straight.out).toContain(
    `Applied 0005_add_column_${name}_last\n  + register ${name}\nNotice: SHARED`,
  );
  expect(await countApplied()).toBe(5);
});

test("diverged histories are rejected with both lists and two solutions, and the first solution works", async () => {
  const [first = "", ...others] = listFiles();
  await postSchema(service, app, makeSchemas()[0]);
  const mine = readFileSync(join(project.folder, "schema/migrations", first), "utf8");
  const [applied] = await readMigrations(service, app);

  const rejected = await db("push", "--json");

  expect(rejected.code).toBe(1);
  expect(JSON.parse(rejected.out)).toMatchObject({
    error: "diverged_history",
    details: [
      ...[1, 2, 3, 4].map((n) => ({ path: `/project/000${n}_step_${n}` })),
      { path: `/service/0001_create_table_${name}` },
    ],
  });
  expect(rejected.err).toContain(`the service has 0001_create_table_${name}, `);
  expect(rejected.err).toContain("rowhouse db pull");
  expect(rejected.err).toContain("rowhouse admin create-app");
  expect((await db("status")).err).toContain("the histories differ from the start");
  expect(mine).not.toBe(applied?.text);

  for (const file of [first, ...others]) rmSync(join(project.folder, "schema/migrations", file));
  expect((await db("pull")).out).toBe(`Wrote schema/migrations/0001_create_table_${name}.sql\n`);
  expect((await db("push")).out).toContain("Applied 0002_add_column_");
});

test("an edited or renamed migration is rejected by its name, before and after it is applied", async () => {
  const path = "schema/migrations/0003_step_3.sql";
  const text = readFileSync(join(project.folder, path), "utf8");
  project.write(path, text.replace("made", "Made"));
  expect((await db("push")).err).toContain("0003_step_3.sql was edited");
  rmSync(join(project.folder, path));
  expect((await db("push")).err).toContain("migration 3 before 0004_step_4.sql is missing");
  project.write("schema/migrations/0003_other.sql", text);
  expect((await db("push")).err).toContain("rename it back to 0003_step_3.sql");
  expect(await countApplied()).toBe(0);
});

test("an error in the middle reports the applied migrations, and the next push continues", async () => {
  const text = readFileSync(join(project.folder, "schema/migrations/0001_step_1.sql"), "utf8");
  await postSteps(service, app, [{ kind: "migration", text, followed: true }]);
  for (const json of [{ title: "twice" }, { title: "twice" }])
    await service.call(app, `/v1/data/db/${name}`, { method: "POST", json });

  const rejected = await db("push");

  expect(rejected.code).toBe(1);
  expect(rejected.err).toContain("Cannot apply 0003_step_3");
  expect(rejected.err).toContain("These migrations stay applied: 0002_step_2");
  expect(await countApplied()).toBe(2);
  const { json } = await service.call(app, `/v1/data/db/${name}`);
  const [row] = (json as { rows: { id: string }[] }).rows;
  await service.call(app, `/v1/data/db/${name}/${row?.id}`, { method: "DELETE" });
  expect((await db("push")).code).toBe(0);
  expect(await countApplied()).toBe(4);
});

test("a table of another app is checked against the current schema, even without a migration", async () => {
  const other = await service.makeApp(
    defineSchema({ [name]: { title: t.string().required(), state: t.string().required() } }),
  );
  const rejected = await db("push");
  expect(rejected.code).toBe(1);
  expect(rejected.err).toContain("Cannot apply 0004_step_4: ");
  expect(rejected.err).toContain(other.slug);
  expect(rejected.err).toContain(": 0001_step_1, 0002_step_2, 0003_step_3");

  const fitting = `{ ${name}: { title: t.string().required(), state: t.string().required() } }`;
  project.write("schema/mod.ts", schemaText(fitting));
  const pushed = await db("push");

  expect(pushed.out).toStartWith(
    `Applied 0004_step_4, which changes nothing here\nApplied 0005_register_${name}\n  + register ${name}\n`,
  );
});

test("a command killed between two migrations continues there on the next run", async () => {
  let victim: ReturnType<typeof startCommand> | undefined;
  let posts = 0;
  const between = openForwarder(service.url, {
    after: async (response, { method }) => {
      if (method === "POST" && ++posts === 2) await victim?.kill("SIGKILL");
      return response;
    },
  });
  victim = startCommand(["db", "push"], {
    folder: project.folder,
    env: { ROWHOUSE_URL: `http://127.0.0.1:${between.port}`, ROWHOUSE_API_KEY: app.key },
  });
  await victim.ended;
  await between.stop(true);
  expect(await countApplied()).toBe(2);

  expect((await db("push")).out).toStartWith("Applied 0003_step_3\n");

  expect(await countApplied()).toBe(4);
});

test("two simultaneous pushes apply each migration once, and both succeed", async () => {
  const [one, two] = await Promise.all([db("push"), db("push")]);

  expect([one.code, two.code]).toEqual([0, 0]);
  const lines = `${one.out}${two.out}`.split("\n").filter((line) => line.startsWith("Applied"));
  expect(lines.sort()).toEqual([1, 2, 3, 4].map((seq) => `Applied 000${seq}_step_${seq}`));
});
