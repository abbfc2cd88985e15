/** What a session is estimated to keep: the functions that it has called, and each table once. */
import { expect, test } from "bun:test";
import { makeMemory } from "../db/pool/affinity.ts";
import { ALL_ENDPOINTS, callText, type Endpoint, isShared } from "../tables/catalog/mod.ts";
import { estimateKept } from "./kept.ts";

const TABLE_BYTES = 46_000;

function estimate(names: readonly string[], endpoints: readonly Endpoint[]) {
  const memory = makeMemory();
  for (const name of names) {
    const set = { name, columns: [] };
    const texts = Object.fromEntries(
      ALL_ENDPOINTS.map((endpoint) => [endpoint, callText(set, endpoint)]),
    ) as Record<Endpoint, string>;
    const kept = estimateKept(set, texts);
    for (const endpoint of endpoints) memory.touch(kept[endpoint]);
  }
  return memory.bytes();
}

const WITH_UPDATE: readonly Endpoint[] = ["update_many", "update_found", "upsert"];
const SHARED = ALL_ENDPOINTS.filter(
  (endpoint) => isShared(endpoint) && !WITH_UPDATE.includes(endpoint),
);

test("of functions of all tables only the tables, each once", () => {
  expect(SHARED.length).toBeGreaterThan(4);
  for (const endpoint of SHARED)
    expect(estimate(["a", "b", "a"], [endpoint])).toBe(2 * TABLE_BYTES);
  expect(estimate(["a", "b"], SHARED)).toBe(2 * TABLE_BYTES);
});

test("of a table's own functions also their plans, for each table", () => {
  const one = estimate(["a"], ["get"]);
  expect(one).toBeGreaterThan(2 * TABLE_BYTES);
  expect(estimate(["a", "b"], ["get"])).toBe(2 * one);
  const update = estimate(["a"], ["update"]);
  for (const endpoint of WITH_UPDATE) expect(estimate(["a"], ["update", endpoint])).toBe(update);
  expect(estimate(["a"], WITH_UPDATE)).toBe(update);
});
