/**
 * The indexes along which the rows that a person reads are found: each alternative of a rule is a walk. Pure.
 *
 * @see ../sql/seen_walks_terms.ts for the statements
 * @module
 */

import { SQL } from "../../kinds/mod.ts";
import {
  type Alternative,
  allowsAll,
  isMemberOf,
  isReadable,
  type Match,
  ME,
  ownValue,
} from "../../schema/mod.ts";
import { deriveName, type IndexForm } from "./names.ts";
import type { View } from "./views.ts";
import type { ServedSet, Walk } from "./walks.ts";

/** An alternative as a walk: its conditions in the index, and the rest. */
export type RulePath = {
  readonly index: string;
  /** The conditions that the index has as its first columns; `undefined`: the walk visits all rows of the app. */
  readonly prefix: Alternative | undefined;
  readonly rest: Alternative;
  /** Whether the rows with the values of the prefix are in the order of ids. */
  readonly isOrdered: boolean;
  /** The membership whose references the walk has. */
  readonly member: { readonly column: string; readonly match: Match } | undefined;
  /** The index has only the rows of the app. */
  readonly isOwn: boolean;
};

/** Whether the person reads every row that the walk visits, and the walk is in the order of ids. */
export function isExact({ prefix, rest, isOrdered }: RulePath): boolean {
  return prefix !== undefined && isOrdered && Object.keys(rest).length === 0;
}

export function findRulePath(
  table: ServedSet,
  view: View,
  form: IndexForm,
  alternative: Alternative,
): RulePath {
  const searched = Object.keys(alternative).filter((name) => isSearched(table, alternative, name));
  const memberships = searched.filter((name) => isMembership(alternative[name]));
  const [best] = table.walks
    .filter(({ appId }) => appId === undefined || appId === view.app)
    .map((walk) => ({ walk, ...findPrefix(table, form, walk, searched) }))
    // The rows of one membership are a walk.
    .filter(({ columns }) => columns.filter((name) => memberships.includes(name)).length <= 1)
    .filter(({ columns }) => columns.length > 0)
    .sort(
      (one, other) =>
        Number(other.isOrdered) - Number(one.isOrdered) ||
        other.columns.length - one.columns.length,
    );
  if (best === undefined)
    return {
      ...{ index: "", prefix: undefined, rest: alternative, isOrdered: true },
      ...{ member: undefined, isOwn: false },
    };
  const pick = (isPicked: (name: string) => boolean): Alternative =>
    Object.fromEntries(Object.entries(alternative).filter(([name]) => isPicked(name)));
  const column = best.columns.find((name) => memberships.includes(name));
  const match = column === undefined ? undefined : alternative[column];
  return {
    index: best.walk.index,
    prefix: pick((name) => best.columns.includes(name)),
    rest: pick((name) => !best.columns.includes(name)),
    isOrdered: best.isOrdered,
    member: column === undefined || match === undefined ? undefined : { column, match },
    isOwn: best.walk.appId !== undefined,
  };
}

type Prefix = {
  /** The first columns of the index, each of which has a condition. */
  readonly columns: readonly string[];
  readonly isOrdered: boolean;
};

function findPrefix(
  { name }: ServedSet,
  form: IndexForm,
  { index, columns, isUnique }: Walk,
  searched: readonly string[],
): Prefix {
  const names = columns.map((column) => column.name);
  const count = names.findIndex((column) => !searched.includes(column));
  const prefix = count === -1 ? names : names.slice(0, count);
  const isWhole = prefix.length === names.length;
  // The plain form of an index ends in its last column, which can be the id.
  const endsInId =
    index === "" ||
    form === "search" ||
    (["idx", "search_idx"] as const).some((end) => index === deriveName(name, names, end));
  const isOrdered = (names[prefix.length] === "id" && endsInId) || (isUnique && isWhole);
  return { columns: prefix, isOrdered };
}

/** Whether the index has the value of a condition as it is. */
function isSearched(table: ServedSet, alternative: Alternative, name: string): boolean {
  const match = ownValue(alternative, name);
  if (match === undefined || match === null || Array.isArray(match)) return false;
  const kind = name === "id" ? "uuid" : table.columns.find((column) => column.name === name)?.kind;
  if (kind === undefined || isReadable(match)) return false;
  if (match === ME && kind === "uuid") return true;
  if (isMemberOf(match)) return true;
  const { parts, ends } = SQL[kind];
  return parts === undefined && ends !== undefined;
}

function isMembership(match: Match | undefined): boolean {
  return match !== undefined && isMemberOf(match);
}

/**
 * The walks, in the order of ids, that have all rows that the person reads. `undefined`: the person reads all rows, or an alternative
 * has no index.
 */
export function listRulePaths(table: ServedSet): readonly RulePath[] | undefined {
  const { view } = table;
  const { read = [] } = view ?? {};
  if (view === undefined || read.length === 0 || allowsAll(read)) return undefined;
  const paths = read.map((alternative) => findRulePath(table, view, "search", alternative));
  const areWalks = paths.every(({ prefix, isOrdered }) => prefix !== undefined && isOrdered);
  return areWalks ? paths : undefined;
}

/** Whether walks in the order of ids have exactly the rows that the person reads. */
export function hasExactWalks(table: ServedSet): boolean {
  return listRulePaths(table)?.every(isExact) === true;
}
