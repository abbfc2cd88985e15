/** `bench commands`: how long common commands need, started directly and by the package runners. @module */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { delimiter, join } from "node:path";
import { makeProject, ROOT, schemaText } from "../test/support/command.ts";
import { makePerson } from "../test/support/people.ts";
import { openTestService } from "../test/support/service.ts";
import type { BenchOptions } from "./options.ts";
import { show, table } from "./print.ts";
import { alternate, medians } from "./rounds.ts";

/** How a person starts a command in a project. */
const LAUNCHERS = {
  "./node_modules/.bin/rowhouse": ["./node_modules/.bin/rowhouse"],
  bunx: ["bunx", "rowhouse"],
  "bun run": ["bun", "run", "rowhouse"],
  npx: ["npx", "rowhouse"],
} as const;
type Launcher = keyof typeof LAUNCHERS;

/** As the tables show the person of the bench. */
const ADA = "ada@example.org";

const COMMANDS = [
  "--version",
  "--help",
  "db push --help",
  "db status",
  "db plan",
  "db check",
  "db push",
  "data import bench_todos rows.csv --dry-run",
  "data export bench_todos",
  "admin list-apps",
  `admin show-user ${ADA}`,
  `admin grant ${ADA} bench-app editor --new-role`,
] as const;

export type CommandsResult = {
  date: string;
  rounds: number;
  /** How busy the machine was with everything else, as the system's load average of a minute. */
  load: number;
  commands: { command: string; seconds: Record<Launcher, number> }[];
};

export async function benchCommands({ rounds }: BenchOptions): Promise<CommandsResult> {
  await using stack = new AsyncDisposableStack();
  const service = await openTestService();
  stack.defer(() => service.close());
  const app = await service.makeApp(undefined, { slug: "bench-app" });
  const person = await makePerson(service);
  const project = makeProject({
    "package.json": '{ "name": "bench-app", "type": "module" }',
    "schema/mod.ts": schemaText("{ bench_todos: { title: t.string().required() } }"),
    "rows.csv": "title\nWater\n",
  });
  stack.defer(() => project.remove());
  const bin = join(project.folder, "node_modules/.bin");
  mkdirSync(bin, { recursive: true });
  symlinkSync(join(ROOT, "src/cli/entry.js"), join(bin, "rowhouse"));
  for (const name of ["bun", "bunx"]) symlinkSync(process.execPath, join(bin, name));
  writeFileSync(
    join(project.folder, ".env"),
    `ROWHOUSE_URL=${service.url}\nROWHOUSE_API_KEY=${app.key}\nADMIN_DATABASE_URL=${service.database.adminUrl}\n`,
  );
  const run = (words: readonly string[]) => time(project.folder, words);
  await run([...LAUNCHERS.bunx, "db", "push"]);
  const [load = 0] = loadavg();
  const commands: CommandsResult["commands"] = [];
  for (const command of COMMANDS) {
    const words = command.replace(ADA, person.email).split(" ");
    const sides = Object.fromEntries(
      Object.entries(LAUNCHERS).map(([name, start]) => [name, () => run([...start, ...words])]),
    ) as Record<Launcher, () => Promise<number>>;
    const measured = await alternate(command, rounds, sides);
    commands.push({ command, seconds: medians(measured) });
  }
  return { date: new Date().toISOString().slice(0, 10), rounds, load, commands };
}

/** Seconds until the command ends. @throws {Error} it fails: a failure would be faster than the command */
async function time(folder: string, words: readonly string[]): Promise<number> {
  const { PATH = "", HOME = folder } = process.env;
  const path = [join(folder, "node_modules/.bin"), PATH].join(delimiter);
  const begin = performance.now();
  const child = Bun.spawn([...words], {
    cwd: folder,
    env: { PATH: path, HOME },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [code, err] = await Promise.all([child.exited, new Response(child.stderr).text()]);
  const seconds = (performance.now() - begin) / 1000;
  if (code !== 0) throw new Error(`${words.join(" ")} ended with ${code}: ${err}`);
  return seconds;
}

export function printCommands({ date, rounds, load, commands }: CommandsResult): string {
  const names = Object.keys(LAUNCHERS) as Launcher[];
  const rows = commands.map(({ command, seconds }) => [
    `\`${command}\``,
    ...names.map((name) => show(seconds[name], 2)),
  ]);
  return `${table(["seconds", ...names.map((name) => `\`${name}\``)], rows)}

Medians of ${rounds} turns on ${date} with \`bun run bench commands\`, on the machine above, with a load of ${show(load, 1)} from other work.`;
}
