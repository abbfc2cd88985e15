/** Whether a row matches conditions, by the same rules as the service. @module */
import {
  COMPARES,
  type Compare,
  compareValues,
  splitPattern,
  type Comparable as Value,
} from "../kinds/mod.ts";
import { type Test, toTest, type Where } from "./where.ts";

/** The parts of a column that affect comparisons. */
type KindColumn = {
  readonly column: {
    readonly kind: string;
    readonly values?: readonly string[];
    readonly unique?: boolean;
    readonly table?: string;
  };
};
type KindColumns = { readonly [name: string]: KindColumn };
/** A table of a schema, such as `schema.tables.todos`. */
export type TableKinds = KindColumns | ModelKinds;
type ModelKinds = {
  readonly model: {
    readonly columns: KindColumns;
    readonly uniques?: readonly (readonly string[])[];
  };
};

/**
 * Whether a row matches conditions, as a list request with these conditions would decide.
 *
 * Conditions on a referenced row need that row instead of its id, as `select` returns it: `{ project: { vendor: "…" } }`.
 *
 * In JSON, decimals, timestamps and enums are strings. They compare character by character unless `table` defines their
 * kinds: only then is "10.0" greater than "9.5", and enums compare in the order of their values. `tables` define those of
 * referenced rows.
 *
 * @throws {TypeError} the value is not a condition, or a reference is not a row
 *
 * @example
 * ```ts
 * import { matches } from "rowhouse/data";
 *
 * const todo = { title: "Water the plants", done: false, due_at: null };
 * expect(matches(todo, { title: { ilike: "*PLANTS*" }, done: false })).toBe(true);
 * expect(matches(todo, { due_at: { lt: "2030-01-01T00:00:00Z" } })).toBe(false);
 * ```
 */
export function matches<Row extends object>(
  row: Row,
  where: Where<Row> | WhereRows<Row>,
  table: TableKinds = {},
  tables: { readonly [table: string]: TableKinds } = {},
): boolean {
  return isTrue(toTest(where), toSubject(row, table, tables)) === true;
}

/** Conditions on rows within a row. */
type WhereRows<Row> = {
  readonly [C in keyof Row]?: NonNullable<Row[C]> extends object
    ? Where<NonNullable<Row[C]>> | WhereRows<NonNullable<Row[C]>>
    : Where<Row>[C & keyof Where<Row>];
};

function toSubject(row: object, table: TableKinds, tables: Subject["tables"]): Subject {
  const columns = isModel(table) ? table.model.columns : table;
  return {
    row: new Map(Object.entries(row)),
    columns: new Map(Object.entries(columns)),
    tables,
  };
}

/** The referenced row, or `undefined`. */
function toReferenced(column: string, { row, columns, tables }: Subject): Subject | undefined {
  const value = row.get(column) ?? null;
  if (value === null) return undefined;
  if (typeof value !== "object")
    throw new TypeError(`Cannot compare the row of "${column}": must be a row, not its id`);
  return toSubject(value, tables[columns.get(column)?.column.table ?? ""] ?? {}, tables);
}

/** A column can also have the name `model`. */
export function isModel(table: TableKinds): table is ModelKinds {
  return "model" in table && "columns" in table.model;
}

type Subject = {
  readonly row: ReadonlyMap<string, unknown>;
  readonly columns: ReadonlyMap<string, KindColumn>;
  readonly tables: { readonly [table: string]: TableKinds };
};

/** `undefined`: unknown, because of a null. */
function isTrue(test: Test, subject: Subject): boolean | undefined {
  if (test.op === "not") return negate(isTrue(test.of[0], subject));
  if ("of" in test) {
    const decisive = test.op === "or";
    const results = test.of.map((inner) => isTrue(inner, subject));
    if (results.includes(decisive)) return decisive;
    return results.includes(undefined) ? undefined : !decisive;
  }
  const [reference, rest] = test.column.split(/\.(.*)/s);
  if (reference !== undefined && rest !== undefined) {
    const referenced = toReferenced(reference, subject);
    return referenced && isTrue({ ...test, column: rest }, referenced);
  }
  const value = subject.row.get(test.column) ?? null;
  if (test.op === "is") return value === null;
  if (value === null) return undefined;
  const compare = makeCompare(subject.columns.get(test.column)?.column);
  if (test.op === "in") return test.values.some((item) => compare(value as Value, item) === 0);
  if (test.op === "like") return isLike(`${value}`, `${test.value}`);
  if (test.op === "ilike") return isLike(fold(`${value}`), fold(`${test.value}`));
  return OUTCOMES[test.op](compare(value as Value, test.value));
}

function negate(result: boolean | undefined): boolean | undefined {
  return result === undefined ? undefined : !result;
}

const OUTCOMES = {
  eq: (difference: number) => difference === 0,
  neq: (difference: number) => difference !== 0,
  lt: (difference: number) => difference < 0,
  lte: (difference: number) => difference <= 0,
  gt: (difference: number) => difference > 0,
  gte: (difference: number) => difference >= 0,
} as const;

/** Less than 0, 0, or greater than 0. */
export function makeCompare(
  column: KindColumn["column"] | undefined,
): (a: Value, b: Value) => number {
  const compare = ORDERS.get(column?.kind ?? "") ?? compareValues;
  return (a, b) => compare(a, b, column ?? {});
}

const ORDERS: ReadonlyMap<string, Compare> = new Map(Object.entries(COMPARES));

/** Without a regular expression, which can be slow on long texts. */
function isLike(text: string, pattern: string): boolean {
  const [start = "", ...parts] = splitPattern(pattern);
  const end = parts.pop();
  if (end === undefined) return text === start;
  if (!text.startsWith(start)) return false;
  let position = start.length;
  for (const part of parts) {
    const found = text.indexOf(part, position);
    if (found === -1) return false;
    position = found + part.length;
  }
  return text.length - end.length >= position && text.endsWith(end);
}

/** In every alphabet. A mapping to several characters does not count, so `ß` is not `ss`. The four i of Turkish are equal. */
function fold(text: string): string {
  return Array.from(text, (letter) => {
    if (letter === "İ") return "i";
    const upper = letter.toUpperCase();
    const lower = (isSingle(upper) ? upper : letter).toLowerCase();
    return isSingle(lower) ? lower : letter;
  }).join("");
}

function isSingle(text: string): boolean {
  return text.length === 1 || (text.length === 2 && (text.codePointAt(0) ?? 0) > 0xffff);
}
