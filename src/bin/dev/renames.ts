/**
 * Names that an edit of the schema may have meant to change. A push would add the new name, and `rowhouse db rename` could
 * then no longer use it. Pure.
 *
 * @module
 */
import type { Definition } from "../../dsl/mod.ts";
import { canonicalJson } from "../../std/canonical_json.ts";

/** The steps of a push that would add the new name end with `to`. */
type Rename = { to: string; message: string };

/** One removed and one added table with the same columns, or one removed and one added column of the same type. */
export function findRenames(before: Definition, after: Definition): Rename[] {
  const table = findPair(before.tables, after.tables, ({ columns }) => canonicalJson(columns));
  const columns = after.tables.flatMap(({ name, columns: declared }) => {
    const earlier = before.tables.find((other) => other.name === name)?.columns ?? [];
    const pair = findPair(earlier, declared, ({ kind }) => kind);
    return pair === undefined ? [] : [{ name, ...pair }];
  });
  return [
    ...(table === undefined ? [] : [toRename("table", table.from, table.to)]),
    ...columns.map(({ name, from, to }) => toRename("column", `${name}.${from}`, `${name}.${to}`)),
  ];
}

type Named = { readonly name: string };

function findPair<Item extends Named>(
  before: readonly Item[],
  after: readonly Item[],
  describe: (item: Item) => string,
): { from: string; to: string } | undefined {
  const findOthers = (items: readonly Item[], than: readonly Item[]) =>
    items.filter(({ name }) => !than.some((other) => other.name === name));
  const [removed, ...moreRemoved] = findOthers(before, after);
  const [added, ...moreAdded] = findOthers(after, before);
  if (removed === undefined || added === undefined) return undefined;
  if (moreRemoved.length > 0 || moreAdded.length > 0) return undefined;
  return describe(removed) === describe(added) ? { from: removed.name, to: added.name } : undefined;
}

function toRename(kind: "table" | "column", from: string, to: string): Rename {
  const command = `rowhouse db rename ${from} ${to.split(".").at(-1)}`;
  return {
    to,
    message: `Not pushed: ${to} may be the new name of ${from}. To rename the ${kind}, run ${command}; to add another ${kind}, run rowhouse db push`,
  };
}
