import { describe, expect, test } from "bun:test";
import * as v from "valibot";
import { PushBody } from "./bodies.ts";
import { readValue } from "./issues.ts";

const FLAGS = { required: false, unique: false, index: false };
const LISTS = { indexes: [], uniques: [] };
/** Valid alone: only the check of the whole definition finds the table that is missing. */
const tables = [
  { name: "teams", columns: [], ...LISTS },
  {
    name: "todos",
    columns: [{ ...FLAGS, name: "team", kind: "ref", table: "teams" }],
    ...LISTS,
    rules: { allow: { member: { read: [{ team: { memberOf: "team_members" } }] } } },
  },
];
const definition = { version: 1, tables };
const EMPTY = { version: 1, tables: [] };

function pathsOf(step: object): unknown[] {
  const { issues = [] } = v.safeParse(PushBody, { steps: [step] });
  return issues.map((issue) => v.getDotPath(issue));
}

describe("a push checks the rules of", () => {
  test.each([
    { name: "a definition", step: { kind: "define", definition }, path: "definition" },
    {
      name: "the current schema of a join",
      step: { kind: "join", migrations: [""], definition, declared: EMPTY },
      path: "definition",
    },
  ])("$name", ({ step, path }) => {
    expect(pathsOf(step)).toEqual([`steps.0.${path}.todos.team`]);
  });
});

test("a push does not check the rules of former declarations", () => {
  const step = { kind: "join", migrations: [""], definition: EMPTY, declared: definition };
  expect(pathsOf(step)).toEqual([]);
});

describe("an unknown field is reported", () => {
  const change = { kind: "drop_table", table: "a" };
  const retype = { kind: "retype_column", table: "a", column: "b", type: { kind: "json" } };
  const journal = [{ seq: 1, checksum: `sha256:${"0".repeat(64)}` }];
  const body = { steps: [{ kind: "define", definition: EMPTY }], journal };
  const places = [
    { of: body, path: "" },
    { of: body, path: "/steps/0" },
    { of: body, path: "/journal/0" },
    { of: { steps: [{ kind: "migration", text: "" }] }, path: "/steps/0" },
    { of: { steps: [{ kind: "change", change }] }, path: "/steps/0/change" },
    { of: { steps: [{ kind: "change", change: retype }] }, path: "/steps/0/change/type" },
  ];
  // JavaScript's own names, which a reader can take for a part of any object.
  const names = ["other", "__proto__", "constructor", "prototype", "toString"];
  test.each(places.flatMap((place) => names.map((name) => ({ ...place, name }))))(
    "$name in $path",
    ({ of, path, name }) => {
      const sent = JSON.parse(JSON.stringify(of));
      const parts = path.split("/").slice(1);
      const object = parts.reduce((part, key) => part[key], sent);
      Object.defineProperty(object, name, { value: {}, enumerable: true });
      expect(readValue(PushBody, sent)).toEqual({
        details: [{ path: `${path}/${name}`, message: "Unknown field" }],
      });
    },
  );
});

test("half a million unknown fields are counted, not listed", () => {
  const fields = Array.from({ length: 550_000 }, (_, n) => [`f${n}`, 0] as const);
  const step = { kind: "migration", text: "", ...Object.fromEntries(fields) };
  const read = readValue(PushBody, { steps: [step] });
  const details = "details" in read ? read.details : [];
  expect(details).toHaveLength(200);
  expect(details.at(-1)).toEqual({
    path: "/steps/0",
    message: "Cannot list 549801 more errors: fix these first",
  });
});
