/** Column kinds as PostgreSQL's types, and defaults as its literals. @module */

import { quoteLiteral, quoteName } from "../../db/mod.ts";
import { SQL } from "../../kinds/mod.ts";
import type { NamedColumn, TableDefinition } from "../../schema/mod.ts";
import { canonicalJson } from "../../std/json.ts";
import { enumTypeName } from "../catalog/mod.ts";

export function sqlType(
  table: Pick<TableDefinition, "name">,
  column: Pick<NamedColumn, "name" | "kind">,
): string {
  return SQL[column.kind].type?.name ?? `data.${quoteName(enumTypeName(table.name, column.name))}`;
}

/** A column's default as an expression: a constant, or computed from `now`, the time of the row. */
export function sqlDefault(
  table: Pick<TableDefinition, "name">,
  column: Pick<NamedColumn, "name" | "kind" | "default">,
  now = "pg_catalog.now()",
): string {
  const { computed, isJson } = SQL[column.kind];
  const expression = computed?.[String(column.default)];
  if (expression !== undefined) return expression.render(now);
  // Canonical, so that a default has the same text before and after it is recorded as jsonb.
  const text =
    isJson === true || typeof column.default !== "string"
      ? canonicalJson(column.default)
      : column.default;
  return `${quoteLiteral(text)}::${sqlType(table, column)}`;
}

/** The effect of a delete on a reference. It sets only the reference to null: `app_id` stays. */
export function onDeleteClause(
  { name, onDelete }: Pick<NamedColumn, "name" | "onDelete">,
  print = quoteName,
): string {
  if (onDelete === undefined) return "";
  return ` on delete ${onDelete}${onDelete === "set null" ? ` (${print(name)})` : ""}`;
}
