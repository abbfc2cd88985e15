/**
 * Limits of references to one table: each reference slows down every app's deletes from the table. An app's own tables
 * can have many to its own tables, fewer to another app's table, and all other apps together no more than that. Pure.
 *
 * @module
 */
import { type Definition, QUOTAS, type TableDefinition } from "../../schema/mod.ts";
import { type Conflict, TOO_MANY } from "../conflicts.ts";
import type { PushState, TableState } from "../state.ts";

type Reference = { table: string; column: string; target: string };

/** One conflict per table with too many references. References that are no longer declared count. */
export function findTooManyReferences(
  appId: string,
  definition: Definition,
  state: PushState,
): Conflict[] {
  const registered = state.tables.flatMap(({ uses }) =>
    uses.filter((use) => use.appId === appId).flatMap((use) => toReferences(use.definition)),
  );
  const known = new Set(registered.map(toKey));
  const fresh = definition.tables
    .flatMap(toReferences)
    .filter((reference) => !known.has(toKey(reference)));
  const byTarget = Map.groupBy([...registered, ...fresh], ({ target }) => target);
  const tables = new Map(state.tables.map((table) => [table.name, table]));
  return [...byTarget].flatMap(([target, references]) => {
    const created = fresh.filter((reference) => reference.target === target);
    const [first] = created;
    if (first === undefined) return [];
    const found = tables.get(target);
    const excess =
      findExcess(references, target) ??
      (found === undefined || found.ownerAppId === appId
        ? undefined
        : findExcessOfOthers(found, { created, tables, appId }));
    if (excess === undefined) return [];
    const { table, column } = first;
    return [{ table, column, ...excess }];
  });
}

type Excess = Pick<Conflict, "message" | "remedy">;

function findExcess(references: readonly Reference[], target: string): Excess | undefined {
  if (references.length <= QUOTAS.referencesPerTarget) return undefined;
  return TOO_MANY.references(references.length, target);
}

type Created = {
  created: readonly Reference[];
  tables: ReadonlyMap<string, TableState>;
  appId: string;
};

/** For a table of another app: only the references that the push adds. */
function findExcessOfOthers(
  { name, references }: TableState,
  { created, tables, appId }: Created,
): Excess | undefined {
  const isOwn = ({ table }: Reference) => (tables.get(table)?.ownerAppId ?? appId) === appId;
  const added = created.filter(isOwn).length;
  if (added === 0) return undefined;
  if (references.own + added > QUOTAS.referencesToForeignTable)
    return TOO_MANY.foreignReferences(references.own + added, name);
  if (references.foreign + added <= QUOTAS.referencesPerTarget) return undefined;
  return TOO_MANY.referencesOfOthers(added, name);
}

function toReferences({ name, columns }: TableDefinition): Reference[] {
  return columns.flatMap((column) =>
    column.table === undefined ? [] : [{ table: name, column: column.name, target: column.table }],
  );
}

function toKey({ table, column }: Reference): string {
  return `${table}.${column}`;
}
