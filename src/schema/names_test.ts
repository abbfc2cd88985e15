import { describe, expect, test } from "bun:test";
import { withColumn, withTable } from "../../test/support/definitions.ts";
import { quote } from "../std/quote.ts";
import { readDefinition } from "./mod.ts";

describe("readDefinition() rejects the table name", () => {
  const pattern =
    "must be 1 to 48 lowercase letters, digits or underscores, starting with a letter";
  test.each(
    [
      { name: "", reason: pattern },
      { name: "Todos", reason: pattern },
      { name: "1todos", reason: pattern },
      { name: "_todos", reason: pattern },
      { name: "to-dos", reason: pattern },
      { name: 'x"; drop', reason: pattern },
      { name: "todos\n", reason: pattern },
      { name: "tödos", reason: pattern },
      { name: "t".repeat(49), reason: pattern },
      { name: "to__dos", reason: "must not contain two underscores in a row" },
      { name: "users", reason: "the name is reserved organization-wide" },
      { name: "files", reason: "the name is reserved organization-wide" },
      { name: "notifications", reason: "the name is reserved organization-wide" },
      { name: "audit_log", reason: "the name is reserved organization-wide" },
    ].map((row) => ({ ...row, title: quote(row.name) })),
  )("$title", ({ name, reason }) => {
    const message = `Cannot name a table ${JSON.stringify(name)}: ${reason}`;
    expect(readDefinition(withTable({ name }))).toEqual({ issues: [{ table: name, message }] });
  });
});

describe("readDefinition() rejects the column name", () => {
  const pattern = "must be 1 to 63 letters, digits or underscores, not starting with a digit";
  const automatic = "every table already has it";
  const system = "the name is reserved by PostgreSQL";
  const trap = "the name has a special meaning in JavaScript";
  test.each(
    [
      ...["", "1a", "a-b", "a b", 'a"b', "a\u0000", "é", "a".repeat(64)].map((name) => ({
        name,
        reason: pattern,
      })),
      ...["id", "app_id", "ID", "App_Id"].map((name) => ({ name, reason: automatic })),
      ...["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid", "oid", "OID"].map((name) => ({
        name,
        reason: system,
      })),
      ...["__proto__", "constructor", "prototype", "toString", "valueOf"].map((name) => ({
        name,
        reason: trap,
      })),
      ...["hasOwnProperty", "toJSON", "then"].map((name) => ({ name, reason: trap })),
    ].map((row) => ({ ...row, title: quote(row.name) })),
  )("$title", ({ name, reason }) => {
    const message = `Cannot name a column ${JSON.stringify(name)}: ${reason}`;
    expect(readDefinition(withColumn({ name }))).toEqual({
      issues: [{ table: "todos", column: name, message }],
    });
  });
});

describe("readDefinition() accepts", () => {
  test.each(["a", "t".repeat(48), "a_b_1", "select", "tables"])("the table name %s", (name) => {
    expect(readDefinition(withTable({ name }))).toHaveProperty("definition.tables.0.name", name);
  });
  test.each(["A", "_", "a__b", "select", "row", "app", "body", "tostring", "c".repeat(63)])(
    "the column name %s",
    (name) => {
      const read = readDefinition(withColumn({ name }));
      expect(read).toHaveProperty("definition.tables.0.columns.0.name", name);
    },
  );
});
