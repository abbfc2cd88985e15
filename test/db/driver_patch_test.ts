import { expect, test } from "bun:test";
import { isDriverPatched } from "../../src/db/mod.ts";

test("the installed driver carries our patch", () => {
  expect(isDriverPatched()).toBe(true);
});
