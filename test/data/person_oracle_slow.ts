/** Random rules and requests: what a person gets never depends on rows of others. */
import { expect, test } from "bun:test";
import { compareUnseen } from "../support/oracle/unseen.ts";
import { FUZZ_SEED } from "../support/random.ts";
import { openTestService, UNGUARDED } from "../support/service.ts";
import { share } from "../support/share.ts";
import { countRuns } from "../support/tier.ts";

const service = await share(
  openTestService({ service: { ...UNGUARDED, previews: ["filters", "live", "browser"] } }),
);

test.each(Array.from({ length: countRuns(80) }, (_, n) => n))(
  "rules and rows of seed %d",
  async (n) => {
    // More rows than a query visits, too.
    const seen = n % 4 === 3 ? 10_300 : 80;
    const given = { seed: FUZZ_SEED + n, seen, unseen: 10_500, requests: 80 };
    const { leaks } = await compareUnseen(service, given);
    expect(leaks.slice(0, 3)).toEqual([]);
  },
  600_000,
);
