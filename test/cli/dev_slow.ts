import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { toSlug } from "../../src/cli/package.ts";
import { readRows } from "../../src/db/mod.ts";
import { APP_SLUG } from "../../src/records/apps/mod.ts";
import { readBlocks } from "../docs/blocks.ts";
import { withDatabase } from "../support/cluster.ts";
import {
  expectFailure,
  makeProject,
  ROOT,
  type Running,
  runCommand,
  schemaText,
  startCommand,
  startOnTerminal,
} from "../support/command.ts";
import { callDev, DEV_READY, devFileOf, readDev, startDev } from "../support/dev.ts";
import { eventually } from "../support/eventually.ts";
import { sharedCookie, submitSignIn } from "../support/people.ts";
import { callService } from "../support/service.ts";
import { unpackProgram } from "../upgrade/packed.ts";

const TODOS = "{ todos: { title: t.string().required() } }";
const SDK = join(ROOT, "src/sdk/data.ts");
setDefaultTimeout(540_000);

let project: ReturnType<typeof makeProject>;
beforeAll(() => {
  project = makeProject({ "schema/mod.ts": schemaText(TODOS) });
});
afterAll(() => project.remove());

/** Runs a line that `dev` printed, as a person would paste it. */
async function paste(dev: Running, title: string): Promise<unknown> {
  const [, line = ""] = dev.output().match(new RegExp(`${title}:\n  (curl .*)`)) ?? [];
  const shell = Bun.spawn(["sh", "-c", line], { stdout: "pipe" });
  return JSON.parse(await new Response(shell.stdout).text());
}

const processesOf = (folder: string) =>
  Bun.spawnSync(["ps", "-eo", "args"])
    .stdout.toString()
    .split("\n")
    .filter((line) => line.includes(folder));

test("printed commands work, edits are pushed, errors are printed, and Ctrl-C leaves no process", async () => {
  const dev = await startDev(project.folder);
  const created = await paste(dev, "Create a row");
  expect(created).toMatchObject({ title: "Milk" });
  expect(await paste(dev, "List the rows")).toMatchObject({ rows: [created] });
  expect(statSync(devFileOf(project.folder)).mode & 0o777).toBe(0o600);
  expect(Object.keys(readDev(project.folder))).toEqual([
    ...["version", "rowhouse", "baseUrl", "gatewayUrl", "identityUrl", "app", "apiKey"],
    ...["databaseUrl", "identitySecrets", "testToken", "admin", "user"],
  ]);
  expect(dev.output()).not.toContain(readDev(project.folder).databaseUrl);
  const { host } = new URL(readDev(project.folder).identityUrl);
  expect(dev.output()).toContain(`http://${host}/console\n`);
  const opened = await fetch(`${readDev(project.folder).baseUrl}/console`, {
    headers: { host },
    redirect: "manual",
  });
  expect(opened.headers.get("location")).toBe("/console/sign-in?to=%2Fconsole");

  // The project has no example app, so its own host is not reserved for one.
  const own = await fetch(`${readDev(project.folder).baseUrl}/live`, {
    headers: { host: host.replace(/^id\./, `${readDev(project.folder).app}.`) },
  });
  expect(own.status).toBe(200);

  project.write("schema/mod.ts", schemaText("{ todos: { title: t.strin() } }"));
  await dev.until(/Cannot use t\.strin\(\)/);
  expect(await paste(dev, "List the rows")).toMatchObject({ rows: [created] });
  project.write("schema/mod.ts", schemaText(TODOS.replace("}", ", done: t.boolean() }")));
  await dev.until(/add column todos\.done/);
  expect(await paste(dev, "List the rows")).toMatchObject({ rows: [{ done: null }] });

  const second = await runCommand(["dev"], project);
  expect(second.err).toContain(`it runs at ${readDev(project.folder).baseUrl}`);
  expect(second.code).toBe(1);

  const listed = await runCommand(["admin", "list-apps", "--json"], project);
  const { app } = readDev(project.folder);
  expect(app).toBe(basename(project.folder).toLowerCase());
  expect(JSON.parse(listed.out)).toMatchObject({
    apps: [
      { slug: app, targets: expect.arrayContaining([`http://${app}.rowhouse.localhost:5173`]) },
    ],
  });
  expect(dev.output()).not.toMatch(/todo\.rowhouse|The app:/);
  const logged = dev.output().match(/^\{"time".*"event":"request".*\}$/m) ?? [];
  expect(JSON.parse(logged[0] ?? "")).toMatchObject({ level: "info", status: 200 });
  expect((await runCommand(["db", "check"], project)).code).toBe(0);
  const { baseUrl, apiKey } = readDev(project.folder);
  const env = { ROWHOUSE_URL: baseUrl, ROWHOUSE_API_KEY: apiKey };
  expect((await runCommand(["db", "pull"], { ...project, env })).code).toBe(0);
  for (const folder of ["schema/migrations", ".rowhouse/migrations"])
    expect(existsSync(join(project.folder, folder))).toBe(false);

  const health = await runCommand(["health"], project);
  expect(health.out).toBe(`${readDev(project.folder).baseUrl}/live is alive\n`);
  expect((await runCommand(["migrate"], project)).out).toBe("Nothing to do\n");
  const takers = [["migrate"], ["doctor"], ["admin", "list-apps"], ["db", "status", "--app", app]];
  for (const { err } of await Promise.all(takers.map((words) => runCommand(words, project))))
    expect(err).toMatch(
      /^Notice: using the database of rowhouse dev \(\.rowhouse\/dev\.json\), because .*\n$/,
    );

  expect(await dev.kill("SIGINT")).toBe(0);
  expect(existsSync(devFileOf(project.folder))).toBe(false);
  expect(processesOf(project.folder)).toEqual([]);
});

test("an edit that may be a rename is pushed only after a decision", async () => {
  using renaming = makeProject({ "schema/mod.ts": schemaText(TODOS) });
  const edit = (tables: string) => renaming.write("schema/mod.ts", schemaText(tables));
  const dev = await startDev(renaming.folder);
  edit(TODOS.replace("todos", "tasks"));
  await dev.until(
    /Not pushed: tasks may be the new name of todos.*db rename todos tasks --to dev --yes;/,
  );
  const renamed = await runCommand(
    ["db", "rename", "todos", "tasks", "--to", "dev", "--yes"],
    renaming,
  );
  expect(renamed).toMatchObject({ code: 0 });
  await dev.until(/Not pushed: tasks [\s\S]*\nNothing to do/);
  edit("{ tasks: { title: t.string().required(), done: t.boolean() } }");
  await dev.until(/add column tasks\.done/);

  edit("{ tasks: { title: t.string().required(), ready: t.boolean() } }");
  await dev.until(/Not pushed: tasks\.ready .*db rename tasks\.done ready --to dev --yes;/);
  const pushed = await runCommand(["db", "push"], renaming);
  expect(pushed.out).toContain("add column tasks.ready");
  await dev.until(/Not pushed: tasks\.ready [\s\S]*\nNothing to do/);
  edit("{ tasks: { title: t.string().required(), ready: t.boolean(), due: t.timestamp() } }");
  await dev.until(/add column tasks\.due/);

  edit("{ tasks: { title: t.string().required(), ready: t.boolean(), until: t.timestamp() } }");
  await dev.until(/Not pushed: tasks\.until/);
  const { app } = readDev(renaming.folder);
  // Past the service, in the database of dev.
  const direct = ["db", "rename", "tasks.due", "until", "--app", app, "--yes"];
  expect(await runCommand(direct, renaming)).toMatchObject({ code: 0 });
  await dev.until(/Not pushed: tasks\.until [\s\S]*\nNothing to do/);

  expect((await callDev(renaming.folder, "/v1/data/db/tasks", { title: "Milk" })).status).toBe(201);
  edit("{ notes: { ready: t.boolean() } }");
  const drop = /this drops tasks \(1 row\)\. To drop it, run rowhouse (db push --to dev --yes):/;
  const [, command = ""] = await dev.until(drop);
  expect(await runCommand(["db", "push"], renaming)).toMatchObject({ code: 1 });
  expect((await callDev(renaming.folder, "/v1/data/db/tasks")).status).toBe(200);
  const dropped = await runCommand(command.split(" "), renaming);
  expect(dropped.err).toMatch(
    /Wrote 1 row of tasks to \.rowhouse\/dropped\/\S+\.ndjson\. To import them as new rows,/,
  );
  await dev.until(/this drops tasks [\s\S]*\nNothing to do/);
  expect((await callDev(renaming.folder, "/v1/data/db/tasks")).status).toBe(404);
  expect(await dev.kill("SIGINT")).toBe(0);
});

test("a push that waits for an answer is not repeated by the changes that it made", async () => {
  const schema = (kind: string, value: string) =>
    schemaText(
      `{ todos: t.model({ hours: t.${kind}() }).allow("member", { read: { hours: ${value} } }) }`,
    );
  using held = makeProject({ "schema/mod.ts": schema("string", '"a"') });
  const dev = await startDev(held.folder);
  expect((await callDev(held.folder, "/v1/data/db/todos", { hours: "abc" })).status).toBe(201);
  held.write("schema/mod.ts", schema("number", "1"));
  await dev.until(/Not pushed: this drops todos\.hours/);
  // Longer than the time after which another command's changes are noticed.
  await Bun.sleep(4000);
  expect(dev.output().match(/Not pushed/g)).toHaveLength(1);
  expect(await dev.kill("SIGTERM")).toBe(0);
});

test("on a terminal dev asks before it drops rows, and an edit ends the question", async () => {
  using asking = makeProject({ "schema/mod.ts": schemaText(TODOS) });
  const rows = "/v1/data/db/todos";
  const dev = startOnTerminal(["dev", "--port", "0"], asking);
  await dev.until(DEV_READY);
  expect((await callDev(asking.folder, rows, { title: "Milk" })).status).toBe(201);
  asking.write("schema/mod.ts", schemaText("{ todos: { done: t.boolean() } }"));
  await dev.until(/Drop todos\.title \(1 value\)\? \[y\/N\] $/m);
  asking.write("schema/mod.ts", schemaText(TODOS));
  await dev.until(/Drop todos[\s\S]*Nothing to do/);
  asking.write("schema/mod.ts", schemaText(TODOS.replace("}", ", n: t.number() }")));
  await dev.until(/add column todos\.n$/m);
  asking.write("schema/mod.ts", schemaText("{ todos: { name: t.string(), m: t.number() } }"));
  await dev.until(
    /Rename todos\.title to todos\.name, or drop todos\.title\? \[rename\/drop\/N\] $/m,
  );
  dev.type("drop\n");
  await dev.until(/Rename todos\.n to todos\.m, or drop todos\.n\? \[rename\/drop\/N\] $/m);
  dev.type("rename\n");
  await dev.until(
    /Drop todos\.title \(1 value\)\? \[y\/N\] [\s\S]*Drop todos\.title \(1 value\)\? \[y\/N\] $/m,
  );
  dev.type("y\n");
  await dev.until(/add column todos\.name/);
  expect((await callDev(asking.folder, rows)).json).toMatchObject({ rows: [{ name: null }] });
  asking.write("schema/mod.ts", schemaText("{ todos: { name: t.string().required() } }"));
  await dev.until(/To drop todos \(1 row\) instead, run rowhouse db push/);
  expect(await dev.kill("SIGINT")).toBe(0);
  expect(dev.output()).not.toContain("Drop todos (1 row)");
});

const IDENTITY_PAGE = readBlocks(readFileSync(join(ROOT, "docs/identity.md"), "utf8"));
const [CREATE_SECOND_APP = ""] = IDENTITY_PAGE.flatMap(({ mark, code }) =>
  mark?.text === "test/cli/dev_slow.ts" ? [code] : [],
);

test("a second app shares the sign-in, and a server reaches both apps at 127.0.0.1", async () => {
  using first = makeProject({ "schema/mod.ts": schemaText(TODOS) });
  using second = makeProject({ "schema/mod.ts": schemaText("{ posts: { title: t.string() } }") });
  const dev = await startDev(first.folder);
  const { identityUrl, app, user } = readDev(first.folder);
  const { port } = new URL(identityUrl);
  const url = `http://127.0.0.1:${port}`;
  expect(dev.output()).toContain(`  http://api.rowhouse.localhost:${port} in browsers\n`);
  expect(dev.output()).toContain(`  ${url} on servers:`);

  let key = "";
  for (const line of CREATE_SECOND_APP.trim().split("\n")) {
    const { code, out, err } = await runCommand(line.split(" ").slice(1), first);
    expect([line, code === 0 ? "" : err]).toEqual([line, ""]);
    key = out.trim();
  }
  const env = { ROWHOUSE_URL: url, ROWHOUSE_API_KEY: key };
  const pushed = await runCommand(["db", "push"], { ...second, env });
  expect(pushed.out).toContain("create table posts");

  const pages = { url: identityUrl, call: callService.bind(undefined, { url: identityUrl }) };
  const jar = new Map();
  expect((await submitSignIn(pages, jar, user)).status).toBe(303);
  const headers = { cookie: sharedCookie(jar) };
  for (const slug of [app, "blog"]) {
    const me = await fetch(`${url}/v1/auth/me?app=${slug}`, { headers });
    expect([slug, me.status, await me.json()]).toMatchObject([slug, 200, { email: user.email }]);
  }
  expect(await dev.kill("SIGINT")).toBe(0);
});

/** In alphabetical order, as in a push. */
const SCHEMAS = [
  {
    what: "every kind of column",
    tables: `{
      a_lines: { parent: t.ref("m_all").required(), text: t.string().required() },
      b_names: { name: t.string().required().unique() },
      m_all: {
        text: t.string().required(), count: t.number().required(), price: t.decimal().required(),
        isOpen: t.boolean().required(), token: t.uuid().required(), at: t.timestamp().required(),
        extra: t.json().required(), kind: t.enum(["it's", "two"]).required(), self: t.ref("m_all"),
      },
    }`,
    table: "m_all",
    repeats: true,
  },
  {
    what: "no required column",
    tables: "{ notes: { at: t.timestamp(), done: t.boolean().required().default(false) } }",
    table: "notes",
    repeats: true,
  },
  {
    what: "no table that accepts an identical row twice",
    tables: `{ names: t.model({ name: t.string().required(), place: t.number().required() }).unique("name", "place") }`,
    table: "names",
    repeats: false,
  },
];

test.each(SCHEMAS)("dev's printed commands work with $what", async ({ tables, table, repeats }) => {
  using other = makeProject({ "schema/mod.ts": schemaText(tables) });
  const dev = await startDev(other.folder);
  const created = (await paste(dev, "Create a row")) as { id: string };
  expect(created).toHaveProperty("id");
  if (repeats) expect(await paste(dev, "Create a row")).toHaveProperty("id");
  expect(dev.output()).toContain(`/v1/data/db/${table} `);
  const [, lines = ""] = dev.output().match(/In code, .*:\n((?: {2}.*\n)+)/) ?? [];
  const code = lines.replace("await", repeats ? "await" : "if (false) await");
  other.write("app.ts", code.replaceAll('"rowhouse/data"', JSON.stringify(SDK)));
  const ran = Bun.spawnSync([process.execPath, "app.ts"], { cwd: other.folder });
  expect(ran.stderr.toString()).toBe("");
  expect(ran.stdout.toString()).toContain(created.id);
  const { apiKey } = readDev(other.folder);
  expect(dev.output()).toContain(`The app's key, with every scope:\n  ${apiKey}\n`);
  expect(await dev.kill("SIGTERM")).toBe(0);
});

test("a failed push at the start is reported, and the tour follows the first successful push", async () => {
  using other = makeProject({ "schema/mod.ts": schemaText("{ todos: { Title: 1 } }") });
  const dev = await startDev(other.folder);
  expect(dev.output()).toContain("The push failed: correct ./schema/mod.ts");
  expect(dev.output()).not.toContain("No tables yet");
  other.write("schema/mod.ts", schemaText(TODOS));
  await dev.until(/List the rows/);
  expect(await paste(dev, "Create a row")).toMatchObject({ title: "Milk" });
  const { port } = new URL(readDev(other.folder).baseUrl);
  using third = makeProject({ "schema/mod.ts": schemaText(TODOS) });
  const busy = await runCommand(["dev", "--port", port], third);
  expectFailure(busy, "set another --port\n");
  expect(await dev.kill("SIGTERM")).toBe(0);
});

test("dev without a schema reports it and runs, and prints each request as one readable line", async () => {
  using other = makeProject();
  const dev = startOnTerminal(["dev", "--port", "0", "--app", "wiki"], other);
  await dev.until(DEV_READY);
  expect(dev.output()).toContain("./schema/mod.ts");
  const file = readDev(other.folder);
  expect(file.app).toBe("wiki");
  expect(dev.output()).toContain(file.apiKey);
  const headers = { authorization: `Bearer ${file.apiKey}` };
  await fetch(`${file.baseUrl}/v1/data/db/secret_name`, { headers });
  await dev.until(/\d\d:\d\d:\d\d.* GET \/v1\/data\/db\/\S+ .*404.* unknown_table .*ms/);
  expect(dev.output()).not.toContain('{"time"');
  expect(dev.output()).not.toContain("secret_name");
  expect(await dev.kill("SIGTERM")).toBe(0);
  other.write("schema/mod.ts", schemaText(TODOS));
  const again = startOnTerminal(["dev", "--port", "0"], other);
  // The log line of the first push follows dev's own messages.
  await again.until(/Ctrl-C stops everything[\s\S]*POST \/v1\/data\/schema/);
  expect(readDev(other.folder).app).toBe("wiki");
  expect(await again.kill("SIGTERM")).toBe(0);
  const rejected = await runCommand(["dev", "--app", "id"], other);
  expectFailure(rejected, 'Cannot name an app "id"', 2);
});

test.each([
  { folder: "wiki", slug: "wiki" },
  { folder: "My Wiki (2)", slug: "my-wiki-2" },
  { folder: "2048-Übung_", slug: "ubung" },
  { folder: "日本", slug: "app" },
  { folder: "id", slug: "id-app" },
  { folder: `${"a".repeat(39)}-b`, slug: "a".repeat(39) },
])("the folder $folder names the app $slug", ({ folder, slug }) => {
  expect(toSlug(folder)).toBe(slug);
  expect(slug).toMatch(APP_SLUG);
});

test("after kill -9 the next start works with the same key and rows", async () => {
  const killed = await startDev(project.folder);
  const { apiKey } = readDev(project.folder);
  await paste(killed, "Create a row");
  const before = await paste(killed, "List the rows");
  await killed.kill("SIGKILL");
  expect(existsSync(devFileOf(project.folder))).toBe(true);
  const dev = await startDev(project.folder);
  expect(readDev(project.folder).apiKey).toBe(apiKey);
  expect(await paste(dev, "List the rows")).toEqual(before);
  await dev.kill("SIGKILL");
  await eventually(() => processesOf(project.folder).length === 0);
});

test("a role that an administrator revoked stays revoked", async () => {
  const roles = async () =>
    await withDatabase(readDev(project.folder).databaseUrl, (database) =>
      readRows(database, "select role from rowhouse.grants"),
    );
  const first = await startDev(project.folder);
  expect(await roles()).toEqual([{ role: "member" }]);
  const words = ["admin", "revoke", "person@rowhouse.localhost", readDev(project.folder).app];
  expect((await runCommand(words, project)).code).toBe(0);
  await first.kill("SIGTERM");
  const second = await startDev(project.folder);
  expect(await roles()).toEqual([]);
  await second.kill("SIGTERM");
});

test("dev exits with a message after its database has died", async () => {
  const dev = await startDev(project.folder);
  const [server] = await withDatabase(readDev(project.folder).databaseUrl, (database) =>
    readRows<{ folder: string }>(database, "select current_setting('data_directory') as folder"),
  );
  const file = join(server?.folder ?? "", "postmaster.pid");
  process.kill(Number(readFileSync(file, "utf8").split("\n")[0]), "SIGKILL");
  await dev.until(/The embedded PostgreSQL has stopped: start rowhouse dev again/);
  await eventually(() => processesOf(project.folder).length === 0);
});

test.each([{ killsMs: [] }, { killsMs: [800, 1100, 1400, 1700] }])(
  "dev keeps the rows of its database of 0.1.0, killed after $killsMs ms",
  async ({ killsMs }) => {
    using other = makeProject({ "schema/mod.ts": schemaText(TODOS) });
    const { folder: program, remove } = await unpackProgram("0.1.0");
    const first = startCommand(["dev", "--port", "0"], { ...other, program });
    await first.until(DEV_READY);
    const created = await paste(first, "Create a row");
    expect(await first.kill("SIGTERM")).toBe(0);
    for (const waitMs of killsMs) {
      const killed = startCommand(["dev", "--port", "0"], other);
      await Bun.sleep(waitMs);
      await killed.kill("SIGKILL");
      await eventually(() => processesOf(other.folder).length === 0);
    }
    const last = await startDev(other.folder);
    if (killsMs.length === 0)
      expect(last.output()).toContain("Upgraded the database to this release, with all rows");
    expect(await paste(last, "List the rows")).toMatchObject({ rows: [created] });
    expect(await last.kill("SIGTERM")).toBe(0);
    remove();
  },
);

test("dev runs in a folder that only its owner can enter", async () => {
  using closed = makeProject({ "schema/mod.ts": schemaText(TODOS) });
  chmodSync(closed.folder, 0o700);
  const dev = await startDev(closed.folder);
  expect(await paste(dev, "Create a row")).toMatchObject({ title: "Milk" });
  const [data] = processesOf("/postgres -D ").flatMap(
    (line) => line.match(/-D (\/var\/tmp\/rowhouse-data-\w+)/)?.[1] ?? [],
  );
  expect(await dev.kill("SIGTERM")).toBe(0);
  if (data !== undefined) rmSync(data, { recursive: true, force: true });
});

test("dev never uses a folder with other content for the database", async () => {
  using other = makeProject({ "data/letter.txt": "dear" });
  const { code, err } = await runCommand(["dev", "--port", "0", "--data-dir", "data"], other);
  expect(err).toContain("contains other files");
  expect(code).toBe(1);
  expect(readFileSync(join(other.folder, "data/letter.txt"), "utf8")).toBe("dear");
});

test.each([
  { name: "empty", text: "" },
  { name: "truncated", text: '{ "loginPassword": "x", "identitySe' },
  { name: "incomplete", text: '{ "loginPassword": "x", "pushPassword": "x" }' },
])("secrets that are $name are reported and never replaced", async ({ text }) => {
  using other = makeProject({ ".rowhouse/secrets.json": text });
  expectFailure(
    await runCommand(["dev", "--port", "0"], other),
    "Cannot read .rowhouse/secrets.json",
  );
  expect(readFileSync(join(other.folder, ".rowhouse/secrets.json"), "utf8")).toBe(text);
});
