/**
 * `bun run budgets`: sizes of the project beside their budgets in `budgets.json`. `bun run check` warns about those that are
 * exceeded. A budget is changed on purpose, in the commit that needs it.
 *
 * @module
 */
import { $ } from "bun";
import budgets from "./budgets.json";

type Measured = { name: string; value: number | undefined; budget: number | undefined };

/** What the last complete run measured, by the name of its file. CPU time does not depend on the load, as minutes do. */
const RECORDED = {
  check_seconds: "seconds of the last check",
  check_cpu_seconds: "CPU seconds of the last check",
  ci_minutes: "minutes of the last .ci/run",
} as const;

/** Written by `check` and `.ci/run`; not part of the project. */
const toFile = (name: string) => Bun.file(`node_modules/.cache/rowhouse_${name}`);

export async function record(name: keyof typeof RECORDED, value: number): Promise<void> {
  await Bun.write(toFile(name), String(Math.round(value)));
}

export async function measure(): Promise<Measured[]> {
  const isTest = (path: string) => /_test\.tsx?$/.test(path);
  const all = await listFiles("src", /\.(ts|tsx|sql)$/);
  const src = all.filter((path) => !isTest(path));
  const test = [...(await listFiles("test", /\.tsx?$/)), ...all.filter(isTest)];
  const map = await Bun.file("docs/architecture.md").text();
  const values: Record<string, number | undefined> = {
    "lines of src": await countLines(src),
    "files of src": src.length,
    "lines of test": await countLines(test),
    "files of src for the last setting": await countTouched("    title: ", "src/app_switch.ts"),
    "files of src for the last column kind": await countTouched("Field,", "src/kinds/mod.ts"),
    "words of docs/architecture.md": map.split(/\s+/).filter((word) => word !== "").length,
  };
  for (const [name, title] of Object.entries(RECORDED)) {
    const file = toFile(name);
    values[title] = (await file.exists()) ? Number(await file.text()) : undefined;
  }
  const limits: Readonly<Record<string, number>> = budgets;
  return Object.entries(values).map(([name, value]) => ({ name, value, budget: limits[name] }));
}

export function findExceeded(measured: readonly Measured[]): string[] {
  return measured
    .filter(({ value = 0, budget = Number.POSITIVE_INFINITY }) => value > budget)
    .map(({ name, value, budget }) => `${name} ${value}, budget ${budget}`);
}

async function listFiles(folder: string, pattern: RegExp): Promise<string[]> {
  const listed = await readLines($`git ls-files ${folder}`);
  return listed.filter((path) => pattern.test(path));
}

/** None in a copy without Git, where nothing is measured. */
async function readLines(command: ReturnType<typeof $>): Promise<string[]> {
  const { stdout } = await command.quiet().nothrow();
  return stdout
    .toString()
    .split("\n")
    .filter((line) => line !== "");
}

async function countLines(paths: readonly string[]): Promise<number> {
  const texts = await Promise.all(paths.map((path) => Bun.file(path).text()));
  return texts.reduce((sum, text) => sum + text.split("\n").length - 1, 0);
}

/** The files of src in the last commit that changed how often the file contains the text; `undefined` without the history. */
async function countTouched(text: string, file: string): Promise<number | undefined> {
  const [commit] = await readLines($`git log -1 --format=%H -S${text} -- ${file}`);
  if (commit === undefined) return undefined;
  return (await readLines($`git show --name-only --format= ${commit} -- src`)).length;
}

if (import.meta.main)
  for (const { name, value, budget } of await measure())
    console.log(`${name.padEnd(40)}${value ?? "not recorded"}`.padEnd(56) + (budget ?? ""));
