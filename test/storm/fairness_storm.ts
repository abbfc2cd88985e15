/** Compares queues per app with one queue for all apps: the waiting time of the second app, the throughput of the first. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openTestService, type TestService } from "../support/service.ts";
import {
  FLOOD_OPTIONS,
  type Flood,
  type Flooded,
  makeFlood,
  measureFlood,
  p99,
  withOneQueue,
} from "./flood.ts";

const SECONDS = 6;
const ROUNDS = 3;
const NONE: Flooded = { seconds: 0, lists: 0, listFailures: 0, gets: [], getFailures: 0 };

let service: TestService;
let flood: Flood;
beforeAll(async () => {
  service = await openTestService({ connections: 10, service: FLOOD_OPTIONS });
  flood = await makeFlood(service);
});
afterAll(() => service.close());

test("an app that floods the service delays only itself", async () => {
  // The measurements alternate, so that load on the machine affects both.
  let [fair, unfair] = [NONE, NONE];
  for (let round = 0; round < ROUNDS; round++) {
    fair = add(fair, await measureFlood(flood, SECONDS / ROUNDS));
    const measure = () => measureFlood(flood, SECONDS / ROUNDS);
    unfair = add(unfair, await withOneQueue(service, measure));
  }
  report("by app", fair);
  report("one queue", unfair);
  expect(fair.getFailures).toBe(0);
  expect(p99(fair.gets)).toBeLessThan(p99(unfair.gets) / 5);
  expect(fair.lists).toBeGreaterThan(unfair.lists * 0.7);
}, 60_000);

function add(sum: Flooded, more: Flooded): Flooded {
  return {
    seconds: sum.seconds + more.seconds,
    lists: sum.lists + more.lists,
    listFailures: sum.listFailures + more.listFailures,
    gets: [...sum.gets, ...more.gets],
    getFailures: sum.getFailures + more.getFailures,
  };
}

function report(name: string, { lists, listFailures, gets, getFailures }: Flooded): void {
  console.log(
    `${name}: ${Math.round(lists / SECONDS)} lists/s (${listFailures} rejected), ` +
      `${Math.round(gets.length / SECONDS)} gets/s (${getFailures} rejected), p99 of a get ${Math.round(p99(gets))} ms`,
  );
}
