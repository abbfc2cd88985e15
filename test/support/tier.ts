/**
 * The tiers of tests. Files named `*_test.ts` are the tier of `check`: every behavior, in three minutes. Files named
 * `*_slow.ts` take longer: processes over many seconds, clocks, packages. A property is tried on some cases in `check`, and on
 * all in the slow tier.
 *
 * @module
 */

const TIERS = ["check", "slow", "all"] as const;
export type Tier = (typeof TIERS)[number];

/** Where `test/parallel.ts` says which tier runs; unset: `check`. */
export const TEST_TIER = "TEST_TIER";
const ROOT = new URL("../../", import.meta.url).pathname;
/** A file with properties imports {@linkcode countRuns}. */
const PROPERTIES = /\bcountRuns\b/;

/** Returns how many cases of a property to try: all in the slow tier, a tenth in `check`. */
export function countRuns(all: number): number {
  return (process.env[TEST_TIER] ?? "check") === "check" ? Math.ceil(all / 10) : all;
}

/** Splits off `--tier=…`. @throws {Error} there is no such tier */
export function readTier(argv: readonly string[]): { tier: Tier; words: string[] } {
  const flag = "--tier=";
  const named = argv.find((word) => word.startsWith(flag))?.slice(flag.length) ?? "check";
  const tier = TIERS.find((name) => name === named);
  if (tier === undefined)
    throw new Error(`Cannot run the tier "${named}": must be one of ${TIERS.join(", ")}`);
  return { tier, words: argv.filter((word) => !word.startsWith(flag)) };
}

/** Returns the arguments of `bun test` for the files of a tier, of those that the words name if they name any. */
export async function toPatterns(tier: Tier, words: readonly string[]): Promise<string[]> {
  if (tier === "check") return [...words];
  const named = words.filter((word) => !word.startsWith("-"));
  const isNamed = (file: string) => named.length === 0 || named.some((word) => file.includes(word));
  const slow = (await listSlow()).filter(isNamed).map((file) => `./${file}`);
  if (tier === "slow") return [...words.filter((word) => word.startsWith("-")), ...slow];
  return [...words, ...(named.length === 0 ? ["test"] : []), ...slow];
}

async function listSlow(): Promise<string[]> {
  const slow = [...new Bun.Glob("test/**/*_slow.ts").scanSync({ cwd: ROOT })];
  for (const file of new Bun.Glob("test/**/*_test.ts").scanSync({ cwd: ROOT }))
    if (PROPERTIES.test(await Bun.file(ROOT + file).text())) slow.push(file);
  return slow.sort();
}
