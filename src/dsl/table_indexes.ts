/** Normalizes and checks a table's indexes, from flags, references and lists. @module */
import { type NamedColumn, QUOTAS, type TableDefinition } from "./definition.ts";
import type { Issues } from "./issues.ts";

type Body = Omit<TableDefinition, "name">;

/** A table in its normal form: a list of one column becomes the column's flag. */
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

/** Adds an error for each index or unique constraint with a duplicate declaration or derived name. */
export function rejectSameIndexes(table: TableDefinition, issues: Issues): void {
  const at = { table: table.name };
  for (const [what, lists] of [
    ["an index", [...toLists(table.columns, isIndexed), ...table.indexes]],
    ["a unique constraint", [...toLists(table.columns, isUnique), ...table.uniques]],
  ] as const) {
    const earlier = new Map<string, readonly string[]>();
    for (const list of lists) {
      // Columns (a__b) and (a, b) have the same derived name.
      const name = list.join("__");
      const other = earlier.get(name);
      earlier.set(name, list);
      if (other === undefined) continue;
      const reason =
        other.length === list.length
          ? "it is declared twice"
          : `it would have the same name as the one on (${other.join(", ")})`;
      issues.add(at, `Cannot create ${what} on (${list.join(", ")}): ${reason}`);
    }
  }
}

/** Adds an error if a table has more indexes than the quota. Each reference counts as an index. */
export function rejectTooManyIndexes(table: TableDefinition, issues: Issues): void {
  const { columns, indexes, uniques } = table;
  const singles = columns.filter(isIndexed).length + columns.filter(isUnique).length;
  const count = singles + indexes.length + uniques.length;
  const max = QUOTAS.indexesPerTable;
  if (count <= max) return;
  issues.add(
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
