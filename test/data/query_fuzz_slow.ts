/**
 * The random queries of `query_fuzz_test.ts`, in numbers that find rare errors, on PostgreSQL 18 and 15: each page by indexes, and
 * from a copy of the table without indexes.
 */
import { describe, expect, test } from "bun:test";
import { openOnVersion, POSTGRES_VERSIONS } from "../support/postgres_versions.ts";
import { FUZZ_SEED, fuzzQueries } from "../support/query_fuzz.ts";
import { countRuns } from "../support/tier.ts";

describe.each(POSTGRES_VERSIONS)("on $name", ({ isDebian }) => {
  test("thousands of random queries return the same rows as a client's own filter", async () => {
    const service = await openOnVersion(isDebian, { service: { previews: ["filters"] } });
    const options = { seed: FUZZ_SEED, schemas: countRuns(110), queries: 120, rows: 100 };
    const outcome = await fuzzQueries(service, { ...options, isCompared: true });
    expect(outcome.queries).toBeGreaterThan(countRuns(10_000));
    expect(outcome.compared).toBeGreaterThan(outcome.queries);
    expect(outcome.inserted).toBeGreaterThan(countRuns(1000));
    await service.close();
  }, 1_800_000);
});
