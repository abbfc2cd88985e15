/** The random conditions of `referenced_fuzz_test.ts`, in numbers that find rare errors, on PostgreSQL 18 and 15. */
import { describe, expect, test } from "bun:test";
import { hasDebianPostgres, startDebianCluster } from "../support/debian_cluster.ts";
import { FUZZ_SEED } from "../support/query_fuzz.ts";
import { fuzzReferenced } from "../support/referenced_fuzz.ts";
import { openTestService } from "../support/service.ts";
import { countRuns } from "../support/tier.ts";

const SERVERS = [
  { name: "PostgreSQL 18", isDebian: false },
  ...(hasDebianPostgres ? [{ name: "PostgreSQL 15", isDebian: true }] : []),
];

describe.each(SERVERS)("on $name", ({ isDebian }) => {
  test.each([{}, { maxVisits: 60 }])(
    "hundreds of lists, counts and groups: %p",
    async (limits) => {
      const cluster = isDebian ? await startDebianCluster() : undefined;
      const service = await openTestService({
        service: { previews: ["filters"], ...limits },
        ...(cluster === undefined
          ? {}
          : { cluster: { admin: cluster.url, serving: cluster.url, prepare: true } }),
      });
      const asked = countRuns(1000);
      const { queries, pages } = await fuzzReferenced(service, { seed: FUZZ_SEED, queries: asked });
      expect(queries).toBeGreaterThan(asked / 4);
      expect(pages).toBeGreaterThan(queries);
      await service.close();
      await cluster?.stop();
    },
    1_800_000,
  );
});
