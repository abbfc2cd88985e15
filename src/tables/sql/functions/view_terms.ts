/**
 * The terms that the caller's rights add to a function's body: which rows the caller reads, and what a change must fulfill. An API
 * key has every right, so its terms are empty or `true`. A rule is compared with `"$who"` in the statement itself: no condition
 * contains a role.
 *
 * Terms are plain SQL for `qualify()`. Aliases of the tables that rules reach are `"$o1"` and so on, by depth.
 *
 * @see ../../catalog/views.ts
 * @module
 */

import { quoteLiteral, quoteName } from "../../../db/mod.ts";
import { isPerson } from "../../../kinds/mod.ts";
import {
  type Alternative,
  allowsAll,
  isMemberOf,
  isReadable,
  type Match,
  ME,
  ownValue,
  type Rule,
  type RuleValue,
} from "../../../schema/mod.ts";
import {
  type ColumnSet,
  deriveName,
  membershipOf,
  placeholdersOf,
  type Rights,
  type ViewColumn,
  withoutTrue,
} from "../../catalog/mod.ts";
import { sqlType } from "../../plan/step.ts";

/** The variable with the id of the person who calls. */
export const WHO = '"$who"';

/** The app is the first parameter of every function. */
const APP = placeholdersOf("get").app;

const EVERYTHING: Rights = {
  ...{ read: [{}], create: [{}], update: { from: [{}], to: [{}] }, delete: [{}] },
  ...{ owner: [], hidden: [], fixed: [], references: {}, others: {} },
};

/** What the caller of the functions may do: a view, or everything. */
export function rightsOn({ view }: ColumnSet): Rights {
  return view ?? EVERYTHING;
}

export function shownColumns(table: ColumnSet): ColumnSet["columns"] {
  const { hidden } = rightsOn(table);
  return table.columns.filter(({ name }) => !hidden.includes(name));
}

/** Whether the service fills the column with the person who calls. */
export function isOwner(table: ColumnSet, { name }: { readonly name: string }): boolean {
  return rightsOn(table).owner.includes(name);
}

/** Where a rule is compared: the person, and the values of the columns. */
export type Place = {
  readonly who: string;
  readonly valueOf: (column: string) => string;
};

/** The row of an alias, without its quotation marks. */
export function onRow(alias = "$t", who = WHO): Place {
  return { who, valueOf: (column) => `"${alias}".${quoteName(column)}` };
}

export type RuleName = "read" | "create" | "from" | "to" | "delete";

function findRule(
  { read, create, update, delete: remove }: Rights,
  name: RuleName,
): Rule | undefined {
  return { read, create, from: update?.from, to: update?.to, delete: remove }[name];
}

/** Whether the caller has a right, as a condition that is true, false or null. A rule that a view does not have is false. */
export function isAllowed(table: ColumnSet, name: RuleName, place: Place = onRow()): string {
  return renderRule(table, findRule(rightsOn(table), name), place);
}

export function isVisible(table: ColumnSet, alias = "$t", who = WHO): string {
  return isAllowed(table, "read", onRow(alias, who));
}

/** The condition of {@linkcode isAllowed} after another one, with ` and `; empty if it is always true. */
export function andAllowed(table: ColumnSet, name: RuleName, place: Place = onRow()): string {
  const condition = isAllowed(table, name, place);
  return condition === "true" ? "" : ` and (${condition})`;
}

/** The condition that the caller reads the row of an alias, after another one; empty if the caller reads every row. */
export function andVisible(table: ColumnSet, alias = "$t", who = WHO): string {
  return andAllowed(table, "read", onRow(alias, who));
}

/** What every new row of the caller fulfills: an owner column has the caller's id. */
export function isTrueOfNew({ owner }: Rights): (column: string, match: Match) => boolean {
  return (column, match) => match === ME && owner.includes(column);
}

/** Whether a rule holds on a new row of the caller, whose owner columns are filled. */
export function isAllowedNew(table: ColumnSet, name: RuleName, place: Place): string {
  const rights = rightsOn(table);
  const rule = findRule(rights, name);
  if (rule === undefined) return "false";
  const left = withoutTrue(rule, isTrueOfNew(rights));
  return left === undefined ? "true" : renderRule(table, left, place);
}

/** A rule of the table itself as a condition; `true` for every row, `false` without a rule. */
export function renderRule(table: ColumnSet, rule: Rule | undefined, place: Place): string {
  const { name, columns } = table;
  const rights = rightsOn(table);
  const { references } = rights;
  const known = columns.map((column): ViewColumn => {
    const target = ownValue(references, column.name);
    return { name: column.name, kind: column.kind, ...(target ? { table: target } : {}) };
  });
  return renderRuleOf({ rights, name, columns: known, depth: 0, path: [name] }, rule, place);
}

type Compared = {
  readonly rights: Rights;
  readonly name: string;
  readonly columns: readonly ViewColumn[];
  readonly depth: number;
  /** The tables whose rules led to this one. */
  readonly path: readonly string[];
};

function renderRuleOf(table: Compared, rule: Rule | undefined, place: Place): string {
  if (allowsAll(rule)) return "true";
  const parts = (rule ?? []).map((each) => renderAlternative(table, each, place));
  if (parts.length === 0) return "false";
  const [only = "", ...others] = parts;
  return others.length === 0 ? only : parts.map((part) => `(${part})`).join(" or ");
}

function renderAlternative(table: Compared, alternative: Alternative, place: Place): string {
  const parts = Object.entries(alternative).map(([column, match]) =>
    renderMatch(table, { column, match }, place),
  );
  return parts.length === 0 ? "true" : parts.join(" and ");
}

const ID: ViewColumn = { name: "id", kind: "uuid" };

type ColumnMatch = { readonly column: string; readonly match: Match };

function renderMatch(table: Compared, { column: named, match }: ColumnMatch, place: Place): string {
  const column = [ID, ...table.columns].find(({ name }) => name === named);
  if (column === undefined) throw new Error(`The table ${table.name} has no column ${named}`);
  const value = place.valueOf(named);
  if (isMemberOf(match)) return renderMembership(table, { column, match, value }, place);
  if (isReadable(match)) return renderReadable(table, column, { ...place, value });
  if (match === null) return `${value} is null`;
  if (match === ME && isPerson(column)) return `${value} = ${place.who}`;
  const type = sqlType(table, column);
  const literal = (each: RuleValue) =>
    `${quoteLiteral(typeof each === "string" ? each : JSON.stringify(each))}::${type}`;
  if (!isList(match)) return `${value} = ${literal(match)}`;
  return `${value} = any (array[${match.map(literal).join(", ")}])`;
}

function isList<Value>(match: Value | readonly Value[]): match is readonly Value[] {
  return Array.isArray(match);
}

type Membership = {
  readonly column: ViewColumn;
  readonly match: { readonly memberOf: string; readonly where?: Alternative };
  readonly value: string;
};

/** The rules of the table of memberships do not apply: otherwise a rule could follow itself. */
function renderMembership(table: Compared, { column, match, value }: Membership, place: Place) {
  const { person, reference } = membershipOf(table.rights, match.memberOf, column.table);
  const alias = `$o${table.depth + 1}`;
  const members = toOther(table, match.memberOf);
  const where = renderAlternative(members, match.where ?? {}, onRow(alias, place.who));
  return `exists (select from data.${quoteName(match.memberOf)} as "${alias}" where "${alias}"."app_id" = ${APP}
      and "${alias}".${quoteName(person)} = ${place.who} and "${alias}".${quoteName(reference)} = ${value}${where === "true" ? "" : ` and ${where}`})`;
}

/** Whether the person reads the referenced row. */
function renderReadable(
  table: Compared,
  { name, table: target }: ViewColumn,
  { who, value }: { readonly who: string; readonly value: string },
): string {
  if (target === undefined) throw new Error(`${table.name}.${name} is no reference`);
  const rule = ownValue(table.rights.others, target)?.read;
  if (rule === undefined) return "false";
  // The reference proves that the row exists.
  if (allowsAll(rule)) return `${value} is not null`;
  const other = toOther(table, target);
  if (table.path.filter((each) => each === target).length > 1)
    throw new Error(`The rules of ${target} follow themselves`);
  const alias = `$o${other.depth}`;
  return `exists (select from data.${quoteName(target)} as "${alias}" where "${alias}"."app_id" = ${APP}
      and "${alias}"."id" = ${value} and (${renderRuleOf(other, rule, onRow(alias, who))}))`;
}

function toOther({ rights, depth, path }: Compared, name: string): Compared {
  const columns = ownValue(rights.others, name)?.columns ?? [];
  return { rights, name, columns, depth: depth + 1, path: [...path, name] };
}

/** A reference of the table whose target the caller may not read. */
type CheckedReference = {
  readonly column: string;
  readonly constraint: string;
  /** Whether the caller reads the referenced row, of a value that is not null. */
  readonly isReadable: (place: Place) => string;
};

/** The references that a write must check. A reference to a table whose rows the caller all reads is checked by its constraint. */
export function checkedReferences(table: ColumnSet): CheckedReference[] {
  const { name } = table;
  const { others, references } = rightsOn(table);
  return Object.entries(references).flatMap(([column, target]) => {
    if (!table.columns.some((own) => own.name === column)) return [];
    if (allowsAll(ownValue(others, target)?.read)) return [];
    const rule: Rule = [{ [column]: { readable: true } }];
    return {
      column,
      constraint: deriveName(name, [column], "fkey"),
      isReadable: (place: Place) => renderRule(table, rule, place),
    };
  });
}

/** The columns that the caller cannot set. A new row can name the caller as its owner. */
export function closedColumns(table: ColumnSet, isNew: boolean): string[] {
  const { hidden, fixed, owner } = rightsOn(table);
  const isClosed = (name: string) =>
    hidden.includes(name) || (fixed.includes(name) && !(isNew && owner.includes(name)));
  return table.columns.map(({ name }) => name).filter(isClosed);
}

/** Whether one of these rules reaches the table itself, so that a write of its rows can change for whom it holds. */
export function readsItself(table: ColumnSet, names: readonly RuleName[] = ["read"]): boolean {
  const { name } = table;
  const follows = (rule: Rule | undefined, seen: readonly string[]): boolean =>
    (rule ?? []).some((alternative) =>
      Object.values(alternative).some((match) => {
        if (isMemberOf(match)) return match.memberOf === name || follows([match.where ?? {}], seen);
        return isReadable(match);
      }),
    );
  return names.some((rule) => follows(findRule(rightsOn(table), rule), []));
}
