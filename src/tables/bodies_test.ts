import { describe, expect, test } from "bun:test";
import * as v from "valibot";
import { PushBody } from "./bodies.ts";

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
