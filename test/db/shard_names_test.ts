import { expect, test } from "bun:test";
import { isNamed, readShardNames } from "../../src/db/citus/shard_names.ts";

/** Errors that Citus forwards from another node. */
test.each([
  {
    kind: "unique" as const,
    message: `duplicate key value violates unique constraint "projects__name__key_103469"`,
    names: { constraint: "projects__name__key" },
  },
  {
    kind: "unique" as const,
    message: `duplicate key value violates unique constraint "pg_type_typname_nsp_index"`,
    names: { constraint: "pg_type_typname_nsp_index" },
  },
  {
    kind: "reference" as const,
    message: `insert or update on table "todos_103477" violates foreign key constraint "todos__project__fkey_103477"`,
    names: { table: "todos", constraint: "todos__project__fkey" },
  },
  {
    kind: "required" as const,
    message: `null value in column "title_1" of relation "todos_103477" violates not-null constraint`,
    names: { column: "title_1", table: "todos" },
  },
  { kind: "unique" as const, message: "a row of a batch breaks a rule", names: {} },
])("readShardNames() reads $message", ({ kind, message, names }) => {
  expect(readShardNames(kind, message)).toEqual({
    constraint: undefined,
    table: undefined,
    column: undefined,
    ...names,
  });
});

/** Hashes of PostgreSQL's `hashtext`. */
test.each([
  ["a", "401370b1"],
  ["abcdefghijk", "a78ef3d3"],
  ["abcdefghijkl", "a1763ad4"],
  ["x".repeat(63), "5e35eaac"],
  ["a_very_long_name_for_a_constraint_that_is_cut__0123456789__key", "3338dd86"],
])("isNamed() recognizes a name by its beginning and its hash: %s", (name, hash) => {
  const start = name.slice(0, Math.max(1, name.length - 15));
  expect(isNamed(name, `${start}_${hash}`)).toBe(true);
  expect(isNamed(`${name}b`, `${start}_${hash}`)).toBe(false);
  expect(isNamed(name, name)).toBe(true);
  expect(isNamed(name, start.slice(1))).toBe(false);
});
