/**
 * The tiers of tests. `check` runs files named `*_test.ts`: every behavior, in a few minutes. `slow` runs files named
 * `*_slow.ts`, which take longer: processes over many seconds, clocks, packages. A property test runs some of its cases in
 * `check` and all of them in `slow`.
 *
 * @module
 */

const TIERS = ["check", "slow", "all"] as const;
export type Tier = (typeof TIERS)[number];

/** Names the running tier, set by `test/parallel.ts`; default: `check`. */
export const TEST_TIER = "TEST_TIER";
const ROOT = new URL("../../", import.meta.url).pathname;
/** Matches files with property tests. */
const PROPERTIES = /\bcountRuns\b/;

/** Returns how many cases of a property to run: all in the slow tier, a tenth in `check`. */
export function countRuns(all: number): number {
  return (process.env[TEST_TIER] ?? "check") === "check" ? Math.ceil(all / 10) : all;
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

/** Returns the arguments of `bun test` for a tier's files. If `args` contain paths, only files that match a path. */
export async function toPatterns(tier: Tier, args: readonly string[]): Promise<string[]> {
  if (tier === "check") return [...args];
  const paths = args.filter((argument) => !argument.startsWith("-"));
  const isNamed = (file: string) => paths.length === 0 || paths.some((path) => file.includes(path));
  const slow = (await listSlow()).filter(isNamed).map((file) => `./${file}`);
  if (tier === "slow") return [...args.filter((argument) => argument.startsWith("-")), ...slow];
  return [...args, ...(paths.length === 0 ? ["test"] : []), ...slow];
}

async function listSlow(): Promise<string[]> {
  const slow = [...new Bun.Glob("test/**/*_slow.ts").scanSync({ cwd: ROOT })];
  for (const file of new Bun.Glob("test/**/*_test.ts").scanSync({ cwd: ROOT }))
    if (PROPERTIES.test(await Bun.file(ROOT + file).text())) slow.push(file);
  return slow.sort();
}
