/** The tables of `dev` follow the schema file and a teammate's migrations: two services, that of `dev` and a shared one. `dev`'s push runs in this process. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { readArguments } from "../../src/cli/arguments.ts";
import { replaceFormerJournal } from "../../src/cli/db/dev_changes.ts";
import { type Answers, NO_ANSWERS } from "../../src/cli/db/dev_renames.ts";
import { devCommand } from "../../src/cli/dev/mod.ts";
import { pushOnce } from "../../src/cli/dev/push.ts";
import { readSettings } from "../../src/cli/settings.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
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

beforeAll(async () => {
  const previews = { service: { previews: ["browser", "filters"] } } as const;
  services.push(await openTestService(previews), await openTestService());
});
/** Both have `todos` with a title: staging by a migration, and `dev` before it, with a row. */
beforeEach(async () => {
  const [one, two] = services;
  if (one === undefined || two === undefined) throw new Error("No services");
  local = { service: one, app: await one.makeApp() };
  staging = { service: two, app: await two.makeApp() };
  t0 = freshName();
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
async function dev(answers: Partial<Answers> = {}, schema?: string): Promise<string> {
  let printed = "";
  const print = (line: string) => {
    printed += `${line.replaceAll(t0, "todos")}\n`;
  };
  const terminal = { ...SILENT, print, warn: print };
  await pushOnce(
    {
      args: readArguments(devCommand, schema ? ["--schema", schema] : []),
      env: {},
      folder: mine.folder,
      terminal,
    },
    join(mine.folder, schema ?? "schema/mod.ts"),
    {
      config: readSettings({ PREVIEW: "browser" }),
      target: { url: local.service.url, key: local.app.key, isDev: true },
      address: { url: local.service.database.adminUrl, variable: "ADMIN_DATABASE_URL" },
      app: local.app.slug,
      answers: { ...NO_ANSWERS, ...answers },
    },
  );
  return printed.replaceAll(/^Wrote \.rowhouse\/types.*\n$/gm, "");
}
const SILENT = {
  ...{ print: () => undefined, warn: () => undefined, printData: () => undefined },
  ...{ spin: () => () => undefined, canAsk: false },
  ...{ ask: async () => undefined, flush: async () => undefined },
};
const DROP: Partial<Answers> = { separate: "all", drops: "all" };
const HELD = "dev serves the last good schema";
/** The rows in the files of dropped rows. */
function dropped(): Row[] {
  const folder = join(mine.folder, ".rowhouse/dropped");
  return (existsSync(folder) ? readdirSync(folder).sort() : []).flatMap((name) =>
    readFileSync(join(folder, name), "utf8")
      .trim()
      .split("\n")
      .map((line) => toValues(JSON.parse(line) as Row)),
  );
}
const toValues = ({ id: _, app_id: __, ...row }: Row): Row => row;
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
async function list(table = t0): Promise<Row[]> {
  const { json } = await local.service.call(local.app, `/v1/data/db/${table}`);
  return (json as { rows: Row[] }).rows;
}
const rows = async (table = t0) => (await list(table)).map(toValues);
const migrations = () => readdirSync(join(mine.folder, "schema/migrations"));

test("renames and conversions of a teammate keep dev's rows, and a drop waits for an answer", async () => {
  await push("{ $: { title: t.string().required() } }", "rename $.titel title");
  await push("{ $: { title: t.string().required(), hours: t.string() } }");
  pull();
  expect(await dev()).toContain("rename column todos.titel to title");
  await create({ title: "Tea", hours: "7" });
  await push("{ $2: { title: t.string().required(), hours: t.string() } }", "rename $ $2");
  await push(
    "{ $2: { title: t.string().required(), hours: t.number() } }",
    "retype $2.hours number",
  );
  pull();
  const converted = await dev();
  expect(converted).toContain("rename table todos to todos2");
  expect(converted).toContain("Wrote 2 rows of todos2 to .rowhouse/dropped/");
  expect(await rows(`${t0}2`)).toEqual([
    { title: "Milk", hours: null },
    { title: "Tea", hours: 7 },
  ]);
  await push("{ $2: { title: t.string().required() } }", "drop $2.hours");
  pull();
  const held = await dev();
  expect(held).toContain(
    "this drops todos2.hours (1 value). To drop it, run rowhouse db push --to dev --yes:",
  );
  expect(held).toContain(HELD);
  expect(await rows(`${t0}2`)).toContainEqual({ title: "Tea", hours: 7 });
  expect(await dev({ drops: [`${t0}2.hours`] })).toContain("drop column todos2.hours");
  expect(await rows(`${t0}2`)).toEqual([{ title: "Milk" }, { title: "Tea" }]);
  expect(dropped()).toContainEqual({ title: "Tea", hours: 7 });
  expect(await dev()).toBe("Nothing to do\n");
});

test("what has no rows and values goes without a question", async () => {
  edit(
    mine,
    "{ $: { titel: t.string().required(), x: t.date() }, $2: { a: t.ref('$3') }, $3: { b: t.ref('$2') } }",
  );
  await dev();
  edit(mine, "{ $: { titel: t.string().required() } }");
  const printed = await dev();
  for (const line of ["drop column todos.x", "drop table todos2", "drop table todos3"])
    expect(printed).toContain(line);
  expect(await rows()).toEqual([{ titel: "Milk" }]);
  expect(dropped()).toEqual([]);
});

test("a removed table is written to a file that the printed command imports", async () => {
  const both = "{ $: { titel: t.string().required() }, $2: { a: t.string(), to: t.ref('$') } }";
  edit(mine, both);
  await dev();
  await create({ a: "A" }, `${t0}2`);
  edit(mine, "{ $2: { a: t.string() } }");
  expect(await dev()).toContain("this drops todos (1 row). To drop it,");
  const printed = await dev(DROP);
  expect(printed).toContain(
    "To import them as new rows, with new ids, declare todos again and run rowhouse",
  );
  const [, command = ""] =
    /run rowhouse (data import .*) --to dev/.exec(printed.replaceAll("todos", t0)) ?? [];
  expect(printed).toContain("drop table todos");
  edit(mine, both);
  await dev();
  const env = { ROWHOUSE_URL: local.service.url, ROWHOUSE_API_KEY: local.app.key };
  const imported = await runHere(command.split(" "), { folder: mine.folder, env });
  expect(imported).toMatchObject({ code: 0 });
  expect(await rows()).toEqual([{ titel: "Milk" }]);
  expect(await rows(`${t0}2`)).toEqual([{ a: "A", to: null }]);
  edit(mine, "{ $3: { a: t.string() } }");
  expect(await dev(DROP)).toContain(
    "declare todos2 again, import dropped rows of todos first, and run",
  );
});

test("dropped values come back to rows that a unique column finds", async () => {
  const before = "{ $: { titel: t.string().required().unique(), x: t.string() } }";
  edit(mine, before);
  await dev();
  await create({ titel: "Tea", x: "X" });
  edit(mine, "{ $: { titel: t.string().required().unique() } }");
  const printed = (await dev(DROP)).replaceAll("todos", t0);
  const [, command = ""] =
    /again, start rowhouse dev with --preview filters, and run rowhouse (data .*) --to dev/.exec(
      printed,
    ) ?? [];
  edit(mine, before);
  await dev();
  const env = { ROWHOUSE_URL: local.service.url, ROWHOUSE_API_KEY: local.app.key };
  const imported = await runHere(command.split(" "), { folder: mine.folder, env });
  expect(imported).toMatchObject({ code: 0 });
  expect(await rows()).toContainEqual({ titel: "Tea", x: "X" });
});

test("the file has all rows, also those beyond a page that their size cuts", async () => {
  edit(mine, "{ $: { titel: t.string().required() }, $2: { a: t.string() } }");
  await dev();
  for (let n = 0; n < 150; n++) await create({ a: `${n}${"x".repeat(60_000)}` }, `${t0}2`);
  edit(mine, "{ $: { titel: t.string().required() } }");
  const [first] = await list(`${t0}2`);
  const before = dropped().length;
  const { fetch } = globalThis;
  let isDeleted = false;
  globalThis.fetch = Object.assign(async (...request: Parameters<typeof fetch>) => {
    if (!isDeleted && /offset=[1-9]/.test(String(request[0]))) {
      isDeleted = true;
      const path = `/v1/data/db/${t0}2/${first?.["id"]}`;
      await local.service.call(local.app, path, { method: "DELETE" });
    }
    return await fetch(...request);
  }, fetch);
  try {
    expect(await dev(DROP)).toContain("drop table todos2");
  } finally {
    globalThis.fetch = fetch;
  }
  expect(isDeleted).toBe(true);
  expect(new Set(dropped().map(({ a }) => a)).size - before).toBe(150);
});

test.each([
  {
    name: "is a link that leads out of the project",
    make: (path: string) => symlinkSync(mate.folder, path),
    says: ".rowhouse/dropped is a link that leads out of the project",
  },
  {
    name: "is a file",
    make: (path: string) => writeFileSync(path, ""),
    says: "Cannot read or write a file: EEXIST",
  },
])("nothing is dropped if the folder of dropped rows $name", async ({ make, says }) => {
  make(join(mine.folder, ".rowhouse/dropped"));
  edit(mine, "{ $2: { a: t.string() } }");
  expect(await dev(DROP)).toContain(says);
  expect(await rows()).toEqual([{ titel: "Milk" }]);
});

test("nothing is dropped if a newer release has written the file of changes", async () => {
  mine.write(".rowhouse/changes.json", '{"version":9,"changes":[]}');
  edit(mine, "{ $2: { a: t.string() } }");
  expect(await dev(DROP)).toContain("Cannot use .rowhouse/changes.json: it has version 9");
  expect(await rows()).toEqual([{ titel: "Milk" }]);
});

test("files of 0.1 that cannot be read stay, and do not stop dev", async () => {
  mine.write(".rowhouse/migrations/0001_a.sql", "");
  const file = join(mine.folder, ".rowhouse/migrations/0001_a.sql");
  writeFileSync(file, new Uint8Array([0xff]));
  const said: string[] = [];
  const terminal = { ...SILENT, warn: (line: string) => void said.push(line) };
  await replaceFormerJournal({ folder: mine.folder, terminal });
  expect(said.join()).toContain("no longer uses .rowhouse/migrations");
  expect(existsSync(file)).toBe(true);
});

test("commands plan and make the drops and conversions of dev, whatever the host of its database", async () => {
  const start = "titel: t.string().required()";
  const role = (columns: string) =>
    `{ $: t.model({ ${columns} }).allow("member", { read: { hours: "5" } }) }`;
  edit(mine, role(`${start}, hours: t.string(), x: t.string()`));
  await dev();
  await create({ titel: "Tea", hours: "5", x: "X" });
  const { url: baseUrl, database } = local.service;
  const person = { email: "", password: "" };
  const file = {
    ...{ baseUrl, gatewayUrl: baseUrl, identityUrl: baseUrl, identitySecrets: [] },
    ...{ app: local.app.slug, apiKey: local.app.key, admin: person, user: person },
    // As of `dev --database`: not a host of this machine by its name.
    databaseUrl: database.adminUrl.replace(/(?<=@)[^:]+/, "0.0.0.0"),
  };
  mine.write(".rowhouse/dev.json", JSON.stringify(file));
  chmodSync(join(mine.folder, ".rowhouse/dev.json"), 0o600);
  const run = (...words: string[]) => runHere([...words, "--to", "dev"], mine);
  edit(mine, role(`${start}, hours: t.number(), y: t.string()`).replace('"5"', "5"));
  for (const [words, code] of [
    [["db", "plan"], 0],
    [["db", "check"], 3],
    [["db", "push", "--dry-run"], 0],
  ] as const) {
    const planned = await run(...words);
    expect(planned).toMatchObject({ code });
    expect(planned.err).toContain(`Notice: ${t0}.y may be the new name of ${t0}.x.`);
    expect(planned.out).toContain(`drop column ${t0}.x`);
    expect(planned.out).toContain(`change column ${t0}.hours from string to number`);
  }
  expect((await run("db", "status")).out).toContain("Pending: 4 steps");
  expect(await rows()).toContainEqual({ titel: "Tea", hours: "5", x: "X" });
  expect(await run("db", "push")).toMatchObject({ code: 1 });
  expect(await run("db", "push", "--yes")).toMatchObject({ code: 0 });
  expect(await rows()).toContainEqual({ titel: "Tea", hours: 5, y: null });
});

test("a name that may be a new one waits for an answer: a rename, or a drop and an addition", async () => {
  edit(mine, "{ $: { title: t.string().required() } }");
  const held = await dev();
  expect(held).toContain("todos.title may be the new name of todos.titel");
  expect(held).toContain("run rowhouse db rename todos.titel title --to dev --yes;");
  expect(held).toContain("run rowhouse db push --to dev\n");
  expect(await rows()).toEqual([{ titel: "Milk" }]);
  const rename = { from: `${t0}.titel`, to: `${t0}.title` };
  expect(await dev({ renames: [rename] })).toContain("rename column todos.titel to title");
  expect(await rows()).toEqual([{ title: "Milk" }]);
  edit(mine, "{ $: { name: t.string() } }");
  expect(await dev({ separate: "all" })).toContain("this drops todos.title (1 value)");
  expect(await dev(DROP)).toContain("add column todos.name");
  expect(await rows()).toEqual([{ name: null }]);
  expect(dropped()).toEqual([{ title: "Milk" }]);
});

test("a question names all that is dropped", async () => {
  edit(mine, "{ $: { heading: t.string().required() } }");
  const held = await dev({ separate: "all" });
  expect(held).toContain("\n  /todos/heading: The schema declares a new required column");
  expect(held).toContain("To drop todos (1 row) instead,");
  expect(await rows()).toEqual([{ titel: "Milk" }]);
});

test("a drop of one name leaves the other candidates open", async () => {
  edit(mine, "{ $: { titel: t.string().required(), n: t.number() } }");
  await dev();
  edit(mine, "{ $: { title: t.string().required(), m: t.number() } }");
  const held = await dev({ separate: [{ from: `${t0}.titel`, to: `${t0}.title` }], drops: "all" });
  expect(held).toStartWith("Not pushed: todos.m may be the new name of todos.n");
  expect(held).not.toContain("todos.title ");
});

test("the printed commands have the schema file of --schema", async () => {
  const edited = "{ $: { title: t.string().required() } }".replace("$", t0);
  mine.write("app/s.ts", schemaText(edited));
  const held = await dev({}, "app/s.ts");
  expect(held.match(/--to dev --schema app\/s\.ts/g)).toHaveLength(2);
  expect(await dev({ separate: "all" }, "app/s.ts")).toContain(
    "db push --to dev --schema app/s.ts --yes:",
  );
});

test("a table that another one references is dropped with the references", async () => {
  const comments = "$2: { todo: t.ref('$') }";
  edit(mine, `{ $: { titel: t.string().required() }, ${comments} }`);
  await dev();
  const [todo] = await list();
  await create({ todo: todo?.["id"] }, `${t0}2`);
  edit(mine, `{ $: { titel: t.string().required(), x: t.string().required() }, ${comments} }`);
  expect(await dev()).toContain("To drop todos2.todo (1 value) and todos (1 row) instead,");
  expect(await dev(DROP)).not.toContain("Not pushed");
  expect(await rows()).toEqual([]);
  const [comment] = await local.service.query<Row>(`select todo from data."${t0}2"`);
  expect(comment).toEqual({ todo: null });
});

test("a migration that dev has made itself changes nothing", async () => {
  edit(mine, "{ $: { title: t.string().required(), due: t.date() } }");
  await change({ kind: "rename_column", table: t0, column: "titel", to: "title" });
  expect(await dev()).toContain("add column todos.due");
  await push("{ $: { title: t.string().required() } }", "rename $.titel title");
  await push("{ $: { title: t.string().required(), due: t.date() } }");
  pull();
  expect(await dev()).toBe("Nothing to do\n");
  expect(await rows()).toEqual([{ title: "Milk", due: null }]);
});

test.each([
  {
    name: "values that do not convert",
    before: "hours: t.string()",
    row: { hours: "5 h" },
    after: "hours: t.number()",
    lost: "todos.hours (1 value)",
    left: { titel: "Milk", hours: null },
  },
  {
    name: "a value that the schema no longer has",
    before: 's: t.enum(["x", "y"])',
    row: { s: "y" },
    after: 's: t.enum(["x"])',
    lost: "todos.s (1 value)",
    left: { titel: "Milk", s: null },
  },
  {
    name: "no value of a required column",
    before: "a: t.string()",
    row: {},
    after: "a: t.string().required()",
    lost: "todos (2 rows)",
    left: undefined,
  },
  {
    name: "values that are not unique",
    before: "a: t.string()",
    row: { a: "A" },
    twice: true,
    after: "a: t.string().unique()",
    lost: "todos (3 rows)",
    left: undefined,
  },
])("rows with $name stay until an answer", async ({ before, row, twice, after, lost, left }) => {
  edit(mine, `{ $: { titel: t.string().required(), ${before} } }`);
  await dev();
  for (const _ of twice ? [1, 2] : [1]) await create({ titel: "Tea", ...row });
  const kept = await rows();
  edit(mine, `{ $: { titel: t.string().required(), ${after} } }`);
  const held = await dev();
  expect(held).toContain(left === undefined ? `To drop ${lost} instead,` : `this drops ${lost}`);
  expect(held).toContain(HELD);
  expect(await rows()).toEqual(kept);
  expect(await dev(DROP)).not.toContain("Not pushed");
  expect((await rows())[0]).toEqual(left);
  expect(dropped()).toEqual(kept);
});

test("a checkout of another branch offers the rename back", async () => {
  const main = `${mine.folder}-main`;
  cpSync(join(mine.folder, "schema"), main, { recursive: true });
  await push("{ $: { title: t.string().required() } }", "rename $.titel title");
  pull();
  await dev();
  rmSync(join(mine.folder, "schema"), { recursive: true });
  cpSync(main, join(mine.folder, "schema"), { recursive: true });
  rmSync(main, { recursive: true });
  expect(await dev()).toContain("db rename todos.title titel --to dev --yes;");
  expect(await dev({ renames: [{ from: `${t0}.title`, to: `${t0}.titel` }] })).toContain("rename");
  pull();
  expect(await dev()).toContain("rename column todos.titel to title");
  expect(await rows()).toEqual([{ title: "Milk" }]);
});

test("rules stay while a decision is open, and follow the schema after it", async () => {
  const schema = (columns: string, rules: string, more = "") =>
    edit(mine, `{ $: t.model({ ${columns} }).allow("member", { read: ${rules} })${more} }`);
  const rulesOf = async (table = t0) => {
    const [found] = await local.service.query<{ rules: string }>(
      "select definition ->> 'rules' as rules from rowhouse.registrations where table_name = $1",
      [table],
    );
    return found?.rules ?? "none";
  };
  schema("titel: t.string().required(), done: t.boolean()", "{ done: true }");
  await dev();
  await create({ titel: "Tea", done: true });
  expect(await rulesOf()).toContain("done");
  schema("title: t.string().required()", "true");
  const rename = { from: `${t0}.titel`, to: `${t0}.title` };
  expect(await dev({ renames: [rename] })).toContain("this drops todos.done (1 value)");
  expect(await rows()).toContainEqual({ title: "Tea", done: true });
  expect(await rulesOf()).toContain("done");
  expect(await dev(DROP)).toContain("drop column todos.done");
  expect(await rulesOf()).toContain("member");
  expect(dropped()).toContainEqual({ title: "Tea", done: true });

  // A type that rules use: values that do not convert are known before rows are in a file.
  const other = ', $2: t.model({ a: t.string() }).allow("lead", { read: { a: "A" } })';
  const start = "title: t.string().required()";
  schema(`${start}, hours: t.string(), z: t.string()`, '{ hours: "abc", z: "z" }', other);
  await dev();
  await create({ title: "Hay", hours: "abc" });
  const files = dropped();
  schema(`${start}, hours: t.number(), z: t.string()`, "true", other);
  expect(await dev()).toContain("this drops todos.hours (1 value)");
  expect(await rulesOf()).toContain("abc");
  expect(dropped()).toEqual(files);

  // Only the push finds rows without a value. Rules of a dropped column end, those of another table stay.
  schema(`${start}, hours: t.string().required()`, "true", other);
  expect(await dev()).toContain("To drop todos (3 rows) instead,");
  expect([await rulesOf(), await rulesOf(`${t0}2`)]).toEqual([
    "none",
    expect.stringContaining("lead"),
  ]);
});

test("what another app uses stays", async () => {
  edit(mine, "{ $: { titel: t.string().required(), x: t.string() }, $2: { a: t.string() } }");
  await dev();
  const other = await local.service.makeApp();
  const shared = {
    [t0]: { titel: t.string().required(), x: t.string() },
    [`${t0}2`]: { a: t.string() },
  };
  expect((await local.service.pushSchema(other, defineSchema(shared))).status).toBe("applied");
  await create({ titel: "Tea", x: "X" });
  await create({ a: "A" }, `${t0}2`);
  edit(mine, "{ $: { titel: t.string().required() } }");
  expect(await dev()).toStartWith("Nothing to do\n");
  expect(await rows()).toContainEqual({ titel: "Tea", x: "X" });
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
    expect(printed).toContain("dev serves the last good schema until this is corrected");
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
  edit(mine, "{ $: { title: t.string().required() } }");
  await dev({ renames: [{ from: `${t0}.titel`, to: `${t0}.title` }] });
  edit(mine, "{ $: { title: t.string().required(), n: t.string(), x: t.string() } }");
  await dev();
  const rejected = await run("push");
  expect(rejected.code).toBe(1);
  expect(rejected.err).toContain(`first run rowhouse db rename ${t0}.titel title --to staging\n`);
  expect(await run("rename", `${t0}.titel`, "title", "--yes")).toMatchObject({ code: 0 });
  expect(await run("push")).toMatchObject({ code: 0, err: "" });
  expect(await dev()).toBe("Nothing to do\n");
  edit(mine, "{ $: { title: t.string().required(), n: t.number() } }");
  await dev();
  const named = await run("push", "--schema", "schema/mod.ts");
  expect(named.err).toContain(
    `rowhouse db retype ${t0}.n number --to staging --schema schema/mod.ts;`,
  );
  expect(await run("retype", `${t0}.n`, "number", "--yes")).toMatchObject({ code: 0 });
  const pushed = await run("push");
  expect(pushed).toMatchObject({ code: 0 });
  expect(pushed.err).toContain(`to drop it: rowhouse db drop ${t0}.x --to staging\n`);
});
