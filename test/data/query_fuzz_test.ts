/** Compares random queries of an app's server with an oracle: lists page by page, related rows, groups and counts. */
import { expect, test } from "bun:test";
import { FUZZ_LIMITS, fuzzQueries } from "../support/oracle/run.ts";
import { openTestService } from "../support/service.ts";

test.each(FUZZ_LIMITS)(
  "queries $name have the answers of the oracle",
  async (given) => {
    const { limits, seed } = given;
    await using service = await openTestService({ service: { previews: ["filters"], ...limits } });
    const found = await fuzzQueries(service, { ...given, seed, schemas: 2, requests: 60 });
    expect(found.limited).toBeLessThan(14);
    expect(found.pages).toBeGreaterThan(100);
    const { counted, inserted, related, groups } = found;
    expect(Math.min(counted, inserted, related, groups)).toBeGreaterThan(0);
  },
  300_000,
);
