/** Turns of the work of pushes: one at a time, in rotation over apps. @module */
import { expect, test } from "bun:test";
import { takeTurn } from "../../src/push/take_turn.ts";

test("an app that pushes much waits behind itself, and other apps wait for one turn of it each", async () => {
  const order: string[] = [];
  const turns = ["loud", "loud", "loud", "loud", "quiet", "other", "quiet"].map(async (app) => {
    await takeTurn(app);
    order.push(app);
  });
  await Promise.all(turns);
  expect(order).toEqual(["loud", "quiet", "other", "loud", "quiet", "loud", "loud"]);
  await takeTurn("late");
});

test("one turn has ended before the next begins", async () => {
  let running = 0;
  let most = 0;
  const work = async (app: string) => {
    await takeTurn(app);
    most = Math.max(most, ++running);
    Bun.sleepSync(2);
    running--;
  };
  await Promise.all(["a", "b", "a", "c"].map(work));
  expect(most).toBe(1);
});
