/** The modules that each command imports. Commands start fast because they import only what they need. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { makeDatabase } from "../support/cluster.ts";
import { makeProject, ROOT, type Settings, schemaText } from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { share } from "../support/share.ts";

const LIST = `import { writeFileSync } from "node:fs";
process.on("exit", () => writeFileSync("loaded.json", JSON.stringify(Object.keys(require.cache))));`;

const project = await share(
  makeProject({ "list.ts": LIST, "schema/mod.ts": schemaText("{ todos: { title: t.string() } }") }),
);
const database = await share(makeDatabase());

/** The modules that a command imported: modules of this repository by path, packages by name. */
async function listLoaded(
  words: readonly string[],
  { env = {}, until }: { env?: Settings; until?: string } = {},
): Promise<{ code: number; ours: string[]; packages: string[] }> {
  const { PATH = "", HOME = "" } = process.env;
  const script = join(ROOT, "src/cli/rowhouse.ts");
  const child = Bun.spawn([process.execPath, "--preload", "./list.ts", script, ...words], {
    cwd: project.folder,
    env: { PATH, HOME, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  const decoder = new TextDecoder();
  let output = "";
  let hasStopped = false;
  for await (const chunk of child.stdout) {
    output += decoder.decode(chunk, { stream: true });
    if (until === undefined || hasStopped || !output.includes(until)) continue;
    hasStopped = true;
    child.kill("SIGTERM");
  }
  const code = await child.exited;
  const paths: string[] = JSON.parse(readFileSync(join(project.folder, "loaded.json"), "utf8"));
  const loaded = paths.map((path) => relative(ROOT, path));
  const packages = loaded.map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]);
  return {
    code,
    ours: loaded.filter((path) => path.startsWith("src/")),
    packages: [...new Set(packages.filter((name) => name !== undefined))].sort(),
  };
}

const LIGHT =
  /^src\/(cli\/(arguments|rowhouse|main|commands?|failures|help|package|paint|summaries|terminal)|std\/\w+|problem)\.ts$/;

test.each([
  { words: ["--help"], code: 0 },
  { words: ["admin", "--help"], code: 0 },
  { words: ["no-such-command"], code: 2 },
])("rowhouse $words imports no command and no package", async ({ words, code }) => {
  const loaded = await listLoaded(words);
  expect(loaded.code).toBe(code);
  expect(loaded.ours).toContain("src/cli/commands.ts");
  expect(loaded.ours.filter((path) => !LIGHT.test(path))).toEqual([]);
  expect(loaded.packages).toEqual([]);
});

test("rowhouse db check imports only the pure parts of modules, and no driver", async () => {
  const env = { ROWHOUSE_URL: "http://127.0.0.1:1", ROWHOUSE_API_KEY: "rh_x.y" };
  const loaded = await listLoaded(["db", "check"], { env });
  expect(loaded.code).toBe(69);
  expect(loaded.ours).toContain("src/cli/db/http.ts");
  const rooms =
    /^src\/(records|data|gateway|identity|mail|tables|service|console|openapi)\/mod\.ts$/;
  expect(loaded.ours.filter((path) => rooms.test(path) || path.startsWith("src/db/"))).toEqual([]);
  expect(loaded.packages).toEqual(["valibot"]);
});

test("rowhouse admin list-apps imports no generator of tables", async () => {
  const loaded = await listLoaded(["admin", "list-apps"], {
    env: { ADMIN_DATABASE_URL: database.adminUrl },
  });
  expect(loaded.code).toBe(0);
  expect(loaded.ours).toContain("src/tables/catalog/mod.ts");
  const generators = /^src\/tables\/(mod\.ts|sql\/)/;
  expect(loaded.ours.filter((path) => generators.test(path))).toEqual([]);
  expect(loaded.packages).toEqual(["postgres", "valibot"]);
});

test("rowhouse serve imports mail, passkeys and public suffixes on first use", async () => {
  const env = {
    DATABASE_URL: database.servingUrl,
    ADMIN_DATABASE_URL: database.pushUrl,
    DATABASE_PREPARE: database.prepare ? "on" : "off",
    IDENTITY_SECRET: TEST_IDENTITY_SECRET,
    HOST: "127.0.0.1",
    PORT: "0",
  };
  const loaded = await listLoaded(["serve"], { env, until: '"listening"' });
  expect(loaded.code).toBe(0);
  expect(loaded.packages).toContain("postgres");
  const late = ["nodemailer", "@simplewebauthn/server", "tldts"];
  expect(loaded.packages.filter((name) => late.includes(name))).toEqual([]);
});
