/**
 * How a list finds the rows that a person reads, in the order of ids: each alternative of the rule is a walk along its own index. No
 * limit counts the rows that the rest of an alternative removes: a person would learn of them. Without an index, a list reads the rows
 * of the app.
 *
 * @see list_body.ts
 * @module
 */

import { quoteLiteral, quoteName } from "../../../db/mod.ts";
import { type Alternative, allowsAll, isMemberOf, ownValue } from "../../../schema/mod.ts";
import { MAX_MEMBERSHIPS, MAX_VISITS } from "../../../std/limits.ts";
import {
  type ColumnSet,
  findRulePaths,
  isExact,
  listRulePaths,
  membershipOf,
  placeholdersOf,
  type RulePath,
  type ServedSet,
  toWhole,
  type View,
} from "../../catalog/mod.ts";
import { rowSize } from "./function_terms.ts";
import { keepWalk, leaveOut, type PathTerms, renderRange, toPathTerms } from "./rule_path_terms.ts";
import { onRow, type Place, renderRule, WHO } from "./view_terms.ts";

/** The state of a row: its `xmin` and `ctid` change whenever the row does. */
export const ROW_STATE = `uuid_send("$t"."id") || xidsend("$t"."xmin") || tidsend("$t"."ctid")`;

const APP = placeholdersOf("get").app;

/** How a list finds its rows; `isBuilt`: whether the indexes of the walks exist, empty if they always do. */
type ListWalks =
  /** One walk, each of whose rows the person reads: all rows of the app. */
  | { readonly kind: "all" }
  /** One walk, each of whose rows the person reads: the states of its rows, and these rows. */
  | {
      readonly kind: "single";
      readonly isBuilt: string;
      readonly query: string;
      readonly rows: (range: { start: string; limit: string }) => string;
      readonly unbuilt: string;
    }
  /** A query of `"id"`, `"$state"`, `"$size"` and `"$cut"`: a row that is only where a walk was cut short. */
  | {
      readonly kind: "merged";
      readonly isBuilt: string;
      readonly query: string;
      readonly unbuilt: string;
    };

/** How a list of a view finds its rows. `upTo`: the rows to find. */
export function planList(table: ServedSet, upTo: string): ListWalks {
  const { view } = table;
  const { read = [] } = view ?? {};
  if (view === undefined || allowsAll(read)) return { kind: "all" };
  const paths = read.flatMap((alternative) => findRulePaths(table, view, alternative));
  const isBuilt = renderBuilt(paths.map(({ index }) => index));
  // While an index is built, a list visits the rows of the app.
  const unbuilt = read.map((alternative) => renderPath(table, view, toWhole(alternative), upTo));
  const [only, ...others] = paths;
  if (only !== undefined && others.length === 0 && only.member === undefined && isExact(only))
    return {
      ...{ kind: "single", isBuilt, unbuilt: unite(unbuilt) },
      query: renderWalk(table, only, upTo),
      rows: ({ start, limit }) =>
        renderRange(table, toPathTerms(table, only, onRow("$b")), { alias: "$b", start, limit }),
    };
  const query = unite(paths.map((path) => renderPath(table, view, path, upTo)));
  return { kind: "merged", isBuilt, query, unbuilt: unite(unbuilt) };
}

function unite(queries: readonly string[]): string {
  return queries.join("\n      union all\n");
}

/** Whether the indexes with these names exist and are complete; empty without one that can be missing. */
export function renderBuilt(indexes: readonly string[]): string {
  const names = [...new Set(indexes)].filter((name) => name !== "");
  if (names.length === 0) return "";
  return `rowhouse.are_built(array[${names.map(quoteLiteral).join(", ")}])`;
}

/** A walk of an alternative, as `rowhouse.rule_rows` reads it. */
export type RuleWalk = {
  /** Empty: the primary key. */
  readonly index: string;
  /** Whether the person reads each of its rows. */
  readonly isExact: boolean;
  /** A query of the references of the person's memberships, for each of which the walk is. */
  readonly references: string | undefined;
  readonly terms: PathTerms;
  /** The condition that leaves out its other rows. */
  readonly rest: string;
};

/**
 * The walks, in the order of ids, that have all rows that the person reads, and rows that only the rest of an alternative removes.
 * `undefined`: the person reads all rows, or an alternative has no index.
 */
export function listRuleWalks(table: ServedSet, who: string): readonly RuleWalk[] | undefined {
  const { view } = table;
  const paths = listRulePaths(table);
  if (view === undefined || paths === undefined) return undefined;
  return paths.map((path) => {
    const place = onRow("$t", who);
    const terms = toPathTerms(table, path, place);
    return {
      ...{ isExact: isExact(path), index: path.index, terms },
      references: renderReferences(view, path, who),
      rest: leaveOut(table, path, terms, place),
    };
  });
}

function renderPath(table: ServedSet, view: View, path: RulePath, upTo: string): string {
  const walk = renderWalk(table, path, upTo);
  const references = renderReferences(view, path, WHO);
  if (references === undefined) return `(${walk})`;
  return `(select "$w"."id", "$w"."$state", "$w"."$size", "$w"."$cut" from (${references}) as "$m"
      cross join lateral (${walk}) as "$w")`;
}

type IdRange = {
  readonly start: string;
  readonly isDescending: boolean;
  readonly limit: string;
};

/** The first ids of walks, in order, from an id on. */
export function renderMergedIds(
  table: ServedSet,
  walks: readonly RuleWalk[],
  { start, isDescending, limit }: IdRange,
): string {
  const way = isDescending ? " desc" : "";
  const list = walks.map(({ references, terms }) => {
    const { selected, condition, order } = keepWalk(terms, "$t", isDescending);
    const range = { alias: "$t", start, isDescending, limit };
    const isAfter = ` and "$t"."id" ${isDescending ? "<=" : ">="} ${start}`;
    const ids = `select "$t"."id" from (select "$t"."id"${selected} ${renderRange(table, terms, range)}) as "$t"
        where true${condition}${terms.hasId ? "" : isAfter} order by ${order}`;
    return references === undefined
      ? `(${ids})`
      : `(select "$w"."id" from (${references}) as "$m" cross join lateral (${ids}) as "$w")`;
  });
  return `select distinct "$w"."id" from (${list.join("\n      union all\n      ")}) as "$w" order by "$w"."id"${way} limit ${limit}`;
}

const REFERENCE = "$ref";

/** Each reference once: two memberships in a team would walk it twice. Fails with too many. */
function renderReferences(view: View, { member }: RulePath, who: string): string | undefined {
  if (member === undefined || !isMemberOf(member.match)) return undefined;
  const { memberOf, where = {} } = member.match;
  const target = ownValue(view.references, member.column);
  const { person, reference } = membershipOf(view, memberOf, target);
  const columns = ownValue(view.others, memberOf)?.columns ?? [];
  const members = { name: memberOf, columns, view };
  return `select "$o"."${REFERENCE}" from (
        select "$d"."${REFERENCE}", count(*) over () as "$count" from (
          select distinct "$m".${quoteName(reference)} as "${REFERENCE}" from data.${quoteName(memberOf)} as "$m"
          where "$m"."app_id" = ${APP} and "$m".${quoteName(person)} = ${who}${renderWhere(members, where, onRow("$m", who))}
          limit ${MAX_MEMBERSHIPS + 1}) as "$d") as "$o"
        where case when "$o"."$count" > ${MAX_MEMBERSHIPS} then rowhouse.reject_members() else true end`;
}

function renderWhere(members: ColumnSet, where: Alternative, place: Place): string {
  const condition = renderRule(members, [where], place);
  return condition === "true" ? "" : ` and ${condition}`;
}

/**
 * The rows of an alternative. Without their order, all of them are sorted, and their number is limited. No limit counts a row that the
 * person does not see.
 */
function renderWalk(table: ServedSet, path: RulePath, upTo: string): string {
  const terms = (alias: string) => toPathTerms(table, path, onRow(alias));
  const only = (alias: string) => leaveOut(table, path, terms(alias), onRow(alias));
  const { selected, condition, order } = keepWalk(terms("$t"), "$w");
  const found = `${ROW_STATE} as "$state", ${rowSize(table, "$t")} as "$size"`;
  if (path.isOrdered)
    return `select "$w"."id", "$w"."$state", "$w"."$size", false as "$cut" from (
        select "$t"."id", ${found}${selected} ${renderRange(table, terms("$t"), { alias: "$t", limit: upTo, only: only("$t") })}) as "$w"
      where true${condition} order by ${order} limit ${upTo}`;
  const columns = ["id", "app_id", ...table.columns.map(({ name }) => name), "xmin", "ctid"];
  const inner = keepWalk(terms("$b"), "$s");
  const range = { alias: "$b", limit: `${MAX_VISITS + 1}`, only: only("$b") };
  const visited = `select ${columns.map((name) => `"$b".${quoteName(name)}`).join(", ")}${inner.selected}
        ${renderRange(table, terms("$b"), range)}`;
  const isCut = `"$t"."$nth" > ${MAX_VISITS}`;
  // No row before the cut is certain: the cut is before all rows.
  return `select case when ${isCut} then '${BEFORE_ALL}'::uuid else "$t"."id" end as "id", ${found}, ${isCut} as "$cut"
      from (select "$s".*, row_number() over () as "$nth" from (${visited}) as "$s"
        where true${inner.condition}) as "$t"
      order by 1 limit ${upTo}`;
}

/** An id before that of every row. */
const BEFORE_ALL = "00000000-0000-0000-0000-000000000000";
