import { expect, test } from "bun:test";
import budgets from "./budgets.json";
import { findExceeded, measure } from "./budgets.ts";

test("every budget is measured", async () => {
  const names = (await measure()).map(({ name }) => name);
  expect(Object.keys(budgets).filter((name) => !names.includes(name))).toEqual([]);
});

test("only what exceeds its budget is reported", () => {
  const exceeded = findExceeded([
    { name: "more", value: 2, budget: 1 },
    { name: "equal", value: 1, budget: 1 },
    { name: "unknown", value: undefined, budget: 1 },
    { name: "free", value: 3, budget: undefined },
  ]);
  expect(exceeded).toEqual(["more 2, budget 1"]);
});
