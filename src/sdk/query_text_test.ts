/** Query strings of updates and deletes with conditions. */
import { expect, test } from "bun:test";
import { toManyQuery } from "./query_text.ts";

test("a column with the name of a parameter is in a group", () => {
  const where = { limit: 2, all: 1, dryRun: false, title: "a, b" };
  expect(toManyQuery({ where, dryRun: true }, "deleteMany()")).toEqual([
    ["and", "(limit.eq.2)"],
    ["and", "(all.eq.1)"],
    ["and", "(dryRun.eq.false)"],
    ["title", "eq.a, b"],
    ["dryRun", "true"],
  ]);
});
