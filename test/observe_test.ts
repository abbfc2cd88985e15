/** Log lines written together: none lost, none late, none out of order. */
import { describe, expect, test } from "bun:test";
import { batchLines } from "../src/observe.ts";

describe("batchLines()", () => {
  test("writes the lines of one turn of the event loop together, in order", async () => {
    const written: string[] = [];
    const batch = batchLines((lines) => written.push(lines));
    batch.write("one");
    batch.write("two");
    expect(written).toEqual([]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(written).toEqual(["one\ntwo\n"]);
    batch.write("three");
    await new Promise((resolve) => setImmediate(resolve));
    expect(written).toEqual(["one\ntwo\n", "three\n"]);
  });

  test("does not wait for the turn's end with a large batch", () => {
    const written: string[] = [];
    const batch = batchLines((lines) => written.push(lines));
    batch.write("x".repeat(70_000));
    expect(written.join("").length).toBe(70_001);
  });

  test("flush() writes what is held, once", async () => {
    const written: string[] = [];
    const batch = batchLines((lines) => written.push(lines));
    batch.write("last words");
    batch.flush();
    await new Promise((resolve) => setImmediate(resolve));
    expect(written).toEqual(["last words\n"]);
  });
});
