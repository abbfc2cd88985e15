/**
 * The random queries of `query_fuzz_test.ts`, in numbers that find rare errors, on PostgreSQL 18 and 15: each page by indexes, and
 * from a copy of the table without indexes.
 */
import { describe, expect, test } from "bun:test";
import { FUZZED_VERSIONS, openOnVersion } from "../support/postgres_versions.ts";
import { FUZZ_SEED, fuzzQueries } from "../support/query_fuzz.ts";
import { isFull } from "../support/tier.ts";

describe.each(FUZZED_VERSIONS)("on $name", ({ isDebian }) => {
  test("thousands of random queries return the same rows as a client's own filter", async () => {
    const service = await openOnVersion(isDebian, { service: { previews: ["filters"] } });
    const options = { seed: FUZZ_SEED, schemas: isFull() ? 110 : 6, queries: 120, rows: 100 };
    const outcome = await fuzzQueries(service, { ...options, isCompared: true });
    expect(outcome.queries).toBeGreaterThan(isFull() ? 10_000 : 500);
    expect(outcome.compared).toBeGreaterThan(outcome.queries);
    expect(outcome.inserted).toBeGreaterThan(isFull() ? 1000 : 50);
    await service.close();
  }, 1_800_000);
});
