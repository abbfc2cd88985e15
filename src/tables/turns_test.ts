/** The queue for the work of pushes: one push at a time, apps in rotation. @module */
import { expect, test } from "bun:test";
import { acquireTurn } from "./turns.ts";

test("an app with many pushes delays itself, and delays other apps by max one turn", async () => {
  const order: string[] = [];
  const turns = ["loud", "loud", "loud", "loud", "quiet", "other", "quiet"].map(async (app) => {
    await acquireTurn(app);
    order.push(app);
  });
  await Promise.all(turns);
  expect(order).toEqual(["loud", "quiet", "other", "loud", "quiet", "loud", "loud"]);
  await acquireTurn("late");
});

test("other work runs between two turns", async () => {
  const order: string[] = [];
  const turns = ["a", "b"].map(async (app) => {
    await acquireTurn(app);
    order.push(app);
    setImmediate(() => order.push("other work"));
  });
  await Promise.all(turns);
  expect(order).toEqual(["a", "other work", "b"]);
});
