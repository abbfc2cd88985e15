/** Compares random conditions on referenced rows with an oracle, page by page. */
import { expect, test } from "bun:test";
import { fuzzReferenced } from "../support/referenced_fuzz.ts";
import { openTestService } from "../support/service.ts";

test.each([{}, { maxVisits: 60 }])("rows by conditions on referenced rows: %p", async (limits) => {
  await using service = await openTestService({ service: { previews: ["filters"], ...limits } });
  const { queries, pages, found } = await fuzzReferenced(service, { seed: 11, queries: 40 });
  expect(queries).toBeGreaterThan(10);
  expect(pages).toBeGreaterThan(queries);
  expect(found).toBeGreaterThan(100);
});
