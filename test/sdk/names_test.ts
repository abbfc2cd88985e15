/** The SDK imports nothing at run time, so it has its own copy of the rule for table names. The copies must be equal. @module */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { createDataClient } from "../../src/sdk/data.ts";
import { TABLE_PATTERN } from "../../src/std/patterns.ts";

test("a client without a schema has a table for exactly the valid table names", () => {
  const client: object = createDataClient({ baseUrl: "https://api.example.org", apiKey: "key" });
  const isName = new RegExp(TABLE_PATTERN);
  const nearly = fc.stringMatching(/^[A-Za-z0-9_-][a-z0-9_]{0,50}$/);
  fc.assert(
    fc.property(fc.oneof(nearly, fc.string()), (name) => {
      expect(Reflect.get(client, name) !== undefined).toBe(isName.test(name));
    }),
    { examples: [["a".repeat(48)], ["a".repeat(49)], ["_a"], ["todos"]] },
  );
});
