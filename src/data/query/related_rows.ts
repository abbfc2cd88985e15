/**
 * Related rows in the selection of a list: `project(id,name)`, the row of a reference, and `todos(id,title)`, the rows that refer
 * to a row, with `todos.limit` and `todos.order`. Knows tables, not SQL. Pure.
 *
 * @module
 */

import { isReference } from "../../kinds/mod.ts";
import type { NamedColumn } from "../../schema/mod.ts";
import { MAX_ROWS } from "../../std/limits.ts";
import { quote } from "../../std/quote.ts";
import type { RecordedTable } from "../../tables/catalog/mod.ts";
import {
  type AppTables,
  type Attempt,
  type FilterReader,
  ID,
  invalid,
  makeFilterReader,
  type QueryColumn,
  unsupported,
} from "./filter.ts";
import { type Relation, readLimit, type Selection, type SortKey } from "./list_query.ts";

export const MAX_RELATIONS = 3;
const RELATED_LIMITS = {
  depth: 2,
  /** The default number of children of each row. */
  children: 20,
} as const;

type SelectingTable = {
  readonly name: string;
  readonly columns: readonly NamedColumn[];
};

/** `name`, `name(…)` or `name!via(…)`, and where it is: `todos.comments`. */
type Item = {
  readonly name: string;
  readonly via: string | undefined;
  readonly path: string;
  readonly items: readonly Item[] | undefined;
};

export type SelectionText = {
  readonly items: readonly Item[];
  readonly paths: ReadonlySet<string>;
};

/** @throws {Problem} invalid_query */
export function parseSelection(text: string): SelectionText {
  const paths = new Set<string>();
  let at = 0;
  const readName = () => {
    const [name = ""] = text.slice(at).match(/^[^,()!]*/) ?? [];
    at += name.length;
    return name;
  };
  const skip = (mark: string) => {
    if (text[at] !== mark) return false;
    at++;
    return true;
  };
  const fail = (): never => {
    throw invalid(
      `Cannot read select ${quote(text)} from character ${at + 1} on: must be columns and related rows, such as id,project(id)`,
    );
  };
  const readItems = (parent: string): Item[] => {
    const items: Item[] = [];
    do {
      const name = readName();
      const via = skip("!") ? readName() : undefined;
      const path = `${parent}${name}`;
      const isRelation = skip("(");
      if (isRelation) paths.add(path);
      const nested = isRelation ? readItems(`${path}.`) : undefined;
      if ((isRelation && !skip(")")) || (via !== undefined && !isRelation)) fail();
      items.push({ name, via, path, items: nested });
    } while (skip(","));
    return items;
  };
  const items = readItems("");
  if (at < text.length) fail();
  return { items, paths };
}

type Options = {
  readonly attempt: Attempt;
  readonly tables: AppTables;
  /** The texts of the parameters `<path>.limit` and `<path>.order`. */
  readonly texts: ReadonlyMap<string, string>;
  readonly readOrder: (text: string | undefined, of: ChildReader) => readonly SortKey[];
};

type ChildReader = Pick<FilterReader, "findColumn"> & { readonly reference: QueryColumn };

/** Checks a selection; `attempt` collects the issues. */
export function readSelection(
  items: readonly Item[],
  table: SelectingTable,
  options: Options,
  depth = 0,
): Selection {
  const { attempt, tables, texts, readOrder } = options;
  const place = depth === 0 ? "" : ` of ${table.name}`;
  const { findColumn } = makeReader(table, attempt, place);
  const select = items
    .filter((item) => item.items === undefined)
    .map((item) => attempt(() => findColumn(item.name)))
    .filter((column) => column !== undefined);
  const relations = items.filter((item) => item.items !== undefined);
  if (relations.length > MAX_RELATIONS)
    attempt(() => {
      throw unsupported(`A row can have at most ${MAX_RELATIONS} related tables`);
    });
  const related = relations
    .map((item) => attempt(() => readRelation(item)))
    .filter((relation) => relation !== undefined);
  const names = [...select, ...related].map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined)
    attempt(() => {
      throw invalid(`Cannot read select: it names ${quote(twice)}${place} twice`);
    });
  return { select, related };

  function readRelation(item: Item): Relation {
    if (depth >= RELATED_LIMITS.depth)
      throw unsupported(`Related rows can be nested at most ${RELATED_LIMITS.depth} deep`);
    const { name, path } = item;
    const found = findRelation(item, table, tables);
    const selection = readSelection(item.items ?? [], found.table.definition, options, depth + 1);
    const [limit, order] = ["limit", "order"].map((option) => texts.get(`${path}.${option}`));
    if (found.isReference && (limit ?? order) !== undefined)
      throw invalid(
        `Cannot read ${path}.${limit === undefined ? "order" : "limit"}: a reference has one row`,
      );
    const relation = { ...selection, name, table: found.table, column: found.column };
    if (found.isReference) return { ...relation, children: undefined };
    const { findColumn } = makeReader(found.table.definition, attempt);
    const of = { findColumn, reference: found.column };
    const children = {
      limit:
        attempt(() =>
          limit === undefined ? RELATED_LIMITS.children : readLimit(limit, `${path}.limit`),
        ) ?? 0,
      order: attempt(() => readOrder(order, of)) ?? [],
    };
    return { ...relation, children };
  }
}

function makeReader(
  { name, columns }: SelectingTable,
  attempt: Attempt,
  place = ` of ${name}`,
): FilterReader {
  return makeFilterReader([ID, ...columns], attempt, { place });
}

type FoundRelation = Pick<Relation, "table" | "column"> & { readonly isReference: boolean };

/** A column wins over a table of its name. Tables of other apps look the same as missing tables. */
function findRelation(
  { name, via }: Item,
  table: SelectingTable,
  tables: AppTables,
): FoundRelation {
  const column = table.columns.find((other) => other.name === name);
  if (column !== undefined) {
    const target = column.table === undefined ? undefined : tables.find(column.table);
    if (target !== undefined && via === undefined)
      return { table: target, column, isReference: true };
    if (!isReference(column))
      throw invalid(`Cannot read ${quote(`${name}(…)`)}: the column is not a reference`);
    throw invalid(
      via === undefined
        ? `Cannot read ${quote(`${name}(…)`)}: the app does not use the table ${column.table}`
        : `Cannot read ${quote(`${name}!${via}(…)`)}: a reference has one row; write ${name}(…)`,
    );
  }
  const children = tables.find(name);
  const references = (children?.definition.columns ?? []).filter(
    (reference) => isReference(reference) && reference.table === table.name,
  );
  const [first] = references;
  if (children === undefined || first === undefined)
    throw invalid(
      `Cannot read ${quote(`${name}(…)`)}: it is neither a reference of ${table.name} nor a table with a reference to it`,
    );
  const chosen =
    via === undefined && references.length === 1
      ? first
      : references.find((reference) => reference.name === via);
  if (chosen !== undefined) return { table: children, column: chosen, isReference: false };
  const ways = references.map((reference) => `${name}!${reference.name}(…)`).join(" or ");
  throw invalid(
    via === undefined
      ? `Cannot read ${quote(`${name}(…)`)}: it has several references to ${table.name}; write ${ways}`
      : `Cannot read ${quote(`${name}!${via}(…)`)}: ${via} is not a reference to ${table.name}; write ${ways}`,
  );
}

/** Max rows of a response for each row of its list: the row and its children. */
export function countRows(
  related: readonly Relation[],
  maxChildren: number = Number.POSITIVE_INFINITY,
): number {
  return related.reduce(
    (sum, { children, related: nested }) =>
      sum +
      (children === undefined
        ? countRows(nested, maxChildren) - 1
        : Math.min(children.limit, maxChildren) * countRows(nested, maxChildren)),
    1,
  );
}

/** The limit of a list with related rows. @throws {Problem} unsupported_query — the response could have too many rows */
export function fitLimit(limit: number | undefined, related: readonly Relation[]): number {
  const rows = countRows(related);
  const most = Math.floor(MAX_ROWS / rows);
  if (limit === undefined && most > 0) return most;
  const parents = limit ?? 1;
  if (parents * rows <= MAX_ROWS) return parents;
  const options = listChildren(related);
  const fitting = Array.from({ length: MAX_ROWS }, (_, index) => MAX_ROWS - index).find(
    (max) => parents * countRows(related, max) <= MAX_ROWS,
  );
  const ways = [
    ...(most > 0 ? [`limit=${most}`] : []),
    ...(fitting === undefined ? [] : [options.map((path) => `${path}.limit=${fitting}`).join("&")]),
  ];
  throw unsupported(
    `Cannot list ${parents * rows} rows with their related rows, because a response has at most ${MAX_ROWS}: use ${ways.length === 0 ? "lower limits" : ways.join(" or ")}`,
  );
}

function listChildren(related: readonly Relation[], parent = ""): string[] {
  return related.flatMap(({ name, children, related: nested }) => [
    ...(children === undefined ? [] : [`${parent}${name}`]),
    ...listChildren(nested, `${parent}${name}.`),
  ]);
}

/** The tables whose functions find the related rows. */
export function listTables(related: readonly Relation[]): RecordedTable[] {
  return related.flatMap(({ table, related: nested }) => [table, ...listTables(nested)]);
}
