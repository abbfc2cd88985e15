/** The random counts and groups of `groups_fuzz_test.ts`, in numbers that find rare errors, on PostgreSQL 18 and 15. */
import { describe, expect, test } from "bun:test";
import { fuzzGroups } from "../support/groups_fuzz.ts";
import { FUZZED_VERSIONS, openOnVersion } from "../support/postgres_versions.ts";
import { FUZZ_SEED } from "../support/query_fuzz.ts";
import { countRuns } from "../support/tier.ts";

const CASES = [
  { name: "few rows", limits: {}, schemas: 60, rows: 150 },
  // Columns of unique values have more groups than a response.
  { name: "more rows than a response has groups", limits: {}, schemas: 30, rows: 1100 },
  {
    name: "more rows than the limit of visits",
    limits: { maxCounted: 120 },
    schemas: 30,
    rows: 150,
  },
];

describe.each(FUZZED_VERSIONS)("on $name", ({ isDebian }) => {
  test.each(CASES)(
    "counts and groups of $name are those of an oracle",
    async ({ limits, schemas, rows }) => {
      const service = await openOnVersion(isDebian, {
        service: { previews: ["filters"], ...limits },
      });
      const options = {
        seed: FUZZ_SEED + rows + schemas,
        schemas: countRuns(schemas),
        queries: 100,
        rows,
      };
      const { groupings, counts, rejected } = await fuzzGroups(service, options);
      expect(groupings).toBeGreaterThan(countRuns(schemas) * 20);
      expect(counts).toBeGreaterThan(countRuns(schemas) * 20);
      expect(rejected > 0).toBe(rows > 1000 || "maxCounted" in limits);
      await service.close();
    },
    1_800_000,
  );
});
