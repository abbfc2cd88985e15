import { expect, test } from "bun:test";
import fc from "fast-check";
import { drawRuns } from "../../test/support/tier.ts";
import { canonicalJson } from "./json.ts";

test.each(
  Object.entries<[value: unknown, want: string]>({
    "keys sorted by code unit": [{ b: 1, a: 2, B: 3, é: 4 }, '{"B":3,"a":2,"b":1,"é":4}'],
    "keys sorted inside arrays": [[{ b: 1, a: 2 }], '[{"a":2,"b":1}]'],
    "arrays in their order": [[3, 1, 2], "[3,1,2]"],
    "absent and undefined keys identically": [{ a: undefined, b: null }, '{"b":null}'],
    "-0 as 0": [[-0], "[0]"],
    "a key named __proto__": [
      JSON.parse('{"b":1,"__proto__":{"d":1,"c":2}}'),
      '{"__proto__":{"c":2,"d":1},"b":1}',
    ],
    "undefined as null": [undefined, "null"],
  }),
)("canonicalJson() writes %s", (_, [value, want]) => expect(canonicalJson(value)).toBe(want));

test("canonicalJson() returns one text per value, regardless of key order, without data loss", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = canonicalJson(value);
      expect(canonicalJson(toReversed(value))).toBe(text);
      expect(canonicalJson(JSON.parse(text))).toBe(text);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
    }),
    drawRuns(1000),
  );
});

function toReversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toReversed);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, toReversed(inner)] as const);
  return Object.fromEntries(entries.reverse());
}
