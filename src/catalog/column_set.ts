/**
 * Column sets: the part of an app's declaration that determines its functions. Apps with the same column set of
 * a table share its functions, and a push of another column set never replaces them. Pure.
 *
 * @module
 */
import type { NamedColumn } from "../dsl/mod.ts";
import { canonicalJson } from "../std/canonical_json.ts";

/** A table's name and columns, in the table's order. Only these affect its functions. */
export type ColumnSet = {
  readonly name: string;
  readonly columns: readonly Pick<NamedColumn, "name" | "kind" | "default" | "onUpdate">[];
};

const HASH_LENGTH = 16;

/** The part of a declaration that affects functions. */
export function toColumnSet({ name, columns }: ColumnSet): ColumnSet {
  return { name, columns: columns.map(toSetColumn) };
}

/** The hash in the names of functions. Columns are sorted, because a table has one order for each column set. */
export function hashColumnSet({ name, columns }: ColumnSet): string {
  const sorted = columns.map(toSetColumn).sort((a, b) => (a.name < b.name ? -1 : 1));
  const text = canonicalJson({ name, columns: sorted });
  return Bun.CryptoHasher.hash("sha256", text, "hex").slice(0, HASH_LENGTH);
}

function toSetColumn(column: ColumnSet["columns"][number]): ColumnSet["columns"][number] {
  const { name, kind, default: initial, onUpdate } = column;
  return {
    ...{ name, kind },
    ...(initial === undefined ? {} : { default: initial }),
    ...(onUpdate === undefined ? {} : { onUpdate }),
  };
}

/** The id and then the columns by name: the same order for every app with this column set. Plans number the columns from 1. */
export function queryColumns({ columns }: ColumnSet): ColumnSet["columns"] {
  return [{ name: "id", kind: "uuid" }, ...columns.toSorted((a, b) => (a.name < b.name ? -1 : 1))];
}
