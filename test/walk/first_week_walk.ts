/**
 * The first week of a new user, with the pages' commands: imports rows from a file, serves an app on Hono and React to people
 * who sign in, exports all rows, and moves the app to a second service.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Glob } from "bun";
import { ROOT } from "../support/command.ts";
import { type Machine, startMachine } from "../support/machine.ts";
import { packAll } from "../support/packages.ts";
import type { PageContent, Visit } from "./browser.ts";
import {
  AS_DEVELOPER,
  equip,
  HOME,
  SHAPES,
  type Shape,
  startServer,
  stopServer,
  waitForLog,
} from "./developer.ts";
import { makeTodos, PROJECTS, type Todo, toCsv } from "./rows.ts";

const STEP_MS = 300_000;
const AS_OWNER = { ...AS_DEVELOPER, folder: `${HOME}/wiki` };
const AS_OPERATOR = { ...AS_DEVELOPER, folder: `${HOME}/second` };
const ORIGIN = "http://wiki.rowhouse.localhost:3000";
const PASSWORD = "three brown cups of tea";
const EXAMPLE = join(ROOT, "examples/node");
const README = readFileSync(join(EXAMPLE, "README.md"), "utf8");
const TODOS = makeTodos(20_000);

let folder: string;
let packed: Awaited<ReturnType<typeof packAll>>;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "rowhouse-week-"));
  packed = await packAll(folder);
}, STEP_MS);
afterAll(() => rmSync(folder, { recursive: true }));

describe.each([...SHAPES])("with $name", (shape) => {
  let machine: Machine;
  let person: Pick<Visit, "email" | "password">;
  /** The pages' settings for the first and the second service. */
  let settings: Record<string, string>;
  let moved: Record<string, string>;
  /** All todos as NDJSON. */
  let exported = "";

  beforeAll(async () => {
    machine = await startMachine();
    await equip(machine, shape);
    for (const path of Object.values(packed)) {
      const target = `${HOME}/rowhouse/${path.slice(folder.length + 1)}`;
      await machine.run(`cat >${target}`, { input: readFileSync(path) });
    }
    await installBrowser(machine);
    await machine.run("mkdir wiki second", { ...AS_DEVELOPER, folder: HOME });
  }, STEP_MS);
  afterAll(async () => await machine?.stop(), STEP_MS);

  const run = (commands: string, options: object = {}) =>
    machine.run(commands, { ...AS_OWNER, ...options });
  const rowhouse = (command: string, options: object = {}) =>
    run(`${shape.rowhouse} ${command}`, options);
  const visit = async (options: Omit<Visit, "origin">): Promise<PageContent> => {
    const input = JSON.stringify({ origin: ORIGIN, ...options });
    return JSON.parse(await machine.run("./bun browser.ts", { folder: "/opt/browser", input }));
  };
  const readStatus = async (path: string, headers: string) =>
    await run(`curl -sS -o /dev/null -w '%{http_code}' '${path}' ${headers}`);
  const serve = async (env: Record<string, string>) => {
    await run(toTyped("npx vite build", shape), { env });
    const server = { ...AS_OWNER, env, log: "server", prints: "Listening" };
    await startServer(machine, toTyped("npx tsx server.ts", shape), server);
  };

  test(
    "a project with the tables and packages of the pages runs",
    async () => {
      await run(shape.start, { isOnline: true });
      await rowhouse("init --typescript", { isOnline: true });
      await run("mkdir vendor && cp ../rowhouse/rowhouse-client-*.tgz vendor/");
      for (const line of listInstalls(shape)) await run(line, { isOnline: true });
      const dev = `${shape.rowhouse} dev --origin ${ORIGIN} --preview filters,live`;
      const options = { ...AS_OWNER, log: "dev", prints: "Ctrl-C stops everything" };
      const tour = await startServer(machine, dev, options);
      const [, email = "", password = ""] = /as (person@\S+) with (\S+)/.exec(tour) ?? [];
      person = { email, password };
      settings = readSettings({ key: readKey(tour) });
      for (const [path, text] of readFiles())
        await machine.write(`${AS_OWNER.folder}/${path}`, text);
      await waitForLog(machine, "create table todos", options);
      expect(await rowhouse("db status")).toContain("The schema is up to date");
    },
    STEP_MS,
  );

  test(
    "a killed import continues, and stores each row once",
    async () => {
      await machine.write(`${AS_OWNER.folder}/projects.csv`, toCsv(PROJECTS));
      const url = `${settings["ROWHOUSE_URL"]}/v1/data/db/projects?limit=1`;
      const list = `curl -sS ${url} -H 'Authorization: Bearer ${settings["ROWHOUSE_API_KEY"]}'`;
      await run(`setsid ${shape.rowhouse} data import projects projects.csv >import.log 2>&1 & group=$!
for _ in $(seq 600); do ${list} | grep -q '"name"' && break; sleep 0.1; done
kill -KILL -- -$group || true; wait $group || true`);
      const output = await rowhouse("data import projects projects.csv");
      expect(output).toMatch(/^Stored 5000 rows in projects, \d+ of them in an earlier run;/m);
      const names = toRows(await rowhouse("data export projects --format ndjson"));
      expect(names.map(({ name }) => name)).toEqual(PROJECTS.map(({ name }) => name));
    },
    STEP_MS,
  );

  test(
    "an export of 20,000 imported rows equals the imported CSV",
    async () => {
      await machine.write(`${AS_OWNER.folder}/todos.csv`, toCsv(TODOS));
      const match = "--match project=projects.name";
      const output = await measure("data import todos todos.csv", match);
      expect(output).toContain("Stored 20000 rows in todos\n");
      await measure("data export todos", "--format ndjson >todos.ndjson");
      await measure("data export todos", ">exported.csv");
      exported = await run("cat todos.ndjson");
      const projects = toRows(await rowhouse("data export projects --format ndjson"));
      const names = new Map(projects.map(({ id, name }) => [id, name]));
      const rows = toRows(exported);
      expect(rows.map((row) => toTodo(row, names))).toEqual(TODOS);
      expect(new Set(rows.map(({ id }) => id)).size).toBe(TODOS.length);
      expect(toRows(await run(`python3 -c '${READ_CSV}' <exported.csv`))).toEqual(
        rows.map(toFields),
      );
    },
    STEP_MS,
  );

  test(
    "the app of the pages compiles, and displays rows only to people with a role",
    async () => {
      if (shape.lacks.includes("node"))
        await run(
          `sed -i 's/"lib": \\["ESNext"\\]/"lib": ["ESNext", "DOM", "DOM.Iterable"]/' tsconfig.json`,
        );
      expect(await run(shape.tsc)).toBe("");
      await serve(settings);
      expect(await readStatus("http://127.0.0.1:3000/api/todos", "")).toBe("401");
      const page = await visit({ ...person, add: "Added in a browser" });
      expect(page.text).toContain("Dev Person");
      expect(page.titles).toHaveLength(20);
      expect(page.titles[0]).toBe(TODOS[0]?.title);
      const created = await rowhouse("admin create-user ada@example.org --name Ada --json");
      const { passwordLink } = JSON.parse(created.slice(created.indexOf("{")));
      const ada = { email: "ada@example.org", password: PASSWORD };
      const denied = await visit({ ...ada, link: passwordLink });
      expect(denied.text).toContain("Ask an administrator for access.");
      expect(denied.titles).toEqual([]);
      const cookie = `-H 'Cookie: ${denied.cookie}'`;
      expect(await readStatus("http://127.0.0.1:3000/api/todos", cookie)).toBe("403");
      await rowhouse("admin grant ada@example.org wiki editor --new-role");
      expect(await readStatus("http://127.0.0.1:3000/api/todos", cookie)).toBe("200");
      exported = await rowhouse("data export todos --format ndjson");
      expect(toRows(exported).at(-1)).toMatchObject({ title: "Added in a browser" });
      await stopServer(machine, "server", AS_OWNER);
    },
    STEP_MS,
  );

  test(
    "the app moves to a second service with its ids, and the first service's key stops working",
    async () => {
      const archive = await measure("admin export-app", "wiki wiki.archive");
      expect(archive).toMatch(/^Wrote wiki.archive: 2 tables, 25001 rows, \d migrations$/m);
      await run(
        "ln -s ../wiki/node_modules node_modules && cp ../wiki/package.json .",
        AS_OPERATOR,
      );
      const options = { ...AS_OPERATOR, log: "dev", prints: "Ctrl-C stops everything" };
      await startServer(
        machine,
        `${shape.rowhouse} dev --port 8790 --preview filters,live`,
        options,
      );
      const imported = await measure("admin import-app", "../wiki/wiki.archive", AS_OPERATOR);
      expect(imported).toMatch(/^Imported app wiki \(\S+\): 2 tables, 25001 rows, \d migrations$/m);
      const scopes = "--scope data:read,data:write,schema:push";
      const key = readKey(await rowhouse(`admin issue-key wiki ${scopes}`, AS_OPERATOR));
      moved = readSettings({ key, port: 8790 });
      for (const table of ["todos", "projects"]) {
        const command = `data export ${table} --format ndjson`;
        const imported = await rowhouse(command, { env: moved });
        // The line before the rows names the destination. A comparison of lists would print them.
        expect(toLines(imported).join() === toLines(await rowhouse(command)).join()).toBe(true);
      }
      expect(await rowhouse("db status", { env: moved })).toContain("The schema is up to date");
      const url = `${moved["ROWHOUSE_URL"]}/v1/data/db/todos/${toRows(exported)[0]?.["id"]}`;
      const toHeader = (text = "") => `-H 'Authorization: Bearer ${text}'`;
      expect(await readStatus(url, toHeader(key))).toBe("200");
      expect(await readStatus(url, toHeader(settings["ROWHOUSE_API_KEY"]))).toBe("401");
    },
    STEP_MS,
  );

  test(
    "the app runs on the second service after people get a role there",
    async () => {
      const { email } = person;
      const { user } = JSON.parse(await run("cat .rowhouse/dev.json", AS_OPERATOR));
      await rowhouse(`admin grant ${email} wiki editor --new-role`, AS_OPERATOR);
      await serve(moved);
      const page = await visit({ ...user, add: "Added on the second service" });
      expect(page.text).toContain("Dev Person");
      expect(page.titles[0]).toBe(TODOS[0]?.title);
      const last = toRows(await rowhouse("data export todos --format ndjson", { env: moved })).at(
        -1,
      );
      expect(last).toMatchObject({ title: "Added on the second service" });
    },
    STEP_MS,
  );

  /** Returns the output of a command. Prints its duration and the memory of its largest process. */
  async function measure(command: string, rest: string, as: object = {}): Promise<string> {
    const output = await run(`python3 -c '${MEASURE}' ${shape.rowhouse} ${command} ${rest}`, as);
    const [, figures = ""] = /^figures: (.*)$/m.exec(output) ?? [];
    console.log(`${shape.name}: ${command}: ${figures}`);
    return output;
  }
});

const MEASURE = `
import resource, subprocess, sys, time
start = time.monotonic()
code = subprocess.call(sys.argv[1:])
memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
print(f"figures: {time.monotonic() - start:.1f} s, {memory} MB", file=sys.stderr)
sys.exit(code)`;

const READ_CSV = `
import csv, json, sys
for row in csv.DictReader(sys.stdin): print(json.dumps(row))`;

/** Installs Chromium's driver with its own Bun, outside of PATH. */
async function installBrowser(machine: Machine): Promise<void> {
  const to = "/opt/browser";
  const { stdout } = Bun.spawnSync(
    [
      "tar",
      "-c",
      "--dereference",
      "node_modules/playwright-core",
      "-C",
      import.meta.dir,
      "browser.ts",
    ],
    { cwd: ROOT },
  );
  await machine.run(`mkdir ${to} && tar -x --no-same-owner -C ${to}`, {
    input: new Uint8Array(stdout),
  });
  const input = readFileSync(process.execPath);
  await machine.run(`cat >${to}/bun && chmod 755 ${to}/bun`, { input });
}

/** Replaces the commands in a line of the pages by those of the shape. */
function toTyped(line: string, { typed }: Shape): string {
  return typed.reduce((text, [displayed, instead]) => text.replace(displayed, instead), line);
}

/** Returns the README's npm commands, with the locked versions of the example. */
function listInstalls(shape: Shape): string[] {
  const { dependencies, devDependencies } = JSON.parse(
    readFileSync(join(EXAMPLE, "package.json"), "utf8"),
  );
  const versions: Record<string, string> = { ...dependencies, ...devDependencies };
  const toLocked = (name: string) => (name in versions ? `${name}@${versions[name]}` : name);
  const lines = README.match(/^npm .+$/gm) ?? [];
  return lines.map((line) => toTyped(line.split(" ").map(toLocked).join(" "), shape));
}

/** Returns the sources of the example. */
function readFiles(): [path: string, text: string][] {
  const paths = ["*.{ts,html}", "schema/*", "src/*"].flatMap((pattern) => [
    ...new Glob(pattern).scanSync(EXAMPLE),
  ]);
  return paths.map((path) => [path, readFileSync(join(EXAMPLE, path), "utf8")]);
}

/** Returns the variables that the pages export, for this key and port. */
function readSettings({
  key,
  port = 8787,
}: {
  key: string;
  port?: number;
}): Record<string, string> {
  const lines = [...README.matchAll(/^export (\w+)=(\S+)$/gm)];
  const exports = lines.map(([, name = "", value = ""]) => [name, value] as const);
  const replaced = exports.map(
    ([name, value]) => [name, value.replace(/^rh_.*/, key).replace(":8787", `:${port}`)] as const,
  );
  return Object.fromEntries(replaced);
}

function readKey(output: string): string {
  return /\brh_\S+/.exec(output)?.[0] ?? output;
}

function toRows(ndjson: string): Record<string, unknown>[] {
  return toLines(ndjson).map((line) => JSON.parse(line));
}

function toLines(ndjson: string): string[] {
  return ndjson.split("\n").filter((line) => line.startsWith("{"));
}

/** Converts a stored row to the row of the imported file. */
function toTodo(row: Record<string, unknown>, names: ReadonlyMap<unknown, unknown>): Todo {
  const { id: _id, project, noted_at, ...rest } = row;
  const notedAt = new Date(String(noted_at)).toISOString();
  return { ...rest, project: names.get(project), noted_at: notedAt } as Todo;
}

/** Returns the CSV fields of a row. */
function toFields(row: Record<string, unknown>): Record<string, string> {
  const toField = (value: unknown) =>
    typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? "");
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, toField(value)]));
}
