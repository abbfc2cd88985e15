import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { drawRuns } from "../../test/support/tier.ts";
import { canonicalJson } from "../std/json.ts";
import {
  checkRules,
  type Definition,
  explainRuleChanges,
  explainRules,
  fixedFor,
  hiddenFrom,
  listRuleNotices,
  type NamedColumn,
  readDefinition,
  rulesOf,
} from "./mod.ts";

// Names that have a meaning on every object, as roles, columns and values.
const ROLES = ["constructor", "member", "tostring", "hasownproperty", "__proto__"];
const VALUES = ["open", "valueOf", "__proto__", "a, b", 'x" or "y', "\u202Eevil\n- all", "true"];

const flags = { required: false, unique: false, index: false };
const COLUMNS: readonly NamedColumn[] = [
  { ...flags, name: "isPrototypeOf", kind: "string" },
  { ...flags, name: "status", kind: "enum", values: VALUES.slice(0, 4) },
  { ...flags, name: "rank", kind: "integer" },
  { ...flags, name: "cost", kind: "decimal" },
  { ...flags, name: "urgent", kind: "boolean" },
  { ...flags, name: "propertyIsEnumerable", kind: "uuid" },
  { ...flags, name: "team", kind: "ref", table: "teams" },
  { ...flags, name: "todo", kind: "ref", table: "todos", onDelete: "cascade" },
];

const texts = fc.constantFrom(...VALUES);
const oneOrMore = <Value>(value: fc.Arbitrary<Value>) =>
  fc.oneof(value, fc.array(value, { minLength: 1, maxLength: 4 }), fc.constant(null));
const reference = fc.oneof(
  fc.constant({ memberOf: "members" }),
  oneOrMore(fc.constantFrom("low", "high")).map((level) => ({
    memberOf: "members",
    where: { level },
  })),
  fc.constant({ readable: true }),
  fc.constant(null),
);
const alternative = fc.record(
  {
    id: fc.constant("me"),
    isPrototypeOf: oneOrMore(texts),
    status: oneOrMore(fc.constantFrom(...VALUES.slice(0, 4))),
    rank: oneOrMore(fc.integer({ min: -9, max: 9 })),
    cost: oneOrMore(fc.constantFrom("1", "10", "-2.5")),
    urgent: oneOrMore(fc.boolean()),
    propertyIsEnumerable: fc.constantFrom("me", null),
    team: reference,
    todo: reference,
  },
  { requiredKeys: [] },
);
const rule = fc.oneof(
  fc.boolean(),
  alternative,
  fc.array(alternative, { minLength: 1, maxLength: 3 }),
);
const role = fc.oneof(
  fc.constant("everything"),
  fc.record(
    {
      read: rule,
      create: rule,
      update: fc.oneof(rule, fc.record({ from: rule, to: rule })),
      delete: rule,
    },
    { requiredKeys: [] },
  ),
);
const some = (of: readonly string[]) => fc.subarray([...of]);
const roles = fc.uniqueArray(fc.constantFrom(...ROLES.slice(0, 4)), { minLength: 1, maxLength: 3 });
const protect = fc.dictionary(fc.constantFrom("cost", "isPrototypeOf", "todo"), roles, {
  maxKeys: 2,
});
const rules = fc.record(
  {
    allow: fc.dictionary(fc.constantFrom(...ROLES.slice(0, 4)), role, { maxKeys: 3 }),
    owner: some(["propertyIsEnumerable"]),
    only: protect,
    setBy: protect,
  },
  { requiredKeys: [] },
);

const bare = { indexes: [], uniques: [] };
const membership: readonly NamedColumn[] = [
  { ...flags, name: "person", kind: "uuid" },
  { ...flags, name: "team", kind: "ref", table: "teams" },
  { ...flags, name: "todo", kind: "ref", table: "todos" },
  { ...flags, name: "level", kind: "string" },
];
function declare(declared: unknown): unknown {
  return {
    version: 1,
    tables: [
      { name: "members", columns: membership, ...bare },
      { name: "teams", columns: [], ...bare },
      { name: "todos", columns: COLUMNS, ...bare, rules: declared },
    ],
  };
}
function read(declared: unknown): Definition {
  const reading = readDefinition(declare(declared));
  if ("issues" in reading) throw new Error(canonicalJson(reading));
  return reading.definition;
}
const rulesIn = ({ tables }: Definition) => tables.at(-1)?.rules;

describe("any rules", () => {
  test("are unchanged after a round trip, also through JSON", () => {
    fc.assert(
      fc.property(rules, (declared) => {
        const definition = read(declared);
        const again = readDefinition(JSON.parse(canonicalJson(definition)));
        expect(canonicalJson(again)).toBe(canonicalJson({ definition }));
        expect(canonicalJson(rulesIn(read(rulesIn(definition) ?? {})))).toBe(
          canonicalJson(rulesIn(definition)),
        );
      }),
      drawRuns(1000),
    );
  });

  test("have one normal form, whatever the order of alternatives, values and keys", () => {
    const reverse = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(reverse).reverse();
      if (typeof value !== "object" || value === null) return value;
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([key, inner]) => [key, reverse(inner)]),
      );
    };
    fc.assert(
      fc.property(rules, (declared) => {
        expect(canonicalJson(read(reverse(declared)))).toBe(canonicalJson(read(declared)));
      }),
      drawRuns(1000),
    );
  });

  test("have sentences of one line without hidden characters", () => {
    fc.assert(
      fc.property(rules, (declared) => {
        const definition = read(declared);
        const lines = [
          ...explainRules(definition, ROLES).map(({ rights }) => rights),
          ...explainRuleChanges([], definition.tables),
          ...explainRuleChanges(definition.tables, []),
          ...listRuleNotices(definition).map(({ message }) => message),
          ...checkRules(definition).map(({ message }) => message),
        ];
        for (const line of lines) expect(line).toMatch(/^[^\p{Cc}\p{Cf}]+$/u);
      }),
      drawRuns(1000),
    );
  });

  test("differ if and only if a sentence tells the difference", () => {
    fc.assert(
      fc.property(rules, rules, (one, other) => {
        const [before, after] = [read(one), read(other)];
        const isSame = canonicalJson(rulesIn(before)) === canonicalJson(rulesIn(after));
        expect(explainRuleChanges(before.tables, after.tables).length === 0).toBe(isSame);
        expect(explainRuleChanges(after.tables, after.tables)).toEqual([]);
      }),
      drawRuns(1000),
    );
  });

  test("give a role nothing that they do not name", () => {
    fc.assert(
      fc.property(rules, fc.constantFrom(...ROLES, "other"), (declared, name) => {
        const table = read(declared).tables.at(-1);
        const isNamed = Object.keys(table?.rules?.allow ?? {}).includes(name);
        expect(Object.keys(rulesOf(table?.rules, name)).length > 0).toBe(isNamed);
        for (const column of [...hiddenFrom(table?.rules, name), ...fixedFor(table?.rules, name)])
          expect(COLUMNS.map((known) => known.name)).toContain(column);
      }),
      drawRuns(500),
    );
  });
});
