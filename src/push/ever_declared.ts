/** What a project's migrations declare together: a push never drops anything, so each environment has all of it. Pure. @module */
import type { Definition, TableDefinition } from "../dsl/mod.ts";
import { type Change, changeTable } from "./change.ts";
import { mergeTable } from "./merge_table.ts";

/** A migration's definition, and the explicit change that came before it. */
export type Declared = { definition: Definition; change?: Change };

/** Everything that these declare, in order, or have declared without a later change that removed it. */
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
