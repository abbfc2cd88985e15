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
  test.each([
    {
      name: "everything",
      rules: "everything",
      read: { read: [{}], create: [{}], update: { from: [{}], to: [{}] }, delete: [{}] },
    },
    { name: "true", rules: { read: true }, read: { read: [{}] } },
    {
      name: "one alternative",
      rules: { read: { owner: "me" } },
      read: { read: [{ owner: "me" }] },
    },
    { name: "the id of the person", rules: { read: { id: "me" } }, read: { read: [{ id: "me" }] } },
    {
      name: "alternatives, sorted, each once",
      rules: { read: [{ team: null }, { owner: "me" }, { owner: "me" }] },
      read: { read: [{ owner: "me" }, { team: null }] },
    },
    {
      name: "an alternative for all rows",
      rules: { read: [{ owner: "me" }, {}] },
      read: { read: [{}] },
    },
    {
      name: "values, sorted, each once",
      rules: { read: { status: ["open", "done", "open"], rank: [10, 9] } },
      read: { read: [{ rank: [9, 10], status: ["done", "open"] }] },
    },
    {
      name: "a list of one value",
      rules: { read: { status: ["open"] } },
      read: { read: [{ status: "open" }] },
    },
    { name: "a decimal", rules: { read: { cost: "1.50" } }, read: { read: [{ cost: "1.50" }] } },
    { name: "false", rules: { read: true, create: false }, read: { read: [{}] } },
    {
      name: "a plain update",
      rules: { read: true, update: { owner: "me" } },
      read: { read: [{}], update: { from: [{ owner: "me" }], to: [{ owner: "me" }] } },
    },
    {
      name: "from and to",
      rules: { read: true, update: { from: true, to: { urgent: false } } },
      read: { read: [{}], update: { from: [{}], to: [{ urgent: false }] } },
    },
    {
      name: "a change to no row",
      rules: { read: true, update: { from: true, to: false } },
      read: { read: [{}] },
    },
    {
      name: "a change from no row",
      rules: { read: true, update: { from: false, to: true } },
      read: { read: [{}] },
    },
    {
      name: "memberships",
      rules: { read: { team: { memberOf: "members", where: { level: ["lead"], title: null } } } },
      read: { read: [{ team: { memberOf: "members", where: { level: "lead", title: null } } }] },
    },
    {
      name: "memberships without conditions",
      rules: { read: { team: { memberOf: "members", where: {} } } },
      read: { read: [{ team: { memberOf: "members" } }] },
    },
    {
      name: "readable rows",
      rules: { read: { team: { readable: true } } },
      read: { read: [{ team: { readable: true } }] },
    },
  ])("$name", ({ rules, read }) => {
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
  test.each([
    { name: "rules that are a list", value: withRules([]) },
    { name: "rules that are null", value: withRules(null) },
    { name: "an unknown key", value: withRules({ deny: {} }) },
    { name: "allow as a list", value: withRules({ allow: [] }) },
    {
      name: "the role __proto__",
      value: withRules(JSON.parse('{"allow":{"__proto__":{"read":true}}}')),
    },
    { name: "a role in upper case", value: withRules({ allow: { Member: { read: true } } }) },
    { name: "another word for everything", value: allow("all") },
    { name: "an unknown action", value: allow({ write: true }) },
    { name: "a text as a rule", value: read("me") },
    { name: "null as a rule", value: read(null) },
    { name: "no alternatives", value: read([]) },
    { name: "true as an alternative", value: read([true]) },
    { name: "an unknown column", value: read({ sttaus: "open" }) },
    { name: "the column app_id", value: read({ app_id: "me" }) },
    { name: "the column __proto__", value: read(JSON.parse('{"__proto__":null}')) },
    { name: "an unknown value of an enum", value: read({ status: "lost" }) },
    { name: "an unknown value in a list", value: read({ status: ["open", "lost"] }) },
    { name: "an empty list of values", value: read({ status: [] }) },
    { name: "null in a list", value: read({ status: ["open", null] }) },
    { name: "null of a required column", value: read({ title: null }) },
    { name: "null of the id", value: read({ id: null }) },
    { name: "a number for a text", value: read({ title: 1 }) },
    { name: "half an integer", value: read({ rank: 0.5 }) },
    { name: "a text for a boolean", value: read({ urgent: "true" }) },
    { name: "a constant uuid", value: read({ owner: "0190163d-8694-739b-aea5-966c26f8ad91" }) },
    { name: "me in a list", value: read({ owner: ["me"] }) },
    { name: "me on a reference", value: read({ team: "me" }) },
    { name: "a date", value: read({ due: "2026-01-01" }) },
    { name: "null of a json", value: read({ note: null }) },
    { name: "memberOf on a text", value: read({ title: { memberOf: "members" } }) },
    { name: "memberOf of no table's name", value: read({ team: { memberOf: "No" } }) },
    { name: "memberOf with another key", value: read({ team: { memberOf: "members", when: {} } }) },
    {
      name: "memberOf with a nested membership",
      value: read({ team: { memberOf: "members", where: { team: { memberOf: "members" } } } }),
    },
    { name: "readable that is false", value: read({ team: { readable: false } }) },
    { name: "an owner that is a text", value: withRules({ owner: ["title"] }) },
    { name: "an owner that does not exist", value: withRules({ owner: ["boss"] }) },
    { name: "only on no column", value: withRules({ only: { price: ["lead"] } }) },
    { name: "setBy without roles", value: withRules({ setBy: { cost: [] } }) },
    {
      name: "setBy on an owner",
      value: withRules({ owner: ["owner"], setBy: { owner: ["lead"] } }),
    },
    { name: "setBy for a number", value: withRules({ setBy: { cost: [1] } }) },
    {
      name: "too many alternatives",
      value: read(Array.from({ length: 11 }, (_, rank) => ({ rank }))),
    },
    {
      name: "too many values",
      value: read({ rank: Array.from({ length: 51 }, (_, rank) => rank) }),
    },
    {
      name: "too many roles",
      value: withRules({
        allow: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`r${i}`, { read: true }])),
      }),
    },
    { name: "too many bytes", value: read({ title: "x".repeat(20_000) }) },
  ])("$name", ({ value }) => {
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
