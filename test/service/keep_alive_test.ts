/** How long connections stay open: longer than the limits of the balancers that docs/operating.md names. */
import { expect, test } from "bun:test";
import { openTestService } from "../support/service.ts";

test("a request sets the limit of its connection", async () => {
  const service = await openTestService({ shape: "one" });
  const limits: number[] = [];
  await service.service.fetch(new Request("http://localhost/live"), {
    requestIP: () => null,
    timeout: (_, seconds) => limits.push(seconds),
  });
  await service.close();
  expect(limits).toEqual([75]);
});
