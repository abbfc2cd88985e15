/**
 * How a list finds the rows that a person reads, in the order of ids: each alternative of the rule is a walk along its own index. A
 * walk visits a limited number of rows: rows that the rest of an alternative removes would otherwise make a list read the whole table.
 *
 * @see list_body.ts
 * @module
 */

import { quoteLiteral, quoteName } from "../../db/mod.ts";
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
import { MAX_VISITS } from "../../std/limits.ts";
import {
  type ColumnSet,
  deriveName,
  type FunctionSite,
  formAt,
  type IndexForm,
  membershipOf,
  placeholdersOf,
  type ServedSet,
  type View,
  type Walk,
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
  const paths = read.map((alternative) => findPath(table, view, form, alternative));
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
  const { read = [] } = view ?? {};
  if (view === undefined || read.length === 0 || allowsAll(read)) return undefined;
  const paths = read.map((alternative) => findPath(table, view, "search", alternative));
  if (paths.some(({ prefix, isOrdered }) => prefix === undefined || !isOrdered)) return undefined;
  return paths.map((path) => ({
    index: path.index,
    references: renderReferences(view, path, who),
    rows: `from ${renderRows(table, path, onRow("$t", who))}`,
  }));
}

/** An alternative as a walk: its conditions in the index, and the rest. */
type Path = {
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
function isExact({ prefix, rest, isOrdered }: Path): boolean {
  return prefix !== undefined && isOrdered && Object.keys(rest).length === 0;
}

function findPath(table: ServedSet, view: View, form: IndexForm, alternative: Alternative): Path {
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

/** The conditions of a prefix, with ` and ` before each. */
function renderPrefix(table: ServedSet, { prefix, member, isOwn }: Path, place: Place): string {
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

function renderPath(table: ServedSet, view: View, path: Path, upTo: string): string {
  const walk = renderWalk(table, path, upTo);
  const references = renderReferences(view, path, WHO);
  if (references === undefined) return `(${walk})`;
  return `(select "$w"."id", "$w"."$state", "$w"."$size", "$w"."$cut" from (${references}) as "$m"
      cross join lateral (${walk}) as "$w")`;
}

const REFERENCE = "$ref";

/** Each reference once: two memberships in a team would walk it twice. */
function renderReferences(view: View, { member }: Path, who: string): string | undefined {
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

function renderWalk(table: ServedSet, path: Path, upTo: string): string {
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
function renderRows(table: ServedSet, path: Path, place: Place, alias = "$t"): string {
  return `data.${quoteName(table.name)} as "${alias}"
        where "${alias}"."app_id" = ${APP}${renderPrefix(table, path, place)}`;
}

/** An id before that of every row. */
const BEFORE_ALL = "00000000-0000-0000-0000-000000000000";
