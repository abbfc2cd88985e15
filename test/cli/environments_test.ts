import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { cases } from "../support/cases.ts";
import { makeProject, runHere, schemaText, startOnTerminal } from "../support/command.ts";
import { makeHistory } from "../support/history.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

let app: TestApp;
let project: ReturnType<typeof makeProject>;
const service = await share(openTestService());
beforeEach(async () => {
  app = await service.makeApp();
  project = makeProject();
});
afterEach(() => project.remove());

const makeName = () => `t_${crypto.randomUUID().slice(-12)}`;
const writeSchema = (name: string, columns = "title: t.string()") =>
  project.write("schema/mod.ts", schemaText(`{ ${name}: { ${columns} } }`));
const writeProject = (file: object) => project.write("rowhouse.json", JSON.stringify(file));
const writeEnvironments = (environments: object) => writeProject({ environments });
const run = (words: readonly string[], env: Record<string, string> = {}) =>
  runHere(words, { ...project, env });
const AWAY = "http://127.0.0.1:1";

test("a push with --to goes to that environment with its key, regardless of other settings", async () => {
  const name = makeName();
  writeSchema(name);
  writeEnvironments({ "staging-eu": service.url, production: AWAY });
  const env = {
    ROWHOUSE_URL: AWAY,
    ROWHOUSE_API_KEY: "rh_x.hunter2",
    ROWHOUSE_API_KEY_STAGING_EU: app.key,
  };
  expect(await run(["db", "push", "--to", "staging-eu"], env)).toMatchObject({ code: 0, err: "" });
  const status = await run(["db", "status", "--to", "staging-eu", "--json"], env);
  expect(JSON.parse(status.out)).toMatchObject({ app: app.slug, tables: [name], pending: [] });
  const wrong = await run(["db", "push", "--to", "staging-eu"], {
    ROWHOUSE_API_KEY_STAGING_EU: "rh_x.hunter2",
  });
  expect([wrong.code, wrong.err.includes("check ROWHOUSE_API_KEY_STAGING_EU")]).toEqual([4, true]);
});

describe("invalid combinations are rejected before any request", () => {
  test.each(cases("name", "words", "says")`
    an unknown environment                                        | db push --to stagin                | Environment "stagin" does not exist in rowhouse.json: expected one of staging
    an environment without its key, also where another key is set | db push --to staging               | ROWHOUSE_API_KEY_STAGING is not set
    all environments, except for status                           | db push --to all                   | Flag --to all is only for rowhouse db status
    an environment and a URL                                      | db push --to staging --url ${AWAY} | Cannot use --to with --url
  `)("$name", async ({ words, says }) => {
    writeEnvironments({ staging: AWAY, production: AWAY });
    const { code, out, err } = await run(words.split(" "), { ROWHOUSE_API_KEY: "rh_x.hunter2" });
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(says);
  });

  test("a key in rowhouse.json is reported by its name, without its value, with all other issues", async () => {
    project.write(
      "rowhouse.json",
      JSON.stringify({
        environments: {
          staging: { url: AWAY, apiKey: "rh_x.hunter2" },
          Live: "https://x:hunter3@api.example.org",
          eu: { url: AWAY, confirm: "hunter4" },
        },
        ROWHOUSE_API_KEY: "hunter5",
      }),
    );
    const { code, err } = await run(["db", "plan"], { ROWHOUSE_URL: AWAY, ROWHOUSE_API_KEY: "x" });
    expect(code).toBe(1);
    expect(err).toContain("it has 5 errors");
    expect(err).toMatch(
      /\/environments\/staging\/apiKey: a key must not be .* set ROWHOUSE_API_KEY_STAGING\n/,
    );
    expect(err).toMatch(/\/ROWHOUSE_API_KEY: a key must not be .* set ROWHOUSE_API_KEY\n/);
    for (const path of [
      "/environments/Live: the name",
      "/environments/Live: must be an origin",
      "/environments/eu/confirm: ",
    ])
      expect(err).toContain(path);
    expect(err).not.toContain("hunter");
  });

  test.each([
    { file: { app: "Wiki" }, path: "/app" },
    { file: { app: "api" }, path: "/app" },
    { file: { port: 70_000 }, path: "/port" },
    { file: { port: "8787" }, path: "/port" },
    { file: { previews: ["filter"] }, path: "/previews" },
    { file: { previews: "live" }, path: "/previews" },
    { file: { environments: { dev: AWAY } }, path: "/environments/dev" },
    { file: { environments: { all: AWAY } }, path: "/environments/all" },
    { file: { environments: [AWAY] }, path: "/environments" },
    { file: { places: null }, path: "/places" },
    { file: { environments: { eu: AWAY }, places: { us: AWAY } }, path: "/places" },
    { file: { App: "wiki" }, path: "/App" },
  ])("$file has an error at $path", async ({ file, path }) => {
    writeProject(file);
    const { code, out } = await run(["db", "plan", "--json"]);
    const failure = JSON.parse(out);
    expect([code, failure.error]).toEqual([1, "invalid_project"]);
    expect(failure.details.map((detail: { path: string }) => detail.path)).toEqual([path]);
  });

  test("all errors are listed together, and no value", async () => {
    writeProject({ app: "hunter2!", port: -1, previews: ["hunter3"], share: "hunter4" });
    const { err } = await run(["db", "plan"]);
    for (const path of ["/app", "/port", "/previews", "/share"])
      expect(err).toContain(`  ${path}: `);
    expect(err).not.toContain("hunter");
  });
});

test("the former name of environments is still read", async () => {
  writeSchema(makeName());
  writeProject({ places: { staging: service.url } });
  const env = { ROWHOUSE_API_KEY_STAGING: app.key };
  expect(await run(["db", "push", "--to", "staging"], env)).toMatchObject({ code: 0 });
});

test("a URL that is not encrypted is remarked on, unless it is this machine", async () => {
  writeEnvironments({ far: "http://rowhouse.invalid" });
  const { err } = await run(["db", "status", "--to", "far"], { ROWHOUSE_API_KEY_FAR: app.key });
  expect(err).toContain("http://rowhouse.invalid is not encrypted");
});

describe("an environment with confirm", () => {
  const settings = () => ({ ROWHOUSE_API_KEY_PRODUCTION: app.key });
  const push = ["db", "push", "--to", "production"];
  const start = (words: string[], env: Record<string, string> = settings()) =>
    startOnTerminal(words, { folder: project.folder, env: { ...env, NO_COLOR: "1" } });
  const QUESTION = /Push this to production \(http:\S+\)\? \[y\/N\]/;
  const journal = () => existsSync(join(project.folder, "schema/migrations"));
  let name: string;
  beforeEach(() => {
    name = makeName();
    writeSchema(name);
    writeEnvironments({ production: { url: service.url, confirm: true } });
  });

  test("displays the plan and asks on a terminal, and pushes only after a yes", async () => {
    const rejected = start(push);
    await rejected.until(QUESTION);
    expect(rejected.output()).toContain(`+ create table ${name}`);
    rejected.type("n\n");
    expect(await rejected.ended).toBe(1);
    expect(rejected.output()).toContain("Nothing was pushed");
    expect(journal()).toBe(false);

    // The same service by its URL is the same environment.
    const agreed = start(["db", "push"], { ROWHOUSE_URL: service.url, ROWHOUSE_API_KEY: app.key });
    await agreed.until(/Which destination: production\?/);
    agreed.type("production\n");
    await agreed.until(QUESTION);
    agreed.type("y\n");
    expect(await agreed.ended).toBe(0);
    expect(agreed.output()).toContain("Applied 0001");
    expect(journal()).toBe(true);

    const unchanged = start(push);
    expect(await unchanged.ended).toBe(0);
    expect(unchanged.output()).not.toMatch(QUESTION);
  });

  test("does not ask with --yes or without a terminal", async () => {
    const confirmed = start([...push, "--yes"]);
    expect(await confirmed.ended).toBe(0);
    expect(confirmed.output()).not.toMatch(QUESTION);
    writeSchema(name, "title: t.string(), done: t.boolean()");
    expect(await run(push, settings())).toMatchObject({ code: 0, err: "" });
  });
});

describe("db status --to all", () => {
  test("compares every environment with the folder, and ends with the most urgent step", async () => {
    const other = await service.makeApp();
    const name = makeName();
    writeSchema(name);
    writeEnvironments({ one: service.url, two: service.url });
    const env = { ROWHOUSE_API_KEY_ONE: app.key, ROWHOUSE_API_KEY_TWO: other.key };
    const compare = (more: Record<string, string> = {}) =>
      run(["db", "status", "--to", "all"], { ...env, ...more });
    expect(await run(["db", "push", "--to", "one"], env)).toMatchObject({ code: 0 });
    const file = `0001_create_table_${name}`;

    const behind = await compare();
    expect(behind.code).toBe(3);
    expect(behind.out).toMatch(/^environment +last migration +history +state\n/);
    expect(behind.out).toMatch(new RegExp(`^one +${file} +same +up to date$`, "m"));
    expect(behind.out).toMatch(/^two +- +1 behind +not up to date: rowhouse db push --to two$/m);

    writeSchema(name, "title: t.string(), done: t.boolean()");
    expect((await compare()).out).toMatch(
      /^one .* same +1 step pending: rowhouse db plan --to one$/m,
    );

    writeEnvironments({ one: service.url, away: AWAY, keyless: service.url, odd: service.url });
    const told = await compare({
      ROWHOUSE_API_KEY_AWAY: "x",
      ROWHOUSE_API_KEY_ODD: "rh_x.hunter2",
    });
    expect(told.code).toBe(2);
    expect(told.out).toMatch(/^away +- +- +unreachable: No response from /m);
    expect(told.out).toMatch(/^keyless +- +- +ROWHOUSE_API_KEY_KEYLESS is not set/m);
    expect(told.out).toMatch(/^odd +- +- .*check ROWHOUSE_API_KEY_ODD/m);

    const json = await run(["db", "status", "--to", "all", "--json"], env);
    expect(JSON.parse(json.out).environments[1]).toMatchObject({
      environment: "away",
      last: null,
      failure: { error: "usage" },
    });
  });

  test("lists missing files, and histories that diverged", async () => {
    const name = makeName();
    writeSchema(name);
    writeEnvironments({ one: service.url });
    const env = { ROWHOUSE_API_KEY_ONE: app.key };
    expect(await run(["db", "push", "--to", "one"], env)).toMatchObject({ code: 0 });
    const folder = join(project.folder, "schema/migrations");
    const compare = (journal: string) =>
      run(["db", "status", "--to", "all", "--journal", journal], env);
    const missing = await compare("none");
    expect([missing.code, missing.out]).toEqual([
      3,
      expect.stringMatching(/1 ahead +files are missing here: rowhouse db pull --to one\n/),
    ]);
    await Bun.write(join(folder, `0001_create_table_${name}.sql`), "select 1;\n");
    const diverged = await compare(folder);
    expect([diverged.code, diverged.out]).toEqual([
      1,
      expect.stringMatching(/1 behind, 1 ahead +diverged/),
    ]);
    const rejected = await run(["db", "push", "--to", "one"], env);
    expect(rejected.err).toContain("run rowhouse db pull --to one");
  });

  test("names two files of one number, which no comparison can count", async () => {
    const name = makeName();
    writeSchema(name);
    writeEnvironments({ one: service.url });
    const env = { ROWHOUSE_API_KEY_ONE: app.key };
    expect(await run(["db", "push", "--to", "one"], env)).toMatchObject({ code: 0 });
    const folder = join(project.folder, "schema/migrations");
    const file = `0001_create_table_${name}.sql`;
    const [theirs = ""] = makeHistory([defineSchema({ [makeName()]: { title: t.string() } })]);
    await Bun.write(join(folder, "0001_theirs.sql"), theirs);
    const compared = await run(["db", "status", "--to", "all"], env);
    expect(compared.code).toBe(1);
    expect(compared.out).toContain("Two branches were merged");
    expect(compared.out).toContain(`  ${file}  applied at one\n  0001_theirs.sql  not applied\n`);
    expect(compared.out).toContain("\n  rm schema/migrations/0001_theirs.sql\n");
    const json = await run(["db", "status", "--to", "all", "--json"], env);
    expect(JSON.parse(json.out).environments).toMatchObject([
      { environment: "one", failure: { error: "edited_migration", details: [{}, {}] } },
    ]);
    const pushed = await run(["db", "push", "--to", "one"], env);
    expect(pushed.err).toContain("0001_theirs.sql");
  });

  test("names rowhouse.json if no environment exists", async () => {
    const { code, err } = await run(["db", "status", "--to", "all"]);
    expect([code, err.includes("rowhouse.json")]).toEqual([2, true]);
  });
});
