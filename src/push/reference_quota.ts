/** How many references to one table an app may have: each of them slows down every app's deletes from it. Pure. @module */
import { type Definition, QUOTAS, type TableDefinition } from "../dsl/mod.ts";
import type { Conflict } from "./compare.ts";
import type { PushState } from "./state.ts";

type Reference = { table: string; column: string; target: string };

/** One conflict for each table that the push would refer to too often. References that are no longer declared count. */
export function findTooManyReferences(
  appId: string,
  definition: Definition,
  state: PushState,
): Conflict[] {
  const registered = state.tables.flatMap(({ uses }) =>
    uses.filter((use) => use.appId === appId).flatMap((use) => toReferences(use.definition)),
  );
  const known = new Set(registered.map(toKey));
  const fresh = definition.tables.flatMap(toReferences).filter((one) => !known.has(toKey(one)));
  const byTarget = Map.groupBy([...registered, ...fresh], ({ target }) => target);
  return [...byTarget].flatMap(([target, references]) => {
    const first = fresh.find((one) => one.target === target);
    if (first === undefined || references.length <= QUOTAS.referencesPerTarget) return [];
    return [
      {
        table: first.table,
        column: first.column,
        wanted: `${references.length} references to ${target}`,
        found: `at most ${QUOTAS.referencesPerTarget} to one table, including those no longer declared`,
        holder: "an app",
        remedy: "refer to it from fewer columns",
      },
    ];
  });
}

function toReferences({ name, columns }: TableDefinition): Reference[] {
  return columns.flatMap((column) =>
    column.table === undefined ? [] : [{ table: name, column: column.name, target: column.table }],
  );
}

function toKey({ table, column }: Reference): string {
  return `${table}.${column}`;
}
