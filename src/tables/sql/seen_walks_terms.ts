/**
 * How a list finds the rows that a person reads, in the order of ids: each alternative of the rule is a walk along its own index. A
 * walk visits a limited number of rows: rows that the rest of an alternative removes would otherwise make a list read the whole table.
 *
 * @see list_body.ts
 * @module
 */

import { quoteLiteral, quoteName } from "../../db/mod.ts";
import { type Alternative, allowsAll, isMemberOf, ownValue } from "../../schema/mod.ts";
import { MAX_VISITS } from "../../std/limits.ts";
import {
  type ColumnSet,
  type FunctionSite,
  findRulePath,
  formAt,
  isExact,
  listRulePaths,
  membershipOf,
  placeholdersOf,
  type RulePath,
  type ServedSet,
  type View,
} from "../catalog/mod.ts";
import { rowSize } from "./function_terms.ts";
import { onRow, type Place, renderRule, WHO } from "./view_terms.ts";

/** The state of a row: its `xmin` and `ctid` change whenever the row does. */
export const ROW_STATE = `uuid_send("$t"."id") || xidsend("$t"."xmin") || tidsend("$t"."ctid")`;

const APP = placeholdersOf("get").app;

type ListWalks =
  /** One walk, each of whose rows the person reads: a condition after the app. */
  | { readonly kind: "single"; readonly condition: string }
  /** A query of `"id"`, `"$state"`, `"$size"` and `"$cut"`: a row that is only where a walk was cut short. */
  | { readonly kind: "merged"; readonly query: string };

/** How a list of a view finds its rows. `upTo`: the rows to find. */
export function planList(table: ServedSet, site: FunctionSite, upTo: string): ListWalks {
  const { view } = table;
  const { read = [] } = view ?? {};
  if (view === undefined || allowsAll(read)) return { kind: "single", condition: "" };
  const form = formAt(site);
  const paths = read.map((alternative) => findRulePath(table, view, form, alternative));
  const [only, ...others] = paths;
  if (only !== undefined && others.length === 0 && only.member === undefined && isExact(only))
    return { kind: "single", condition: renderPrefix(table, only, onRow()) };
  const query = paths
    .map((path) => renderPath(table, view, path, upTo))
    .join("\n      union all\n");
  return { kind: "merged", query };
}

/** A walk of an alternative, as `rowhouse.merged_rows` reads it. */
export type RuleWalk = {
  /** Empty: the primary key. */
  readonly index: string;
  /** Whether the person reads each of its rows. */
  readonly isExact: boolean;
  /** A query of the references of the person's memberships, for each of which the walk is. */
  readonly references: string | undefined;
  readonly rows: string;
};

/**
 * The walks, in the order of ids, that have all rows that the person reads, and rows that only the rest of an alternative removes.
 * `undefined`: the person reads all rows, or an alternative has no index.
 */
export function listRuleWalks(table: ServedSet, who: string): readonly RuleWalk[] | undefined {
  const { view } = table;
  const paths = listRulePaths(table);
  if (view === undefined || paths === undefined) return undefined;
  return paths.map((path) => ({
    isExact: isExact(path),
    index: path.index,
    references: renderReferences(view, path, who),
    rows: `from ${renderRows(table, path, onRow("$t", who))}`,
  }));
}

/** The conditions of a prefix, with ` and ` before each. */
function renderPrefix(table: ServedSet, { prefix, member, isOwn }: RulePath, place: Place): string {
  const own = Object.entries(prefix ?? {}).filter(([name]) => name !== member?.column);
  const app = `${place.valueOf("app_id")} = ${quoteLiteral(table.view?.app ?? "")}::uuid`;
  const condition = renderRule(table, [Object.fromEntries(own)], place);
  return [
    ...(isOwn ? [app] : []),
    ...(condition === "true" ? [] : [condition]),
    ...(member === undefined ? [] : [`${place.valueOf(member.column)} = "$m"."$ref"`]),
  ]
    .map((each) => ` and ${each}`)
    .join("");
}

function renderPath(table: ServedSet, view: View, path: RulePath, upTo: string): string {
  const walk = renderWalk(table, path, upTo);
  const references = renderReferences(view, path, WHO);
  if (references === undefined) return `(${walk})`;
  return `(select "$w"."id", "$w"."$state", "$w"."$size", "$w"."$cut" from (${references}) as "$m"
      cross join lateral (${walk}) as "$w")`;
}

type IdRange = { readonly condition: string; readonly way: string; readonly limit: string };

/** The first ids of walks, in order, of the rows that a condition on "$t" leaves. */
export function renderMergedIds(
  walks: readonly RuleWalk[],
  { condition, way, limit }: IdRange,
): string {
  const list = walks.map(({ references, rows }) => {
    const ids = `select "$t"."id" ${rows} and ${condition} order by "$t"."id"${way} limit ${limit}`;
    return references === undefined
      ? `(${ids})`
      : `(select "$w"."id" from (${references}) as "$m" cross join lateral (${ids}) as "$w")`;
  });
  return `select distinct "$w"."id" from (${list.join("\n      union all\n      ")}) as "$w" order by "$w"."id"${way} limit ${limit}`;
}

const REFERENCE = "$ref";

/** Each reference once: two memberships in a team would walk it twice. */
function renderReferences(view: View, { member }: RulePath, who: string): string | undefined {
  if (member === undefined || !isMemberOf(member.match)) return undefined;
  const { memberOf, where = {} } = member.match;
  const target = ownValue(view.references, member.column);
  const { person, reference } = membershipOf(view, memberOf, target);
  const columns = ownValue(view.others, memberOf)?.columns ?? [];
  const members = { name: memberOf, columns, view };
  return `select distinct "$o"."${REFERENCE}" from (
        select "$m".${quoteName(reference)} as "${REFERENCE}" from data.${quoteName(memberOf)} as "$m"
        where "$m"."app_id" = ${APP} and "$m".${quoteName(person)} = ${who}${renderWhere(members, where, onRow("$m", who))}) as "$o"`;
}

function renderWhere(members: ColumnSet, where: Alternative, place: Place): string {
  const condition = renderRule(members, [where], place);
  return condition === "true" ? "" : ` and ${condition}`;
}

function renderWalk(table: ServedSet, path: RulePath, upTo: string): string {
  const whole = {
    id: `"$t"."id"`,
    state: `${ROW_STATE} as "$state"`,
    size: `${rowSize(table, "$t")} as "$size"`,
  };
  const rows = (alias: string) => renderRows(table, path, onRow(alias), alias);
  if (isExact(path))
    return `select ${whole.id}, ${whole.state}, ${whole.size}, false as "$cut" from ${rows("$t")}
      order by "$t"."id" limit ${upTo}`;
  const columns = ["id", "app_id", ...table.columns.map(({ name }) => name), "xmin", "ctid"];
  const [inner, outer] = path.isOrdered ? [`order by "$b"."id" `, `order by "$s"."id"`] : ["", ""];
  const visited = `select ${columns.map((name) => `"$b".${quoteName(name)}`).join(", ")} from ${rows("$b")}
        ${inner}limit ${MAX_VISITS + 1}`;
  const isCut = `"$t"."$nth" > ${MAX_VISITS}`;
  // Without an order, no row before the cut is certain: the cut is before all rows.
  const found = path.isOrdered
    ? whole
    : { ...whole, id: `case when ${isCut} then '${BEFORE_ALL}'::uuid else "$t"."id" end as "id"` };
  return `select ${found.id}, ${found.state}, ${found.size}, ${isCut} as "$cut"
      from (select "$s".*, row_number() over (${outer}) as "$nth" from (${visited}) as "$s") as "$t"
      where ${isCut} or (${renderRule(table, [path.rest], onRow())})
      order by ${path.isOrdered ? '"$t"."id"' : "1"} limit ${upTo}`;
}

/** The rows of a walk. */
function renderRows(table: ServedSet, path: RulePath, place: Place, alias = "$t"): string {
  return `data.${quoteName(table.name)} as "${alias}"
        where "${alias}"."app_id" = ${APP}${renderPrefix(table, path, place)}`;
}

/** An id before that of every row. */
const BEFORE_ALL = "00000000-0000-0000-0000-000000000000";
