/** The conversions and drops after which the tables of `dev` have only what the schema declares. Pure. @module */
import type { Definition, NamedColumn, TableDefinition } from "../../schema/mod.ts";
import type { OwnTable } from "../../tables/history/status.ts";
import { type Change, toColumnType } from "../../tables/plan/change.ts";
import { findTable } from "../../tables/plan/declared.ts";

type Wanted = {
  definition: Definition;
  /** Tables and columns, as `todos` and `todos.due`, whose rows do not fit. */
  unfit: { readonly has: (name: string) => boolean };
};

/** The conversions and drops, of tables after the renames. What other apps declare stays. */
export function planChanges(own: readonly OwnTable[], wanted: Wanted): Change[] {
  const dropped: TableDefinition[] = [];
  const changes = own.flatMap(({ definition: table, shared }) => {
    const declared = findTable(wanted.definition, table.name);
    if (declared !== undefined && (shared !== null || !wanted.unfit.has(table.name)))
      return table.columns
        .filter(({ name }) => shared?.includes(name) !== true)
        .flatMap((column) => planColumn(table.name, column, { ...wanted, declared }));
    if (shared === null) dropped.push(table);
    return [];
  });
  const [others, columns] = [false, true].map((isDrop) =>
    changes.filter(({ kind }) => (kind === "drop_column") === isDrop),
  );
  return [...(others ?? []), ...(columns ?? []), ...planTableDrops(dropped)];
}

function planColumn(
  table: string,
  { name: column, ...own }: NamedColumn,
  { declared, unfit }: Wanted & { declared: TableDefinition },
): Change[] {
  const wanted = declared.columns.find(({ name }) => name === column);
  const isSame = wanted?.kind === own.kind && wanted.table === own.table;
  const isReference = own.table !== undefined || wanted?.table !== undefined;
  // A table to which another column refers cannot be dropped.
  const isUnfit = unfit.has(`${table}.${column}`) || unfit.has(own.table ?? "");
  if (wanted === undefined || isUnfit || (!isSame && isReference))
    return [{ kind: "drop_column", table, column }];
  if (!isSame) return [{ kind: "retype_column", table, column, type: toColumnType(wanted) }];
  return (own.values ?? [])
    .filter((value) => wanted.values?.includes(value) !== true)
    .map((value) => ({ kind: "drop_value", table, column, value }));
}

/** First the tables to which no other refers; of those that refer to each other, the columns first. */
function planTableDrops(tables: readonly TableDefinition[]): Change[] {
  const changes: Change[] = [];
  const left = [...tables];
  const refers = (from: TableDefinition, to: TableDefinition) =>
    from !== to && from.columns.some(({ table }) => table === to.name);
  while (left.length > 0) {
    const free = left.findIndex((table) => !left.some((other) => refers(other, table)));
    const [table] = left.splice(Math.max(free, 0), 1);
    if (table === undefined) break;
    for (const other of free === -1 ? left : [])
      for (const column of other.columns.filter((each) => each.table === table.name))
        changes.push({ kind: "drop_column", table: other.name, column: column.name });
    changes.push({ kind: "drop_table", table: table.name });
  }
  return changes;
}
