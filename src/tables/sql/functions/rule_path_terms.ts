/**
 * A walk of an alternative of a rule as conditions and an order. A session plans it once for all apps, or by statistics that can be
 * old, so no plan may depend on how many rows have a value: the walk compares no column with `=`, and has all columns of its index in
 * one row comparison and in its order, so that only this index has the order. Rows after those of the walk are the last of those that
 * the limit allows.
 *
 * @see ../../catalog/rule_walks.ts
 * @see walk_body.ts for the same in pages of API keys
 * @module
 */

import { quoteLiteral, quoteName } from "../../../db/mod.ts";
import { isPerson, SQL } from "../../../kinds/mod.ts";
import { isMemberOf, type Match, ME, ownValue } from "../../../schema/mod.ts";
import {
  placeholdersOf,
  type RulePath,
  type ServedSet,
  type WalkColumn,
} from "../../catalog/mod.ts";
import { sqlType } from "../../plan/step.ts";
import { withoutCollation } from "../index_terms.ts";
import { type Place, renderRule } from "./view_terms.ts";

const APP = placeholdersOf("get").app;

/** The parts of a walk on the rows of an alias. */
export type PathTerms = {
  /** The conditions that each row of the index fulfills, after the app. */
  readonly fixed: string;
  /** What the index is sorted by, without a value in each row. */
  readonly empty: readonly string[];
  /** What it is sorted by next, with these values in the rows of the walk. */
  readonly terms: readonly string[];
  readonly values: readonly string[];
  readonly hasId: boolean;
  /** What it is sorted by next, if the walk has no other column. */
  readonly last: readonly string[];
};

/** The reference of a membership. */
export const MEMBER = `"$m"."$ref"`;

export function toPathTerms(table: ServedSet, path: RulePath, place: Place): PathTerms {
  const { prefix = {}, columns, isOwn, next } = path;
  const matched = columns.flatMap((column) => {
    const match = ownValue(prefix, column.name);
    return match === undefined ? [] : [{ column, match }];
  });
  const empty = matched.flatMap(({ column, match }) =>
    match === null ? termsOf(column, place) : [],
  );
  const valued = matched.filter(({ match }) => match !== null);
  const fixed = [
    ...(isOwn ? [`${place.valueOf("app_id")} = ${quoteLiteral(table.view?.app ?? "")}::uuid`] : []),
    ...empty.map((term) => `${withoutCollation(term)} is null`),
  ];
  return {
    ...{ fixed: fixed.map((each) => ` and ${each}`).join(""), empty },
    hasId: next?.name === "id",
    // An order that no other index has.
    last: columns.length > 0 || next === undefined ? [] : termsOf(next, place),
    terms: valued.flatMap(({ column }) => termsOf(column, place)),
    values: valued.flatMap(({ column, match }) => valuesOf(table, { column, match }, place)),
  };
}

/** A column as its index contains it. */
function termsOf({ name, kind }: WalkColumn, place: Place): string[] {
  const { parts } = SQL[kind];
  const value = place.valueOf(name);
  if (parts === undefined) return [value];
  const { start, rest } = parts;
  return [start.render(value), ...(rest === undefined ? [] : [rest.render(value)])];
}

function valuesOf(
  table: ServedSet,
  { column, match }: { readonly column: WalkColumn; readonly match: Match },
  { who }: Place,
): string[] {
  if (isMemberOf(match)) return [MEMBER];
  if (match === ME && isPerson(column)) return [who];
  const { parts } = SQL[column.kind];
  const text = String(match);
  if (parts === undefined) return [`${quoteLiteral(text)}::${sqlType(table, column)}`];
  const { start, rest } = parts;
  const types = [start.type, ...(rest === undefined ? [] : [rest.type])];
  // Only whole values are searched, which have no digest.
  return parts
    .toParts(text, () => "")
    .map((part, place) => `${quoteLiteral(part)}::${types[place]}`);
}

export type WalkRange = {
  /** From this id on; absent: all. */
  readonly start?: string;
  readonly isDescending?: boolean;
  readonly limit: string;
  /** A condition after another one: see {@linkcode leaveOut}. */
  readonly only?: string;
};

/** The rows of a walk and some after them, as `from … where … order by … limit …`. */
export function renderRange(
  table: ServedSet,
  terms: PathTerms,
  { alias, start, isDescending = false, limit, only = "" }: WalkRange & { readonly alias: string },
): string {
  const isFrom = terms.hasId && start !== undefined;
  const row = [...terms.terms, ...(isFrom ? [`"${alias}"."id"`] : [])];
  const given = [...terms.values, ...(isFrom ? [start] : [])];
  const after = isDescending ? "<=" : ">=";
  return `${renderSource(table, terms, alias)}${row.length === 0 ? "" : ` and ${toRow(row)} ${after} ${toRow(given)}`}${renderEnd(terms, isDescending)}${only}
        order by ${renderOrder(terms, { alias, isDescending })} limit ${limit}`;
}

/**
 * The condition, after another one, that leaves out the rows of the walk which the rest of its alternative removes, so that they count
 * for no limit. Rows after the walk fulfill it: they must count, to end the search.
 */
export function leaveOut(
  table: ServedSet,
  { rest }: RulePath,
  { terms, values }: PathTerms,
  place: Place,
): string {
  const condition = renderRule(table, [rest], place);
  if (condition === "true") return "";
  const isOfWalk = terms.map((term, at) => `${term} = ${values[at]}`).join(" and ");
  return isOfWalk === ""
    ? ` and (${condition})`
    : ` and ((${isOfWalk}) is not true or (${condition}))`;
}

/** The rows of the index, without an end. */
function renderSource(table: ServedSet, { fixed }: PathTerms, alias: string): string {
  return `from data.${quoteName(table.name)} as "${alias}"
        where "${alias}"."app_id" = ${APP}${fixed}`;
}

/** The end of the walk by its first column: PostgreSQL before 18 ends a scan only there. */
export function renderEnd({ terms, values }: PathTerms, isDescending: boolean): string {
  const [first] = terms;
  return first === undefined ? "" : ` and ${first} ${isDescending ? ">=" : "<="} ${values[0]}`;
}

function renderOrder(
  { empty, terms, hasId, last }: PathTerms,
  { alias, isDescending }: { readonly alias: string; readonly isDescending: boolean },
): string {
  const all = [...empty, ...terms, ...(hasId ? [`"${alias}"."id"`] : last)];
  return all.map((term) => `${term}${isDescending ? " desc" : ""}`).join(", ");
}

/** What the rows of a range must have, to be rows of the walk: values to select, and a condition on them after another one. */
export function keepWalk({ terms, values }: PathTerms, alias: string, isDescending = false) {
  const names = terms.map((_, place) => `"$k${place}"`);
  return {
    selected: terms.map((term, place) => `, ${term} as ${names[place]}`).join(""),
    condition: names.map((name, place) => ` and "${alias}".${name} = ${values[place]}`).join(""),
    // Without the names, PostgreSQL does not know that rows with these values are in the order of ids, and sorts them.
    order: [...names, '"id"']
      .map((name) => `"${alias}".${name}${isDescending ? " desc" : ""}`)
      .join(", "),
  };
}

export function toRow(list: readonly string[]): string {
  return list.length === 1 ? (list[0] ?? "") : `(${list.join(", ")})`;
}
