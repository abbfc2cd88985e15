import { describe, expect, test } from "bun:test";
import { expectOneMessage, messagesOf, PLAIN, withTable } from "../../test/support/definitions.ts";
import { canonicalJson } from "../std/json.ts";
import { readDefinition } from "./mod.ts";

const COLUMNS = [
  { ...PLAIN, name: "title", required: true },
  { ...PLAIN, name: "status", kind: "enum", values: ["open", "done", "approved"] },
  { ...PLAIN, name: "owner", kind: "uuid" },
  { ...PLAIN, name: "rank", kind: "integer" },
  { ...PLAIN, name: "cost", kind: "decimal" },
  { ...PLAIN, name: "urgent", kind: "boolean" },
  { ...PLAIN, name: "due", kind: "date" },
  { ...PLAIN, name: "note", kind: "json" },
  { ...PLAIN, name: "team", kind: "ref", table: "todos" },
];

function withRules(rules: unknown, columns: readonly object[] = COLUMNS): object {
  return withTable({ columns, rules });
}
function allow(rules: unknown): object {
  return withRules({ allow: { member: rules } });
}
function read(rule: unknown): object {
  return allow({ read: rule });
}
function rulesIn(value: unknown): unknown {
  const reading = readDefinition(value);
  if ("issues" in reading) throw new Error(canonicalJson(reading));
  return reading.definition.tables[0]?.rules;
}

describe("readDefinition() reads rules in their normal form:", () => {
  const FROM_TO = { from: [{ owner: "me" }], to: [{ owner: "me" }] };
  const LEAD = { memberOf: "members", where: { level: "lead", title: null } };
  const CASES: Readonly<Record<string, readonly [rules: unknown, read: object]>> = {
    everything: [
      "everything",
      { read: [{}], create: [{}], update: { from: [{}], to: [{}] }, delete: [{}] },
    ],
    true: [{ read: true }, { read: [{}] }],
    "one alternative": [{ read: { owner: "me" } }, { read: [{ owner: "me" }] }],
    "the id of the person": [{ read: { id: "me" } }, { read: [{ id: "me" }] }],
    "alternatives, sorted, each once": [
      { read: [{ team: null }, { owner: "me" }, { owner: "me" }] },
      { read: [{ owner: "me" }, { team: null }] },
    ],
    "an alternative for all rows": [{ read: [{ owner: "me" }, {}] }, { read: [{}] }],
    "values, sorted, each once": [
      { read: { status: ["open", "done", "open"], rank: [10, 9] } },
      { read: [{ rank: [9, 10], status: ["done", "open"] }] },
    ],
    "a list of one value": [{ read: { status: ["open"] } }, { read: [{ status: "open" }] }],
    "a decimal": [{ read: { cost: "1.50" } }, { read: [{ cost: "1.50" }] }],
    false: [{ read: true, create: false }, { read: [{}] }],
    "a plain update": [
      { read: true, update: { owner: "me" } },
      { read: [{}], update: FROM_TO },
    ],
    "from and to": [
      { read: true, update: { from: true, to: { urgent: false } } },
      { read: [{}], update: { from: [{}], to: [{ urgent: false }] } },
    ],
    "a change to no row": [{ read: true, update: { from: true, to: false } }, { read: [{}] }],
    "a change from no row": [{ read: true, update: { from: false, to: true } }, { read: [{}] }],
    memberships: [
      { read: { team: { ...LEAD, where: { level: ["lead"], title: null } } } },
      { read: [{ team: LEAD }] },
    ],
    "memberships without conditions": [
      { read: { team: { memberOf: "members", where: {} } } },
      { read: [{ team: { memberOf: "members" } }] },
    ],
    "readable rows": [
      { read: { team: { readable: true } } },
      { read: [{ team: { readable: true } }] },
    ],
  };
  test.each(Object.entries(CASES))("%s", (_, [rules, read]) => {
    expect(rulesIn(allow(rules))).toEqual({ allow: { member: read } });
    expect(rulesIn(withRules(rulesIn(allow(rules))))).toEqual({ allow: { member: read } });
  });

  test("protected columns and roles", () => {
    const rules = {
      allow: { viewer: { read: true }, constructor: { read: true } },
      owner: ["owner", "owner"],
      only: { title: ["viewer", "admin", "viewer"] },
      setBy: { cost: ["viewer"] },
    };
    expect(canonicalJson(rulesIn(withRules(rules)))).toBe(
      canonicalJson({
        ...rules,
        allow: { constructor: { read: [{}] }, viewer: { read: [{}] } },
        owner: ["owner"],
        only: { title: ["admin", "viewer"] },
      }),
    );
  });

  test.each([
    { name: "no rules", rules: {} },
    { name: "no roles", rules: { allow: {}, owner: [], only: {}, setBy: {} } },
    { name: "roles without rights", rules: { allow: { member: {}, viewer: { read: false } } } },
  ])("none for $name", ({ rules }) => {
    expect(rulesIn(withRules(rules))).toBeUndefined();
    expect(canonicalJson(readDefinition(withRules(rules)))).not.toContain("rules");
  });

  test("a change between columns called from and to", () => {
    const columns = ["from", "to"].map((name) => ({ ...PLAIN, name, kind: "boolean" }));
    const read = (update: unknown) =>
      rulesIn(withRules({ allow: { member: { read: true, update } } }, columns));
    const columnsTrue = [{ from: true, to: true }];
    expect(read(columnsTrue)).toHaveProperty("allow.member.update.to", columnsTrue);
    expect(read({ from: [{}], to: [{ to: true }] })).toHaveProperty("allow.member.update.from", [
      {},
    ]);
    const mistaken = { member: { read: true, update: { from: true, to: true } } };
    expectOneMessage(withRules({ allow: mistaken }, columns));
  });
});

describe("readDefinition() rejects", () => {
  test.each(
    Object.entries({
      "rules that are a list": withRules([]),
      "rules that are null": withRules(null),
      "an unknown key": withRules({ deny: {} }),
      "allow as a list": withRules({ allow: [] }),
      "the role __proto__": withRules(JSON.parse('{"allow":{"__proto__":{"read":true}}}')),
      "a role in upper case": withRules({ allow: { Member: { read: true } } }),
      "another word for everything": allow("all"),
      "an unknown action": allow({ write: true }),
      "a text as a rule": read("me"),
      "null as a rule": read(null),
      "no alternatives": read([]),
      "true as an alternative": read([true]),
      "an unknown column": read({ sttaus: "open" }),
      "the column app_id": read({ app_id: "me" }),
      "the column __proto__": read(JSON.parse('{"__proto__":null}')),
      "an unknown value of an enum": read({ status: "lost" }),
      "an unknown value in a list": read({ status: ["open", "lost"] }),
      "an empty list of values": read({ status: [] }),
      "null in a list": read({ status: ["open", null] }),
      "null of a required column": read({ title: null }),
      "null of the id": read({ id: null }),
      "a number for a text": read({ title: 1 }),
      "half an integer": read({ rank: 0.5 }),
      "a text for a boolean": read({ urgent: "true" }),
      "a constant uuid": read({ owner: "0190163d-8694-739b-aea5-966c26f8ad91" }),
      "me in a list": read({ owner: ["me"] }),
      "me on a reference": read({ team: "me" }),
      "a date": read({ due: "2026-01-01" }),
      "null of a json": read({ note: null }),
      "memberOf on a text": read({ title: { memberOf: "members" } }),
      "memberOf of no table's name": read({ team: { memberOf: "No" } }),
      "memberOf with another key": read({ team: { memberOf: "members", when: {} } }),
      "memberOf with a nested membership": read({
        team: { memberOf: "members", where: { team: { memberOf: "members" } } },
      }),
      "readable that is false": read({ team: { readable: false } }),
      "an owner that is a text": withRules({ owner: ["title"] }),
      "an owner that does not exist": withRules({ owner: ["boss"] }),
      "only on no column": withRules({ only: { price: ["lead"] } }),
      "setBy without roles": withRules({ setBy: { cost: [] } }),
      "setBy on an owner": withRules({ owner: ["owner"], setBy: { owner: ["lead"] } }),
      "setBy for a number": withRules({ setBy: { cost: [1] } }),
      "too many alternatives": read(Array.from({ length: 11 }, (_, rank) => ({ rank }))),
      "too many values": read({ rank: Array.from({ length: 51 }, (_, rank) => rank) }),
      "too many roles": withRules({
        allow: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`r${i}`, { read: true }])),
      }),
      "too many bytes": read({ title: "x".repeat(20_000) }),
    }),
  )("%s", (_, value) => {
    expectOneMessage(value);
  });

  test("every mistake together", () => {
    const rules = {
      allow: { member: { read: { a: 1 }, delete: [{ b: 1 }, { status: 2 }] } },
      owner: ["c"],
    };
    expect(messagesOf(withRules(rules))).toHaveLength(4);
  });
});
