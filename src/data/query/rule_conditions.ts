/**
 * The rule of a person as conditions of a query. The database applies the rule, whatever the process asks for: these conditions only
 * let the planner choose an index of the rule. Pure.
 *
 * @module
 */

import { isPerson } from "../../kinds/mod.ts";
import type { Person } from "../../principal.ts";
import {
  type Alternative,
  allowsAll,
  isMemberOf,
  isReadable,
  type Match,
  ME,
  ownValue,
  type RuleValue,
} from "../../schema/mod.ts";
import {
  hasExactWalks,
  indexesOf,
  keysOf,
  listRulePaths,
  type RecordedTable,
  serveSet,
} from "../../tables/catalog/mod.ts";
import { type Comparison, type Condition, ID, type QueryColumn } from "./filter.ts";
import type { ListQuery } from "./list_query.ts";

type Definition = Pick<RecordedTable["definition"], "columns" | "served">;

/** What every row that the person sees fulfills, of columns that the person sees: of a rule with one alternative. */
export function toRuleConditions(
  { columns, served }: Definition,
  person: Person | undefined,
): readonly Condition[] {
  const [only, ...others] = served?.view.read ?? [];
  if (person === undefined || only === undefined || others.length > 0) return [];
  return toConditions(only, columns, person).filter((condition) => condition !== undefined);
}

/** Whether a rule can hide rows of the table from the person. */
export function isRuled(
  { served }: Pick<Definition, "served">,
  person: Person | undefined,
): boolean {
  return person !== undefined && !allowsAll(served?.view.read);
}

/** The conditions of a query with those of the rule, each once. */
export function withRule(
  where: readonly Condition[],
  rule: readonly Condition[],
): readonly Condition[] {
  return [...where, ...rule.filter((each) => !where.some((other) => isSame(each, other)))];
}

/** Whether the person sees every row that fulfills the conditions. */
export function isSeen(
  { columns, served }: Definition,
  person: Person | undefined,
  where: readonly Condition[],
): boolean {
  if (person === undefined) return true;
  const { read = [] } = served?.view ?? {};
  if (allowsAll(read)) return true;
  return read.some((alternative) =>
    toConditions(alternative, columns, person).every(
      (each) => each !== undefined && where.some((other) => isSame(each, other)),
    ),
  );
}

/**
 * The query whose rows are those of a walk of the rule, in the order of ids, without the conditions of the rule. `undefined`: no walk
 * has exactly the rows that the person sees, or the query has other conditions.
 */
export function toWalkOfRule<Query extends Pick<ListQuery, "where" | "order">>(
  { definition, whole }: RecordedTable,
  person: Person | undefined,
  query: Query,
): Query | undefined {
  const { served } = definition;
  const rule = toRuleConditions(definition, person);
  const where = query.where.filter((condition) => !rule.some((each) => isSame(each, condition)));
  const isById =
    query.order[0]?.column.name === ID.name &&
    where.every((condition) => "column" in condition && condition.column.name === ID.name);
  const isWalk = served !== undefined && isById && hasExactWalks(serveSet(served, whole));
  return isWalk ? { ...query, where } : undefined;
}

/** Whether the person reads all rows, or a list walks along indexes of the rule. */
export function isRuleWalked(
  { definition: { served }, whole }: RecordedTable,
  person: Person | undefined,
): boolean {
  if (person === undefined || served === undefined || allowsAll(served.view.read)) return true;
  return listRulePaths(serveSet(served, whole)) !== undefined;
}

/** Whether the person reads all rows, or an index begins with a column of each alternative of the rule. */
export function isRuleIndexed(
  { definition: { served }, whole }: RecordedTable,
  person: Person | undefined,
): boolean {
  if (person === undefined || served === undefined || allowsAll(served.view.read)) return true;
  const { app, read = [] } = served.view;
  const firsts = [...keysOf(whole), ...indexesOf(whole)]
    .filter(({ appId }) => appId === undefined || appId === app)
    .flatMap(({ columns }) => columns.slice(0, 1));
  return read.every((alternative) =>
    [ID.name, ...firsts].some((name) => {
      const match = ownValue(alternative, name);
      return match !== undefined && !isReadable(match);
    }),
  );
}

function toConditions(
  alternative: Alternative,
  columns: Definition["columns"],
  person: Person,
): (Comparison | undefined)[] {
  return Object.entries(alternative).map(([name, match]) => {
    const column = [ID, ...columns].find((known) => known.name === name);
    return column && toCondition(column, match, person);
  });
}

/** `undefined` if no condition of a query says the same. */
function toCondition(column: QueryColumn, match: Match, { id }: Person): Comparison | undefined {
  if (isMemberOf(match) || isReadable(match)) return undefined;
  if (match === null) return { op: "null", column, values: [] };
  if (match === ME && isPerson(column)) return { op: "eq", column, values: [id] };
  if (isList(match)) return { op: "in", column, values: match.map(String) };
  return { op: "eq", column, values: [String(match)] };
}

function isList(match: Match): match is readonly RuleValue[] {
  return Array.isArray(match);
}

function isSame(one: Comparison | Condition, other: Condition): boolean {
  if ("of" in one || "of" in other || one.op === "referenced") return false;
  return (
    one.op === other.op &&
    one.column.name === other.column.name &&
    one.values.join("\n") === other.values.join("\n")
  );
}
