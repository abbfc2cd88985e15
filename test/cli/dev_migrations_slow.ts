/** What `dev` does with the migrations of a teammate: two services, that of `dev` and a shared one; `dev`'s push runs in this process. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readArguments } from "../../src/cli/arguments.ts";
import { devCommand } from "../../src/cli/dev/mod.ts";
import { pushOnce } from "../../src/cli/dev/push.ts";
import { readSettings } from "../../src/cli/settings.ts";
import { type Definition, defineSchema, t } from "../../src/schema/mod.ts";
import { makeProject, runHere, schemaText } from "../support/command.ts";
import { makeHistory } from "../support/history.ts";
import { freshName } from "../support/push.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

type Place = { service: TestService; app: TestApp };
type Row = Record<string, unknown>;
const projects: ReturnType<typeof makeProject>[] = [];
const services: TestService[] = [];
let local: Place;
let staging: Place;
let mine: ReturnType<typeof makeProject>;
let mate: ReturnType<typeof makeProject>;
/** The table, which each test names. */
let t0: string;
let last: Definition | undefined;

beforeAll(async () => {
  services.push(await openTestService(), await openTestService());
});
/** Both have `todos` with a title: staging by a migration, and `dev` before it, with a row. */
beforeEach(async () => {
  const [one, two] = services;
  if (one === undefined || two === undefined) throw new Error("No services");
  local = { service: one, app: await one.makeApp() };
  staging = { service: two, app: await two.makeApp() };
  t0 = freshName();
  last = undefined;
  const files = { "rowhouse.json": JSON.stringify({ places: { staging: two.url } }) };
  mine = makeProject(files);
  mate = makeProject(files);
  projects.push(mine, mate);
  edit(mine, "{ $: { titel: t.string().required() } }");
  expect(await dev()).toContain("create table");
  await create({ titel: "Milk" });
  edit(mate, "{ $: { titel: t.string().required() } }");
  await push("{ $: { titel: t.string().required() } }");
  pull();
  expect(await dev()).toBe("Nothing to do\n");
});
afterAll(async () => {
  for (const made of projects) made.remove();
  for (const service of services) await service.close();
});

const edit = (project: typeof mine, tables: string) =>
  project.write("schema/mod.ts", schemaText(tables.replaceAll("$", t0)));
const db = async (project: typeof mine, ...words: string[]) => {
  const env = { ROWHOUSE_API_KEY_STAGING: staging.app.key };
  const ran = await runHere(["db", ...words, "--to", "staging"], { folder: project.folder, env });
  expect(ran).toMatchObject({ code: 0 });
};
/** The teammate's schema, pushed to staging after explicit changes. */
async function push(tables: string, ...changes: string[]): Promise<void> {
  edit(mate, tables);
  for (const change of changes) await db(mate, ...change.replaceAll("$", t0).split(" "), "--yes");
  await db(mate, "push", "--yes");
}
function pull(): void {
  rmSync(join(mine.folder, "schema"), { recursive: true });
  cpSync(join(mate.folder, "schema"), join(mine.folder, "schema"), { recursive: true });
}
/** A save in `dev`: what it prints. */
async function dev(): Promise<string> {
  let printed = "";
  const print = (line: string) => {
    printed += `${line.replaceAll(t0, "todos")}\n`;
  };
  const terminal = {
    ...{ print, warn: print, printData: print, spin: () => () => undefined, canAsk: false },
    ...{ ask: async () => undefined, flush: async () => undefined },
  };
  const pushed = await pushOnce(
    { args: readArguments(devCommand, []), env: {}, folder: mine.folder, terminal },
    {
      config: readSettings({}),
      target: { url: local.service.url, key: local.app.key, isDev: true },
      pushedLast: last,
    },
  );
  last = pushed?.definition ?? last;
  return printed.replaceAll(/^Wrote .*\n/gm, "");
}
async function change(change: object): Promise<void> {
  const body = { json: { steps: [{ kind: "change", change }] }, method: "POST" };
  const { status } = await local.service.call(local.app, "/v1/data/schema", body);
  expect(status).toBe(200);
}
async function create(row: Row, table = t0): Promise<void> {
  const call = { json: row, method: "POST" };
  const { status } = await local.service.call(local.app, `/v1/data/db/${table}`, call);
  expect(status).toBe(201);
}
async function rows(table = t0): Promise<Row[]> {
  const { json } = await local.service.call(local.app, `/v1/data/db/${table}`);
  return (json as { rows: Row[] }).rows.map(({ id: _, app_id: __, ...row }) => row);
}
const migrations = () => readdirSync(join(mine.folder, "schema/migrations"));

test("renames, retypes and drops of a teammate keep dev's rows, and are applied once", async () => {
  await push("{ $: { title: t.string().required() } }", "rename $.titel title");
  pull();
  expect(await dev()).toContain("Applied 0002_");
  expect(await rows()).toEqual([{ title: "Milk" }]);
  await push("{ $: { title: t.string().required(), hours: t.string().default('7') } }");
  await push("{ $: { title: t.string().required(), hours: t.number() } }", "retype $.hours number");
  await push("{ $2: { title: t.string().required(), hours: t.number() } }", "rename $ $2");
  pull();
  const replayed = await dev();
  expect(replayed).toContain("Applied 0003_");
  expect(replayed).toContain("Applied 0005_");
  expect(await rows(`${t0}2`)).toEqual([{ title: "Milk", hours: 7 }]);
  await push("{ $2: { title: t.string().required() } }", "drop $2.hours");
  pull();
  await dev();
  expect(await rows(`${t0}2`)).toEqual([{ title: "Milk" }]);
  expect(await dev()).toBe("Nothing to do\n");
  const before = migrations();
  expect(await dev()).toBe("Nothing to do\n");
  expect(migrations()).toEqual(before);
});

test("a migration that dev has made itself changes nothing", async () => {
  const tables = "{ $: { title: t.string().required(), due: t.date(), titel: t.string() } }";
  const renamed = "{ $: { title: t.string().required() } }";
  edit(mine, renamed);
  await change({ kind: "rename_column", table: t0, column: "titel", to: "title" });
  expect(await dev()).toBe("Nothing to do\n");
  edit(mine, tables);
  expect(await dev()).toContain("add column todos.due");
  await push(renamed, "rename $.titel title");
  await push(tables);
  pull();
  expect(await dev()).toBe("Nothing to do\n");
  expect(await rows()).toEqual([{ title: "Milk", due: null, titel: null }]);
});

test("a name that dev has taken itself is set aside, and both are listed", async () => {
  edit(mine, "{ $: { titel: t.string().required(), title: t.number() } }");
  await dev();
  await create({ titel: "Tea", title: 5 });
  await push("{ $: { title: t.string().required() } }", "rename $.titel title");
  pull();
  const printed = await dev();
  expect(printed).toContain("rename column todos.titel to title");
  expect(printed).toContain("dev keeps its own todos.title as todos.title_dev");
  expect(await rows()).toEqual([
    { title: "Milk", title_dev: null },
    { title: "Tea", title_dev: 5 },
  ]);
});

test("a column of another type is set aside", async () => {
  edit(mine, "{ $: { titel: t.string().required(), due: t.number().required().default(1) } }");
  await dev();
  await push("{ $: { titel: t.string().required(), due: t.string() } }");
  pull();
  expect(await dev()).toContain("dev keeps its own todos.due as todos.due_dev");
  expect(await rows()).toEqual([{ titel: "Milk", due: null, due_dev: 1 }]);
  await create({ titel: "Tea", due: "soon" });
});

test("a table with other columns is set aside, and so is a table in the way of a rename", async () => {
  edit(mine, "{ $: { titel: t.string().required() }, $2: { a: t.string().required() } }");
  await dev();
  await create({ a: "A" }, `${t0}2`);
  await push("{ $: { titel: t.string().required() }, $2: { b: t.string().required() } }");
  pull();
  expect(await dev()).toContain("dev keeps its own table todos2 as todos2_dev");
  expect(await rows(`${t0}2_dev`)).toEqual([{ a: "A" }]);
  expect(await rows(`${t0}2`)).toEqual([]);
  edit(mine, "{ $: { titel: t.string().required() }, $3: { c: t.string() } }");
  await dev();
  await create({ c: "C" }, `${t0}3`);
  await push("{ $3: { titel: t.string().required() } }", "rename $ $3");
  pull();
  expect(await dev()).toContain("dev keeps its own table todos3 as todos3_dev");
  expect(await rows(`${t0}3_dev`)).toEqual([{ c: "C" }]);
  expect(await rows(`${t0}3`)).toEqual([{ titel: "Milk" }]);
});

test("what dev has extended survives a drop", async () => {
  const state = (values: string) => `t.enum([${values}]).default("a")`;
  await push(`{ $: { titel: t.string().required(), s: ${state('"a"')} }, $2: { a: t.string() } }`);
  pull();
  await dev();
  edit(
    mine,
    `{ $: { titel: t.string().required(), s: ${state('"a", "b"')} }, $2: { a: t.string(), own: t.string() } }`,
  );
  await dev();
  await create({ own: "O" }, `${t0}2`);
  await create({ titel: "Tea", s: "b" });
  await push("{ $: { titel: t.string().required() } }", "drop $.s", "drop $2");
  pull();
  const printed = await dev();
  expect(printed).toContain("dev keeps its own todos.s as todos.s_dev");
  expect(printed).toContain("dev keeps its own table todos2 as todos2_dev");
  expect((await rows()).map((row) => row["s_dev"])).toEqual(["a", "b"]);
  expect(await rows(`${t0}2_dev`)).toEqual([{ a: null, own: "O" }]);
});

test("rows that do not convert keep their values, and dev goes on", async () => {
  await push("{ $: { titel: t.string().required(), hours: t.string() } }");
  pull();
  await dev();
  await create({ titel: "Tea", hours: "5 h" });
  await push("{ $: { titel: t.string().required(), hours: t.number() } }", "retype $.hours number");
  pull();
  expect(await dev()).toContain("dev keeps its own todos.hours as todos.hours_dev");
  expect((await rows()).at(-1)).toEqual({ titel: "Tea", hours: null, hours_dev: "5 h" });
});

test("rows without a required value, with a shared unique value or a dropped value leave dev looser", async () => {
  const start = '{ $: { titel: t.string().required(), a: t.string(), s: t.enum(["x", "y"]) } }';
  await push(start);
  pull();
  await dev();
  await create({ titel: "Milk", s: "y" });
  await push(
    '{ $: { titel: t.string().required().unique(), a: t.string().required(), s: t.enum(["x"]) } }',
    "drop-value $.s y",
  );
  pull();
  const printed = await dev();
  expect(printed).toContain("dev differs from the schema");
  expect(printed).toContain("todos.a stays optional in dev");
  expect(printed).toContain("todos.titel is not unique in dev");
  expect(printed).toContain("todos.s keeps all its values in dev");
  await create({ titel: "Milk" });
  edit(
    mine,
    '{ $: { titel: t.string().required().unique(), a: t.string().required(), s: t.enum(["x"]), more: t.string() } }',
  );
  expect(await dev()).toContain("add column todos.more");
});

test("a checkout without a replayed migration undoes renames and keeps the rest; back again is fine", async () => {
  const main = `${mine.folder}-main`;
  cpSync(join(mine.folder, "schema"), main, { recursive: true });
  await push("{ $: { title: t.string().required() } }", "rename $.titel title");
  await push("{ $: { title: t.string().required(), n: t.string().required().default('5') } }");
  await push("{ $: { title: t.string().required(), n: t.string().required() } }");
  await push(
    "{ $: { title: t.string().required(), n: t.number().required() } }",
    "retype $.n number",
  );
  pull();
  await dev();
  expect(await rows()).toEqual([{ title: "Milk", n: 5 }]);
  rmSync(join(mine.folder, "schema"), { recursive: true });
  cpSync(main, join(mine.folder, "schema"), { recursive: true });
  rmSync(main, { recursive: true });
  const printed = await dev();
  expect(printed).toContain("Undid 0002_");
  expect(printed).toContain("todos.n is only in dev, and optional");
  await create({ titel: "Tea" });
  pull();
  const back = await dev();
  expect(back).toContain("rename column todos.titel to title");
  expect(back).toContain("todos.n stays optional in dev");
  expect(await rows()).toEqual([
    { title: "Milk", n: 5 },
    { title: "Tea", n: null },
  ]);
});

test("an experiment that is undone does not stop dev", async () => {
  await push("{ $: { titel: t.string().required(), n: t.string() } }");
  pull();
  await dev();
  await change({ kind: "retype_column", table: t0, column: "n", type: { kind: "number" } });
  await change({ kind: "drop_column", table: t0, column: "titel" });
  await push("{ $: { titel: t.string().required(), n: t.string(), more: t.string() } }");
  pull();
  const printed = await dev();
  expect(printed).toContain("todos.titel stays optional in dev");
  expect(await rows()).toEqual([{ titel: null, n: null, more: null }]);
});

test("a file with a conflict is named, dev serves the previous schema, and goes on after the repair", async () => {
  await push("{ $: { title: t.string().required() } }", "rename $.titel title");
  pull();
  const file = migrations().find((name) => name.startsWith("0002_")) ?? "";
  const path = join(mine.folder, "schema/migrations", file);
  const text = readFileSync(path, "utf8");
  for (const broken of [`<<<<<<< HEAD\n${text}`, text.replace("title", "titles")]) {
    writeFileSync(path, broken);
    const printed = await dev();
    expect(printed).toContain(file.replaceAll(t0, "todos"));
    expect(printed).toContain("dev serves the previous schema until this is corrected");
    expect(await rows()).toEqual([{ titel: "Milk" }]);
  }
  writeFileSync(path, text);
  expect(await dev()).toContain("rename column todos.titel to title");
});

test("dev names the files of two branches that were merged, and serves the previous schema", async () => {
  await push("{ $: { titel: t.string().required(), theirs: t.string() } }");
  pull();
  const theirs = migrations().find((name) => name.startsWith("0002_")) ?? "";
  const column = { titel: t.string().required() };
  const [, ours = ""] = makeHistory([
    defineSchema({ [t0]: column }),
    defineSchema({ [t0]: { ...column, ours: t.string() } }),
  ]);
  mine.write("schema/migrations/0002_ours.sql", ours);
  const printed = await dev();
  expect(printed).toContain("Two branches were merged");
  for (const file of [theirs.replaceAll(t0, "todos"), "0002_ours.sql"])
    expect(printed).toContain(`\n  ${file}\n`);
  expect(printed).toContain("\n  rm schema/migrations/");
  expect(await rows()).toEqual([{ titel: "Milk" }]);
});

test("dev follows two branches that were joined", async () => {
  const start = "titel: t.string().required()";
  edit(mine, `{ $: { ${start}, mine: t.string().required().default("m") } }`);
  await dev();
  await push(`{ $: { ${start}, theirs: t.string() } }`);
  const theirs = join(mate.folder, "schema");
  rmSync(join(mine.folder, "schema/migrations"), { recursive: true });
  cpSync(join(theirs, "migrations"), join(mine.folder, "schema/migrations"), { recursive: true });
  edit(mine, `{ $: { ${start}, mine: t.string().required().default("m"), theirs: t.string() } }`);
  await dev();
  expect(await rows()).toEqual([{ titel: "Milk", mine: "m", theirs: null }]);
  expect(await dev()).toBe("Nothing to do\n");
});

test("a push to a shared service names the commands for what only dev has renamed, retyped or dropped", async () => {
  const env = { ROWHOUSE_API_KEY_STAGING: staging.app.key };
  const run = (...words: string[]) =>
    runHere(["db", ...words, "--to", "staging"], { folder: mine.folder, env });
  edit(mine, "{ $: { title: t.string().required(), n: t.string(), x: t.string() } }");
  await change({ kind: "rename_column", table: t0, column: "titel", to: "title" });
  await dev();
  const rejected = await run("push");
  expect(rejected.code).toBe(1);
  expect(rejected.err).toContain(`first run rowhouse db rename ${t0}.titel title --to staging\n`);
  expect(await run("rename", `${t0}.titel`, "title", "--yes")).toMatchObject({ code: 0 });
  expect(await run("push")).toMatchObject({ code: 0, err: "" });
  expect(await dev()).toBe("Nothing to do\n");
  edit(mine, "{ $: { title: t.string().required(), n: t.number() } }");
  await change({ kind: "retype_column", table: t0, column: "n", type: { kind: "number" } });
  await change({ kind: "drop_column", table: t0, column: "x" });
  await dev();
  expect((await run("push")).err).toContain(`rowhouse db retype ${t0}.n number --to staging`);
  expect(await run("retype", `${t0}.n`, "number", "--yes")).toMatchObject({ code: 0 });
  const pushed = await run("push");
  expect(pushed).toMatchObject({ code: 0 });
  expect(pushed.err).toContain(`to drop it: rowhouse db drop ${t0}.x --to staging\n`);
});

test("an edit of a required column's name gets the command that renames it", async () => {
  edit(mine, "{ $: { title: t.string().required() } }");
  expect(await dev()).toContain("run rowhouse db rename todos.titel title --to dev;");
});
