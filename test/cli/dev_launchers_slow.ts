/** `rowhouse dev` and the process that started it: a killed npx leaves nothing running, and a detached dev stays. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { makeProject, ROOT, schemaText } from "../support/command.ts";
import { callDev } from "../support/dev.ts";
import { eventually } from "../support/eventually.ts";

setDefaultTimeout(180_000);
const DEV = `"${process.execPath}" "${join(ROOT, "src/cli/rowhouse.ts")}" dev --port 0`;
const SIGNALS = ["SIGTERM", "SIGKILL"] as const;

let project: ReturnType<typeof makeProject>;
beforeAll(() => {
  const scripts = { dev: "true && rowhouse dev --port 0" };
  project = makeProject({
    "schema/mod.ts": schemaText("{ todos: { title: t.string() } }"),
    "package.json": JSON.stringify({ name: "launched", private: true, scripts }),
  });
  const bin = join(project.folder, "node_modules/.bin");
  mkdirSync(bin, { recursive: true });
  symlinkSync(join(ROOT, "src/cli/entry.js"), join(bin, "rowhouse"));
});
afterAll(() => project.remove());

const logFile = () => join(project.folder, "dev.log");

/** Starts a line of a shell script, and waits until the dev in it serves. */
async function start(line: string) {
  rmSync(logFile(), { force: true });
  const launcher = Bun.spawn(["sh", "-c", line], {
    cwd: project.folder,
    env: {
      ...process.env,
      PATH: `${join(ROOT, "node_modules/.bin")}:${process.env["PATH"]}`,
      npm_lifecycle_event: undefined,
    },
    stdin: "ignore",
    stdout: Bun.file(logFile()),
    stderr: Bun.file(logFile()),
  });
  await eventually(() => readLog().includes("Ctrl-C stops everything"), { describe: readLog });
  return launcher;
}

function readLog(): string {
  return readFileSync(logFile(), "utf8");
}

/** The lines of `ps` for dev and its PostgreSQL. */
function listLeft(): string[] {
  const lines = Bun.spawnSync(["ps", "-eo", "pid,args"]).stdout.toString().split("\n");
  return lines.filter(
    (line) =>
      line.includes(`${project.folder}/.rowhouse/postgres`) ||
      (line.includes(`${join(ROOT, "src/cli/rowhouse.ts")} dev`) && isHere(line)),
  );
}

function isHere(line: string): boolean {
  const link = Bun.spawnSync(["readlink", `/proc/${Number.parseInt(line, 10)}/cwd`]);
  return link.stdout.toString().trim() === project.folder;
}

test.each(
  SIGNALS.flatMap((signal) =>
    [
      { launcher: "npx", line: "exec npx rowhouse dev --port 0" },
      { launcher: "npm run", line: "exec npm run dev" },
      { launcher: "bun run", line: "exec bun run dev" },
      { launcher: "bunx", line: "exec bun x rowhouse dev --port 0" },
      { launcher: "a shell", line: `${DEV}; true` },
    ].map((row) => ({ ...row, signal })),
  ),
)("dev and its PostgreSQL end after $signal for $launcher", async ({ line, signal }) => {
  const launcher = await start(line);
  expect(listLeft()).not.toEqual([]);
  launcher.kill(signal);
  await eventually(() => listLeft().length === 0, { describe: () => listLeft().join("\n") });
  await launcher.exited;
});

test.each([
  { how: "setsid", line: `setsid ${DEV} & wait` },
  { how: "setsid and npx", line: "setsid npx rowhouse dev --port 0 & wait" },
  { how: "nohup", line: `nohup ${DEV} & wait` },
  { how: "& in a script", line: `${DEV} & wait` },
])("a dev process detached by $how outlives its shell", async ({ line }) => {
  const launcher = await start(line);
  launcher.kill("SIGKILL");
  await launcher.exited;
  // Longer than dev needs to notice that a launcher has ended.
  await Bun.sleep(2000);
  expect((await callDev(project.folder, "/live")).status).toBe(200);
  const [dev] = listLeft().filter((found) => found.includes("src/cli/rowhouse.ts"));
  process.kill(Number.parseInt(dev ?? "", 10), "SIGTERM");
  await eventually(() => listLeft().length === 0, { describe: () => listLeft().join("\n") });
});
