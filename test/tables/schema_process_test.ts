/** The process that evaluates a schema. Hostile code in a project cannot read the command's settings. */
import { afterAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { makeProject, ROOT, runCommand, schemaText } from "../support/command.ts";

const SETTINGS = {
  ROWHOUSE_URL: "http://127.0.0.1:1",
  ROWHOUSE_API_KEY: "rh_secret.word",
  ADMIN_DATABASE_URL: "postgres://admin:secret-word@127.0.0.1:1/nothing",
};
/** Appends the script and the environment of a process to a file. */
const SPY = `import { appendFileSync } from "node:fs";
appendFileSync("seen.jsonl", JSON.stringify({ script: process.argv[1], environment: process.env }) + "\\n");`;

const project = makeProject({
  "schema/mod.ts": `${SPY}\n${schemaText("{ todos: { title: t.string() } }")}`,
  "bunfig.toml": 'preload = ["./spy.ts"]\n',
  "spy.ts": SPY,
  ".env": "ROWHOUSE_API_KEY_STAGING=rh_secret.staging\n",
});
afterAll(() => project.remove());

type Seen = { script: string; environment: Record<string, string> };
const readSeen = (): Seen[] =>
  readFileSync(join(project.folder, "seen.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Seen);

test("a schema's process has no settings, and runs no preload of the project", async () => {
  const { code } = await runCommand(["db", "check"], { ...project, env: SETTINGS });
  expect(code).toBe(69);
  const ofSchema = readSeen().filter(({ script }) => script.endsWith("evaluate_process.ts"));
  expect(ofSchema).toHaveLength(1);
  expect(JSON.stringify(ofSchema)).not.toMatch(/ROWHOUSE|DATABASE|secret/);
});

test.skipIf(Bun.which("node") === null)(
  "the package's command under Node runs no preload of the project",
  async () => {
    const seen = existsSync(join(project.folder, "seen.jsonl")) ? readSeen().length : 0;
    const { PATH = "", HOME = "" } = process.env;
    const child = Bun.spawn(["node", join(ROOT, "src/cli/entry.js"), "db", "check"], {
      cwd: project.folder,
      env: { PATH: `${join(ROOT, "node_modules/.bin")}:${PATH}`, HOME, ...SETTINGS },
      stdio: ["ignore", "ignore", "ignore"],
    });
    expect(await child.exited).toBe(69);
    // Only the schema's process ran.
    expect(
      readSeen()
        .slice(seen)
        .map(({ script }) => script),
    ).toEqual([expect.stringContaining("evaluate_process.ts")]);
  },
);
