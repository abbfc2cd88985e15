/** How long connections stay open: the setting reaches the server, and its default exceeds the limits of balancers. */
import { expect, test } from "bun:test";
import { readConfig } from "../../src/settings/mod.ts";
import { openTestService } from "../support/service.ts";

test.each([
  { keepAliveS: undefined, want: 75 },
  { keepAliveS: 130, want: 130 },
])("a request sets the limit of its connection to $want s", async ({ keepAliveS, want }) => {
  const service = await openTestService({ shape: "one", service: { keepAliveS } });
  const limits: number[] = [];
  await service.service.fetch(new Request("http://localhost/live"), {
    requestIP: () => null,
    timeout: (_, seconds) => limits.push(seconds),
  });
  await service.close();
  expect(limits).toEqual([want]);
});

test.each([
  ["75s", undefined],
  ["255s", undefined],
  ["44s", "must be at least 45s"],
  ["10m", "must be at most 255s"],
  ["60", "KEEP_ALIVE must"],
] as const)("KEEP_ALIVE=%s: %p", (text, issue) => {
  const read = readConfig({ KEEP_ALIVE: text });
  const issues = "issues" in read ? read.issues.filter((line) => line.includes("KEEP_ALIVE")) : [];
  if (issue === undefined) expect(issues).toEqual([]);
  else expect(issues.join()).toContain(issue);
});
