/** Random rules and requests: what a person gets never depends on rows of others. */
import { expect, test } from "bun:test";
import { compareUnseen } from "../support/oracle/unseen.ts";
import { FUZZ_SEED } from "../support/random.ts";
import { openTestService, UNGUARDED } from "../support/service.ts";
import { share } from "../support/share.ts";
import { countRuns, isFull } from "../support/tier.ts";

const service = await share(
  openTestService({ service: { ...UNGUARDED, previews: ["filters", "live", "browser"] } }),
);

test.each(Array.from({ length: countRuns(40) }, (_, n) => n))(
  "rules and rows of seed %d",
  async (n) => {
    // More rows than a request writes, too.
    const seen = n % 4 === 3 ? 10_300 : 80;
    const given = { seed: FUZZ_SEED + n, seen, unseen: 10_500, requests: 80, writes: 40 };
    const { leaks } = await compareUnseen(service, given);
    expect(leaks.slice(0, 3)).toEqual([]);
  },
  600_000,
);

// The rules of these seeds have an index: without one, a request takes as long as the rows of the table. Some copies have the value of a
// unique constraint, and are left out.
const COPIES = isFull() ? 100 : 25;
test.each([5])(
  "very many rows of others change no answer to a person of seed %d",
  async (seed) => {
    const given = { seed, seen: 80, unseen: 10_000, copies: COPIES, requests: 60, writes: 20 };
    const { leaks, statuses, unseen } = await compareUnseen(service, given);
    expect(leaks.slice(0, 3)).toEqual([]);
    expect(unseen).toBeGreaterThan(COPIES * 3000);
    expect(statuses[200] ?? 0).toBeGreaterThan(40);
  },
  900_000,
);
