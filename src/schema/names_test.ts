import { describe, expect, test } from "bun:test";
import { expectIssues, withColumn, withTable } from "../../test/support/definitions.ts";
import { quote } from "../std/quote.ts";
import { readDefinition } from "./mod.ts";

describe("readDefinition() rejects the table name", () => {
  const names = [
    ...["", "Todos", "1todos", "_todos", "to-dos", 'x"; drop', "todos\n", "tödos", "t".repeat(49)],
    ...["to__dos", "users", "files", "notifications", "audit_log"],
  ];
  test.each(names.map((name) => ({ name, title: quote(name) })))("$title", ({ name }) => {
    expectIssues(readDefinition(withTable({ name })), [
      { table: name, names: [JSON.stringify(name)] },
    ]);
  });
});

describe("readDefinition() rejects the column name", () => {
  const names = [
    ...["", "1a", "a-b", "a b", 'a"b', "a\u0000", "é", "a".repeat(64)],
    ...["id", "app_id", "ID", "App_Id"],
    ...["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid", "oid", "OID"],
    ...["__proto__", "constructor", "prototype", "toString", "valueOf"],
    ...["hasOwnProperty", "toJSON", "then"],
  ];
  test.each(names.map((name) => ({ name, title: quote(name) })))("$title", ({ name }) => {
    expectIssues(readDefinition(withColumn({ name })), [
      { table: "todos", column: name, names: [JSON.stringify(name)] },
    ]);
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
