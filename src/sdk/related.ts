/** Related rows in a selection: their text in a query string, and the tables that they come from. @module */

import { isModel, type TableKinds } from "./matches.ts";
import type { AnyQuery } from "./table_client.ts";
import { type Test, toTest } from "./where.ts";

/** The tables of a client's schema, by name. */
export type TableSources = { readonly [table: string]: TableKinds };

export type Parameter = [name: string, text: string];
type Relation = { readonly name: string; readonly value: unknown };
type Children = {
  readonly select: readonly unknown[];
  readonly limit?: unknown;
  readonly orderBy?: readonly object[] | undefined;
};

const OPTIONS: readonly string[] = ["select", "limit", "orderBy"];

/** An order as a parameter. */
export function toOrder(orderBy: readonly object[] | undefined): string {
  return (orderBy ?? [])
    .flatMap((key) => Object.entries(key).map(([name, way]) => `${name}.${way}`))
    .join(",");
}

/** The selection as text. Options of related rows are added to `parameters`. @throws {TypeError} not a selection */
export function toSelect(select: readonly unknown[], parameters: Parameter[], parent = ""): string {
  return listItems(select)
    .map((item) => (typeof item === "string" ? item : toRelated(item, parameters, parent)))
    .join(",");
}

function toRelated(relation: Relation, parameters: Parameter[], parent: string): string {
  const { name } = relation;
  const { select, limit, orderBy } = readChildren(relation);
  const path = `${parent}${toMember(name)}`;
  if (limit !== undefined) parameters.push([`${path}.limit`, `${limit}`]);
  const order = toOrder(orderBy);
  if (order !== "") parameters.push([`${path}.order`, order]);
  return `${name}(${toSelect(select, parameters, `${path}.`)})`;
}

/** The table in `todos!project`. */
function toMember(name: string): string {
  return name.replace(/!.*/, "");
}

/** Columns, and related rows of objects. */
function listItems(select: readonly unknown[]): (string | Relation)[] {
  return select.flatMap((item): (string | Relation)[] => {
    if (typeof item === "string") return [item];
    if (typeof item !== "object" || item === null)
      throw new TypeError(
        `Cannot select ${item === null ? "null" : `a ${typeof item}`}: must be a column, or an object of related rows`,
      );
    return Object.entries(item)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]: [string, unknown]) => ({ name, value }));
  });
}

function readChildren({ name, value }: Relation): Children {
  if (Array.isArray(value)) return { select: value };
  const isObject = typeof value === "object" && value !== null;
  if (!isObject || !("select" in value) || !Array.isArray(value.select))
    throw new TypeError(
      `Cannot select "${name}": must be a list of columns, or an object with a list "select"`,
    );
  const unknown = Object.keys(value).find((option) => !OPTIONS.includes(option));
  if (unknown !== undefined)
    throw new TypeError(
      `Cannot use "${unknown}" of "${name}": the options of related rows are ${OPTIONS.join(", ")}`,
    );
  return value as Children;
}

/** The tables of a list, its related rows and its conditions; `undefined` for a table that only a schema names. */
export function listTables(
  table: string,
  { select = [], where = {} }: Pick<AnyQuery, "select" | "where"> = {},
  sources: TableSources = {},
): (string | undefined)[] {
  const tables = listItems(select).flatMap((item) => {
    if (typeof item === "string") return [];
    const related = findTable(item.name, sources[table]);
    const nested = readChildren(item).select;
    return related === undefined ? [undefined] : listTables(related, { select: nested }, sources);
  });
  const referenced = listPaths(toTest(where)).flatMap((path) => {
    let at: string | undefined = table;
    return path.map((name) => {
      at = at === undefined ? undefined : findTable(name, sources[at]);
      return at;
    });
  });
  return [...new Set([table, ...tables, ...referenced])];
}

/** The references in the paths of conditions. */
function listPaths(test: Test): string[][] {
  return "of" in test ? test.of.flatMap(listPaths) : [test.column.split(".").slice(0, -1)];
}

function findTable(name: string, source: TableKinds | undefined): string | undefined {
  if (source === undefined) return undefined;
  const columns = isModel(source) ? source.model.columns : source;
  return Object.hasOwn(columns, name) ? columns[name]?.column.table : toMember(name);
}
