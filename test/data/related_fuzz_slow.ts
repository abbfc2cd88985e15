/** The random lists of `related_fuzz_test.ts`, in numbers that find rare errors, on PostgreSQL 18 and 15. */
import { describe, expect, test } from "bun:test";
import { FUZZED_VERSIONS, openOnVersion } from "../support/postgres_versions.ts";
import { FUZZ_SEED } from "../support/query_fuzz.ts";
import { fuzzRelated } from "../support/related_fuzz.ts";
import { countRuns, isFull } from "../support/tier.ts";

/** The rows of an app grow with its lists, so twice the lists take four times as long. */
const QUERIES = isFull() ? 100 : 50;

describe.each(FUZZED_VERSIONS)("on $name", ({ isDebian }) => {
  test("hundreds of lists with related rows are those of an oracle", async () => {
    const service = await openOnVersion(isDebian, {
      service: { previews: ["filters"] },
    });
    for (let app = 0; app < countRuns(10); app++) {
      const seed = FUZZ_SEED + app;
      const { pages, unchanged } = await fuzzRelated(service, { seed, queries: QUERIES });
      expect(pages).toBeGreaterThan(QUERIES);
      expect(unchanged).toBe(pages);
    }
    await service.close();
  }, 1_800_000);
});
