/**
 * The indexes along which the rows that a person reads are found: each alternative of a rule is a walk, or with a list of values a
 * walk for each of them. Pure.
 *
 * @see ../sql/functions/rule_path_terms.ts for the statements
 * @module
 */

import { isPerson, SQL } from "../../kinds/mod.ts";
import {
  type Alternative,
  allowsAll,
  isMemberOf,
  isReadable,
  type Match,
  ME,
  ownValue,
} from "../../schema/mod.ts";
import type { View } from "./views.ts";
import type { ServedSet, Walk, WalkColumn } from "./walks.ts";

/** Max walks of an alternative with lists. With more, the conditions of a list are compared in the visited rows. */
const MAX_WALKS = 16;

/** An alternative as a walk: its conditions in the index, and the rest. */
export type RulePath = {
  /** Empty: the primary key. */
  readonly index: string;
  /** The conditions that the walk fulfills, each with one value; `undefined`: it visits all rows of the app. */
  readonly prefix: Alternative | undefined;
  readonly rest: Alternative;
  /** The first columns of the index, each of which has a condition of the prefix. */
  readonly columns: readonly WalkColumn[];
  /** Whether the rows with the values of the prefix are in the order of ids. */
  readonly isOrdered: boolean;
  readonly next: WalkColumn | undefined;
  /** The membership whose references the walk has. */
  readonly member: { readonly column: string; readonly match: Match } | undefined;
  /** The index has only the rows of the app. */
  readonly isOwn: boolean;
};

/** Whether the person reads every row that the walk visits, and the walk is in the order of ids. */
export function isExact({ prefix, rest, isOrdered }: RulePath): boolean {
  return prefix !== undefined && isOrdered && Object.keys(rest).length === 0;
}

/** The walks that together have the rows of an alternative. */
export function findRulePaths(
  table: ServedSet,
  view: View,
  alternative: Alternative,
): readonly RulePath[] {
  const [best] = table.walks
    .filter(({ isLeakproof }) => isLeakproof)
    .filter(({ appId }) => appId === undefined || appId === view.app)
    .map((walk) => toCandidate(walk, alternative))
    .filter(({ matched }) => matched.length > 0)
    .sort(
      (one, other) =>
        Number(other.isOrdered) - Number(one.isOrdered) ||
        other.matched.length - one.matched.length ||
        one.count - other.count,
    );
  return best === undefined ? [toWhole(alternative)] : toPaths(best, alternative);
}

const ID: WalkColumn = { name: "id", kind: "uuid" };

/** All rows of the app, in the order of ids. */
export function toWhole(alternative: Alternative): RulePath {
  return {
    ...{ index: "", prefix: undefined, rest: alternative, columns: [] },
    ...{ isOrdered: true, next: ID, member: undefined, isOwn: false },
  };
}

type Candidate = {
  readonly walk: Walk;
  readonly columns: readonly WalkColumn[];
  /** The columns whose conditions the walks fulfill. */
  readonly matched: readonly string[];
  readonly isOrdered: boolean;
  readonly count: number;
};

function toCandidate(walk: Walk, alternative: Alternative): Candidate {
  const { columns, count } = findPrefix(walk, alternative);
  const matched = columns.map(({ name }) => name);
  const isWhole = columns.length === walk.columns.length;
  const isOrdered =
    walk.columns[columns.length]?.name === ID.name ||
    matched.includes(ID.name) ||
    (walk.isUnique && isWhole);
  return { walk, columns, matched, isOrdered, count };
}

/** The first columns of an index for which the alternative has values, and the number of their combinations. */
function findPrefix(
  { columns, hasNulls }: Walk,
  alternative: Alternative,
): { columns: readonly WalkColumn[]; count: number } {
  const found: WalkColumn[] = [];
  let count = 1;
  let isEmpty = hasNulls;
  let isMember = false;
  for (const column of columns) {
    const match = ownValue(alternative, column.name);
    if (match === undefined || !isSearched(column, match)) break;
    // The rows of one membership are a walk.
    if (isMemberOf(match) && isMember) break;
    // No row comparison begins after a value and ends in the rows without one.
    if (match === null && !isEmpty) break;
    const values = listValues(match)?.length ?? 1;
    if (count * values > MAX_WALKS) break;
    isEmpty = match === null;
    isMember ||= isMemberOf(match);
    count *= values;
    found.push(column);
  }
  return { columns: found, count };
}

/** Whether the index has the values of a condition, in whole. */
function isSearched({ kind }: WalkColumn, match: Match): boolean {
  if (isReadable(match)) return false;
  if (isMemberOf(match)) return true;
  const { parts, ends } = SQL[kind];
  if (ends === undefined || (isPerson({ kind }) && match !== ME && match !== null)) return false;
  if (parts === undefined) return true;
  return listValues(match)?.every((value) => value === null || parts.isWhole(`${value}`)) === true;
}

/** The values of a condition; `undefined`: it compares something else. */
function listValues(
  match: Match | undefined,
): readonly (string | number | boolean | null)[] | undefined {
  if (match === undefined) return undefined;
  if (Array.isArray(match)) return match as readonly (string | number | boolean)[];
  return typeof match === "object" && match !== null
    ? undefined
    : [match as string | number | boolean | null];
}

function toPaths(best: Candidate, alternative: Alternative): readonly RulePath[] {
  const { walk, columns, matched, isOrdered } = best;
  const rest = Object.entries(alternative).filter(([name]) => !matched.includes(name));
  const member = columns.find(({ name }) => isMembership(alternative[name]))?.name;
  const match = member === undefined ? undefined : alternative[member];
  return toSingles(alternative, matched).map((prefix): RulePath => {
    return {
      index: walk.index,
      ...{ prefix, rest: Object.fromEntries(rest), columns, isOrdered },
      next: walk.columns[columns.length],
      member: member === undefined || match === undefined ? undefined : { column: member, match },
      isOwn: walk.appId !== undefined,
    };
  });
}

/** The combinations of one value of each column. */
function toSingles(alternative: Alternative, names: readonly string[]): Alternative[] {
  let singles: Alternative[] = [{}];
  for (const name of names) {
    const match = ownValue(alternative, name);
    if (match === undefined) continue;
    const values: readonly Match[] = listValues(match) ?? [match];
    singles = singles.flatMap((single) => values.map((value) => ({ ...single, [name]: value })));
  }
  return singles;
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
  const paths = read.flatMap((alternative) => findRulePaths(table, view, alternative));
  const areWalks = paths.every(({ prefix, isOrdered }) => prefix !== undefined && isOrdered);
  return areWalks ? paths : undefined;
}

/** Whether walks in the order of ids have exactly the rows that the person reads. */
export function hasExactWalks(table: ServedSet): boolean {
  return listRulePaths(table)?.every(isExact) === true;
}
