/** The random conditions of `referenced_fuzz_test.ts`, in numbers that find rare errors, on PostgreSQL 18 and 15. */
import { describe, expect, test } from "bun:test";
import { FUZZED_VERSIONS, openOnVersion } from "../support/postgres_versions.ts";
import { FUZZ_SEED } from "../support/query_fuzz.ts";
import { fuzzReferenced } from "../support/referenced_fuzz.ts";
import { countRuns } from "../support/tier.ts";

describe.each(FUZZED_VERSIONS)("on $name", ({ isDebian }) => {
  test.each([{}, { maxVisits: 60 }])(
    "hundreds of lists, counts and groups: %p",
    async (limits) => {
      const service = await openOnVersion(isDebian, {
        service: { previews: ["filters"], ...limits },
      });
      const asked = countRuns(1000);
      const { queries, pages } = await fuzzReferenced(service, { seed: FUZZ_SEED, queries: asked });
      expect(queries).toBeGreaterThan(asked / 4);
      expect(pages).toBeGreaterThan(queries);
      await service.close();
    },
    1_800_000,
  );
});
