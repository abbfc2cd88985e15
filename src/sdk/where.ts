/** Conditions of a list: their types and their tree. @module */

import type { Below, Depth, RowOf, TargetOf } from "./select.ts";

type Scalar = string | number | boolean;

type Equality<V> = { readonly eq?: V; readonly neq?: V; readonly in?: readonly V[] };
type Ranges<V> = { readonly lt?: V; readonly lte?: V; readonly gt?: V; readonly gte?: V };
/** `*` matches any characters, `\*` only itself; `ilike` ignores the case of letters, in every alphabet. */
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

/** In conditions on a reference, a comparison rather than a column of its row. */
type Compared = keyof (Equality<unknown> & Ranges<unknown> & Patterns & NullTest<null>);

/**
 * Conditions on the columns of a row, which must all be true. A comparison with null is never true, as in SQL. With the types
 * of the app's `Tables`, conditions of a reference can be on its row: `{ project: { vendor: id } }`.
 */
export type Where<Row, Tables = unknown, D extends Depth = 2, Names = Reserved> = {
  readonly [C in keyof Row as C extends Names ? never : C]?:
    | Comparable<Row[C]>
    | WhereReferenced<Tables, TargetOf<Row[C]>, D>;
} & {
  readonly and?: readonly Where<Row, Tables, D, Names>[];
  readonly or?: readonly Where<Row, Tables, D, Names>[];
  readonly not?: Where<Row, Tables, D, Names>;
};

type WhereReferenced<Tables, Name, D extends Depth> = D extends 0
  ? never
  : Name extends keyof Tables
    ? Where<RowOf<Tables, Name>, Tables, Below[D], Reserved | Compared>
    : never;

export type Test =
  | { readonly op: "and" | "or"; readonly of: readonly Test[] }
  | { readonly op: "not"; readonly of: readonly [Test] }
  // The column of a referenced row has a path: `project.name`.
  | { readonly op: "is"; readonly column: string }
  | { readonly op: "in"; readonly column: string; readonly values: readonly Scalar[] }
  | { readonly op: ValueOperator; readonly column: string; readonly value: Scalar };
type ValueOperator = (typeof VALUE_OPERATORS)[number];
export type ColumnTest = Extract<Test, { column: string }>;

const VALUE_OPERATORS = ["eq", "neq", "lt", "lte", "gt", "gte", "like", "ilike"] as const;

type Group = Test & { readonly op: "and" };

/** The tree of conditions. @throws {TypeError} the value is not a condition */
export function toTest(where: object): Group {
  const of = Object.entries(where)
    .filter(([, asked]) => asked !== undefined)
    .flatMap(([name, asked]) => toGroup(name, asked, toTest) ?? toColumnTests(name, asked));
  return { op: "and", of };
}

/** `undefined`: the name is of a column. */
function toGroup(name: string, asked: unknown, read: (where: object) => Group): Test[] | undefined {
  if (name === "and") return toTests(name, asked, read);
  if (name === "or") return [{ op: "or", of: toTests(name, asked, read) }];
  if (name === "not") return [{ op: "not", of: [read(readObject(name, asked))] }];
  return undefined;
}

function toTests(name: string, list: unknown, read: (where: object) => Group): Test[] {
  if (!Array.isArray(list))
    throw new TypeError(`Cannot use "${name}": must be a list of conditions`);
  const tests = list.map((where: unknown) => read(readObject(name, where)));
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
  if (typeof asked !== "object" || Array.isArray(asked) || asked instanceof Date)
    return [{ op: "eq", column, value: readScalar(column, asked) }];
  const toNested = (where: object): Group => ({ op: "and", of: toColumnTests(column, where) });
  return Object.entries(asked)
    .filter(([, value]) => value !== undefined)
    .flatMap(([op, value]: [string, unknown]): Test[] => {
      if (op === "is" && value === null) return [{ op, column }];
      if (op === "in" && Array.isArray(value))
        return [{ op, column, values: value.map((item: unknown) => readScalar(column, item)) }];
      if (isValueOperator(op)) return [{ op, column, value: readScalar(column, value) }];
      if (op === "is" || op === "in")
        throw new TypeError(`Cannot compare "${column}" by "${op}": unknown comparison`);
      return toGroup(op, value, toNested) ?? toColumnTests(`${column}.${op}`, value);
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
