/** A large push with rules leaves the event loop of a service to the requests of other apps. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { PREVIEWS } from "../../src/preview.ts";
import type { TableDefinition } from "../../src/schema/mod.ts";
import { makeCheckBodies } from "../../src/tables/mod.ts";
import { freshName, postDefinition } from "../support/push.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService({ service: { previews: PREVIEWS } }));

const PLAIN = { required: false, unique: false, index: false } as const;
const KINDS = ["string", "number", "boolean", "timestamp"] as const;
/** The most that the loop may stand at once. The processor's time, because other processes use the machine too. */
const MAX_PAUSE_MS = 50;
/** The processor's time of `measureYardstick()` on the machine that the limit is for. A slower one may take as many times more. */
const YARDSTICK_MS = 5;

/** Tables of 12 columns, whose roles all have different rules. */
function makeTables(count: number, roles: number): TableDefinition[] {
  const prefix = freshName();
  const own = [{ owner: "me" }];
  return Array.from({ length: count }, (_, index): TableDefinition => {
    const allow = Array.from({ length: roles }, (_, role) => [
      `r${role}`,
      {
        read: [{ n: role }, { owner: "me" }],
        ...{ create: own, update: { from: own, to: own }, delete: own },
      },
    ]);
    const columns = Array.from({ length: 10 }, (_, at) => ({
      ...{ ...PLAIN, name: `c${at}`, kind: KINDS[at % KINDS.length] ?? "string" },
    }));
    return {
      name: `${prefix}_${index}`,
      columns: [
        { ...PLAIN, name: "owner", kind: "uuid", index: true },
        { ...PLAIN, name: "n", kind: "integer" },
        ...columns,
      ],
      ...{ indexes: [["owner", "id"]], uniques: [] },
      rules: { allow: Object.fromEntries(allow) },
    };
  });
}

/** The longest time that the thread of the loop worked without a pause, during a task. */
async function findLongestPause(task: () => Promise<void>): Promise<number> {
  let longest = 0;
  let last = processorMs();
  const timer = setInterval(() => {
    const now = processorMs();
    longest = Math.max(longest, now - last);
    last = now;
  }, 1);
  await task();
  clearInterval(timer);
  return longest;
}

/** The processor's time of the same work on every machine: the median, because other processes share the caches. */
function measureYardstick(): number {
  const rows = Array.from({ length: 2_000 }, (_, n) => ({ n, name: `row ${n}`, tags: ["a", "b"] }));
  const times = Array.from({ length: 15 }, () => {
    const startedAt = processorMs();
    for (let round = 0; round < 10; round++) JSON.parse(JSON.stringify(rows));
    return processorMs() - startedAt;
  });
  return times.sort((one, other) => one - other)[7] ?? 0;
}

/** The processor's time of the thread of the loop, which has the number of the process. */
function processorMs(): number {
  const text = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8");
  return Number(text.split(" ")[0]) / 1e6;
}

test.skipIf(process.platform !== "linux").each([
  { tables: 10, status: 200 },
  { tables: 150, status: 422 },
])("a push of $tables tables for 8 roles never stands the loop", async ({ tables, status }) => {
  // Measured without what a process does once.
  const warm = await service.makeApp();
  await postDefinition(service, warm, { version: 1, tables: makeTables(1, 2) });
  await checkFunctions();
  const maxPause = MAX_PAUSE_MS * Math.max(1, measureYardstick() / YARDSTICK_MS);
  for (const dryRun of [true, false]) {
    const app = await service.makeApp();
    const definition = { version: 1, tables: makeTables(tables, 8) };
    const pause = await findLongestPause(async () => {
      const pushed = await postDefinition(service, app, definition, { dryRun });
      expect(pushed.status).toBe(status);
    });
    expect(pause).toBeLessThan(maxPause);
  }
  expect(await findLongestPause(checkFunctions)).toBeLessThan(maxPause);
});

/** As the guard does after a push, with nothing known before. */
async function checkFunctions(): Promise<void> {
  expect(await makeCheckBodies(service.service.db)("")).toEqual([]);
}
