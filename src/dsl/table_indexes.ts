/** The indexes that follow from a table's flags, references and lists. Never counts one twice. @module */
import { type NamedColumn, QUOTAS, type TableDefinition } from "./definition.ts";
import type { Faults } from "./faults.ts";

type Body = Omit<TableDefinition, "name">;

/** A table in its normal form: a list of one column means the same as the column's modifier, and becomes it. */
export function foldSingles({ columns, indexes, uniques }: Body): Body {
  const indexed = toSingles(indexes);
  const unique = toSingles(uniques);
  return {
    columns: columns.map((column) => ({
      ...column,
      index: column.index || indexed.has(column.name),
      unique: column.unique || unique.has(column.name),
    })),
    indexes: indexes.filter(({ length }) => length > 1),
    uniques: uniques.filter(({ length }) => length > 1),
  };
}

/** Adds a fault for each index or unique constraint that is declared twice, or would have another's name in the database. */
export function refuseSameIndexes(table: TableDefinition, faults: Faults): void {
  const at = { table: table.name };
  for (const [what, lists] of [
    ["an index", [...toLists(table.columns, isIndexed), ...table.indexes]],
    ["a unique constraint", [...toLists(table.columns, isUnique), ...table.uniques]],
  ] as const) {
    const earlier = new Map<string, readonly string[]>();
    for (const list of lists) {
      // Columns (a__b) and (a, b) give the same derived name.
      const name = list.join("__");
      const other = earlier.get(name);
      earlier.set(name, list);
      if (other === undefined) continue;
      const reason =
        other.length === list.length
          ? "it is declared twice"
          : `it would have the same name as the one on (${other.join(", ")})`;
      faults.add(at, `Cannot create ${what} on (${list.join(", ")}): ${reason}`);
    }
  }
}

/** Adds a fault if a table has more indexes than the quota; each reference counts as one. */
export function refuseTooManyIndexes(table: TableDefinition, faults: Faults): void {
  const { columns, indexes, uniques } = table;
  const singles = columns.filter(isIndexed).length + columns.filter(isUnique).length;
  const count = singles + indexes.length + uniques.length;
  const max = QUOTAS.indexesPerTable;
  if (count <= max) return;
  faults.add(
    { table: table.name },
    `Cannot use ${count} indexes: at most ${max} are allowed, unique constraints and references included`,
  );
}

function toSingles(lists: readonly (readonly string[])[]): ReadonlySet<string> {
  return new Set(lists.filter(({ length }) => length === 1).flat());
}

function toLists(
  columns: readonly NamedColumn[],
  has: (column: NamedColumn) => boolean,
): string[][] {
  return columns.filter(has).map(({ name }) => [name]);
}

function isIndexed({ index, kind }: NamedColumn): boolean {
  return index || kind === "ref";
}

function isUnique({ unique }: NamedColumn): boolean {
  return unique;
}
