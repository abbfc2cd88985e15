/** Every rule with random indexes: what a person gets never depends on rows of others. */
import { expect, test } from "bun:test";
import { compareUnseen, ORACLE_RULES } from "../support/person_oracle.ts";
import { FUZZ_SEED } from "../support/query_fuzz.ts";
import { openTestService, UNGUARDED } from "../support/service.ts";
import { share } from "../support/share.ts";

const ROUNDS = process.env["TEST_EXTENT"] === "full" ? 8 : 1;

const service = await share(
  openTestService({ service: { ...UNGUARDED, previews: ["filters", "live", "browser"] } }),
);

test.each(ORACLE_RULES)(
  "the rule %s",
  async (rule) => {
    for (let round = 0; round < ROUNDS; round++) {
      const given = { rule, seed: FUZZ_SEED + round, unseen: 10_500, requests: 80 };
      // More rows than a query visits, too.
      const seen = round % 4 === 3 ? 10_300 : 80;
      const { leaks } = await compareUnseen(service, { ...given, seen });
      expect(leaks.slice(0, 3)).toEqual([]);
    }
  },
  600_000,
);
