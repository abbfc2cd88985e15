/**
 * The tiers of tests, and how much of them a run does. `check` runs files named `*_test.ts` or `*_test.tsx`: every behavior, in a
 * few minutes. `unit` runs those of them that need no database: the imports tell (`needsDatabase()`). `slow` runs files named
 * `*_slow.ts`, which take longer: processes over many seconds, clocks, packages. `browser` runs files named `*_browser.ts`, in
 * Chromium. A reduced run does a tenth of the random cases, with fixed seeds, and shows each page in one theme and width; a full run
 * does all, and draws other cases each time.
 *
 * @module
 */
import { needsDatabase, readTexts, toGraph } from "../house/graph.ts";

const TIERS = ["unit", "check", "slow", "browser", "all"] as const;
export type Tier = (typeof TIERS)[number];

/** Names how much a run does: `full`, else reduced. The tier `check` is always reduced. */
export const TEST_EXTENT = "TEST_EXTENT";
export const EXTENTS = ["reduced", "full"] as const;
export type Extent = (typeof EXTENTS)[number];
const ROOT = new URL("../../", import.meta.url).pathname;
/** Matches files with cases that a reduced run leaves out. */
const REDUCED = /\b(countRuns|drawRuns|isFull)\b/;
/** The seed of the cases of a reduced run. */
const SEED = 20_261_126;

export function isFull(): boolean {
  return process.env[TEST_EXTENT] === "full";
}

/** Max milliseconds of a test. In a full run, tests of random cases do ten times as many; the slowest of them needs two minutes. */
export function limitTest(): number {
  return isFull() ? 300_000 : 60_000;
}

/** Returns how many cases to run: all in a full run, else a tenth. */
export function countRuns(all: number): number {
  return isFull() ? all : Math.ceil(all / 10);
}

/** Parameters of fast-check. */
export type Runs = { numRuns: number; seed?: number };

/** Returns the parameters for a property with this many cases in a full run. */
export function drawRuns(all: number): Runs {
  return { numRuns: countRuns(all), ...(isFull() ? {} : { seed: SEED }) };
}

/** Splits `--tier=…` from the other arguments. @throws {Error} the tier does not exist */
export function readTier(argv: readonly string[]): { tier: Tier; rest: string[] } {
  const flag = "--tier=";
  const named = argv.find((argument) => argument.startsWith(flag))?.slice(flag.length) ?? "check";
  const tier = TIERS.find((name) => name === named);
  if (tier === undefined)
    throw new Error(`Cannot run the tier "${named}": must be one of ${TIERS.join(", ")}`);
  return { tier, rest: argv.filter((argument) => !argument.startsWith(flag)) };
}

/** Returns the files of a tier. If `paths` are given, only files that match one: a part of a path, or a pattern with `*`. */
export async function listFiles(tier: Tier, paths: readonly string[]): Promise<string[]> {
  const isNamed = (file: string) => paths.length === 0 || paths.some((path) => matches(file, path));
  const scan = (pattern: string) => [...new Bun.Glob(pattern).scanSync({ cwd: ROOT })].sort();
  const tests = scan("{src,test,bench}/**/*_test.{ts,tsx}");
  const slow = scan("{test,bench}/**/*_slow.ts");
  // A reduced run of them is part of the tier `check`.
  if (tier === "slow" && isFull())
    for (const file of tests) if (REDUCED.test(await Bun.file(ROOT + file).text())) slow.push(file);
  const browser = scan("test/browser/*_browser.ts");
  const listed = { unit: tests, check: tests, slow, browser, all: [...tests, ...slow] }[tier];
  const graph = toGraph(tier === "unit" ? await readTexts() : new Map());
  const isInTier = (file: string) => tier !== "unit" || !needsDatabase(graph, file);
  return listed
    .filter(isInTier)
    .filter(isNamed)
    .map((file) => `./${file}`);
}

function matches(file: string, path: string): boolean {
  return path.includes("*") ? new Bun.Glob(path).match(file) : file.includes(path);
}
