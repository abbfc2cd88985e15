/** Compares random lists with related rows with an oracle, page by page. */
import { expect, test } from "bun:test";
import { fuzzRelated } from "../support/related_fuzz.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService({ service: { previews: ["filters"] } }));

test("related rows are those of an oracle", async () => {
  const { pages, unchanged } = await fuzzRelated(service, { seed: 7, queries: 15 });
  expect(pages).toBeGreaterThan(15);
  expect(unchanged).toBe(pages);
});
