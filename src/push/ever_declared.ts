/** The union of a project's declarations: a push never drops anything, so every environment has all of them. Pure. @module */
import type { Definition, TableDefinition } from "../dsl/mod.ts";
import { type Change, changeTable } from "./change.ts";
import { mergeTable } from "./merge_table.ts";

/** A migration's definition, and the explicit change before it. */
export type Declared = { definition: Definition; change?: Change };

/** All current and former declarations, in order, except those that a later change removed. */
export function mergeDeclared(history: readonly Declared[]): Definition {
  let tables: TableDefinition[] = [];
  for (const { definition, change } of history) {
    if (change !== undefined) tables = tables.flatMap((table) => changeTable(table, change) ?? []);
    const before = new Map(tables.map((table) => [table.name, table]));
    for (const table of definition.tables) {
      const found = before.get(table.name);
      before.set(table.name, found === undefined ? table : mergeTable(table, found));
    }
    tables = [...before.values()];
  }
  return { version: 1, tables: tables.sort((a, b) => (a.name < b.name ? -1 : 1)) };
}
