import { expect, test } from "bun:test";
import type { RowChange } from "../../records/console/mod.ts";
import { defineSchema, t, toDefinition } from "../../schema/mod.ts";
import { groupChanges, planRestore } from "./history_plan.ts";
import { readRuns, toRestorePath } from "./history_read.ts";

const toChange = (id: number, seconds: number): RowChange => ({
  ...{ id, rowId: `row ${id}`, at: new Date(seconds * 1000).toISOString(), act: "one" },
  ...{
    by: { kind: "console", id: "me", name: "me" },
    before: "{}",
    after: "{}",
    isCaused: false,
    isCreated: false,
    lastId: null,
  },
});

test("groupChanges() ends a group of more rows than a restore writes between two requests", () => {
  const requests = [3, 2, 1].map((second) =>
    Array.from({ length: 400 }, (_, n) => toChange(second * 1000 - n, second)),
  );
  const groups = groupChanges(requests.flat());
  expect(groups.map(({ length }) => length)).toEqual([800, 400]);
  expect(groups.flat()).toEqual(requests.flat());
});

test("groupChanges() separates requests of the same moment, and keeps an act of several together", () => {
  const changes = [4, 3, 2, 1].map((id) => ({ ...toChange(id, 1), act: id % 2 === 0 ? "a" : "b" }));
  const later = [{ ...toChange(5, 60), act: "a" }, ...changes];
  expect(groupChanges(later).map((group) => group.map(({ id }) => id))).toEqual([
    [5, 4, 2],
    [3, 1],
  ]);
});

test("planRestore() creates a deleted row with the reference that the same request cleared, recorded in either order", () => {
  const reading = toDefinition(
    defineSchema({
      items: { title: t.string(), beside: t.ref("items", { onDelete: "set null" }) },
    }),
  );
  const definition = "definition" in reading ? reading.definition.tables[0] : undefined;
  if (definition === undefined) throw new Error("No definition");
  const texts = { deleted: '{"title":"a","beside":null}', beside: '{"beside":"b"}' };
  const deleted = { ...toChange(1, 1), rowId: "row", before: texts.deleted, after: null };
  const cleared = { ...deleted, before: texts.beside, after: '{"beside":null}' };
  for (const changes of [
    [
      { ...deleted, id: 1 },
      { ...cleared, id: 2 },
    ],
    [
      { ...cleared, id: 1 },
      { ...deleted, id: 2 },
    ],
  ]) {
    const [planned] = planRestore(changes, new Map(), { definition });
    expect(planned).toMatchObject({ kind: "create" });
    expect(planned?.kind === "create" && Object.fromEntries(planned.values)).toEqual({
      title: '"a"',
      beside: '"b"',
    });
  }
});

test.each([
  { ids: [7], text: "7" },
  { ids: [9, 7, 8], text: "7-2" },
  { ids: [1, 3, 5, 6, 7, 100], text: "1.2.2-2.93" },
])("an address has the ids of changes: $ids", ({ ids, text }) => {
  const path = toRestorePath("/t", { changes: ids.map((id) => toChange(id, 1)) });
  const change = new URLSearchParams(path.split("?")[1]).get("change") ?? "";
  expect(change).toBe(text);
  expect(readRuns(change)).toEqual(ids.toSorted((a, b) => a - b));
});

test.each(["", "x", "1.x", "-1", "1..2"])("an address without ids has none: %p", (text) => {
  expect(readRuns(text)).toEqual([]);
});

test("an address has at most as many ids as a restore writes", () => {
  expect(readRuns("1-999999999999999.5")).toHaveLength(1000);
});
