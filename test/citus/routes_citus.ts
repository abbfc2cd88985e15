/** A correct request of an app to each of its routes, on a cluster. Pages read only what the coordinator has, as on one PostgreSQL. */
import { afterAll, expect, test } from "bun:test";
import type { TestResponse } from "../support/service.ts";
import { tourData } from "../support/tour/data.ts";
import { findUnvisited, openToured } from "../support/tour/mod.ts";

const toured = await openToured();
afterAll(() => toured.close());

test("every route works, or says that a cluster does not have it, and names the page", async () => {
  const rejected: TestResponse[] = [];
  await tourData(toured, async (step) => {
    const response = await step();
    if (response.status >= 400) rejected.push(response);
    return response;
  });
  const stream = await toured.service.call(toured.app, "/v1/data/db/todos/changes", {
    headers: { accept: "text/event-stream" },
  });
  rejected.push(stream);
  // A rename, and the stream.
  expect(rejected.map(({ status }) => status)).toEqual([501, 501]);
  for (const { text } of rejected) expect(text).toMatch(/Citus cluster.*docs\/scaling\.md/);
  expect(findUnvisited(toured).filter((route) => / \/v1\/data\/(?:db|schema)/.test(route))).toEqual(
    [],
  );
});
