/**
 * Conditions of a list as text, `title=ilike.*x*`, `project.name=eq.House` or `or=(done.eq.true,price.gt.5)`, and as a tree.
 * Values are read by the readers that writes use. Knows columns, not SQL. Pure.
 *
 * @module
 */

import {
  isReference,
  type Kind,
  type Operator as KindOperator,
  OPERATORS,
  splitPattern,
  VALUES,
} from "../../kinds/mod.ts";
import { Problem } from "../../problem.ts";
import { readValue } from "../../rows/mod.ts";
import type { NamedColumn } from "../../schema/mod.ts";
import { toCaseExpression } from "../../std/letter_case.ts";
import { suggestName } from "../../std/names.ts";
import { quote } from "../../std/quote.ts";
import { isStorableText } from "../../std/text.ts";
import type { RecordedTable } from "../../tables/catalog/mod.ts";

export type QueryColumn = Pick<NamedColumn, "name" | "kind" | "required" | "values" | "table">;

export const ID: QueryColumn = { name: "id", kind: "uuid", required: true };

type Operator = KindOperator | "null";
/** A comparison of a column with values: one value, several for "in", none for "null". */
export type Comparison = {
  readonly op: Operator;
  readonly column: QueryColumn;
  readonly values: readonly string[];
};
/** A condition on the row of a reference: it exists, and all conditions on it are true. Never negated. */
export type Referenced = {
  readonly op: "referenced";
  readonly column: QueryColumn;
  readonly values: readonly [];
  readonly table: RecordedTable;
  readonly where: readonly Condition[];
};
/** A comparison with null is never true, and neither is its negation, as in SQL. */
export type Condition =
  | Comparison
  | Referenced
  | { readonly op: "and" | "or"; readonly of: readonly Condition[] }
  | { readonly op: "not"; readonly of: readonly [Condition] };

export const QUERY_LIMITS = {
  conditions: 30,
  values: 100,
  depth: 4,
  keys: 3,
  /** Max references in conditions, and max references from a row to the row of a condition. */
  references: 3,
  referenceDepth: 2,
  patternCharacters: 200,
  wildcards: 6,
  /** Applies to the query string without `after`, and to `after`. */
  bytes: 8192,
} as const;

export function invalid(message: string): Problem {
  return new Problem("invalid_query", { message });
}

export function unsupported(message: string): Problem {
  return new Problem("unsupported_query", { message });
}

/** The result of a reader, or undefined if it throws a Problem, which is collected. */
export type Attempt = <Result>(read: () => Result) => Result | undefined;

/** Reads conditions, and counts them and their values across the parameters of one query. */
export type FilterReader = {
  readonly findColumn: (name: string) => QueryColumn;
  /** Whether the name is of a column at the end of references. An unknown column can be one of `others` of a relation. */
  readonly isPath: (name: string, others: readonly string[]) => boolean;
  /** The condition in `name=text`; the name can be the path of a referenced row's column. @throws {Problem} invalid_query; unsupported_query */
  readonly readCondition: (name: string, text: string) => Condition;
  /** The conditions in `and=text` or `or=text`. @throws {Problem} invalid_query; unsupported_query */
  readonly readList: (op: "and" | "or", text: string) => Condition;
};

/** A condition with an unchecked column, operator and values. */
type ConditionText = {
  readonly isNegated: boolean;
  readonly op: Operator;
  readonly texts: readonly string[];
};

export type AppTables = {
  readonly appId: string;
  readonly find: (name: string) => RecordedTable | undefined;
};

type ReaderOptions = {
  /** Where the columns are, in messages. */
  readonly place?: string;
  readonly tables?: Pick<AppTables, "find">;
};

type Step = Pick<Referenced, "column" | "table">;

/** A column of the table, or of a row to which references lead. */
type Target = {
  readonly path: string;
  readonly column: QueryColumn;
  readonly steps: readonly Step[];
};

const NEGATION = "not.";
const NULL = "is.null";
/** A value without an operator that an example can show. */
const SAMPLE = /[\w -]{1,40}(?=$|[,)])/y;
/** The start of a comparison. In a list, it precedes the column of a referenced row with the same name. */
const COMPARISON = new RegExp(`(?:not|is|${OPERATORS.join("|")})\\.`, "y");
const NAME = /([^.,()"]+)\./suy;
const GROUP = /(not\.)?(and|or)(?=\()/y;

/** The reader omits conditions with issues; `attempt` collects the issues. */
export function makeFilterReader(
  columns: readonly QueryColumn[],
  attempt: Attempt,
  { place = "", tables }: ReaderOptions = {},
): FilterReader {
  let conditions = 0;
  let values = 0;

  function findColumn(name: string): QueryColumn {
    return findIn(columns, name, place);
  }

  function findTarget(path: string): Target {
    const names = path.split(".");
    const steps: Step[] = [];
    let column = findColumn(names[0] ?? "");
    for (const name of names.slice(1)) {
      const { name: reference, table: target } = column;
      const table = target === undefined ? undefined : tables?.find(target);
      if (table === undefined)
        throw invalid(
          `Cannot read ${quote(path)}: ${isReference(column) ? `the app does not use the table ${target}` : `${reference} is not a reference`}`,
        );
      if (steps.length === QUERY_LIMITS.referenceDepth)
        throw unsupported(
          `Cannot read ${quote(path)}: conditions can be on rows at most ${QUERY_LIMITS.referenceDepth} references away`,
        );
      steps.push({ column, table });
      const { definition } = table;
      column = findIn([ID, ...definition.columns], name, ` of ${definition.name}`);
    }
    return { path, column, steps };
  }

  function isPath(path: string, others: readonly string[]): boolean {
    const names = path.split(".");
    const last = names.pop() ?? "";
    let list = columns;
    for (const name of names) {
      const column = list.find((other) => other.name === name);
      if (column === undefined) return false;
      const table = column.table === undefined ? undefined : tables?.find(column.table);
      if (table === undefined) return true;
      list = [ID, ...table.definition.columns];
    }
    return !others.includes(last) || list.some(({ name }) => name === last);
  }

  function findIn(list: readonly QueryColumn[], name: string, place: string): QueryColumn {
    const column = list.find((other) => other.name === name);
    if (column !== undefined) return column;
    if (name === "app_id")
      throw invalid(
        'Cannot use "app_id" in a list: all rows of an app have the same, so it is no condition, order or selection',
      );
    throw invalid(
      `Cannot read ${quote(name)}${place}: the table has no such column${suggestName(name, list)}`,
    );
  }

  function readCondition(name: string, text: string): Condition {
    const target = findTarget(name);
    const scanner = makeScanner(text);
    const read = scanCondition(name, scanner, () => scanner.readRest());
    scanner.expectEnd();
    return toCondition(target, read);
  }

  function scanCondition(name: string, scanner: Scanner, readValue: () => string): ConditionText {
    conditions++;
    if (conditions > QUERY_LIMITS.conditions)
      throw unsupported(`A list accepts at most ${QUERY_LIMITS.conditions} conditions`);
    const isNegated = scanner.skip(NEGATION);
    if (scanner.skip("is.")) {
      if (readValue() === "null") return { isNegated, op: "null", texts: [] };
      throw invalid(`Cannot read the condition on ${quote(name)}: is. accepts only null`);
    }
    const op = OPERATORS.find((operator) => scanner.skip(`${operator}.`));
    if (op === undefined)
      throw invalid(
        `Cannot read the condition on ${quote(name)}: must be ${OPERATORS.join(", ")} and a value, such as eq.${scanner.match(SAMPLE)?.[0] ?? "5"}, or ${NULL}`,
      );
    const texts = op === "in" ? scanner.readList() : [readValue()];
    values += texts.length;
    if (values > QUERY_LIMITS.values)
      throw unsupported(`A list accepts at most ${QUERY_LIMITS.values} values in its conditions`);
    return { isNegated, op, texts };
  }

  function toCondition(
    { path, column, steps }: Target,
    { isNegated, op, texts }: ConditionText,
  ): Condition {
    const shown = { ...column, name: path };
    if (op !== "null" && !VALUES[column.kind].operators.includes(op))
      throw unsupported(explainOperators(shown, op));
    if (op === "in" && texts.length === 0)
      throw invalid(`Cannot read the list of ${quote(path)}: it is empty; the empty text is ""`);
    const read = texts.map((text) =>
      attempt(() => PATTERN_READERS[op]?.(text) ?? toComparable(text, shown)),
    );
    const comparison = { op, column, values: read.filter((value) => value !== undefined) };
    return steps.reduceRight<Condition>(
      (inner, step) => ({ ...step, op: "referenced", values: [], where: [inner] }),
      isNegated ? { op: "not", of: [comparison] } : comparison,
    );
  }

  function scanItems(op: "and" | "or", scanner: Scanner, depth: number): Condition {
    if (depth > QUERY_LIMITS.depth)
      throw unsupported(`Conditions can be nested at most ${QUERY_LIMITS.depth} deep`);
    const of: (Condition | undefined)[] = [];
    scanner.expect("(");
    do of.push(scanItem(scanner, depth));
    while (scanner.skip(","));
    scanner.expect(")");
    return { op, of: of.filter((condition) => condition !== undefined) };
  }

  function scanItem(scanner: Scanner, depth: number): Condition | undefined {
    const [start, negation, op] = scanner.match(GROUP) ?? [];
    if (start !== undefined) {
      const group = scanItems(op === "or" ? "or" : "and", scanner, depth + 1);
      return negation === undefined ? group : { op: "not", of: [group] };
    }
    const name = scanPath(scanner);
    const read = scanCondition(name, scanner, () => scanner.readValue());
    return attempt(() => toCondition(findTarget(name), read));
  }

  function scanPath(scanner: Scanner): string {
    const names = [scanner.readName()];
    const isPath = columns.some((column) => column.name === names[0] && isReference(column));
    while (isPath && !scanner.isAt(COMPARISON)) {
      const name = scanner.match(NAME)?.[1];
      if (name === undefined) break;
      names.push(name);
    }
    return names.join(".");
  }

  return {
    findColumn,
    isPath,
    readCondition,
    readList: (op, text) => {
      const scanner = makeScanner(text);
      const group = scanItems(op, scanner, 1);
      scanner.expectEnd();
      return group;
    },
  };
}

function explainOperators({ name, kind }: QueryColumn, op: string): string {
  const allowed = VALUES[kind].operators.join(", ");
  const instead = allowed === "" ? `only ${NULL} and not.${NULL}` : `${allowed}, ${NULL}`;
  return `Cannot use ${op} on ${quote(name)}, which is of kind ${kind}: it supports ${instead}`;
}

/** The operators of a column kind, as Markdown. */
export function listOperators(kind: Kind): string {
  const compared = VALUES[kind].operators.map((op) => (op === "in" ? "`in.(…,…)`" : `\`${op}.…\``));
  return [...compared, `\`${NULL}\``].join(", ");
}

/** A value in the database's notation. @throws {Problem} invalid_query */
export function toComparable(text: string, column: QueryColumn): string {
  const { fromQuery } = VALUES[column.kind];
  const value = fromQuery === undefined ? text : fromQuery(text);
  const read = readValue(value, column);
  if ("value" in read) return `${read.value}`;
  const { issue } = read;
  throw invalid(
    `Cannot compare ${quote(column.name)} with ${quote(text)}: ${issue.charAt(0).toLowerCase()}${issue.slice(1)}`,
  );
}

const PATTERN_READERS: Readonly<Partial<Record<Operator, (text: string) => string>>> = {
  like: (text) =>
    readPattern(text)
      .map((part) => part.replaceAll(/[\\%_]/g, "\\$&"))
      .join("%"),
  ilike: (text) => `^${readPattern(text).map(toCaseExpression).join(".*")}$`,
};

/** The texts between the wildcards of a pattern. @throws {Problem} */
function readPattern(text: string): string[] {
  const { patternCharacters, wildcards } = QUERY_LIMITS;
  const parts = splitPattern(text);
  if ([...parts.join("*")].length > patternCharacters || parts.length - 1 > wildcards)
    throw unsupported(`A pattern has at most ${patternCharacters} characters and ${wildcards} *`);
  if (!isStorableText(text)) throw invalid("Cannot read a pattern: it contains U+0000");
  return parts;
}

type Scanner = ReturnType<typeof makeScanner>;

/** Reads a text from left to right. In lists, values with `,()"` are quoted, and `\` escapes `"` and `\`. */
function makeScanner(text: string) {
  let at = 0;
  const unreadable = () =>
    invalid(
      `Cannot read ${quote(text)} from character ${at + 1} on: in lists, put values that contain , ( ) or " in quotes`,
    );

  function skip(start: string): boolean {
    if (!text.startsWith(start, at)) return false;
    at += start.length;
    return true;
  }

  /** The groups of a sticky pattern that matches at the current position. */
  function match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = at;
    const found = pattern.exec(text) ?? undefined;
    at += found?.[0].length ?? 0;
    return found;
  }

  function expect(start: string): void {
    if (!skip(start)) throw unreadable();
  }

  function readValue(): string {
    const quoted = match(/"((?:[^"\\]|\\["\\])*)"/suy)?.[1];
    if (quoted !== undefined) return quoted.replaceAll(/\\(.)/gs, "$1");
    return match(/[^,()"]*/suy)?.[0] ?? "";
  }

  function readList(): string[] {
    const values: string[] = [];
    expect("(");
    if (skip(")")) return values;
    do values.push(readValue());
    while (skip(","));
    expect(")");
    return values;
  }

  function isAt(pattern: RegExp): boolean {
    pattern.lastIndex = at;
    return pattern.test(text);
  }

  return {
    skip,
    isAt,
    expect,
    readValue,
    readList,
    match,
    /** A column's name and the following dot. */
    readName: () => {
      const name = match(NAME)?.[1];
      if (name === undefined) throw unreadable();
      return name;
    },
    readRest: () => {
      const rest = text.slice(at);
      at = text.length;
      return rest;
    },
    expectEnd: () => {
      if (at < text.length) throw unreadable();
    },
  };
}
