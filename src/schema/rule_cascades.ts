/** Deletes that reach further than the deleted row: a delete must not delete rows that the person could not delete. @module */
import { quote } from "../std/quote.ts";
import type { Issues } from "./issues.ts";
import type { Reference, RuleTables } from "./rule_tables.ts";
import { allowsAll, isReadable, type RoleRules, rulesOf } from "./rules.ts";

export function checkCascades({ tables, references }: RuleTables, issues: Issues): void {
  for (const { name, rules } of tables)
    for (const [role, { delete: remove }] of Object.entries(rules?.allow ?? {})) {
      if (remove === undefined) continue;
      for (const { table, column } of references.get(name) ?? []) {
        if (column.onDelete !== "cascade") continue;
        if (mayDeleteAll(rulesOf(table.rules, role), { table, column })) continue;
        issues.add(
          { table: name },
          `Cannot allow the role ${quote(role)} to delete rows: the delete also deletes rows of ${table.name} by ${quote(column.name)}, which the role must be allowed to read and delete without a condition`,
        );
      }
    }
}

/** Rows that inherit from the deleted row are readable, because the deleted row is. */
function mayDeleteAll({ read, delete: remove }: RoleRules, { column }: Reference): boolean {
  const inherits = read?.some((alternative) => {
    const [[name, match] = ["", null], second] = Object.entries(alternative);
    return second === undefined && name === column.name && isReadable(match);
  });
  return allowsAll(remove) && (allowsAll(read) || inherits === true);
}
