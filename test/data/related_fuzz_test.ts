/** Compares random lists with related rows with an oracle, page by page. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { fuzzRelated } from "../support/related_fuzz.ts";
import { openTestService, type TestService } from "../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await openTestService({ service: { previews: ["filters"] } });
});
afterAll(() => service.close());

test("related rows are those of an oracle", async () => {
  const { pages, unchanged } = await fuzzRelated(service, { seed: 7, queries: 15 });
  expect(pages).toBeGreaterThan(15);
  expect(unchanged).toBe(pages);
});
