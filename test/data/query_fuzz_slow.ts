/** The random queries of `query_fuzz_test.ts`, in numbers that find rare errors, on PostgreSQL 18 and 15. */
import { describe, expect, test } from "bun:test";
import { FUZZ_LIMITS, FUZZ_SIZES, fuzzQueries } from "../support/oracle/run.ts";
import { FUZZED_VERSIONS, openOnVersion } from "../support/postgres_versions.ts";
import { FUZZ_SEED } from "../support/random.ts";
import { countRuns } from "../support/tier.ts";

const CASES = [
  ...FUZZ_LIMITS.map((given) => ({ ...given, sizes: FUZZ_SIZES, all: 60 })),
  // Columns of unique values have more groups than a response.
  { ...FUZZ_LIMITS[0], name: "of many rows", sizes: { ...FUZZ_SIZES, things: 1100 }, all: 20 },
] as const;

describe.each(FUZZED_VERSIONS)("on $name", ({ isDebian }) => {
  test.each(CASES)(
    "queries $name have the answers of the oracle",
    async ({ limits, all, ...given }) => {
      const service = await openOnVersion(isDebian, {
        service: { previews: ["filters"], ...limits },
      });
      const schemas = countRuns(all);
      const asked = { ...given, seed: FUZZ_SEED + given.seed, schemas, requests: 120 };
      const found = await fuzzQueries(service, asked);
      expect(found.pages).toBeGreaterThan(100 * schemas);
      await service.close();
    },
    1_800_000,
  );
});
