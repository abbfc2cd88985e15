import { expect, test } from "bun:test";
import { mapBounded } from "./map_bounded.ts";

test("mapBounded() starts no more items after an error", async () => {
  const started: number[] = [];
  const slow = Promise.withResolvers<void>();
  const result = mapBounded([1, 2, 3, 4], 2, async (item) => {
    started.push(item);
    if (item === 1) throw new Error("item 1 failed");
    await slow.promise;
  });
  await expect(result).rejects.toThrow("item 1 failed");
  slow.resolve();
  await Bun.sleep(1);
  expect(started).toEqual([1, 2]);
});
