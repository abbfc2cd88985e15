/**
 * The indexes along which a page can be read in order: every column of such an index can be searched, and it ends in the id or has
 * unique values. The functions of a column set contain a statement for each. Pure.
 *
 * @module
 */

import { hasOwnType, type Kind, SQL } from "../../kinds/mod.ts";
import { type ColumnSet, queryColumns } from "./catalog.ts";
import { type Constraint, indexesOf, keysOf, nameOf, type RecordedDefinition } from "./names.ts";

export type Walk = {
  /** The name of the index; empty: the primary key. */
  readonly index: string;
  readonly columns: readonly WalkColumn[];
  /** Whether no two rows have the same values, without the id. */
  readonly isUnique: boolean;
  /** Whether the index contains rows without a value in its first column. */
  readonly hasNulls: boolean;
  /** Whether PostgreSQL can search the index under row security. */
  readonly isLeakproof: boolean;
  /** The app whose rows the index contains; absent: all apps. */
  readonly appId?: string;
};

export type WalkColumn = { readonly name: string; readonly kind: Kind };

/** A column set with the indexes of its table. Its functions depend only on these. */
export type ServedSet = ColumnSet & {
  readonly walks: readonly Walk[];
  /** The walks of the table, which its finder has; absent: those of the set. */
  readonly whole?: readonly Walk[];
};

/** The column set as functions serve it, for the recorded table. */
export function serveSet(set: ColumnSet, table: RecordedDefinition): ServedSet {
  return { ...set, walks: listWalks(set, table), whole: listWalks(table, table) };
}

const ID: WalkColumn = { name: "id", kind: "uuid" };
const PRIMARY_KEY: Walk = {
  ...{ index: "", columns: [ID], isUnique: true, hasNulls: false, isLeakproof: true },
};

export function listWalks(set: ColumnSet, table: RecordedDefinition): Walk[] {
  const known = new Map(queryColumns(set).map(({ name, kind }) => [name, { name, kind }]));
  const walks = [...keysOf(table), ...indexesOf(table)].flatMap(
    (index) => toWalk({ table, index }, known) ?? [],
  );
  return [PRIMARY_KEY, ...walks];
}

type Built = { table: RecordedDefinition; index: Constraint };

function toWalk({ table, index }: Built, known: ReadonlyMap<string, WalkColumn>): Walk | undefined {
  const isUnique = index.kind === "key";
  const isOpen = !isUnique && !index.columns.includes(ID.name);
  // Such an index ends in its last column.
  if (isOpen && index.search === undefined) return undefined;
  const names = [...index.columns, ...(isOpen ? [ID.name] : [])];
  const columns = names.flatMap((name) => known.get(name) ?? []);
  const [first] = columns;
  const isSorted = columns.every(
    ({ kind }) => hasOwnType({ kind }) || SQL[kind].ends !== undefined,
  );
  if (first === undefined || columns.length < names.length || !isSorted) return undefined;
  const isOptional = table.columns.some(({ name, required }) => name === first.name && !required);
  // Such an index contains only the starts of texts.
  if (index.search === undefined && columns.some(({ kind }) => SQL[kind].parts !== undefined))
    return undefined;
  const { appId } = index;
  return {
    ...{ index: nameOf(index), columns, isUnique },
    hasNulls: index.search !== undefined && !isUnique && isOptional,
    isLeakproof: columns.every(({ kind }) => isLeakproof(kind)),
    ...(appId === undefined ? {} : { appId }),
  };
}

/** The types whose row comparisons PostgreSQL can search under row security: their operators are leakproof. */
const LEAKPROOF = new Set(
  ["bool", "int8", "float8", "text", "name", "uuid", "date", "timestamptz"].map(
    (name) => `pg_catalog.${name}`,
  ),
);

export function isLeakproof(kind: Kind): boolean {
  const { type, parts } = SQL[kind];
  const types =
    parts === undefined ? [type?.name] : [parts.start.type, parts.rest?.type ?? parts.start.type];
  return types.every((name) => name !== undefined && LEAKPROOF.has(name));
}
