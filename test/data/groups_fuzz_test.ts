/** Compares random counts and groups with an oracle. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { fuzzGroups } from "../support/groups_fuzz.ts";
import { openTestService, type TestService } from "../support/service.ts";

describe.each([
  { name: "with a limit of 100,000 visits", limits: {}, seed: 11, isLimited: false },
  { name: "with a limit of 120 visits", limits: { maxCounted: 120 }, seed: 12, isLimited: true },
])("counts and groups $name", ({ limits, seed, isLimited }) => {
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService({ service: { previews: ["filters"], ...limits } });
  });
  afterAll(() => service.close());

  test("are those of an oracle", async () => {
    const options = { seed, schemas: 3, queries: 25, rows: 150 };
    const { groupings, counts, rejected, uncounted } = await fuzzGroups(service, options);
    expect([groupings > 10, counts > 10]).toEqual([true, true]);
    expect([rejected > 0, uncounted > 0]).toEqual([isLimited, isLimited]);
  });
});
