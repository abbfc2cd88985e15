/** Explicit changes by command: the schema file, confirmation, the migration's file, and other environments. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeProject, runHere, schemaText, startOnTerminal } from "../support/command.ts";
import { freshName, readMigrations } from "../support/push.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { share } from "../support/share.ts";

let apps: { staging: TestApp; production: TestApp };
let name: string;
let project: ReturnType<typeof makeProject>;
const staging = await share(openTestService());
const production = await share(openTestService());
beforeEach(async () => {
  name = freshName();
  apps = { staging: await staging.makeApp(), production: await production.makeApp() };
  project = makeProject({
    "rowhouse.json": JSON.stringify({
      environments: { staging: staging.url, production: production.url },
    }),
  });
  writeSchema("titel: t.string().required(), note: t.string()");
});
afterEach(() => project.remove());

const writeSchema = (columns: string) =>
  project.write("schema/mod.ts", schemaText(`{\n  ${name}: {\n    ${columns},\n  },\n}`));
const env = () => ({
  ROWHOUSE_API_KEY_STAGING: apps.staging.key,
  ROWHOUSE_API_KEY_PRODUCTION: apps.production.key,
});
const db = (...words: string[]) =>
  runHere(["db", ...words], { folder: project.folder, env: env() });
const start = (...words: string[]) =>
  startOnTerminal(["db", ...words], { folder: project.folder, env: { ...env(), NO_COLOR: "1" } });
const listFiles = () =>
  readdirSync(join(project.folder, "schema/migrations"))
    .filter((file) => file.endsWith(".sql"))
    .sort();
const create = (at: TestService, app: TestApp, json: object) =>
  at.call(app, `/v1/data/db/${name}`, { method: "POST", json });
const list = async (at: TestService, app: TestApp) =>
  ((await at.call(app, `/v1/data/db/${name}`)).json as { rows: object[] }).rows;

test("a rename names the line to edit, lists its rows, writes a migration, and is pushed to another environment", async () => {
  await db("push", "--to", "staging");
  await create(staging, apps.staging, { titel: "one" });
  const rename = ["rename", `${name}.titel`, "title", "--to", "staging"];

  const early = await db(...rename, "--yes");
  expect(early).toMatchObject({ code: 1, out: "" });
  expect(early.err).toContain(`schema/mod.ts:4 declares titel`);
  writeSchema("title: t.string().required(), note: t.string()");
  const plan = await db(...rename, "--dry-run");
  expect(plan).toMatchObject({ code: 0, err: "" });
  expect(plan.out).toBe(`Would apply 0002_rename_column_${name}_titel_to_ti
  + rename column ${name}.titel to title
Notice: ROWS: 1 of this app's 1 row in ${name} has a value in titel, which stays
`);
  const done = await db(...rename, "--yes");
  expect(done).toMatchObject({ code: 0, err: "" });
  expect(done.out).toContain(`Wrote schema/migrations/0002_rename_column_${name}_titel_to_ti.sql`);
  expect(await list(staging, apps.staging)).toMatchObject([{ title: "one" }]);
  expect(await db("push", "--to", "staging")).toMatchObject({ code: 0, out: "Nothing to do\n" });

  const pushed = await db("push", "--to", "production");
  expect(pushed.out).toContain(`+ rename column ${name}.titel to title`);
  expect(await readMigrations(production, apps.production)).toMatchObject(
    (await readMigrations(staging, apps.staging)).map(({ text, checksum }) => ({ text, checksum })),
  );
});

test("a change that the service rejects asks for no edit", async () => {
  await db("push", "--to", "staging");
  await staging.makeApp(defineSchema({ [name]: { titel: t.string().required() } }));
  const early = await db("rename", `${name}.titel`, "title", "--to", "staging", "--yes");
  expect(early.err).toContain(`another app uses ${name}.titel`);
  expect(early.err).not.toContain("then run the command again");
});

test("a drop asks for the name on a terminal, and a different name changes nothing", async () => {
  await db("push", "--to", "staging");
  await create(staging, apps.staging, { titel: "one", note: "gone" });
  writeSchema("titel: t.string().required()");
  const drop = ["drop", `${name}.note`, "--to", "staging"];

  const rejected = start(...drop);
  await rejected.until(/This deletes data at staging \(http:\S+\)\. Type \S+\.note to continue:/);
  expect(rejected.output()).toContain(`LOST: 1 of this app's 1 row in ${name} has a value`);
  rejected.type("y\n");
  expect(await rejected.ended).toBe(1);
  expect(rejected.output()).toContain("Nothing was changed");
  expect(await list(staging, apps.staging)).toMatchObject([{ note: "gone" }]);

  const agreed = start(...drop);
  await agreed.until(/to continue:/);
  agreed.type(`${name}.note\n`);
  expect(await agreed.ended).toBe(0);
  expect(listFiles().at(-1)).toBe(`0002_drop_column_${name}_note.sql`);
  expect(Object.keys((await list(staging, apps.staging))[0] ?? {})).not.toContain("note");
});

test("a push on a terminal asks about a migration's drops, and continues without a terminal", async () => {
  for (const place of ["staging", "production"]) await db("push", "--to", place);
  writeSchema("titel: t.string().required()");
  await db("drop", `${name}.note`, "--to", "staging", "--yes");
  const rejected = start("push", "--to", "production");
  await rejected.until(/This deletes data\. Type \S+\.note to continue:/);
  rejected.type("no\n");
  expect(await rejected.ended).toBe(1);
  expect(rejected.output()).toContain("Nothing was pushed");
  expect(await readMigrations(production, apps.production)).toHaveLength(1);
  expect(await db("push", "--to", "production")).toMatchObject({ code: 0, err: "" });
  expect(await readMigrations(production, apps.production)).toHaveLength(2);
});

test("a change needs a named environment, and --yes without a terminal", async () => {
  await db("push", "--to", "staging");
  writeSchema("titel: t.string().required()");
  const words = ["drop", `${name}.note`];
  const unnamed = await runHere(["db", ...words, "--yes"], {
    folder: project.folder,
    env: { ...env(), ROWHOUSE_URL: staging.url, ROWHOUSE_API_KEY: apps.staging.key },
  });
  expect(unnamed).toMatchObject({ code: 2, out: "" });
  expect(unnamed.err).toContain("--to: rowhouse.json has staging, production");
  const silent = await db(...words, "--to", "staging");
  expect(silent).toMatchObject({ code: 1, out: "" });
  expect(silent.err).toContain("add --yes");
  expect(await db("drop", ".note", "--to", "staging", "--yes")).toMatchObject({ code: 2 });
  expect(listFiles()).toHaveLength(1);
});

test("a change of another environment is applied from its file, with a question", async () => {
  for (const place of ["staging", "production"]) await db("push", "--to", place);
  await create(production, apps.production, { titel: "one", note: "gone" });
  writeSchema("titel: t.string().required()");
  const drop = (place: string) => db("drop", `${name}.note`, "--to", place, "--yes");
  expect(await drop("staging")).toMatchObject({ code: 0 });
  const there = await drop("production");
  expect(there).toMatchObject({ code: 0, err: "" });
  expect(there.out).toContain(`Applied 0002_drop_column_${name}_note`);
  expect(listFiles()).toHaveLength(2);

  writeSchema("title: t.string().required()");
  await db("rename", `${name}.titel`, "title", "--to", "staging", "--yes");
  const other = await db("drop", `${name}.other`, "--to", "production", "--yes");
  expect(other).toMatchObject({ code: 1 });
  expect(other.err).toContain("run rowhouse db push --to production");
});

test("a command killed after its commit restores the file on the next run", async () => {
  await db("push", "--to", "staging");
  writeSchema("titel: t.string().required()");
  const drop = () => db("drop", `${name}.note`, "--to", "staging", "--yes");
  await drop();
  const file = join(project.folder, "schema/migrations", listFiles().at(-1) ?? "");
  const text = readFileSync(file, "utf8");
  rmSync(file);
  const again = await drop();
  expect(again).toMatchObject({ code: 0, err: "" });
  expect(again.out).toContain("Nothing to do\nWrote schema/migrations/0002_drop_column");
  expect(existsSync(file) && readFileSync(file, "utf8")).toBe(text);
});
