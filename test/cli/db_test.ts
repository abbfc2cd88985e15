import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { cases, casesBy } from "../support/cases.ts";
import {
  expectFailure,
  makeProject,
  ROOT,
  runHere,
  type Settings,
  schemaText,
  startCommand,
} from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { openForwarder } from "../support/forwarder.ts";
import { expectSentences } from "../support/sentences.ts";
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

const settings = (key = app.key, url = service.url) => ({
  ROWHOUSE_URL: url,
  ROWHOUSE_API_KEY: key,
});
const run = (words: readonly string[], env: Settings = settings()) =>
  runHere(words, { ...project, env });
const db = (...words: string[]) => run(["db", ...words]);
/** Declares a table with a fresh name, and returns the name. */
function declare(columns = "title: t.string()"): string {
  const name = makeName();
  project.write("schema/mod.ts", schemaText(`{ ${name}: { ${columns} } }`));
  return name;
}
const makeName = () => `t_${crypto.randomUUID().slice(-12)}`;
const typesOf = () => join(project.folder, ".rowhouse/types.d.ts");

test("a second push after plan, check, push and status changes nothing", async () => {
  const name = declare("title: t.string().required()");
  const plan = await db("plan");
  expect(plan).toMatchObject({ code: 0, err: "" });
  expect(await db("push", "--dry-run")).toEqual(plan);
  expect(plan.out).toContain(`Would apply 0001_create_table_${name}\n  + create table ${name}\n`);
  expect((await db("check")).code).toBe(3);
  expect(JSON.parse((await db("status", "--json")).out).migrations).toEqual([]);
  expect(existsSync(typesOf())).toBe(false);
  const pushed = await db("push", "--json");
  expect(JSON.parse(pushed.out)).toMatchObject({
    status: "applied",
    migration: { seq: 1 },
    types: ".rowhouse/types.d.ts",
  });
  expect((await db("check")).code).toBe(0);
  const status = JSON.parse((await db("status", "--json")).out);
  expect(status).toMatchObject({ app: app.slug, tables: [name], migrations: [{ seq: 1 }] });
  const before = statSync(typesOf()).mtimeMs;
  expect(await db("push")).toEqual({ code: 0, out: "Nothing to do\n", err: "" });
  expect(statSync(typesOf()).mtimeMs).toBe(before);
});

test("push and pull write nothing if a folder is a link that leads out of the project", async () => {
  using outside = makeProject();
  declare();
  symlinkSync(outside.folder, join(project.folder, ".rowhouse"));
  const pushed = await db("push");
  expectFailure(pushed, ".rowhouse is a link");
  expect(JSON.parse((await db("status", "--json")).out)).toMatchObject({ migrations: [] });
  using other = makeProject();
  mkdirSync(join(other.folder, "schema"));
  symlinkSync(outside.folder, join(other.folder, "schema/migrations"));
  project.remove();
  project = other;
  const pulled = await db("pull");
  expectFailure(pulled, "migrations is a link");
  expect(readdirSync(outside.folder)).toEqual([]);
});

test("the generated types match the schema in the TypeScript compiler", async () => {
  const name = makeName();
  project.write(
    "schema/mod.ts",
    schemaText(`{ ${name}: { title: t.string().required(), list: t.json<{ done: boolean }>() } }`),
  );
  expect((await db("push")).code).toBe(0);
  expect(readFileSync(join(project.folder, ".rowhouse/.gitignore"), "utf8")).toContain(
    "!types.d.ts",
  );
  project.write(
    "use.ts",
    `import type { Tables } from "./.rowhouse/types.d.ts";
export const insert: Tables["${name}"]["insert"] = { title: "a", list: { done: true } };
export const unique: Tables["${name}"]["unique"] = "id";
// @ts-expect-error a title is text
export const update: Tables["${name}"]["update"] = { title: 1 };
`,
  );
  const options = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    module: "Preserve",
    target: "ESNext",
    moduleResolution: "bundler",
    types: [],
    lib: ["ESNext"],
    allowImportingTsExtensions: true,
    paths: { "rowhouse/schema": [join(ROOT, "src/schema/mod.ts")] },
  };
  project.write(
    "tsconfig.json",
    JSON.stringify({ compilerOptions: options, include: ["use.ts", ".rowhouse/*.d.ts"] }),
  );
  const compiler = Bun.spawn(
    [process.execPath, join(ROOT, "node_modules/.bin/tsc"), "-p", project.folder],
    { stdout: "pipe" },
  );
  expect(await new Response(compiler.stdout).text()).toBe("");
  expect(await compiler.exited).toBe(0);
});

test.each(
  casesBy({
    true: {
      "patterns that skip hidden folders": '{ "include": ["src"], /* c */ }',
      "no patterns": "{}",
    },
    false: {
      "a pattern that includes hidden folders": '{ "include": ["src", ".rowhouse/*.d.ts"] }',
    },
  }),
)(
  "push warns about a tsconfig.json with $name: $expected",
  async ({ value: tsconfig, expected }) => {
    project.write("tsconfig.json", tsconfig);
    declare();
    const { code, err } = await db("push");
    expect([code, `${err.includes("does not include .rowhouse/types.d.ts")}`]).toEqual([
      0,
      expected,
    ]);
  },
);

test("a schema's output goes to standard error", async () => {
  const text = schemaText(`{ ${makeName()}: { title: t.string() } }`);
  project.write("schema/mod.ts", `console.log("printed by the schema");\n${text}`);
  const { code, out, err } = await db("push", "--json");
  expect([code, err]).toEqual([0, "printed by the schema\n"]);
  expect(JSON.parse(out)).toMatchObject({ status: "applied" });
});

test("a schema cannot see the command's settings", async () => {
  project.write("schema/mod.ts", "throw new Error(String(process.env.ROWHOUSE_API_KEY));\n");
  const { err } = await db("push");
  expect(err).toContain("undefined");
  expect(err).not.toContain(app.key);
});

describe("a broken schema is reported with file and line, and changes nothing, if it", () => {
  test.each(cases("name", "text", "names")`
    throws                    | \n\nthrow new Error("boom");\n                              | boom, schema/mod.ts:3
    is not TypeScript         | export default {{\n                                         | schema/mod.ts:1:17
    imports a missing file    | \nimport "./none.ts";\n                                     | './none.ts', schema/mod.ts:2:8
    imports a missing package | import none from "no-such-package";\nexport default none;\n | 'no-such-package', schema/mod.ts:1:18
    exports nothing           | const a = 1;\n                                              | export default defineSchema
    exports by name           | export const schema = {};\n                                 | exports schema, export default
    exports a number          | export default 1;\n                                         | export default defineSchema
    exits                     | process.exit(0);\n                                          | schema/mod.ts
    is missing                |                                                             | schema/mod.ts
  `)("$name", async ({ text, names }) => {
    if (text !== "") project.write("schema/mod.ts", text);
    const { code, out, err } = await db("push");
    expect([code, out]).toEqual([1, ""]);
    expectSentences(err, { names: names.split(", "), hides: ["ResolveMessage", "BuildMessage"] });
    expect(existsSync(typesOf())).toBe(false);
  });

  test("loops forever, and its process ends when the command is killed", async () => {
    project.write("schema/mod.ts", 'console.log("looping");\nwhile (true);\n');
    const pushing = startCommand(["db", "push"], { ...project, env: settings() });
    const evaluates = () =>
      Bun.spawnSync(["ps", "-eo", "args"])
        .stdout.toString()
        .includes(`evaluate_process.ts ${project.folder}`);
    await pushing.until(/looping/);
    expect(evaluates()).toBe(true);
    await pushing.kill("SIGKILL");
    await eventually(() => !evaluates());
  }, 30_000);

  test("has 200 errors, which are reported together with table and column", async () => {
    const columns = Array.from({ length: 200 }, (_, index) => `"c-${index}": t.string()`).join(
      ", ",
    );
    project.write("schema/mod.ts", schemaText(`{ todos: { ${columns} } }`));
    const { code, err } = await db("push");
    const lines = err.trim().split("\n");
    expect([code, lines.length, lines[0]?.includes(" 200 ")]).toEqual([1, 201, true]);
    for (let index = 0; index < 200; index++)
      expect(lines[index + 1]).toStartWith(`  todos.c-${index}: `);
  });
});

test("an operator pushes directly to the database", async () => {
  declare();
  const env = { ADMIN_DATABASE_URL: service.database.adminUrl };
  const direct = (...words: string[]) => run(["db", ...words], env);
  expect(await direct("push", "--app", app.slug)).toMatchObject({ code: 0, err: "" });
  expect(await direct("push", "--app", app.slug)).toMatchObject({
    code: 0,
    out: "Nothing to do\n",
  });
  expect(await direct("push", "--app", "nobody")).toEqual({
    code: 1,
    out: "",
    err: expect.stringContaining('"nobody"'),
  });
});

describe("a push to an overloaded service", () => {
  const OVERLOADED = { error: "overloaded", message: "No connection became free in time" };
  /** Returns 503 for the first requests of each method, and forwards the others. */
  function startOverloaded(count: number) {
    const seen = new Map<string, number>();
    const proxy = openForwarder(service.url, {
      before: ({ method }) => {
        const nth = (seen.get(method) ?? 0) + 1;
        seen.set(method, nth);
        return nth <= count ? Response.json(OVERLOADED, { status: 503 }) : undefined;
      },
    });
    return { url: `http://127.0.0.1:${proxy.port}`, seen, stop: () => proxy.stop(true) };
  }
  const push = (url: string, wait: string) =>
    run(["db", "push", "--wait", wait], settings(app.key, url));

  test("waits until the service accepts it", async () => {
    declare();
    const proxy = startOverloaded(2);
    const { code, err } = await push(proxy.url, "60");
    proxy.stop();
    const lines = err.trimEnd().split("\n");
    expect([code, lines.length, new Set(lines).size]).toEqual([0, 2, 1]);
    expectSentences(lines[0] ?? "", {
      names: [proxy.url, OVERLOADED.message],
      varies: { [proxy.url]: "<service>" },
    });
    expect([...proxy.seen]).toEqual([
      ["GET", 3],
      ["POST", 3],
    ]);
  });

  test("exits with 69 after --wait", async () => {
    declare();
    const proxy = startOverloaded(1);
    const { code, err } = await push(proxy.url, "0");
    proxy.stop();
    expect(code).toBe(69);
    expectSentences(err, {
      names: [proxy.url, OVERLOADED.message],
      varies: { [proxy.url]: "<service>" },
    });
  });
});

test("seven of eight simultaneous pushes wait, and all succeed", async () => {
  declare();
  const runs = await Promise.all(Array.from({ length: 8 }, () => db("push", "--json")));
  const failures = runs.filter(({ code }) => code !== 0).map(({ err }) => err);
  expect(failures).toEqual([]);
  const applied = runs.filter(
    ({ out }) => (JSON.parse(out) as { status: string }).status === "applied",
  );
  expect(applied).toHaveLength(1);
});

describe("status", () => {
  const readStatus = async () => JSON.parse((await db("status", "--json")).out);

  test("lists pending changes of the folder's schema", async () => {
    const name = makeName();
    expect((await readStatus()).pending).toBe(null);
    project.write("schema/mod.ts", schemaText(`{ ${name}: { title: t.string() } }`));
    expect((await readStatus()).pending).toEqual([`create table ${name}`]);
    expect((await db("status")).out).toContain("Pending: 1 step; see rowhouse db plan\n");
    expect((await db("push")).code).toBe(0);
    expect((await readStatus()).pending).toEqual([]);
    expect((await db("status")).out).toContain("The schema is up to date\n");
  });

  test("lists the state of the database before the errors of an invalid schema", async () => {
    const name = makeName();
    const other = makeName();
    project.write("schema/mod.ts", schemaText(`{ ${name}: { title: t.string() } }`));
    expect((await db("push")).code).toBe(0);
    const owner = await service.makeApp({ tables: { [other]: {} } });
    const broken = [
      { text: 'import "./none.ts";\n', error: "invalid_schema", says: "./none.ts" },
      {
        text: schemaText(`{ ${name}: { title: t.string().default(7 as never) } }`),
        error: "invalid_schema",
        says: name,
      },
      {
        text: schemaText(`{ ${other}: { title: t.string() } }`),
        error: "incompatible_schema",
        says: owner.slug,
      },
    ];
    for (const { text, error, says } of broken) {
      project.write("schema/mod.ts", text);
      const told = await db("status");
      expect([told.code, told.out]).toEqual([
        1,
        expect.stringContaining(`App ${app.slug}: ${name}`),
      ]);
      expect(told.err).toContain(says);
      const { tables, pending, schema } = JSON.parse((await db("status", "--json")).out);
      expect({ tables, pending, schema }).toMatchObject({
        tables: [name],
        pending: null,
        schema: { error },
      });
    }
  });

  test("names an edited migration with the message of a push", async () => {
    const name = declare("");
    expect((await db("push")).code).toBe(0);
    const [file = ""] = new Bun.Glob("schema/migrations/*.sql").scanSync({ cwd: project.folder });
    project.write(file, `${await Bun.file(join(project.folder, file)).text()}-- edited\n`);
    const told = await db("status");
    expect([told.code, told.out]).toEqual([1, expect.stringContaining(`App ${app.slug}: ${name}`)]);
    expect(told.err).toContain(basename(file));
    expect(told.out).not.toContain("up to date");
    expect((await readStatus()).schema).toMatchObject({ error: "edited_migration" });
  });

  test("names the apps of each table only to operators", async () => {
    const name = makeName();
    const owner = await service.makeApp({ tables: { [name]: {} } });
    const others = [app, await service.makeApp({ tables: { [name]: {} } })];
    project.write("schema/mod.ts", schemaText(`{ ${name}: {} }`));
    expect((await db("push")).code).toBe(0);

    const env = { ADMIN_DATABASE_URL: service.database.adminUrl };
    const asOperator = (...words: string[]) =>
      run(["db", "status", "--app", app.slug, ...words], env);
    const users = others.map(({ slug }) => slug).sort();

    expect(JSON.parse((await asOperator("--json")).out).apps).toEqual([
      { table: name, owner: owner.slug, users },
    ]);
    expect((await asOperator()).out).toContain(
      `  ${name}: owned by ${owner.slug}, used by ${users.join(", ")}\n`,
    );
    for (const { out } of [await db("status"), await db("status", "--json")]) {
      expect(out).not.toContain(owner.slug);
      expect(out).not.toContain(others[1]?.slug ?? "");
    }
    expect((await readStatus()).apps).toBe(null);
  });
});

describe("with --json a failure is one document, and standard error has the usual text:", () => {
  type Failure = { words?: string; env?: () => Settings | Promise<Settings>; text?: string };
  const UNKNOWN = "rh_x.hunter2";
  const operator = () => ({ ADMIN_DATABASE_URL: service.database.adminUrl });
  const other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("<html>") });
  afterAll(() => other.stop(true));
  const makeReader = () => service.makeApp(undefined, { scopes: ["data:read"] });
  test.each(
    casesBy<Failure>({
      "2 usage": {
        "an unknown flag": { words: "db push --jsno" },
        "no environment for the push": { env: () => ({}) },
      },
      "69 unreachable": {
        "a service that does not respond": { env: () => settings(app.key, "http://127.0.0.1:1") },
      },
      "4 unauthenticated": {
        "an unknown key": { env: () => settings(UNKNOWN) },
        "a key that cannot be sent": { env: () => settings(`${app.key}é`) },
      },
      "1 forbidden": {
        "a key without the scope": { env: async () => settings((await makeReader()).key) },
      },
      "1 rejected": {
        "a server that is not Rowhouse": { env: () => settings(app.key, other.url.origin) },
      },
      "1 invalid_schema": { "a schema that throws": { text: "throw new Error('x');\n" } },
      "1 invalid_schema /todos/a~1b": {
        "an invalid schema": { text: schemaText('{ todos: { "a/b": t.string() } }') },
      },
      "1 invalid_settings ": {
        "invalid settings": { words: "admin list-apps", env: () => ({ PORT: "hunter2" }) },
      },
      "1 unknown_app": {
        "an unknown app, to an operator": { words: "admin issue-key no-such-app", env: operator },
      },
    }),
  )(
    "$name: $expected",
    async ({ value: { words = "db push", env = settings, text }, expected }) => {
      if (text === undefined) declare();
      else project.write("schema/mod.ts", text);
      const failed = await run([...words.split(" "), "--json"], await env());
      const document = JSON.parse(failed.out);
      const { error, message, details } = document;
      expect(Object.keys(document)).toEqual(["error", "message", "details"]);
      const paths = details.map(({ path }: { path: string }) => ` ${path}`);
      expect(`${failed.code} ${error}${paths.join("")}`).toBe(expected);
      expect(failed.err).toContain(message);
      expect(failed.out + failed.err).not.toMatch(/hunter2|rh_\w+\./);
      const varies = { [service.url]: "<service>", [other.url.origin]: "<server>" };
      expectSentences(failed.err, { varies });
    },
  );

  test("tables that conflict with another app's tables, with their owner", async () => {
    const name = declare("a: t.string(), b: t.number()");
    const owner = await service.makeApp({ tables: { [name]: {} } });
    const failed = await db("push", "--json");
    const { error, details } = JSON.parse(failed.out);
    expect([failed.code, error]).toEqual([1, "incompatible_schema"]);
    expect(details.map(({ path }: { path: string }) => path)).toEqual([
      expect.stringContaining(`/${name}/a`),
      expect.stringContaining(`/${name}/b`),
    ]);
    expect(failed.err).toContain(owner.slug);
    expect(failed.err.match(/: leave it out, ask /g)).toHaveLength(1);
  });

  test("an edited migration", async () => {
    const name = declare();
    expect((await db("push")).code).toBe(0);
    const file = `0001_create_table_${name}.sql`;
    project.write(`schema/migrations/${file}`, "select 1;\n");
    const failed = await db("push", "--json");
    expect([failed.code, JSON.parse(failed.out)]).toEqual([
      1,
      {
        error: "edited_migration",
        message: expect.stringContaining(file),
        details: [{ path: `/${file}`, message: expect.any(String) }],
      },
    ]);
  });
});
