/** `rowhouse db resolve`: two people pushed to two environments, and one environment continues from the project's history. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { readDrift, type StoredMigration } from "../../src/tables/mod.ts";
import { makeProject, ROOT, runHere, schemaText, startOnTerminal } from "../support/command.ts";
import { freshName, postSchema, readDeclared, readMigrations } from "../support/push.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

type Environment = { service: TestService; app: TestApp };
const services: TestService[] = [];
const projects: ReturnType<typeof makeProject>[] = [];
let project: ReturnType<typeof makeProject>;
let staging: Environment;
let production: Environment;
let name: string;
beforeAll(async () => {
  services.push(await openTestService(), await openTestService());
});
/** A project in both environments. Then one person adds `mine`, and another person adds `theirs`. */
beforeEach(async () => {
  name = freshName();
  const [one, two] = services;
  if (one === undefined || two === undefined) throw new Error("No services");
  staging = { service: one, app: await one.makeApp() };
  production = { service: two, app: await two.makeApp() };
  project = makeProject({
    "rowhouse.json": JSON.stringify({ environments: { staging: one.url, production: two.url } }),
  });
  projects.push(project);
  writeSchema("title: t.string()");
  for (const place of ["production", "staging"])
    expect(await db("push", "--to", place)).toMatchObject({ code: 0 });
  await pushTheirs("theirs: t.number()");
  await pushMine("mine: t.string()");
});
afterAll(async () => {
  for (const made of projects) made.remove();
  for (const service of services) await service.close();
});

const writeSchema = (columns: string, tables = "") =>
  project.write("schema/mod.ts", schemaText(`{ ${name}: { ${columns} }${tables} }`));
const keys = () => ({
  ROWHOUSE_API_KEY_STAGING: staging.app.key,
  ROWHOUSE_API_KEY_PRODUCTION: production.app.key,
  NO_COLOR: "1",
});
const run = (folder: string, words: readonly string[]) =>
  runHere(["db", ...words], { folder, env: keys() });
const db = (...words: string[]) => run(project.folder, words);
const resolve = (...words: string[]) => db("resolve", "--to", "staging", ...words);

/** From another checkout, whose migration never reaches this one. */
async function pushTheirs(columns: string): Promise<string> {
  const other = makeProject({
    "rowhouse.json": readFileSync(join(project.folder, "rowhouse.json"), "utf8"),
    "schema/mod.ts": schemaText(`{ ${name}: { title: t.string(), ${columns} } }`),
  });
  projects.push(other);
  for (const [file, text] of Object.entries(readFiles()))
    other.write(`schema/migrations/${file}`, text);
  expect(await run(other.folder, ["push", "--to", "staging"])).toMatchObject({ code: 0 });
  return other.folder;
}

async function pushMine(columns: string): Promise<void> {
  writeSchema(`title: t.string(), ${columns}`);
  expect(await db("push", "--to", "production")).toMatchObject({ code: 0 });
}

function readFiles(folder = project.folder): Record<string, string> {
  const path = join(folder, "schema/migrations");
  const files = readdirSync(path).filter((file) => file.endsWith(".sql"));
  return Object.fromEntries(
    files.sort().map((file) => [file, readFileSync(join(path, file), "utf8")]),
  );
}

const readRecord = ({ service, app }: Environment) =>
  readMigrations(service, app) as Promise<StoredMigration[]>;
const columnsOf = async ({ service, app }: Environment) => {
  const tables = await readDeclared(service.service.admin, app);
  return tables
    .flatMap((table) => table.columns.map((column) => `${table.name}.${column.name}`))
    .sort();
};
/** As in docs/push.md. */
const PAGE = readFileSync(join(ROOT, "docs/push.md"), "utf8");
const RESOLVED = () =>
  (/^Applied \d+_join[\s\S]*?^Joined .*\n/m.exec(PAGE)?.[0] ?? "")
    .replaceAll("articles", name)
    .replaceAll("author", "mine");
const PLANNED = () => RESOLVED().replace("Applied", "Would apply").replace("Joined", "Would join");
const BOTH = "title: t.string(), mine: t.string(), theirs: t.number()";

test("the service gets the missing changes, joins the project's history, and continues from the joined history", async () => {
  const rejected = await db("push", "--to", "staging");
  expect(rejected.code).toBe(1);
  expect(rejected.err).toContain("run rowhouse db resolve --to staging");
  expect((await db("status", "--to", "all")).out).toMatch(
    /^staging .*1 behind, 1 ahead +diverged: rowhouse db resolve --to staging$/m,
  );
  writeSchema(BOTH);
  const files = readFiles();
  const before = await readRecord(staging);

  const planned = await resolve("--dry-run");
  expect(planned).toEqual({ code: 0, err: "", out: PLANNED() });
  expect(await readRecord(staging)).toEqual(before);
  const resolved = await resolve();
  expect(resolved).toEqual({ code: 0, err: "", out: RESOLVED() });

  // One more migration is recorded, which names the project's last migration. The other migrations and all files are unchanged.
  const after = await readRecord(staging);
  expect(after.slice(0, -1)).toEqual(before);
  const added = after.at(-1);
  const mine = Object.values(files)[1] ?? "";
  const head = /^-- checksum (.*)$/m.exec(mine)?.[1];
  expect(added?.text).toContain(`\n-- joins ${head} 0002_add_column_${name}_mine\n`);
  expect(added).toMatchObject({
    seq: 3,
    parent: before.at(-1)?.checksum,
    joins: [{ seq: 2, checksum: head, text: mine }],
  });
  expect(added?.sql).toContain("add column");
  expect(readFiles()).toEqual(files);
  expect(await columnsOf(staging)).toEqual([`${name}.mine`, `${name}.theirs`, `${name}.title`]);

  // The files count as applied: push, check, pull and resolve find nothing to do.
  expect(await db("push", "--to", "staging")).toMatchObject({
    code: 0,
    out: expect.stringContaining("Nothing to do"),
  });
  expect(await db("check", "--to", "staging")).toMatchObject({ code: 0 });
  expect(await db("pull", "--to", "staging")).toMatchObject({ out: "Nothing to do\n" });
  expect((await db("status", "--to", "staging")).out).toContain(
    `joins 0002_add_column_${name}_mine`,
  );
  expect(await resolve()).toEqual({
    code: 0,
    err: "The histories have not diverged: nothing to join\n",
    out: "Nothing to do\n",
  });
  expect(readFiles()).toEqual(files);

  // The next migration has the same number in every environment.
  writeSchema(`${BOTH}, next: t.json()`);
  expect((await db("push", "--to", "staging")).out).toContain(
    `Applied 0003_add_column_${name}_next`,
  );
  const pushed = await db("push", "--to", "production");
  expect(pushed.out).toContain(
    `Applied 0003_add_column_${name}_next\n  + add column ${name}.theirs\n  + add column ${name}.next`,
  );
  writeSchema(`${BOTH}, next: t.json(), last: t.uuid()`);
  for (const place of ["production", "staging"])
    expect((await db("push", "--to", place)).out).toContain(`Applied 0004_add_column_${name}_last`);
  expect(await columnsOf(staging)).toEqual(await columnsOf(production));
  expect((await db("status", "--to", "all")).code).toBe(0);
  for (const { service } of [staging, production])
    expect(await readDrift(service.service.admin)).toEqual([]);
}, 60_000);

test("missing files are restored by a pull from the service that joined them", async () => {
  writeSchema(BOTH);
  expect((await resolve()).code).toBe(0);
  writeSchema(`${BOTH}, next: t.json()`);
  expect((await db("push", "--to", "staging")).code).toBe(0);
  const files = readFiles();
  expect(Object.keys(files).length).toBe(3);
  rmSync(join(project.folder, "schema/migrations"), { recursive: true });

  expect((await db("check", "--to", "staging")).err).toContain("Migrations are missing");
  expect((await db("pull", "--to", "staging")).code).toBe(0);

  expect(readFiles()).toEqual(files);
  const [, mine = ""] = Object.keys(files);
  project.write(`schema/migrations/${mine}`, `${files[mine]}-- more\n`);
  expect((await db("push", "--to", "staging")).err).toContain(`${mine} was edited`);
}, 60_000);

describe("differences that cannot be resolved are listed by table, and nothing is written", () => {
  const CONFLICTS = () => [
    {
      name: "a column that only the service has",
      columns: "title: t.string(), mine: t.string()",
      says: `  /${name}/theirs: The schema declares no such column, but the service has one: declare it in the schema, or remove it at the service first`,
    },
    {
      name: "another type",
      columns: "title: t.string(), mine: t.string(), theirs: t.boolean()",
      says: `  /${name}/theirs: The schema declares boolean, but the table has number: `,
    },
    {
      name: "a required column without a default",
      columns: `${BOTH}, must: t.string().required()`,
      says: `  /${name}/must: The schema declares a new required column without a default`,
    },
  ];
  test.each([0, 1, 2])(
    "case %i",
    async (index) => {
      const { columns, says } = CONFLICTS()[index] ?? { columns: "", says: "" };
      writeSchema(columns);
      const before = await readRecord(staging);
      const rejected = await resolve();
      expect([rejected.code, rejected.out]).toEqual([1, ""]);
      expect(rejected.err).toStartWith("Cannot join the histories: 1 difference would remain");
      expect(rejected.err).toContain(says);
      expect(await readRecord(staging)).toEqual(before);
    },
    60_000,
  );

  test("several tables, in their order", async () => {
    const others = ["a", "b"].map((prefix) => freshName(prefix));
    const theirs = defineSchema({
      [name]: { title: t.string(), theirs: t.number() },
      ...Object.fromEntries(others.map((other) => [other, { word: t.string() }])),
    });
    expect((await postSchema(staging.service, staging.app, theirs)).status).toBe(200);
    const rejected = JSON.parse((await resolve("--json")).out);
    expect(rejected).toMatchObject({ error: "incompatible_schema" });
    expect(rejected.details.map(({ path }: { path: string }) => path)).toEqual(
      [...others.map((other) => `/${other}`), `/${name}/theirs`].sort(),
    );
  }, 60_000);
});

test("an enum value that the project added and later made the default is joined with the earlier default", async () => {
  const state = (initial: string) => `state: t.enum(["a", "m"]).default("${initial}")`;
  const theirs = { title: t.string(), theirs: t.number(), state: t.enum(["a"]).default("a") };
  const shared = defineSchema({ [name]: theirs });
  expect((await postSchema(staging.service, staging.app, shared)).status).toBe(200);
  for (const column of ['state: t.enum(["a"]).default("a")', state("a"), state("m")])
    await pushMine(`mine: t.string(), ${column}`);

  writeSchema(`${BOTH}, ${state("m")}`);
  expect((await resolve()).err).toEndWith(
    `  /${name}/state: The schema declares the default "m", but the table has an enum without that value: declare the default "a" first, and the default "m" in a later push\n`,
  );
  writeSchema(`${BOTH}, ${state("a")}`);
  expect(await resolve()).toMatchObject({ code: 0, err: "" });
  writeSchema(`${BOTH}, ${state("m")}`);
  for (const place of ["staging", "production"])
    expect(await db("push", "--to", place)).toMatchObject({ code: 0 });
  expect((await db("status", "--to", "all")).code).toBe(0);
}, 60_000);

test("a merge with the files of both branches names the solution", async () => {
  const [, theirs] = await readRecord(staging);
  const file = `0002_${theirs?.name}.sql`;
  project.write(`schema/migrations/${file}`, theirs?.text ?? "");
  writeSchema(BOTH);
  const rejected = await db("push", "--to", "staging");
  expect(rejected.code).toBe(1);
  const mine = `0002_add_column_${name}_mine.sql`;
  expect(rejected.err).toBe(`Two branches were merged: their migrations have the same numbers
  ${mine}  not applied
  ${file}  applied at staging
In the schema declare what either branch declares, and keep the files of one branch, for example:
  rm schema/migrations/${mine}
  rowhouse db push --to staging
`);
  for (const command of ["plan", "check", "status"])
    expect((await db(command, "--to", "staging")).err).toBe(rejected.err);
  const compared = await db("status", "--to", "all");
  expect(compared.code).toBe(1);
  expect(compared.out).toMatch(/^staging +0002_\S+ +- +the folder has the migrations of two/m);
  expect(compared.out).toEndWith(`  ${mine}  applied at production
  ${file}  applied at staging
In the schema declare what either branch declares, and keep the files of one branch, for example:
  rm schema/migrations/${file}
  rowhouse db resolve --to staging
  rowhouse db push --to production
`);
  rmSync(join(project.folder, "schema/migrations", file));
  expect(await resolve()).toMatchObject({ code: 0 });
}, 60_000);

test("unwanted changes are removed at the service first, with a history in a separate folder", async () => {
  const old = ["--to", "staging", "--journal", "old"];
  expect((await db("pull", ...old)).code).toBe(0);
  expect(await db("drop", `${name}.theirs`, ...old, "--yes")).toMatchObject({ code: 0 });
  expect(await resolve()).toMatchObject({ code: 0, err: "" });
  expect(await columnsOf(staging)).toEqual(await columnsOf(production));
  expect(await db("check", "--to", "staging")).toMatchObject({ code: 0 });
}, 60_000);

test("an environment with confirm asks on a terminal, and a no changes nothing", async () => {
  writeSchema(BOTH);
  const environments = { staging: { url: staging.service.url, confirm: true } };
  project.write("rowhouse.json", JSON.stringify({ environments }));
  const before = await readRecord(staging);
  const asked = startOnTerminal(["db", "resolve", "--to", "staging"], {
    folder: project.folder,
    env: keys(),
  });
  await asked.until(/Push this to staging .*\[y\/N\]/);
  expect(asked.output()).toContain(`+ add column ${name}.mine`);
  asked.type("n\n");
  expect(await asked.ended).toBe(1);
  expect(await readRecord(staging)).toEqual(before);
}, 60_000);

test("an operator resolves directly at the database", async () => {
  writeSchema(BOTH);
  const resolved = await runHere(["db", "resolve", "--app", staging.app.slug], {
    folder: project.folder,
    env: { ADMIN_DATABASE_URL: staging.service.database.adminUrl },
  });
  expect(resolved).toMatchObject({ code: 0, err: "" });
  expect(await db("check", "--to", "staging")).toMatchObject({ code: 0 });
}, 60_000);

test("histories that have not diverged remain unchanged", async () => {
  writeSchema("title: t.string(), mine: t.string(), more: t.json()");
  const same = await db("resolve", "--to", "production");
  expect(same).toMatchObject({ code: 0, out: "Nothing to do\n" });
  production = { ...production, app: await production.service.makeApp() };
  const behind = await db("resolve", "--to", "production", "--json");
  expect(behind.err).toContain("which rowhouse db push --to production applies");
  expect(JSON.parse(behind.out)).toMatchObject({ status: "unchanged", joins: null });
  expect(await readRecord(production)).toEqual([]);
}, 60_000);

test("an explicit change follows the joined history", async () => {
  writeSchema(BOTH);
  expect((await resolve()).code).toBe(0);
  writeSchema(BOTH.replace("mine:", "ours:"));
  const renamed = await db("rename", `${name}.mine`, "ours", "--to", "staging", "--yes");
  expect(renamed).toMatchObject({ code: 0 });
  expect(Object.keys(readFiles()).at(-1)).toStartWith("0003_rename_");
  expect(existsSync(join(project.folder, "schema/migrations"))).toBe(true);
}, 60_000);
