import { afterAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  BIN,
  listOwnFiles,
  PACKAGES,
  type PackageName,
  packAll,
  readManifest,
  runTool,
} from "../support/packages.ts";
import { openTestService } from "../support/service.ts";

const ROOT = join(import.meta.dir, "../..");
const COMMAND = join(ROOT, "src/cli/rowhouse.ts");
const INSTALL_MS = 300_000;

/** A typical app: a schema, code that uses the schema, and the types that a push generates. */
const APP = {
  "schema/mod.ts": `import { defineSchema, t } from "rowhouse/schema";

export default defineSchema({
  projects: { name: t.string().required() },
  todos: t
    .model({
      title: t.string().required(),
      status: t.enum(["open", "done"]).required().default("open"),
      extra: t.json<{ tags: string[] }>(),
      project: t.ref("projects", { onDelete: "cascade" }),
    })
    .index("status"),
});
`,
  "app.ts": `import { createAppClient } from "rowhouse/app";
import { createDataClient, DataError } from "rowhouse/data";
import { type Insert, type Row, toDefinition } from "rowhouse/schema";
import { createServerClient } from "rowhouse/server";
import { person } from "rowhouse/testing";
import type { Tables } from "./.rowhouse/types.d.ts";
import schema from "./schema/mod.js";

declare const process: { readonly env: { readonly [name: string]: string | undefined } };
declare const console: { readonly log: (text: string) => void };

const settings = {
  baseUrl: process.env["ROWHOUSE_URL"] ?? "",
  apiKey: process.env["ROWHOUSE_API_KEY"] ?? "",
};
const db = createDataClient({ ...settings, schema });
const generated = createDataClient<Tables>(settings);

const project = await db.projects.create({ name: "Garden" });
const values: Insert<Tables, "todos"> = { title: "Water", extra: { tags: ["a"] }, project: project.id };
const todo: Row<typeof schema, "todos"> = await generated.todos.create(values);
const changed = await db.todos.update(todo.id, { status: "done" });
const titles: string[] = [];
for await (const { title } of db.todos.all({ limit: 1 })) titles.push(title);
await db.todos.delete(todo.id);
export const lost = await db.todos.get(todo.id).catch((error: unknown) => error);
export const row = db.todos.get;

const hosts = { url: settings.baseUrl, identityUrl: settings.baseUrl, app: "app", schema };
export const ofPerson = createAppClient(hosts).db.todos.get;
export const verify = createServerClient(hosts).verify;
export const makePerson = () => person({ role: "member", schema });

// @ts-expect-error a misspelled column does not exist
await db.todos.update(todo.id, { titel: "" }).catch(() => {});
console.log(
  JSON.stringify({
    titles,
    status: changed.status,
    tags: changed.extra?.tags,
    code: lost instanceof DataError ? lost.code : "no DataError",
    isReadable: "definition" in toDefinition(schema),
  }),
);
`,
};

const STRICTEST = {
  target: "ES2022",
  lib: ["ES2022", "DOM"],
  types: [],
  outDir: "out",
  rootDir: ".",
  declaration: true,
  strict: true,
  skipLibCheck: false,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  erasableSyntaxOnly: true,
  noUncheckedIndexedAccess: true,
  noUncheckedSideEffectImports: true,
  exactOptionalPropertyTypes: true,
  noImplicitOverride: true,
  noImplicitReturns: true,
  noPropertyAccessFromIndexSignature: true,
  noFallthroughCasesInSwitch: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
  allowUnreachableCode: false,
  allowUnusedLabels: false,
};
const RESOLUTIONS = [
  { module: "ESNext", moduleResolution: "bundler" },
  { module: "NodeNext", moduleResolution: "nodenext" },
];
const BUN_ADD = [join(BIN, "bun"), "add"];
const NPM_INSTALL = ["npm", "install", "--prefer-offline", "--no-audit", "--no-fund"];
const INSTALLERS: readonly { installer: string; name: PackageName; command: string[] }[] = [
  { installer: "bun add", name: "rowhouse", command: BUN_ADD },
  { installer: "npm i", name: "rowhouse", command: NPM_INSTALL },
  { installer: "bun add, client only,", name: "rowhouse-client", command: BUN_ADD },
  { installer: "npm i, client only,", name: "rowhouse-client", command: NPM_INSTALL },
];

/** The only permissions that an app needs: its environment, its modules and the network. */
const DENO_FLAGS = ["run", "--quiet", "--allow-env", "--allow-net", "--node-modules-dir=manual"];

/** Too large for every installation: CI installs these tools separately with `bun install` in this folder. */
const TOOLS = join(ROOT, "test/ci/tools");
const HAS_TOOLS = existsSync(join(TOOLS, "node_modules"));
const NO_TOOLS = "bun install --cwd test/ci/tools has not been run";
/** The binary of this platform's package: the command that wraps it needs Node. */
const [DENO = "deno"] = HAS_TOOLS
  ? new Bun.Glob("node_modules/@deno/*/deno").scanSync({ cwd: TOOLS, absolute: true })
  : [];

/** A Node that runs TypeScript. The installed Node can be too old. */
const [NEW_NODE = "node"] = HAS_TOOLS
  ? new Bun.Glob("node_modules/node-*/bin/node").scanSync({ cwd: TOOLS, absolute: true })
  : [];

/** On a machine with only Bun, the tests that need Node or Deno are skipped by name. */
const HAS_NODE = ["node", "npm"].every((name) => Bun.which(name) !== null);
const isLeftOut = ({ installer, runtime }: { installer: string; runtime?: string }): boolean =>
  (!HAS_NODE && (installer.startsWith("npm i") || runtime === "node")) ||
  (!HAS_TOOLS && runtime === "deno");

/** The project folder of each installer, and the environment of the app's code. */
const projects = new Map<string, { folder: string; settings: Readonly<Record<string, string>> }>();

const folder = await mkdtemp(join(tmpdir(), "rowhouse-package-"));
const service = await openTestService();
const tarballs = await packAll(folder);
for (const { installer, name, command } of INSTALLERS) {
  if (isLeftOut({ installer })) continue;
  const project = join(folder, installer.replaceAll(/\W+/g, "-"));
  await Bun.write(join(project, "package.json"), '{ "name": "app", "type": "module" }');
  for (const [file, text] of Object.entries(APP))
    await Bun.write(join(project, file), text.replaceAll('"rowhouse/', `"${name}/`));
  await runTool([...command, tarballs[name]], project);
  const { key } = await service.makeApp();
  const settings = { ROWHOUSE_URL: service.url, ROWHOUSE_API_KEY: key };
  // rowhouse-client has no command: developers run the command from another folder or an image.
  const rowhouse =
    name === "rowhouse" ? [join(BIN, "bun"), "x", name] : [process.execPath, COMMAND];
  await runTool([...rowhouse, "db", "push"], project, settings);
  projects.set(installer, { folder: project, settings });
}
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true });
});

async function compile(project: string, resolution: object): Promise<string> {
  const compilerOptions = { ...STRICTEST, ...resolution };
  const include = ["app.ts", "schema", ".rowhouse/*.d.ts"];
  await Bun.write(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, include }));
  return runTool([process.execPath, join(BIN, "tsc"), "--project", project], project);
}

const CASES = INSTALLERS.flatMap(({ installer }) =>
  RESOLUTIONS.map((resolution) => ({ installer, resolution, how: resolution.moduleResolution })),
);

const RUNTIMES = INSTALLERS.flatMap(({ installer }) => [
  { installer, runtime: "bun", command: [join(BIN, "bun"), "app.ts"] },
  { installer, runtime: "node", command: ["node", "out/app.js"] },
  { installer, runtime: "deno", command: [DENO, ...DENO_FLAGS, "out/app.js"] },
]);

const keep = <Row extends { installer: string; runtime?: string }>(rows: readonly Row[]): Row[] =>
  rows.filter((row) => !isLeftOut(row));

describe("an app that installs the package", () => {
  if (!HAS_NODE) test.skip("by npm or under Node: node and npm are not here", () => undefined);
  if (!HAS_TOOLS) test.skip(`under Deno: ${NO_TOOLS}`, () => undefined);

  test.each(keep(CASES))("with $installer compiles under every strict flag: $how", async (row) => {
    const project = projects.get(row.installer)?.folder ?? "";
    expect(await compile(project, row.resolution)).toBe("");
    const types = await Bun.file(join(project, "out/app.d.ts")).text();
    // An editor must display the columns of a row, not internal helper types.
    expect(types).toContain('status: "done" | "open"');
    expect(types).not.toMatch(/\b(Flat|RowOf|Part)</);
  });

  const WANT = {
    titles: ["Water"],
    status: "done",
    tags: ["a"],
    code: "not_found",
    isReadable: true,
  };
  test.each(keep(RUNTIMES))(
    "with $installer reads and writes a service under $runtime",
    async (row) => {
      const { folder: project, settings } = projects.get(row.installer) ?? { folder: "" };
      if (row.runtime !== "bun") await compile(project, RESOLUTIONS[1] ?? {});
      expect(JSON.parse(await runTool(row.command, project, settings))).toEqual(WANT);
    },
  );

  test.each([
    { template: [], line: 'db.started_notes.create({ title: "Milk" })' },
    { template: ["--template", "todo"], line: 'db.todos.create({ title: "Milk" })' },
    { template: ["--react"], line: 'db.started_cards.create({ title: "Milk" })' },
  ])("is created by init $template, and compiles without changes", async ({ template, line }) => {
    const project = join(folder, template.join(), "started");
    await Bun.write(join(project, "package.json"), '{ "name": "started", "type": "module" }');
    await runTool([...BUN_ADD, tarballs.rowhouse], project);
    const rowhouse = [join(BIN, "bun"), "x", "rowhouse"];
    const output = await runTool([...rowhouse, "init", "--typescript", ...template], project);
    expect(output).toContain("Next: bunx rowhouse dev");
    expect(output).not.toContain("Run bun");
    await Bun.write(
      join(project, "app.ts"),
      `import { createDataClient } from "rowhouse/data";
import schema from "./schema/mod.ts";

const { ROWHOUSE_URL: baseUrl = "", ROWHOUSE_API_KEY: apiKey = "" } = process.env;
const db = createDataClient({ baseUrl, apiKey, schema });
export const { title }: { title: string } = await ${line};
`,
    );
    expect(await runTool([join(BIN, "bun"), "x", "tsc"], project)).toBe("");
  });

  test.skipIf(!HAS_NODE)("prints one line about how to get Bun if Bun is missing", async () => {
    const project = projects.get("bun add")?.folder ?? "";
    const path = join(folder, "path");
    await mkdir(path, { recursive: true });
    for (const name of ["node", "env", "sh"])
      await symlink(Bun.which(name) ?? "", join(path, name));
    const command = join(project, "node_modules/.bin/rowhouse");
    const start = (arg: string, env: Readonly<Record<string, string>>) =>
      Bun.spawnSync([command, arg], { cwd: project, env: { HOME: folder, ...env } });
    const without = start("serve", { PATH: path });
    expect([without.exitCode, without.stdout.toString()]).toEqual([1, ""]);
    expect(without.stderr.toString()).toMatch(
      /^This command requires Bun, .*npm install.* bun,.*\n$/,
    );

    await mkdir(join(project, "node_modules/bun/bin"), { recursive: true });
    await Bun.write(join(project, "node_modules/bun/package.json"), '{ "name": "bun" }');
    await symlink(process.execPath, join(project, "node_modules/bun/bin/bun.exe"));
    const beside = start("--version", { PATH: path });
    await rm(join(project, "node_modules/bun"), { recursive: true });
    const { version } = await Bun.file(join(ROOT, "package.json")).json();
    for (const { exitCode, stdout } of [beside, start("--version", { PATH: `${path}:${BIN}` })])
      expect([exitCode, stdout.toString()]).toEqual([
        0,
        expect.stringMatching(new RegExp(`^${version} \\(tables \\d+, code [0-9a-f]+\\)\n$`)),
      ]);
  });

  test.skipIf(!HAS_NODE)(
    "is created by init on a system with npm, and names npm's commands",
    async () => {
      const project = projects.get("npm i")?.folder ?? "";
      const output = await runTool(["npx", "rowhouse", "init", "--no-install"], project);
      expect(output).toContain("\nRun npm install\n");
      expect(output).toContain("\nDid not change schema/mod.ts\n");
      expect(output).toContain("\nNext: npx rowhouse dev\n");
    },
  );

  test.skipIf(!HAS_TOOLS || !HAS_NODE)(
    "pushes without Bun after npm i, and needs max 8 MB",
    async () => {
      const project = join(folder, "push-only");
      await Bun.write(join(project, "package.json"), '{ "name": "shop" }');
      await runTool([...NPM_INSTALL, tarballs.rowhouse], project);
      const rowhouse = async (...args: string[]) => {
        const script = join(project, "node_modules/.bin/rowhouse");
        const child = Bun.spawn([NEW_NODE, script, ...args], {
          cwd: project,
          env: { HOME: folder },
          stdio: ["ignore", "pipe", "pipe"],
        });
        const [out, err] = await Promise.all([
          new Response(child.stdout).text(),
          new Response(child.stderr).text(),
        ]);
        return { code: await child.exited, out, err };
      };
      expect(await rowhouse("init")).toEqual({
        code: 1,
        out: "",
        err: expect.stringMatching(/requires Bun, .* add --push-only\n$/),
      });
      const { out } = await rowhouse("init", "--push-only");
      expect(out).toEndWith("set both values, then npx rowhouse db push\n");
      const manifest = await Bun.file(join(project, "package.json")).json();
      expect(manifest.scripts).toEqual({ push: "rowhouse db push", check: "rowhouse db check" });
      expect(Object.keys(manifest)).not.toContain("devDependencies");
      const kilobytes = await runTool(["du", "-sk", "node_modules"], project);
      expect(Number.parseInt(kilobytes, 10)).toBeLessThanOrEqual(8_000);

      const { key } = await service.makeApp();
      await Bun.write(
        join(project, ".env"),
        `ROWHOUSE_URL=${service.url}\nROWHOUSE_API_KEY=${key}\n`,
      );
      const destination = `Destination: ${service.url}\n`;
      const pushed = await rowhouse("db", "push");
      expect(pushed).toEqual({
        code: 0,
        out: expect.stringContaining("Wrote .rowhouse/types.d.ts"),
        err: destination,
      });
      expect(await rowhouse("db", "check")).toMatchObject({ code: 0, err: destination });
      expect((await rowhouse("db", "status")).out).toMatch(/push_only_notes[\s\S]*up to date/);

      const schema = join(project, "schema/mod.ts");
      const text = await Bun.file(schema).text();
      await Bun.write(schema, `${text}throw new Error("stop");\n`);
      expect(await rowhouse("db", "plan")).toEqual({
        code: 1,
        out: "",
        err: expect.stringMatching(
          /^Destination: .*\nCannot read schema\/mod\.ts: Error: stop at schema\/mod\.ts:\d+:\d+\n$/,
        ),
      });
      await Bun.write(schema, `${text}process.exit(3);\n`);
      expect((await rowhouse("db", "plan")).err).toContain("a schema must not exit");
    },
    INSTALL_MS,
  );

  test.skipIf(!HAS_NODE).each([
    { bun: "Bun of its own", installed: [`bun@${Bun.version}`], maxMb: 172 },
    { bun: "the Bun of the machine", installed: [], maxMb: 75 },
  ])(
    "with $bun runs dev after npm i, and needs max $maxMb MB",
    async ({ installed, maxMb }) => {
      const project = join(folder, `sized-${maxMb}`);
      await Bun.write(join(project, "package.json"), '{ "name": "sized", "type": "module" }');
      await runTool([...NPM_INSTALL, tarballs.rowhouse, ...installed], project);
      await runTool(["npx", "rowhouse", "init"], project);
      const megabytes = await runTool(["du", "-sm", "node_modules"], project);
      expect(Number.parseInt(megabytes, 10)).toBeLessThanOrEqual(maxMb);
      expect(existsSync(join(project, "node_modules/typescript"))).toBe(false);
      const dev = Bun.spawn(["npx", "rowhouse", "dev", "--port", "0"], {
        cwd: project,
        env: { HOME: folder, PATH: `${BIN}:${process.env["PATH"]}` },
        stdout: "pipe",
      });
      let output = "";
      for await (const chunk of dev.stdout) {
        output += new TextDecoder().decode(chunk);
        if (output.includes("Ctrl-C stops everything")) break;
      }
      const { baseUrl } = await Bun.file(join(project, ".rowhouse/dev.json")).json();
      const page = await (await fetch(`${baseUrl}/docs`)).text();
      const [script = ""] = page.match(/\/assets\/\w+\.\w+\.js/) ?? [];
      expect((await fetch(baseUrl + script)).status).toBe(200);
      dev.kill("SIGTERM");
      await dev.exited;
    },
    INSTALL_MS,
  );

  test("gets a one-line message from dev before init", async () => {
    const project = projects.get("bun add")?.folder ?? "";
    const dev = runTool([join(BIN, "bun"), "x", "rowhouse", "dev", "--port", "0"], project);
    const { message } = await dev.then(
      () => new Error("It runs"),
      (error: Error) => error,
    );
    expect(message).toEndWith(
      "run bunx rowhouse init, which adds and installs it, or add --database <url> with the address of an empty database\n",
    );
  });

  test.each(INSTALLERS.filter(({ command }) => command === BUN_ADD))(
    "with $installer bundles for a browser without a runtime",
    async ({ installer }) => {
      const entry = join(projects.get(installer)?.folder ?? "", "app.ts");
      const built = await Bun.build({ entrypoints: [entry], target: "browser", minify: true });
      const text = (await built.outputs[0]?.text()) ?? "";
      expect(text).toContain("/v1/data/db/");
      expect(text).not.toMatch(/\bBun\.|\bnode:|\brequire\(/);
    },
  );
});

describe("the package", () => {
  test("contains only built files, what they read, and the examples", async () => {
    const files = (await runTool(["tar", "-tzf", tarballs.rowhouse], folder)).trim().split("\n");
    const listed = await listOwnFiles();
    const own = listed.filter((file) =>
      /^(package\.json|README\.md|LICENSE|\.env\.example|schema\/mod\.ts|docs\/\w+\.md|src\/db\/(code|migrations)\/.*\.sql|src\/(identity|pages)\/.*\.(bin|css|svg)|examples\/(board|todo)\/(package\.json|index\.html|vite\.config\.ts|(schema|src|server)\/.+))$/.test(
        file,
      ),
    );
    expect(own.length).toBeGreaterThan(100);
    const sources = listed.filter((file) => /^src\/(schema|kinds|sdk|std)\/.*\.ts$/.test(file));
    const built = sources.flatMap((file) =>
      [".js", ".d.ts"].map((ending) => file.replace(/^src/, "dist").replace(/\.ts$/, ending)),
    );
    const bundled = /^package\/dist\/(command|program|program\/scripts)\/\w+\.(js|txt)$/;
    const isBuilt = (file: string) =>
      bundled.test(file) || built.some((path) => file === `package/${path}`);
    expect(files.filter((file) => !isBuilt(file)).toSorted()).toEqual(
      own.map((file) => `package/${file}`).toSorted(),
    );
    for (const file of ["sdk/data.js", "sdk/data.d.ts", "sdk/identity.js", "command/rowhouse.js"])
      expect(files).toContain(`package/dist/${file}`);
  });

  test("requires no other package, and has the license of each bundled package", async () => {
    const read = (path: string) => runTool(["tar", "-xzOf", tarballs.rowhouse, path], folder);
    const manifest = JSON.parse(await read("package/package.json"));
    expect(manifest).not.toHaveProperty("dependencies");
    const licenses = await read("package/dist/program/LICENSES.txt");
    const { dependencies } = await readManifest("rowhouse");
    for (const [name, version] of Object.entries(dependencies))
      expect(licenses).toContain(`${name} ${version} (`);
    expect(await Bun.file(join(folder, "rowhouse/package.json")).json()).toEqual(
      await readManifest("rowhouse"),
    );
  });

  test.each(PACKAGES)("%s can be published publicly, with provenance", async (name) => {
    const manifest = await readManifest(name);
    expect(manifest).not.toHaveProperty("private");
    expect(manifest.publishConfig).toEqual({ access: "public", provenance: true });
    expect(await Bun.file(join(ROOT, "CHANGELOG.md")).text()).toContain(`${manifest.version}`);
  });

  test.each(PACKAGES)("%s marks its hooks as code of a browser", async (name) => {
    const path = "package/dist/sdk/react.js";
    const hooks = await runTool(["tar", "-xOzf", tarballs[name], path], folder);
    expect(hooks.replace(/^\/\*\*[\s\S]*?\*\/\s*/, "")).toStartWith('"use client";');
  });

  test("rowhouse-client has only modules and types, and max 195 KB", async () => {
    const listed = await runTool(["tar", "-tvzf", tarballs["rowhouse-client"]], folder);
    const files = listed
      .trim()
      .split("\n")
      .map((line) => line.split(/\s+/));
    const sizes = files.map((parts) => Number(parts[2]));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(195_000);
    const paths = files.map((parts) => parts[5]?.replace("package/", "") ?? "");
    const outside = paths.filter(
      (path) => !/^dist\/(schema|kinds|sdk)\/\w+\.(js|d\.ts)$/.test(path),
    );
    expect(outside.toSorted()).toEqual(["LICENSE", "README.md", "package.json"]);
  });

  const LINTERS = [
    { linter: "publint", args: ["run", "--strict", "--level=suggestion"], wanted: "All good!" },
    { linter: "attw", args: ["--profile=esm-only"], wanted: "🟢" },
  ];
  if (!HAS_TOOLS) test.skip(`is clean for publint and attw: ${NO_TOOLS}`, () => undefined);

  // publint checks the paths in package.json. attw checks that every module resolution finds types.
  test.each(HAS_TOOLS ? PACKAGES.flatMap((name) => LINTERS.map((row) => ({ name, ...row }))) : [])(
    "$name is clean for $linter",
    async ({ name, linter, args, wanted }) => {
      const command = [process.execPath, join(TOOLS, "node_modules/.bin", linter)];
      expect(await runTool([...command, ...args, tarballs[name]], ROOT)).toContain(wanted);
    },
    INSTALL_MS,
  );

  test("exports the entry points of tsconfig.json", async () => {
    const { exports } = await Bun.file(join(ROOT, "package.json")).json();
    const { compilerOptions } = await Bun.file(join(ROOT, "tsconfig.json")).json();
    const built = Object.entries<{ types: string; default: string }>(exports).map(
      ([name, target]) => {
        const source = target.default.replace("./dist/", "./src/").replace(/\.js$/, ".ts");
        expect(target).toEqual({
          types: target.default.replace(/\.js$/, ".d.ts"),
          default: target.default,
        });
        return [name.replace(".", "rowhouse"), [source]];
      },
    );
    expect(compilerOptions.paths).toEqual(Object.fromEntries(built));
  });
});
