/**
 * The answers to reads, from rows in memory: conditions by the client's own `matches()`, a plain sort, related rows and groups. Shares
 * with the service only the comparisons of the kinds.
 *
 * @module
 */
import { isText } from "../../../src/kinds/mod.ts";
import type { Json, TableDefinition } from "../../../src/schema/mod.ts";
import { makeCompare, matches, type TableKinds } from "../../../src/sdk/matches.ts";
import type { Row } from "./rules.ts";

export type Key = Readonly<Record<string, "asc" | "desc">>;
/** A selection: columns, and relations by the names of their members. */
export type Selection = {
  readonly columns: readonly string[];
  readonly related: readonly Relation[];
};
export type Relation = Selection & {
  readonly name: string;
  readonly table: string;
  /** The column of the reference. */
  readonly via: string;
  /** Of rows that reference the row. */
  readonly children: { readonly limit: number; readonly orderBy: readonly Key[] } | undefined;
};
export type Query = {
  readonly table: string;
  readonly where: object;
  /** Whether conditions on references are conditions on the referenced rows, instead of their ids. */
  readonly isNested: boolean;
  readonly orderBy: readonly Key[];
  readonly limit: number;
  readonly select: Selection | undefined;
  readonly count: "exact" | "estimated" | undefined;
};

/** A table as a caller reads it: its columns, and the rows that it sees. */
export type Seen = {
  readonly table: TableDefinition;
  readonly rows: readonly Row[];
  readonly byId: ReadonlyMap<string, Row>;
  readonly isReadable: boolean;
};
export type View = (table: string) => Seen;

const ID = { column: { kind: "uuid" } } as const;
/** How many references a condition follows. */
export const MAX_DEPTH = 2;

export function toKinds({ columns }: TableDefinition): TableKinds {
  const named = columns.map((column) => [column.name, { column }] as const);
  return Object.fromEntries([...named, ["id", ID] as const]);
}

type Asked = Pick<Query, "table" | "where" | "isNested"> & Partial<Pick<Query, "orderBy">>;

/** The rows with the conditions, in the order of the query. */
export function findRows(view: View, query: Asked): Row[] {
  const { table, rows } = view(query.table);
  const tables: Record<string, TableKinds> = {};
  const follow = (of: TableDefinition, row: Row, depth: number): Row => {
    if (!query.isNested) return row;
    const members = of.columns.flatMap(({ name, table: target }): [string, Json][] => {
      if (target === undefined) return [];
      const seen = view(target);
      tables[target] ??= toKinds(seen.table);
      const found = seen.byId.get(`${row[name]}`);
      const isEnd = found === undefined || depth === 0;
      return [[name, isEnd ? null : follow(seen.table, found, depth - 1)]];
    });
    return { ...row, ...Object.fromEntries(members) };
  };
  const kinds = toKinds(table);
  const found = rows.filter((row) => {
    const subject: object = follow(table, row, MAX_DEPTH);
    return matches(subject, query.where, kinds, tables);
  });
  const { orderBy = [] } = query;
  return found.sort(makeOrder(view, { table: query.table, orderBy }));
}

export function makeOrder(view: View, query: Pick<Query, "table" | "orderBy">): typeof compare {
  const { table } = view(query.table);
  const keys = query.orderBy.flatMap((key) => Object.entries(key));
  const total = [...keys, ["id", keys.at(-1)?.[1] ?? "asc"] as const];
  const kinds = new Map(table.columns.map((column) => [column.name, column]));
  /** Nulls are last. */
  function compare(a: Row, b: Row): number {
    for (const [name, direction] of total) {
      const [left = null, right = null] = [a[name], b[name]];
      if (left === null && right === null) continue;
      if (left === null || right === null) return left === null ? 1 : -1;
      const column = kinds.get(name);
      const [first, second] = [left, right].map((value) =>
        column !== undefined && isText(column)
          ? toParts(value as string)
          : [value as number | boolean],
      );
      const difference =
        first
          ?.map((part, index) => makeCompare(column)(part, second?.[index] ?? ""))
          .find((found) => found !== 0) ?? 0;
      if (difference !== 0) return direction === "desc" ? -difference : difference;
    }
    return 0;
  }
  return compare;
}

/** The number of a text's bytes that an order compares. */
const START_BYTES = 63;

/** A text as an order compares it: its whole characters in the first 63 bytes, and the MD5 of a longer text. */
function toParts(text: string): [start: string, rest: string] {
  if (Buffer.byteLength(text) <= START_BYTES) return [text, ""];
  let start = "";
  for (const character of text) {
    if (Buffer.byteLength(start + character) > START_BYTES) break;
    start += character;
  }
  return [start, new Bun.CryptoHasher("md5").update(text).digest("hex")];
}

/** The row as a selection shows it. */
export function toMember(view: View, row: Row, { columns, related }: Selection): Json {
  const own = columns.map((column): [string, Json] => [column, row[column] ?? null]);
  const members = related.map((relation): [string, Json] => {
    const { name, table, via, children } = relation;
    const { rows, byId } = view(table);
    if (children === undefined) {
      const target = byId.get(`${row[via]}`);
      return [name, target === undefined ? null : toMember(view, target, relation)];
    }
    const all = rows
      .filter((child) => child[via] === row.id)
      .sort(makeOrder(view, { table, orderBy: children.orderBy }));
    const listed = all.slice(0, children.limit).map((child) => toMember(view, child, relation));
    return [name, { rows: listed, hasMore: all.length > children.limit }];
  });
  return Object.fromEntries([...own, ...members]);
}

/** Whether a selection has a relation to a table that the caller does not read. */
export function hasUnreadable(view: View, { related }: Selection): boolean {
  return related.some(
    (relation) => !view(relation.table).isReadable || hasUnreadable(view, relation),
  );
}
