/** The indexes of a table that are built, as a query can use them. Pure. @module */

import { SQL } from "../../kinds/mod.ts";
import type { Person } from "../../principal.ts";
import {
  type BuiltIndex,
  builtIn,
  type Constraint,
  type IndexForm,
  indexesOf,
  keysOf,
  type RecordedTable,
  searchColumns,
} from "../../tables/catalog/mod.ts";
import { type Condition, ID, type QueryColumn } from "./filter.ts";
import type { ListQuery } from "./query.ts";
import { findComparison } from "./ranges.ts";
import { isSearchable } from "./terms.ts";

/** The rows of an index with a value in an enum, or without: the label as a literal proves which rows it has. */
export type Branch = { readonly index: string; readonly only: readonly EnumTest[] };
export type EnumTest = {
  readonly column: QueryColumn;
  readonly op: "is" | "null" | "present";
  readonly label?: string;
};

/** The app, and the indexes that are not built yet. */
export type PathOptions = {
  readonly appId: string;
  readonly missing: ReadonlySet<string>;
  /** Whether a condition that few rows should fulfill was found to be fulfilled by too many. */
  readonly isUnselective?: boolean;
  /** Only the indexes whose rows this person all sees, by the conditions, are used. */
  readonly person?: Person | undefined;
  /** Whether a walk of the person visited too many rows: PostgreSQL finds all rows that the person sees instead. */
  readonly isFound?: boolean;
};

const WHOLE = {
  ...{ branches: [], fulfilled: [], covered: undefined },
  ...{ enums: [], end: undefined },
} as const;
export const PRIMARY_KEY: Index = {
  ...{ name: undefined, columns: [ID], isUnique: true, hasNulls: false },
  ...WHOLE,
};

export type Index = {
  readonly name: string | undefined;
  readonly branches: readonly Branch[];
  /** The conditions on an enum that the branches fulfill. */
  readonly fulfilled: readonly Condition[];
  /** An enum all of whose values have a branch, if no condition is on it. */
  readonly covered: QueryColumn | undefined;
  /** The enums at the end of a unique index, if all other columns can be searched. */
  readonly enums: readonly QueryColumn[];
  readonly end: QueryColumn | undefined;
  /** The leading columns that can be searched. */
  readonly columns: readonly QueryColumn[];
  /** Whether no two rows have the same values in these columns. */
  readonly isUnique: boolean;
  /** Whether it contains the rows without a value in its first column. */
  readonly hasNulls: boolean;
};

export function listIndexes(
  { where }: Pick<ListQuery, "where">,
  { whole, definition }: RecordedTable,
  { appId, missing }: PathOptions,
): Index[] {
  const columns = new Map([ID, ...definition.columns].map((column) => [column.name, column]));
  return [...keysOf(whole), ...indexesOf(whole)]
    .filter((index) => (index.appId ?? appId) === appId)
    .flatMap((index) => {
      // While an index is rebuilt, its former form serves what it can.
      for (const form of ["search", "plain"] as const) {
        const { builts, split } = splitBy(where, builtIn(index, form), columns);
        const [built] = builts;
        if (built === undefined || builts.some(({ name }) => missing.has(name))) continue;
        return [{ ...toIndex({ index, form, built }, columns), ...split }];
      }
      return [];
    })
    .concat(PRIMARY_KEY);
}

/** Of the indexes of a form, those that have the rows of the conditions, if they are split by an enum. */
function splitBy(
  where: readonly Condition[],
  all: readonly BuiltIndex[],
  columns: ReadonlyMap<string, QueryColumn>,
): {
  builts: readonly BuiltIndex[];
  split?: Pick<Index, "branches" | "fulfilled" | "covered">;
} {
  const by = all[0]?.only?.column;
  if (by === undefined) return { builts: all };
  const column = columns.get(by);
  // Another app's column, which the functions of this app do not know.
  if (column === undefined) return { builts: [] };
  const condition = findComparison(where, column, ["eq", "in", "null"]);
  const values: readonly (string | null)[] | undefined =
    condition?.op === "null" ? [null] : condition?.values;
  const builts = all.filter(
    ({ only }) => only !== undefined && (values?.includes(only.value) ?? true),
  );
  const branches = builts.map(({ name, only }): Branch => {
    const label = only?.value ?? undefined;
    const test =
      label === undefined
        ? ({ column, op: "null" } as const)
        : ({ column, op: "is", label } as const);
    return { index: name, only: [test] };
  });
  const fulfilled = condition === undefined ? [] : [condition];
  return {
    builts,
    split: { branches, fulfilled, covered: condition === undefined ? column : undefined },
  };
}

function toIndex(
  { index, form, built }: { index: Constraint; form: IndexForm; built: BuiltIndex },
  columns: ReadonlyMap<string, QueryColumn>,
): Index {
  const isSearch = form === "search" && index.search !== undefined;
  const isLast = isSearch && index.kind === "idx" && !index.columns.includes(ID.name);
  const names = isSearch ? searchColumns(index, built).map(({ name }) => name) : index.columns;
  const known = [...names, ...(isLast ? [ID.name] : [])].map((name) => columns.get(name));
  const isUsable = (column: QueryColumn) =>
    isSearchable(column) && (isSearch || SQL[column.kind].parts === undefined);
  const first = known.findIndex((column) => column === undefined || !isUsable(column));
  const searchable = known
    .slice(0, first === -1 ? undefined : first)
    .filter((column) => column !== undefined);
  const rest = known.slice(searchable.length);
  const enums = rest
    .filter((column) => column !== undefined)
    .filter(({ kind }) => SQL[kind].isSplit === true);
  const isKey = index.kind === "key";
  const hasNulls = isSearch && !isKey && (built.only !== undefined || searchable.length > 0);
  return {
    ...{ ...WHOLE, name: built.name, columns: searchable, hasNulls },
    isUnique: isKey && rest.length === 0,
    enums: isKey && enums.length === rest.length ? enums : [],
    end: rest[0],
  };
}
