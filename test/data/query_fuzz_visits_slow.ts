/**
 * Random queries with a limit of 150 visits, on PostgreSQL 18 and 15: the server rejects many of them, and others reach the limit. A
 * separate file runs in parallel.
 */
import { describe, expect, test } from "bun:test";
import { FUZZED_VERSIONS, openOnVersion } from "../support/postgres_versions.ts";
import { FUZZ_SEED, fuzzQueries } from "../support/query_fuzz.ts";
import { isFull } from "../support/tier.ts";

describe.each(FUZZED_VERSIONS)("on $name", ({ isDebian }) => {
  test("thousands of random queries with a limit of 150 visits return the same rows as a client's own filter", async () => {
    const previews = { previews: ["filters"], maxVisits: 150 } as const;
    const service = await openOnVersion(isDebian, { service: previews });
    const options = { seed: FUZZ_SEED + 1, schemas: isFull() ? 130 : 6, queries: 120, rows: 200 };
    const outcome = await fuzzQueries(service, options);
    expect(outcome.queries).toBeGreaterThan(isFull() ? 7_000 : 300);
    await service.close();
  }, 1_800_000);
});
