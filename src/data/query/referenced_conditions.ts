/**
 * Conditions on the row of a reference: `project.vendor=eq.…`. The rows that meet them are a set of ids, in which the reference
 * must be. Pure.
 *
 * @module
 */

import type { RecordedTable } from "../../tables/catalog/mod.ts";
import type { Condition, Referenced } from "./filter.ts";

/**
 * The same conditions with one condition for each reference, and without negations of them: those are on the referenced row. A
 * reference has at most one row, so conditions on it can be joined, and without a row no condition or negation is true.
 *
 * @param op how the conditions are joined
 */
export function joinReferenced(op: "and" | "or", conditions: readonly Condition[]): Condition[] {
  if (!conditions.some(hasReferenced)) return [...conditions];
  const positive = conditions.map(toPositive);
  const references = Map.groupBy(positive.filter(isReferenced), ({ column }) => column.name);
  return [
    ...positive.filter((condition) => !isReferenced(condition)),
    ...[...references.values()].flatMap(([first, ...others]) =>
      first === undefined ? [] : [{ ...first, where: joinWhere(op, [first, ...others]) }],
    ),
  ];
}

function joinWhere(op: "and" | "or", conditions: readonly Referenced[]): Condition[] {
  if (op === "and" || conditions.length === 1)
    return joinReferenced(
      "and",
      conditions.flatMap(({ where }) => where),
    );
  return joinReferenced("and", [{ op, of: conditions.map(({ where }) => toGroup("and", where)) }]);
}

function isReferenced(condition: Condition): condition is Referenced {
  return condition.op === "referenced";
}

function hasReferenced(condition: Condition): boolean {
  return isReferenced(condition) || ("of" in condition && condition.of.some(hasReferenced));
}

function toPositive(condition: Condition): Condition {
  if (!("of" in condition) || !hasReferenced(condition)) return condition;
  if (condition.op !== "not")
    return toGroup(condition.op, joinReferenced(condition.op, condition.of));
  return toPositive(negate(condition.of[0]));
}

/** A group of one condition is that condition. */
function toGroup(op: "and" | "or", of: readonly Condition[]): Condition {
  const [only] = of.length === 1 ? of : [];
  return only ?? { op, of };
}

/** The negation, which is only of conditions on the row itself. */
function negate(condition: Condition): Condition {
  if (isReferenced(condition))
    return { ...condition, where: [toGroup("or", condition.where.map(negate))] };
  if (!hasReferenced(condition) || !("of" in condition)) return { op: "not", of: [condition] };
  if (condition.op === "not") return condition.of[0];
  return { op: condition.op === "and" ? "or" : "and", of: condition.of.map(negate) };
}

/** A condition on a referenced row, and the path of its reference: `project.vendor`. */
export type ReferencedAt = { readonly path: string; readonly condition: Referenced };

/** All conditions on referenced rows, the inner ones of each after it. */
export function listReferenced(where: readonly Condition[], parent = ""): ReferencedAt[] {
  return listOwnReferenced(where).flatMap((condition) => {
    const path = `${parent}${condition.column.name}`;
    return [{ path, condition }, ...listReferenced(condition.where, `${path}.`)];
  });
}

export function listOwnReferenced(where: readonly Condition[]): Referenced[] {
  return where.flatMap((condition) => {
    if (isReferenced(condition)) return [condition];
    return "of" in condition ? listOwnReferenced(condition.of) : [];
  });
}

/** The tables whose functions find the referenced rows. */
export function listSetTables(where: readonly Condition[]): RecordedTable[] {
  return listReferenced(where).map(({ condition }) => condition.table);
}
