/** The parameters of calls with conditions, an order or a selection. @module */

import { type Parameter, toOrder, toSelect } from "./related.ts";
import type { AnyQuery } from "./table_client.ts";
import { type ColumnTest, type Test, toTest } from "./where.ts";

/** The parameters of a query string. @throws {TypeError} a condition or selection that the service cannot read */
export function toQueryParameters({
  where,
  orderBy,
  select,
}: Pick<AnyQuery, "where" | "orderBy" | "select">): Parameter[] {
  const parameters = toConditionParameters(where ?? {});
  if (select !== undefined) {
    const options: Parameter[] = [];
    parameters.push(["select", toSelect(select, options)], ...options);
  }
  const order = toOrder(orderBy);
  if (order !== "") parameters.push(["order", order]);
  return parameters;
}

type GroupParts = Pick<AnyQuery, "where" | "signal" | "timeoutMs">;

/** The parameters of groups. All other options are parameters, because the service must reject unknown ones. */
export function toGroupQuery({ signal, timeoutMs, where, ...lists }: GroupParts): Parameter[] {
  const reserved = [...PARAMETERS, "by", "sum", "avg", "min", "max"];
  const named = toParameters(lists).filter(([, columns]) => columns !== "");
  return [...toConditionParameters(where ?? {}, reserved), ...named];
}

function toParameters(named: object): Parameter[] {
  return Object.entries(named).flatMap(([name, value]): Parameter[] =>
    value === undefined ? [] : [[name, `${value}`]],
  );
}

type ManyParts = Pick<AnyQuery, "where" | "limit"> & {
  readonly all?: true | undefined;
  readonly dryRun?: boolean | undefined;
};

/**
 * The parameters of an update or a delete with conditions.
 *
 * @throws {TypeError} no conditions, or an undefined value in them: it would select more rows than the caller means
 */
export function toManyQuery({ where, all, limit, dryRun }: ManyParts, call: string): Parameter[] {
  const conditions = toConditionParameters(where ?? {}, [...PARAMETERS, "all", "dryRun"]);
  if (hasUndefined(where) || (conditions.length === 0 && all !== true))
    throw new TypeError(
      `${call}: Cannot write rows without a condition, or with an undefined value in one: set where, or all: true`,
    );
  return [...conditions, ...toParameters({ all, limit, dryRun })];
}

function hasUndefined(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some((part) => part === undefined || hasUndefined(part));
}

/** Parameters that do not name a column. */
const PARAMETERS: readonly string[] = [
  "select",
  "order",
  "limit",
  "offset",
  "after",
  "and",
  "or",
  "not.and",
  "not.or",
];

/** The conditions as parameters of a query string. A column with the name of a parameter is in a group. */
export function toConditionParameters(where: object, reserved = PARAMETERS): Parameter[] {
  return toTest(where).of.map((test): Parameter => {
    const [name, , text] = toParts(test, (value) => value, reserved);
    return [name, text];
  });
}

/** A group of one condition is that condition. */
function simplify(test: Test): Test {
  const [only] = "of" in test && test.op !== "not" && test.of.length === 1 ? test.of : [];
  return only === undefined ? test : simplify(only);
}

function toItems(tests: readonly Test[]): string {
  return `(${tests.map((test) => toParts(test, quoteValue).join("")).join(",")})`;
}

/** The column or the operator of a group, what separates it, and its comparison or its items. */
function toParts(
  test: Test,
  show: (text: string) => string,
  reserved: readonly string[] = [],
): [name: string, separator: string, text: string] {
  const inner = simplify(test);
  const isNegated = inner.op === "not";
  const subject = isNegated ? simplify(inner.of[0]) : inner;
  const not = isNegated ? "not." : "";
  if ("column" in subject && !reserved.includes(subject.column))
    return [subject.column, ".", `${not}${toComparison(subject, show)}`];
  return "of" in subject && subject.op !== "not"
    ? [`${not}${subject.op}`, "", toItems(subject.of)]
    : [`${not}and`, "", toItems([subject])];
}

function toComparison(test: ColumnTest, show: (text: string) => string): string {
  if (test.op === "is") return "is.null";
  if (test.op === "in")
    return `in.(${test.values.map((value) => quoteValue(`${value}`)).join(",")})`;
  return `${test.op}.${show(`${test.value}`)}`;
}

function quoteValue(text: string): string {
  return /^[^,()"]+$/.test(text) ? text : `"${text.replaceAll(/["\\]/g, "\\$&")}"`;
}
