/** The tables of one declaration, indexed for checks and texts of rules. @module */
import type { NamedColumn, TableDefinition } from "./definition.ts";
import { findRuleColumn } from "./read_rule.ts";
import { type Action, listRules, type Match, type RoleRules } from "./rules.ts";

export type RuleTables = {
  readonly tables: readonly TableDefinition[];
  readonly byName: ReadonlyMap<string, TableDefinition>;
  /** Every role that a rule allows something. */
  readonly roles: ReadonlySet<string>;
  readonly references: ReadonlyMap<string, readonly Reference[]>;
};
export type Reference = { readonly table: TableDefinition; readonly column: NamedColumn };

export function makeRuleTables(tables: readonly TableDefinition[]): RuleTables {
  const references = new Map<string, Reference[]>();
  for (const table of tables)
    for (const column of table.columns) {
      if (column.table === undefined) continue;
      const found = references.get(column.table) ?? [];
      found.push({ table, column });
      references.set(column.table, found);
    }
  return {
    tables,
    byName: new Map(tables.map((table) => [table.name, table])),
    roles: new Set(tables.flatMap(({ rules }) => Object.keys(rules?.allow ?? {}))),
    references,
  };
}

/** Each column that a role's rules compare, once for each comparison. */
export function listMatches(
  table: TableDefinition,
  rules: RoleRules,
): { readonly action: Action; readonly column: NamedColumn; readonly match: Match }[] {
  return listRules(rules).flatMap(({ action, rule }) =>
    rule.flatMap((alternative) =>
      Object.entries(alternative).flatMap(([name, match]) => {
        const column = findRuleColumn(table.columns, name);
        return column === undefined ? [] : [{ action, column, match }];
      }),
    ),
  );
}
