/** Conditions of a list: their types and their tree. @module */

type Scalar = string | number | boolean;

type Equality<V> = { readonly eq?: V; readonly neq?: V; readonly in?: readonly V[] };
type Ranges<V> = { readonly lt?: V; readonly lte?: V; readonly gt?: V; readonly gte?: V };
/** `*` matches any characters; `ilike` ignores the case of letters, in every alphabet. */
type Patterns = { readonly like?: string; readonly ilike?: string };
type NullTest<V> = null extends V ? { readonly is?: null } : unknown;

type ValueTests<V> = Equality<V> &
  (V extends boolean ? unknown : Ranges<V>) &
  (string extends V ? Patterns : unknown);
type Tests<V> =
  NonNullable<V> extends Scalar ? ValueTests<NonNullable<V>> & NullTest<V> : NullTest<V>;

/** The comparison of a column: a value, or an object of comparisons that must all be true. */
export type Comparisons<V> = Tests<V> & { readonly not?: Tests<V> };

type Comparable<V> =
  NonNullable<V> extends Scalar
    ? V | Comparisons<V>
    : null extends V
      ? null | Comparisons<V>
      : never;

/** Names with a special meaning in conditions. */
type Reserved = "app_id" | "and" | "or" | "not";

/** Conditions on the columns of a row, which must all be true. A comparison with null is never true, as in SQL. */
export type Where<Row> = {
  readonly [C in keyof Row as C extends Reserved ? never : C]?: Comparable<Row[C]>;
} & {
  readonly and?: readonly Where<Row>[];
  readonly or?: readonly Where<Row>[];
  readonly not?: Where<Row>;
};

export type Test =
  | { readonly op: "and" | "or"; readonly of: readonly Test[] }
  | { readonly op: "not"; readonly of: readonly [Test] }
  | { readonly op: "is"; readonly column: string }
  | { readonly op: "in"; readonly column: string; readonly values: readonly Scalar[] }
  | { readonly op: ValueOperator; readonly column: string; readonly value: Scalar };
type ValueOperator = (typeof VALUE_OPERATORS)[number];
export type ColumnTest = Extract<Test, { column: string }>;

const VALUE_OPERATORS = ["eq", "neq", "lt", "lte", "gt", "gte", "like", "ilike"] as const;

/** The tree of conditions. @throws {TypeError} the value is not a condition */
export function toTest(where: object): Test & { readonly op: "and" } {
  const of = Object.entries(where)
    .filter(([, asked]) => asked !== undefined)
    .flatMap(([name, asked]): Test[] => {
      if (name === "and") return toTests(name, asked);
      if (name === "or") return [{ op: "or", of: toTests(name, asked) }];
      if (name === "not") return [{ op: "not", of: [toTest(readObject(name, asked))] }];
      return toColumnTests(name, asked);
    });
  return { op: "and", of };
}

function toTests(name: string, list: unknown): Test[] {
  if (!Array.isArray(list))
    throw new TypeError(`Cannot use "${name}": must be a list of conditions`);
  const tests = list.map((where: unknown) => toTest(readObject(name, where)));
  if (tests.some(({ of }) => of.length === 0) || (name === "or" && tests.length === 0))
    throw new TypeError(`Cannot use "${name}": each of its conditions must name a column`);
  return tests;
}

function readObject(name: string, value: unknown): object {
  if (typeof value === "object" && value !== null) return value;
  throw new TypeError(`Cannot use "${name}": must contain objects of conditions`);
}

function toColumnTests(column: string, asked: unknown): Test[] {
  if (asked === null) return [{ op: "is", column }];
  if (typeof asked !== "object") return [{ op: "eq", column, value: readScalar(column, asked) }];
  return Object.entries(asked)
    .filter(([, value]) => value !== undefined)
    .map(([op, value]: [string, unknown]): Test => {
      if (op === "not")
        return { op, of: [{ op: "and", of: toColumnTests(column, readObject(op, value)) }] };
      if (op === "is" && value === null) return { op, column };
      if (op === "in" && Array.isArray(value))
        return { op, column, values: value.map((item: unknown) => readScalar(column, item)) };
      if (isValueOperator(op)) return { op, column, value: readScalar(column, value) };
      throw new TypeError(`Cannot compare "${column}" by "${op}": unknown comparison`);
    });
}

function isValueOperator(op: string): op is ValueOperator {
  return VALUE_OPERATORS.some((operator) => operator === op);
}

function readScalar(column: string, value: unknown): Scalar {
  const isScalar =
    typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
  if (isScalar) return value as Scalar;
  throw new TypeError(
    `Cannot compare "${column}" with ${typeof value === "number" ? value : `a value of type ${typeof value}`}: must be a string, a finite number or a boolean`,
  );
}
