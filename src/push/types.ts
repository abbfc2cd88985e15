/** Column kinds as PostgreSQL's types, and defaults as its literals. @module */
import { enumTypeName } from "../catalog/mod.ts";
import { quoteLiteral, quoteName } from "../db/mod.ts";
import type { Kind, NamedColumn, TableDefinition } from "../dsl/mod.ts";
import { canonicalJson } from "../std/canonical_json.ts";

const SQL_TYPES: Readonly<Record<Exclude<Kind, "enum">, string>> = {
  string: "pg_catalog.text",
  number: "pg_catalog.numeric",
  decimal: "pg_catalog.numeric",
  boolean: "pg_catalog.bool",
  uuid: "pg_catalog.uuid",
  timestamp: "pg_catalog.timestamptz",
  json: "pg_catalog.jsonb",
  ref: "pg_catalog.uuid",
};

export function sqlType(
  table: Pick<TableDefinition, "name">,
  column: Pick<NamedColumn, "name" | "kind">,
): string {
  return column.kind === "enum"
    ? `data.${quoteName(enumTypeName(table.name, column.name))}`
    : SQL_TYPES[column.kind];
}

/** A column's default as an expression: a constant, or `now` for the default "now" of a timestamp. */
export function sqlDefault(
  table: Pick<TableDefinition, "name">,
  column: Pick<NamedColumn, "name" | "kind" | "default">,
  now = "pg_catalog.now()",
): string {
  if (column.kind === "timestamp" && column.default === "now") return now;
  // Canonical, so that a default has the same text before and after it is recorded as jsonb.
  const text =
    column.kind === "json" || typeof column.default !== "string"
      ? canonicalJson(column.default)
      : column.default;
  return `${quoteLiteral(text)}::${sqlType(table, column)}`;
}
