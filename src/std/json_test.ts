import { expect, test } from "bun:test";
import fc from "fast-check";
import { drawRuns } from "../../test/support/tier.ts";
import { canonicalJson } from "./json.ts";

test.each([
  {
    name: "keys sorted by code unit",
    value: { b: 1, a: 2, B: 3, é: 4 },
    want: '{"B":3,"a":2,"b":1,"é":4}',
  },
  { name: "keys sorted inside arrays", value: [{ b: 1, a: 2 }], want: '[{"a":2,"b":1}]' },
  { name: "arrays in their order", value: [3, 1, 2], want: "[3,1,2]" },
  {
    name: "absent and undefined keys identically",
    value: { a: undefined, b: null },
    want: '{"b":null}',
  },
  { name: "-0 as 0", value: [-0], want: "[0]" },
  {
    name: "a key named __proto__",
    value: JSON.parse('{"b":1,"__proto__":{"d":1,"c":2}}'),
    want: '{"__proto__":{"c":2,"d":1},"b":1}',
  },
  { name: "undefined as null", value: undefined, want: "null" },
])("canonicalJson() writes $name", ({ value, want }) => expect(canonicalJson(value)).toBe(want));

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
