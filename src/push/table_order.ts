/** The order for distributing tables: each after its reference targets. Pure. @module */
import type { Reference } from "../db/mod.ts";

/** All tables, parents first, and the references that close a cycle, which have no such order. */
export function orderTables(
  names: readonly string[],
  references: readonly Reference[],
): { tables: string[]; circular: Reference[] } {
  const left = new Set([...names].sort());
  const tables: string[] = [];
  const circular: Reference[] = [];
  const waitsFor = (name: string) =>
    references.filter(({ child, parent }) => child === name && parent !== name && left.has(parent));
  for (let next = first(left); next !== undefined; next = first(left)) {
    const name =
      [...left].find((table) => waitsFor(table).length === 0) ?? findInCircle(next, waitsFor);
    circular.push(...waitsFor(name));
    tables.push(name);
    left.delete(name);
  }
  return { tables, circular };
}

/** A table of a cycle: the first table met twice while following references. */
function findInCircle(start: string, waitsFor: (name: string) => Reference[]): string {
  const met = new Set<string>();
  let name = start;
  while (!met.has(name)) {
    met.add(name);
    name = waitsFor(name)[0]?.parent ?? name;
  }
  return name;
}

function first(names: ReadonlySet<string>): string | undefined {
  return names.values().next().value;
}
