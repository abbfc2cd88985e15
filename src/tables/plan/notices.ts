/** Notices of a push for people, in addition to its steps. They name no other app. @module */

import { VALUES } from "../../kinds/mod.ts";
import type { Definition, TableDefinition } from "../../schema/mod.ts";
import { findReplaced } from "../../std/names.ts";
import { quoteForShell } from "../../std/quote_for_shell.ts";
import { type Constraint, indexesOf, keysOf } from "../catalog/mod.ts";
import type { PushState } from "../state.ts";

/** Parts that an owner no longer declares remain in the database and are still served. */
export function describeRemovals(declared: TableDefinition, recorded: TableDefinition): string[] {
  const isDeclared = (name: string) => declared.columns.some((column) => column.name === name);
  const columns = recorded.columns
    .filter((column) => !isDeclared(column.name))
    .map(
      (column) =>
        `KEPT: ${declared.name}.${column.name} is no longer declared; it is kept and still served`,
    );
  const constraints = [
    ...findRemoved(keysOf(recorded), keysOf(declared)),
    ...findRemoved(indexesOf(recorded), indexesOf(declared)),
  ]
    .filter((constraint) => constraint.columns.every(isDeclared))
    .map(
      (constraint) =>
        `KEPT: ${showConstraint(constraint)} of ${declared.name} is no longer declared; it is kept`,
    );
  return [...columns, ...constraints];
}

/** One removed and one added column of the same type: possibly meant as a rename, which a diff never makes. */
export function describeRename(declared: TableDefinition, recorded: TableDefinition): string[] {
  const found = findReplaced(recorded.columns, declared.columns, ({ kind }) => kind);
  if (found === undefined) return [];
  const { removed, added } = found;
  const { name } = declared;
  return [
    `RENAME?: ${name}.${added.name} is new and empty; to rename ${name}.${removed.name}, run rowhouse db rename ${quoteForShell(`${name}.${removed.name}`)} ${quoteForShell(added.name)} instead`,
  ];
}

/** Tables of the app that its files no longer declare. */
export function describeRemovedTables(
  appId: string,
  definition: Definition,
  state: PushState,
): string[] {
  const declared = new Set(definition.tables.map((table) => table.name));
  return state.tables
    .filter((table) => table.uses.some((use) => use.appId === appId) && !declared.has(table.name))
    .map(
      (table) =>
        `KEPT: ${table.name} is no longer declared; it stays registered and is still served`,
    );
}

/** Values that existing rows get in a new column. */
export function describeAddedDefaults(next: TableDefinition, recorded: TableDefinition): string[] {
  return next.columns
    .filter((column) => !recorded.columns.some((other) => other.name === column.name))
    .filter((column) => column.default !== undefined)
    .map(({ name, kind, default: value }) => {
      const computed = VALUES[kind].default.computed?.[String(value)];
      return `FILLED: existing rows get ${computed?.push ?? "the default"} as ${next.name}.${name}`;
    });
}

function showConstraint({ kind, columns }: Pick<Constraint, "kind" | "columns">): string {
  return `${kind === "key" ? "unique" : "index"} (${columns.join(", ")})`;
}

function findRemoved(before: readonly Constraint[], now: readonly Constraint[]): Constraint[] {
  return before.filter((constraint) => !now.some((other) => other.name === constraint.name));
}
