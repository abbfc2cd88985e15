/** The checkout of `bench requests --against`. */
import { expect, test } from "bun:test";
import { ROOT } from "../test/support/command.ts";
import { openCheckout } from "./checkout.ts";

test("openCheckout() uses a folder as it is, and rejects a name that is neither a folder nor a commit", async () => {
  await using stack = new AsyncDisposableStack();
  expect(await openCheckout(stack, ROOT)).toBe(ROOT.replace(/\/$/, ""));
  for (const name of ["no-such-commit", "/tmp", "--all"])
    expect(openCheckout(stack, name)).rejects.toThrow("must be a folder or a commit");
});
