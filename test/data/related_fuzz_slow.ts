/** The random lists of `related_fuzz_test.ts`, in numbers that find rare errors, on PostgreSQL 18 and 15. */
import { describe, expect, test } from "bun:test";
import { hasDebianPostgres, startDebianCluster } from "../support/debian_cluster.ts";
import { FUZZ_SEED } from "../support/query_fuzz.ts";
import { fuzzRelated } from "../support/related_fuzz.ts";
import { openTestService } from "../support/service.ts";
import { countRuns } from "../support/tier.ts";

const QUERIES = 100;
const SERVERS = [
  { name: "PostgreSQL 18", isDebian: false },
  ...(hasDebianPostgres ? [{ name: "PostgreSQL 15", isDebian: true }] : []),
];

describe.each(SERVERS)("on $name", ({ isDebian }) => {
  test("hundreds of lists with related rows are those of an oracle", async () => {
    const cluster = isDebian ? await startDebianCluster() : undefined;
    const service = await openTestService({
      service: { previews: ["filters"] },
      ...(cluster === undefined
        ? {}
        : { cluster: { admin: cluster.url, serving: cluster.url, prepare: true } }),
    });
    // Each app's rows grow with its lists, so more apps need less time than more lists.
    for (let app = 0; app < countRuns(10); app++) {
      const seed = FUZZ_SEED + app;
      const { pages, unchanged } = await fuzzRelated(service, { seed, queries: QUERIES });
      expect(pages).toBeGreaterThan(QUERIES);
      expect(unchanged).toBe(pages);
    }
    await service.close();
    await cluster?.stop();
  }, 1_800_000);
});
