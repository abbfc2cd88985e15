import { expect, test } from "bun:test";
import { column, tableOf } from "../../test/support/row_files.ts";
import type { Json } from "../schema/mod.ts";
import { findUnique, isAsCreated, makeComparison } from "./mod.ts";

const TABLE = {
  ...tableOf(
    column("tag", "string", { unique: true }),
    column("code", "decimal", { unique: true }),
    column("area", "string", { default: "home" }),
    column("place", "integer"),
    column("seen", "timestamp", { default: "now" }),
  ),
  uniques: [["area", "place"]],
};

/** The lines of rows whose values a row of the table keeps. */
function listTaken(
  stored: readonly Record<string, Json>[],
  rows: readonly Record<string, Json>[],
): string[] {
  const listed = stored.map((values, n) => ({ id: `row ${n}`, values }));
  const comparison = makeComparison(TABLE, findUnique(TABLE, ["tag"]) ?? [], listed);
  rows.forEach((values, n) => {
    expect(comparison.add({ line: n + 1, values })).toBeUndefined();
  });
  return comparison.findTaken().map(({ line, column: name, message }) => {
    return `${line} ${name ?? message.split(":")[0]}`;
  });
}

const A = { tag: "a", code: "1.0", area: "home", place: 1 };
const B = { tag: "b", code: "2.0", area: "home", place: 2 };

test.each([
  { name: "its own value", rows: [{ tag: "a", code: "1" }], taken: [] },
  { name: "the value of a row that stays", rows: [{ tag: "a", code: "2" }], taken: ["1 code"] },
  {
    name: "the value of a row that the file lacks",
    rows: [{ tag: "c", code: 2 }],
    taken: ["1 code"],
  },
  {
    name: "the value of a row that gets another",
    rows: [
      { tag: "b", code: "3" },
      { tag: "a", code: "2" },
    ],
    taken: [],
  },
  {
    name: "a part of several columns, the others as stored or by default",
    rows: [
      { tag: "a", place: 2 },
      { tag: "c", place: 1 },
    ],
    taken: ["1 A stored row has the same area, place"],
  },
  { name: "a null", rows: [{ tag: "a", code: null, place: null }], taken: [] },
])("an update of rows finds values that a row of the table keeps: $name", ({ rows, taken }) => {
  expect(listTaken([A, B], rows)).toEqual([...taken]);
});

const STORED = { ...A, area: "home", seen: "2026-11-27T10:00:00Z" };

test.each([
  { name: "equal values in another form", sent: { tag: "a", code: "1", place: 1 }, is: true },
  { name: "a changed value", sent: { tag: "a", code: "1.5", place: 1 }, is: false },
  { name: "a value where none was sent", sent: { tag: "a", code: "1" }, is: false },
  { name: "another value than the default", sent: { ...A, area: "away" }, is: false },
  { name: "a sent time", sent: { ...A, seen: STORED.seen }, is: true },
  { name: "a null that was sent for a time", sent: { ...A, seen: null }, is: false },
])("isAsCreated() compares what a create sent with the row: $name", ({ sent, is }) => {
  expect(isAsCreated(TABLE, sent, STORED)).toBe(is);
});
